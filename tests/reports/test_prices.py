"""Prices: the cached share apart, and only what can be a price."""

from adk_context_pack.reports.prices import Prices


def test_cached_tokens_have_their_own_price():
    """A million tokens of which half are cached cost half of each price, in the currency and in millionths of it."""
    prices = Prices(input=3.0, cached=0.5)
    assert prices.of(1_000_000, 500_000) == 1.75
    assert prices.micros(10, 4) == 20
