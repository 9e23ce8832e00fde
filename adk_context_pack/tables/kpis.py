"""Key figures declared as data: ratios of totals, with the sources of their definitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from adk_context_pack.errors import SettingError

MICROS = 1_000_000
"""Micros in one unit of the account's currency: 1.23 USD are 1,230,000 micros.

Source: https://developers.google.com/google-ads/api/docs/concepts/api-structure, "micros" as in `metrics.cost_micros`.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kpi:
    """A ratio of two columns, computed from their totals and never averaged over rows.

    Args:
        name: its name in the results.
        numerator: the column above the line, such as `cost` (currency units, also where rows hold `cost_micros`).
        denominator: the column below the line.
        scale: what the ratio is multiplied by, 1000 for a price per thousand.

    Raises:
        SettingError: an empty name, or a scale that is zero or not a number.
    """

    name: str
    numerator: str
    denominator: str
    scale: float = 1

    def __post_init__(self) -> None:
        """Checks the settings."""
        for setting in ("name", "numerator", "denominator"):
            value = getattr(self, setting)
            if not isinstance(value, str) or not value:
                raise SettingError.of(self, setting, value, "a non-empty name")
        # No comparison holds for NaN, so it is refused as well.
        usable = isinstance(self.scale, (int, float)) and not isinstance(self.scale, bool)
        if not usable or not 0 < abs(self.scale) < float("inf"):
            raise SettingError.of(self, "scale", self.scale, "a finite number other than 0")

    def value(self, column: Callable[[str], Any]) -> float | None:
        """The figure, as the float nearest to the exact ratio.

        Args:
            column: from the name of a column to its total (int, float, Decimal or Fraction), or None.

        Returns:
            None if a column is missing or not a number, the denominator is zero, or the ratio is not finite.
        """
        above, below = _fraction(column(self.numerator)), _fraction(column(self.denominator))
        if above is None or not below:
            return None
        scale = _exact_scale(repr(self.scale))
        # Dividing integers rounds once, and spares the reductions that fractions make on the way.
        upper = above.numerator * below.denominator * scale.numerator
        lower = above.denominator * below.numerator * scale.denominator
        try:
            return upper / lower
        except OverflowError:
            return None


GOOGLE_ADS_KPIS = (
    Kpi(name="CTR", numerator="clicks", denominator="impressions"),
    Kpi(name="CPC", numerator="cost", denominator="clicks"),
    Kpi(name="CPM", numerator="cost", denominator="impressions", scale=1000),
    Kpi(name="CVR", numerator="conversions", denominator="clicks"),
    Kpi(name="CPA", numerator="cost", denominator="conversions"),
    Kpi(name="ROAS", numerator="conversions_value", denominator="cost"),
)
"""The key figures of an Ads account. Shares are fractions (0.05 is 5 %), prices are in its currency.

CTR: clicks / impressions (`metrics.ctr`). CPC: cost / clicks (`metrics.average_cpc`). CPM: cost per thousand
impressions (`metrics.average_cpm`). CVR: conversions / clicks. CPA: cost / conversions (`metrics.cost_per_conversion`).
ROAS: conversions value / cost.

Source: https://developers.google.com/google-ads/api/fields/latest/metrics; for CVR and ROAS the glossary of Google Ads,
https://support.google.com/google-ads/topic/3121777.
"""


@lru_cache(maxsize=64)
def _exact_scale(text: str) -> Fraction:
    # A scale such as 0.001 is meant as one thousandth, which no float is.
    return Fraction(text)


def _fraction(value: Any) -> int | Fraction | None:
    if type(value) in (int, Fraction):
        return value  # type: ignore[no-any-return]
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        return None
    try:
        return Fraction(value)
    except (ValueError, OverflowError):
        # NaN and infinity.
        return None
