"""What the name of a column says: its words, whether it identifies, dates or rates."""

from __future__ import annotations

import re
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[^a-z0-9]+")
# fmt: off
_IDENTIFIERS = frozenset(
    (
        "accountid", "adgroupid", "campaignid", "code", "customerid", "gid", "guid", "hash", "iban", "id",
        "ids", "imei", "isbn", "key", "orderid", "phone", "pid", "postal", "postcode", "productid",
        "resource", "rowid", "sid", "sku", "ssn", "uid", "userid", "uuid", "vin", "zip", "zipcode"
    )
)
_NUMBERED = frozenset(
    (
        "account", "card", "case", "customer", "flight", "invoice", "order", "phone", "policy", "room",
        "serial", "ticket", "tracking"
    )
)
_DATES = frozenset(
    (
        "at", "date", "datetime", "day", "epoch", "hour", "month", "quarter", "timestamp", "week",
        "weekday", "year"
    )
)
_RATES = frozenset(
    (
        "average", "avg", "cpa", "cpc", "cpe", "cpm", "cpv", "ctr", "cvr", "mean", "pct", "percent",
        "percentage", "rate", "ratio", "roas", "share"
    )
)
# fmt: on


@lru_cache(maxsize=4096)
def words(name: str) -> tuple[str, ...]:
    """The lower-case words of the last segment of a dotted name: `metrics.costMicros` -> `("cost", "micros")`."""
    return tuple(filter(None, _NO_WORD.split(_CAMEL.sub("_", name.rpartition(".")[2]).lower())))


@lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """One spelling for a column, so that all ways in which the Google Ads API is read give the same names.

    `metrics.costMicros`, `metrics.cost_micros` and `costMicros` are all `cost_micros`; `adGroup.id` is `ad_group.id`.
    Spelling other than camel case stays as it is.
    """
    name = _CAMEL.sub("_", name).lower() if re.fullmatch(r"[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9_]*)*", name) else name
    return name.removeprefix("metrics.")


def names_identifier(name: str) -> bool:
    """Whether a name is that of an identifier, whose numbers mean nothing when added."""
    parts = words(name)
    if not parts:
        return False
    if parts[-1] in {"number", "no", "num"}:
        return len(parts) > 1 and parts[-2] in _NUMBERED
    return parts[-1] in _IDENTIFIERS or parts[-2:] in {("resource", "name"), ("zip", "code")}


def names_date(name: str) -> bool:
    """Whether a name is that of a point in time (`created_at`, `year`), and not of a rate (`clicks_per_day`)."""
    parts = words(name)
    return bool(parts) and parts[-1] in _DATES and "per" not in parts


def names_rate(name: str) -> bool:
    """Whether a name is that of a ratio or an average (`ctr`, `average_cpc`, `cost_per_conversion`)."""
    parts = words(name)
    return "per" in parts[1:] or not _RATES.isdisjoint(parts)
