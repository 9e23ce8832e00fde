"""Reads the name of a column: its words, and whether it names an identifier, a date, a rate or an amount."""

from __future__ import annotations

import re
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NO_WORD = re.compile(r"[^a-z0-9]+")
# fmt: off
_IDENTIFIERS = frozenset(
    (
        "accountid", "adgroupid", "asin", "campaignid", "code", "commit", "customerid", "ean", "fips", "gid",
        "guid", "hash", "iban", "id", "ids", "imei", "ip", "isbn", "key", "orderid", "phone", "pid", "plz",
        "postal", "postcode", "productid", "resource", "rowid", "sha", "sid", "sku", "ssn", "uid", "upc",
        "userid", "uuid", "version", "vin", "zip", "zipcode"
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
_MOMENTS = frozenset(
    (
        "created", "deleted", "epoch", "expiration", "expires", "expiry", "modified", "seen", "since", "time",
        "timestamp", "ts", "until", "updated"
    )
)
_YEARS = frozenset(("born", "built", "established", "founded", "fy", "vintage", "year", "yr"))
_VERSIONS = frozenset(("chapter", "clause", "firmware", "release", "section", "semver", "ver", "version", "versions"))
_BYTES = frozenset(("bytes", "disk", "filesize", "mem", "memory", "ram", "rss", "size", "storage"))
_SPANS = frozenset(("last", "next", "past", "per", "prev", "previous", "this"))
_QUANTITIES = frozenset(
    (
        "amount", "balance", "budget", "clicks", "conversions", "cost", "costs", "count", "customers", "earnings",
        "expense", "expenses", "fee", "fees", "gross", "impressions", "income", "installs", "leads", "margin",
        "net", "orders", "price", "profit", "qty", "quantity", "revenue", "salary", "sales", "sessions", "spend",
        "sum", "tax", "total", "units", "usd", "users", "value", "views", "visits"
    )
)
_MONEY = frozenset(
    (
        "amount", "balance", "budget", "cost", "costs", "earnings", "expense", "expenses", "fee", "fees", "gross",
        "income", "margin", "micros", "net", "price", "profit", "revenue", "salary", "sales", "spend", "tax", "value"
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
    """Tells whether a name is that of an identifier, whose numbers mean nothing when added."""
    parts = words(name)
    if not parts:
        return False
    if parts[-1] in {"number", "no", "num"}:
        return len(parts) > 1 and parts[-2] in _NUMBERED
    return parts[-1] in _IDENTIFIERS or parts[-2:] in {("resource", "name"), ("zip", "code")}


def names_date(name: str) -> bool:
    """Tells whether a name is that of a point in time: the one rule for dates, years and epochs kept as numbers.

    The last word is a word of time (`created_at`, `order_month`). Names with a word for an amount (`sales_month`) and
    those that end in a span (`logins_last_week`, `clicks_per_day`) are measures. The values have to match as well,
    see `column_kind`.
    """
    parts = words(name)
    return (
        bool(parts)
        and parts[-1] in _DATES
        and not names_quantity(name)
        and "per" not in parts
        and not (
            len(parts) > 2 and parts[-2] in _SPANS  # noqa: PLR2004  something that the span is a span of
        )
    )


def names_year(name: str) -> bool:
    """Tells whether a name has a word for a year in it (`year_built`, `founded`) and none for an amount."""
    return not _YEARS.isdisjoint(words(name)) and not names_quantity(name) and not names_rate(name)


def names_moment(name: str) -> bool:
    """Tells whether whole numbers under a name may be epochs: `created`, `time_ms`, `last_seen_ts`."""
    return not _MOMENTS.isdisjoint(words(name)) and not names_quantity(name) and not names_rate(name)


def names_quantity(name: str) -> bool:
    """Tells whether a name has a word for an amount in it (`cost_last_month`), so that its numbers add up."""
    return not _QUANTITIES.isdisjoint(words(name))


def names_version(name: str) -> bool:
    """Tells whether a name has a word for versions or sections in it (`release`, `section`)."""
    return not _VERSIONS.isdisjoint(words(name))


def names_bytes(name: str) -> bool:
    """Tells whether a name is that of an amount of memory, where `5K` may be 5,120."""
    return not _BYTES.isdisjoint(words(name))


def names_rate(name: str) -> bool:
    """Tells whether a name is that of a ratio or an average (`ctr`, `average_cpc`, `cost_per_conversion`)."""
    parts = words(name)
    return "per" in parts[1:] or not _RATES.isdisjoint(parts)


def names_currency(name: str) -> bool:
    """Tells whether a name is that of a currency (`currency`, `customer.currency_code`)."""
    return "currency" in words(name)


def names_money(name: str) -> bool:
    """Tells whether a name is that of an amount of money, which has a currency."""
    return not _MONEY.isdisjoint(words(name))
