"""A made-up Google Ads account of some five thousand rows, the same at every start."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from .account import Account, Field, Resource, open_database

SEED = 20240607
_FIRST_DAY = date(2024, 6, 1)
_DAYS = 14
_DEVICES = (("MOBILE", 0.58), ("DESKTOP", 0.34), ("TABLET", 0.08))
_CAMPAIGNS = (
    ("Brand", "ENABLED", ("wolfy", "wolfy ads", "wolfy pricing")),
    ("Search - Running shoes", "ENABLED", ("running shoes", "trail shoes", "marathon shoes")),
    ("Search - Hiking", "ENABLED", ("hiking boots", "trekking poles", "rain jacket")),
    ("Competitors", "ENABLED", ("other shoe shop", "cheap sneakers", "discount boots")),
    ("Outlet", "PAUSED", ("shoe sale", "last season shoes", "outlet boots")),
)
_MATCH_TYPES = ("EXACT", "PHRASE", "BROAD", "BROAD")
_NEVER_CONVERT = 0.25
_SUFFIXES = ("online", "near me", "best", "2024", "for women", "for men", "reviews", "free returns")

_FIELDS = (
    Field(name="campaign.id", kind="INT64", about="identifier of the campaign"),
    Field(name="campaign.name", kind="STRING", about="name of the campaign as its owner wrote it"),
    Field(name="campaign.status", kind="ENUM", about="ENABLED, PAUSED or REMOVED"),
    Field(name="ad_group.id", kind="INT64", about="identifier of the ad group"),
    Field(name="ad_group.name", kind="STRING", about="name of the ad group"),
    Field(name="ad_group_criterion.criterion_id", kind="INT64", about="identifier of the keyword in its ad group"),
    Field(name="ad_group_criterion.keyword.text", kind="STRING", about="text of the keyword"),
    Field(name="ad_group_criterion.keyword.match_type", kind="ENUM", about="EXACT, PHRASE or BROAD"),
    Field(name="search_term_view.search_term", kind="STRING", about="what people typed before they saw the ad"),
    Field(name="segments.date", kind="DATE", about="day of the impression, in the account's time zone"),
    Field(name="segments.device", kind="ENUM", about="MOBILE, DESKTOP or TABLET"),
    Field(name="metrics.impressions", kind="INT64", about="how often an ad was shown"),
    Field(name="metrics.clicks", kind="INT64", about="how often an ad was clicked"),
    Field(name="metrics.cost_micros", kind="INT64", about="what was paid, in millionths of the currency"),
    Field(name="metrics.conversions", kind="DOUBLE", about="conversions, with shares where several clicks led to one"),
    Field(name="metrics.conversions_value", kind="DOUBLE", about="value of the conversions, in the currency"),
)
_RESOURCES = {
    "campaign": Resource(keys=("campaign.id",), families=("campaign",)),
    "ad_group": Resource(keys=("ad_group.id",), families=("campaign", "ad_group")),
    "keyword_view": Resource(
        keys=("ad_group_criterion.criterion_id",), families=("campaign", "ad_group", "ad_group_criterion")
    ),
    "search_term_view": Resource(
        keys=("ad_group.id", "search_term_view.search_term"), families=("campaign", "ad_group", "search_term_view")
    ),
}
_SQL_TYPES = {"INT64": "INTEGER", "DOUBLE": "REAL"}


def demo_account(seed: int = SEED) -> Account:
    """The account of the sample.

    Args:
        seed: another seed gives other figures, and as many rows.
    """
    columns = [(entry.name.replace(".", "_"), _SQL_TYPES.get(entry.kind, "TEXT")) for entry in _FIELDS]
    connection = open_database(columns)
    marks = ", ".join("?" for _ in columns)
    connection.executemany(f"INSERT INTO facts VALUES ({marks})", _rows(random.Random(seed)))  # noqa: S608
    return Account(
        connection=connection,
        fields={entry.name: entry for entry in _FIELDS},
        resources=_RESOURCES,
        first_day=_FIRST_DAY.isoformat(),
        last_day=(_FIRST_DAY + timedelta(days=_DAYS - 1)).isoformat(),
    )


def _rows(rng: random.Random) -> Iterator[tuple[Any, ...]]:
    for term in _search_terms(rng):
        appeal = rng.uniform(0.02, 0.12)
        converts = 0.0 if rng.random() < _NEVER_CONVERT else rng.uniform(0.01, 0.09)
        for day in range(_DAYS):
            for device, share in _DEVICES:
                yield (
                    *term,
                    (_FIRST_DAY + timedelta(days=day)).isoformat(),
                    device,
                    *_metrics(rng, share, appeal, converts),
                )


def _search_terms(rng: random.Random) -> Iterator[tuple[Any, ...]]:
    for number, (campaign, status, themes) in enumerate(_CAMPAIGNS):
        for place, theme in enumerate(themes):
            ad_group = 23_289_504_000 + 10 * number + place
            suffixes = rng.sample(_SUFFIXES, len(_MATCH_TYPES))
            for index, (match_type, suffix) in enumerate(zip(_MATCH_TYPES, suffixes, strict=True)):
                keyword = (f"{ad_group % 10_000:04d}{index:02d}", f"{theme} {suffix}", match_type)
                for typed in (f"{theme} {suffix}", f"buy {theme} {suffix}"):
                    yield 344_106_490 + number, campaign, status, ad_group, theme.title(), *keyword, typed


def _metrics(rng: random.Random, share: float, appeal: float, converts: float) -> tuple[int, int, int, float, float]:
    impressions = int(rng.gammavariate(2.0, 220.0) * share)
    clicks = sum(rng.random() < appeal for _ in range(impressions))
    # Google bills whole cents; conversions come in halves and values in quarters, so that every sum is exact.
    cost_micros = sum(rng.randrange(20, 180) for _ in range(clicks)) * 10_000
    conversions = sum(rng.random() < converts for _ in range(clicks)) * rng.choice((0.5, 1.0))
    return impressions, clicks, cost_micros, conversions, conversions * rng.randrange(80, 480) / 4
