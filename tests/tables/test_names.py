"""Names of columns in every spelling."""

import pytest

from adk_context_pack.tables.names import (
    names_bytes,
    names_currency,
    names_date,
    names_identifier,
    names_moment,
    names_money,
    names_quantity,
    names_rate,
    names_version,
    names_year,
    snake_case,
    words,
)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("metrics.costMicros", "cost_micros"), ("metrics.cost_micros", "cost_micros"), ("costMicros", "cost_micros"),
        ("adGroup.id", "ad_group.id"), ("segments.adNetworkType", "segments.ad_network_type"),
        ("Channel0_spend", "Channel0_spend"),
        ("Cost (USD)", "Cost (USD)"), ("", ""), ("metrics.clicks", "clicks"), ("Metrics.Cost", "Metrics.Cost"),
    ],
)  # fmt: skip
def test_one_spelling(name, plain):
    """Camel case and the API's prefix go; names of people's own making stay as they are."""
    assert snake_case(name) == plain


def test_words():
    """The words of a name are those of its last segment."""
    assert words("metrics.costPerHTTPRequest") == ("cost", "per", "http", "request")
    assert words("---") == ()


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "adGroup.id",
        "campaignId",
        "resource_name",
        "uuid",
        "zip code",
        "flight_number",
        "the order no",
        "room num",
    ],
)
def test_identifiers(name):
    """Names that identify."""
    assert names_identifier(name)


@pytest.mark.parametrize(
    "name",
    [
        "paid",
        "number",
        "bid",
        "idle",
        "",
        "wind",
        "video_views",
        "page_number",
        "name",
        "order no more",
        "name resources",
    ],
)
def test_no_identifiers(name):
    """Names that only contain the letters."""
    assert not names_identifier(name)


def test_dates_and_rates():
    """Points in time and ratios are told from counts."""
    assert names_date("created_at")
    assert not names_date("clicks_per_day")
    assert all(
        map(names_rate, ("ctr", "averageCpc", "cost_per_conversion", "conversions_rate", "search_impression_share"))
    )
    assert not any(map(names_rate, ("cost", "clicks", "conversions", "per_unit", "separate")))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("created_at", {"date", "moment"}),
        ("order_month", {"date"}),
        ("month", {"date"}),
        ("last_week", {"date"}),
        ("logins_last_week", set()),
        ("sales_month", {"quantity", "money"}),
        ("per_day", set()),
        ("year_built", {"year"}),
        ("fy", {"year"}),
        ("year", {"date", "year"}),
        ("cost_year", {"quantity", "money"}),
        ("rate_year", {"date", "rate"}),
        ("time_ms", {"moment"}),
        ("last_seen_ts", {"moment"}),
        ("time_total", {"quantity"}),
        ("time_ratio", {"rate"}),
        ("clicks_per_day", {"quantity", "rate"}),
        ("cost_last_month", {"quantity", "money"}),
        ("release", {"version"}),
        ("memory", {"bytes"}),
        ("customer.currency_code", {"currency", "identifier"}),
        ("", set()),
    ],
)
def test_every_rule_on_one_name(name, kinds):
    """Each rule takes the names that are its own and no others."""
    rules = {
        "bytes": names_bytes, "currency": names_currency, "date": names_date, "identifier": names_identifier,
        "moment": names_moment, "money": names_money, "quantity": names_quantity, "rate": names_rate,
        "version": names_version, "year": names_year,
    }  # fmt: skip
    assert {kind for kind, rule in rules.items() if rule(name)} == kinds
