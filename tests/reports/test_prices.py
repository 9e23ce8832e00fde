"""Prices: the cached share apart, and only what can be a price."""

import pytest

from adk_context_pack import Prices, SettingError


def test_cached_tokens_have_their_own_price():
    """A million tokens of which half are cached cost half of each price, in the currency and in millionths of it."""
    prices = Prices(input=3.0, cached=0.5)
    assert prices.of(1_000_000, 500_000) == 1.75
    assert prices.micros(10, 4) == 20


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "1", None])
def test_what_cannot_be_a_price_is_refused(value):
    """A price that is not a number from 0 up is named with its value."""
    with pytest.raises(SettingError, match="cached must be a number from 0 up"):
        Prices(cached=value)
