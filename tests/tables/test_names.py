"""Names of columns in every spelling."""

import pytest

from adk_context_pack.tables.names import names_date, names_identifier, names_rate, snake_case, words


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("metrics.costMicros", "cost_micros"), ("metrics.cost_micros", "cost_micros"), ("costMicros", "cost_micros"),
        ("adGroup.id", "ad_group.id"), ("segments.adNetworkType", "segments.ad_network_type"),
        ("Channel0_spend", "Channel0_spend"),
        ("Cost (USD)", "Cost (USD)"), ("", ""),
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
    "name", ["id", "adGroup.id", "campaignId", "resource_name", "uuid", "zip code", "flight_number"]
)
def test_identifiers(name):
    """Names that identify."""
    assert names_identifier(name)


@pytest.mark.parametrize("name", ["paid", "number", "bid", "idle", "", "wind", "video_views"])
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
