"""Exact arithmetic over what tools return as numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

Number = int | float | Decimal

_INTEGER = re.compile(r"[+-]?[0-9]+").fullmatch
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?").fullmatch
FLOAT_EXACT = 2**53
"""A float holds every integer up to here, so that adding integers and floats as floats loses nothing."""
FLOAT_DIGITS = 15
"""A float keeps every decimal of so many digits."""
PROOF = 14
"""The logarithm of one in a million: how unlikely it has to be that numbers are the same by chance."""
INT64 = range(-(2**63), 2**63)
"""The integers of SQLite."""
# CPython refuses to read longer integers from text (sys.get_int_max_str_digits), and no measure is that long.
_MAX_DIGITS, _MAX_TEXT = 4000, 60


def number_of(text: str) -> int | Decimal | None:
    """Returns the number that a text is, exactly: `"12"` as int, `"1.50"` as Decimal, and None for anything else.

    Only plain notation counts: no blanks, thousands separators, underscores, `nan` or `inf`.
    """
    if len(text) > _MAX_DIGITS:
        return None
    # Most numbers in texts are plain digits, which this tells five times faster than a pattern.
    if (text.isdecimal() and text.isascii()) or _INTEGER(text):
        return int(text)
    return Decimal(text) if _DECIMAL(text) else None


def exact_sum(numbers: Sequence[Number], types: Collection[type] = ()) -> Number:
    """Returns the sum, rounded once at most.

    Integers alone give an exact int, decimals alone an exact Decimal. If floats take part the result is the float
    nearest to the true sum (`math.fsum`; Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997).
    """
    types = set(types or map(type, numbers))
    if types <= {int}:
        return sum(numbers)
    if float not in types:
        with localcontext() as context:
            # Enough for every exponent that a float has. A Decimal allocates only what it uses.
            context.prec = 5000
            return sum(numbers)
    whole = (abs(value) for value in numbers if isinstance(value, int))
    is_exact = int not in types or max(whole, default=0) <= FLOAT_EXACT
    return float_sum(numbers) if is_exact and Decimal not in types else _fraction_sum(numbers)


def float_sum(numbers: Iterable[Number]) -> float:
    """Returns the float nearest to the true sum of numbers that are floats, or NaN for opposite infinities."""
    try:
        return math.fsum(numbers)
    except OverflowError:
        return _fraction_sum(numbers)
    except ValueError:
        return math.nan


def is_twice(total: Number, number: Number) -> bool:
    """Returns whether a sum is twice one of its numbers, which is the sum of the others then."""
    if not (is_finite(total) and is_finite(number)):
        return False
    lost = abs(Fraction(total)) / 10**12 if isinstance(total, float) else 0
    return abs(Fraction(total) - 2 * Fraction(number)) <= lost


def exact_mean(total: Number, count: int) -> float | None:
    """Returns the float nearest to `total / count`, or None if there is nothing to divide or the float overflows."""
    return as_float(Fraction(total) / count) if count and is_finite(total) else None


def decimals_of(numbers: Iterable[Number]) -> int:
    """Returns how many decimals some numbers have at most, of 300, beyond which no float can be multiplied."""
    texts = [text for text in map(str, numbers) if "." in text and "i" not in text.lower()]
    return min(max((-int(Decimal(text).as_tuple().exponent) for text in texts), default=0), 300)


def with_decimals(mean: float | None, decimals: int) -> float | None:
    """Returns a mean with the decimals of the numbers that it is of, and with four figures at least."""
    if not mean or not math.isfinite(mean):
        return mean
    return round(mean, max(decimals, 1, 3 - math.floor(math.log10(abs(mean)))))


def without_noise(value: Any) -> Any:
    """Returns a sum of floats as one would write it: 145140.86 for 145140.86000000002."""
    # Cells with a few decimals each are floats beside them. Their exact sum differs from the sum of what is written
    # behind the fifteenth figure, so it is rounded there if that leaves some figures fewer.
    if not isinstance(value, float) or not math.isfinite(value) or value.is_integer():
        return value
    near = f"{value:.15g}"
    figures = near.partition("e")[0].replace(".", "").replace("-", "").strip("0")
    return float(near) if len(figures) <= 12 else value  # noqa: PLR2004 - digits


def as_float(value: Number | Fraction | None) -> float | None:
    """Returns `value` as the nearest float, or None if no float is that large, or for None."""
    try:
        return None if value is None else float(value)
    except OverflowError:
        return None


def as_floats(values: Sequence[Number | None]) -> list[Any]:
    """Returns `as_float` of each value."""
    try:
        return list(map(float, values))  # type: ignore[arg-type]  # None is what is caught
    except (TypeError, OverflowError):
        return list(map(as_float, values))


def plain(value: Any) -> Any:
    """Returns a cell as JSON holds it, with numbers unchanged in value: what cannot be a JSON number is a text."""
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, Decimal):
        return _plain_decimal(value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _plain_decimal(value: Decimal) -> int | float | str | None:
    if not value.is_finite():
        return None if value.is_nan() else str(value)
    near = float(value)
    if Decimal(repr(near)) == value and math.isfinite(near):
        return near
    # An integer of more digits than a float has is still a JSON number; `1E+999999` must not be written out.
    return int(value) if value.adjusted() < _MAX_DIGITS and value == value.to_integral_value() else str(value)


def _fraction_sum(numbers: Iterable[Number]) -> float:
    if infinite := [float(value) for value in numbers if not is_finite(value)]:
        return float_sum(infinite)
    return near_float(sum(map(Fraction, numbers), Fraction(0)))


def near_float(value: Number | Fraction) -> float:
    """Returns the nearest float, which is infinite for what no float holds."""
    found = as_float(value)
    return found if found is not None else math.copysign(math.inf, 1 if value > 0 else -1)


def is_finite(value: Number) -> bool:
    """Returns whether a number is neither NaN nor infinite."""
    return value.is_finite() if isinstance(value, Decimal) else isinstance(value, int) or math.isfinite(value)


def short_text(value: Any) -> str:
    """Returns a value as a text of at most 60 characters, cut in the middle, since names differ at their ends."""
    text = str(plain(value))
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT // 2]}…{text[1 - _MAX_TEXT // 2 :]}"
