"""Decides how the texts of one column are to be read as numbers, from all of them together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from adk_context_pack.tables.names import names_quantity
from adk_context_pack.tables.number_text import Style, Written, is_missing_text, read_number
from adk_context_pack.tables.numbers import Number

_PLAIN = re.compile(r"(?:-?(?:0|[1-9][0-9]{0,3999})(?:\.[0-9]+)?\n)*").fullmatch
_SIGN = re.compile(r"[$\xa2-\xa5\u0e3f\u20a0-\u20cf]").match
_HAS_POINT = re.compile(r"\.").search
_ENDS_IN_ZERO = re.compile(r"\.[0-9]+0\n").search
_COULD_BE_THOUSANDS = re.compile(r"[^0-9.]*[1-9][0-9]{0,2}\.[0-9]{3}[^0-9.eE]*").fullmatch
_HUNDREDTHS = 2
# Versions have small parts: 3.9, 3.10, 12.04.
_MAX_VERSION = 1000


@dataclass(frozen=True, slots=True)
class TextNumbers:
    """The texts of a column as numbers.

    Attributes:
        numbers: from each text that is a number to the number, exactly.
        missing: the texts that say that there is no value.
        names: whether the texts only look like numbers and are names: versions, codes with leading zeros.
        style: the mark in front of the decimals.
        unit: what the numbers count, as written beside them: `$`, `EUR`, `%`, `km`.
        is_money: whether the unit is a currency.
        currencies: the currencies, where there are several, which are never added up.
        note: what a reader has to know of the notation; empty where there is nothing.
    """

    numbers: Mapping[str, Number] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    names: bool = False
    style: Style = "point"
    unit: str = ""
    is_money: bool = False
    currencies: tuple[str, ...] = ()
    note: str = ""

    def read(self, text: str) -> Number | None:
        """Returns the number that a text would be in this column; None where it is none."""
        if text in self.numbers:
            return self.numbers[text]
        written = read_number(text)
        return written.value(self.style) if written else None


def read_texts(name: str, counts: Counter[str]) -> TextNumbers:
    """Returns the texts of a column as numbers, as far as they are numbers.

    Args:
        name: the column, which tells an amount (`price`) from a version.
        counts: the column's texts with the number of rows that have each of them.
    """
    fast = _plain_numbers(name, counts) or _grouped_numbers(counts)
    if fast is not None:
        return fast
    missing = frozenset(filter(is_missing_text, counts))
    written = [found for text in counts if text not in missing and (found := read_number(text)) is not None]
    if not written:
        return TextNumbers(missing=missing, names=_has_codes(counts))
    written, style, note = _in_one_style(written, counts)
    written, unit, currencies = _in_one_unit(written, counts)
    if _are_names(name, written, counts):
        return TextNumbers(missing=missing, names=True)
    numbers = {each.text: number for each in written if (number := each.value(style)) is not None}
    return TextNumbers(
        numbers=numbers,
        missing=missing,
        style=style,
        unit=unit,
        is_money=any(each.is_currency for each in written),
        currencies=currencies,
        note=note,
    )


def _plain_numbers(name: str, counts: Counter[str]) -> TextNumbers | None:
    """The fast way for texts all of which are plain digits, which most columns of numbers as text are."""
    texts = [text for text in counts if text]
    joined = "\n".join([*texts, ""])
    # A text with a line break in it would pass for two.
    if not _PLAIN(joined) or joined.count("\n") != len(texts):
        return None
    missing = frozenset(("",)) if "" in counts else frozenset()
    if not _HAS_POINT(joined):
        return TextNumbers(numbers=dict(zip(texts, map(int, texts), strict=True)), missing=missing)
    numbers: dict[str, Number] = {text: Decimal(text) if "." in text else int(text) for text in texts}
    loses = _ENDS_IN_ZERO(joined) is not None and _loses_zeros(numbers)
    if loses and not names_quantity(name) and _look_like_versions(numbers):
        return TextNumbers(missing=missing, names=True)
    return TextNumbers(numbers=numbers, missing=missing, note=_note_on_thousandths(texts))


def _grouped_numbers(counts: Counter[str]) -> TextNumbers | None:
    """The fast way for texts such as `$1,250.00` and `950`: one sign in front, points, at most two decimals."""
    texts = [text for text in counts if text]
    sign = found[0] if texts and (found := _SIGN(texts[0].lstrip("-"))) else ""
    joined = "\n".join([*texts, ""])
    pattern = rf"(?:-?{re.escape(sign)}(?:0|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})*)(?:\.[0-9]{{2}})?\n)*"
    if not texts or not re.fullmatch(pattern, joined) or joined.count("\n") != len(texts):
        return None
    digits = (joined.replace(sign, "") if sign else joined).replace(",", "").split("\n")
    numbers = {
        text: Decimal(plain) if "." in plain else int(plain) for text, plain in zip(texts, digits[:-1], strict=True)
    }
    missing = frozenset(("",)) if "" in counts else frozenset()
    return TextNumbers(numbers=numbers, missing=missing, unit=sign, is_money=bool(sign))


def _in_one_style(written: list[Written], counts: Counter[str]) -> tuple[list[Written], Style, str]:
    """Keeps what one decimal mark can read. Where both marks are proven, what could be either is left out."""
    with_comma = [each for each in written if each.point is None]
    with_point = [each for each in written if each.comma is None]
    if with_comma and with_point:
        style: Style = "point" if _rows(with_point, counts) >= _rows(with_comma, counts) else "comma"
        kept = with_point if style == "point" else with_comma
        return [*kept, *(each for each in written if each.point == each.comma)], style, ""
    if with_comma:
        return written, "comma", "a comma marks the decimals"
    return written, "point", _note_on_thousandths([each.text for each in written if each.point != each.comma])


def _note_on_thousandths(texts: Iterable[str]) -> str:
    """Says how texts such as `1.250` were read, which other people write for 1,250."""
    marked = [text for text in texts if "." in text]
    return (
        f"a point marks the decimals: {marked[0].strip()}" if marked and all(map(_COULD_BE_THOUSANDS, marked)) else ""
    )


def _in_one_unit(written: list[Written], counts: Counter[str]) -> tuple[list[Written], str, tuple[str, ...]]:
    """Keeps the numbers of one unit. Amounts without a sign count as of the one currency that the others name."""
    rows: Counter[str] = Counter()
    for each in written:
        rows[each.unit] += counts[each.text]
    currencies = tuple(dict.fromkeys(each.unit for each in written if each.is_currency))
    others = [unit for unit in rows if unit and unit not in currencies]
    if currencies and not others:
        return written, currencies[0] if len(currencies) == 1 else "", currencies if len(currencies) > 1 else ()
    unit = rows.most_common(1)[0][0]
    return [each for each in written if each.unit == unit], unit, ()


def _rows(written: Iterable[Written], counts: Counter[str]) -> int:
    return sum(counts[each.text] for each in written)


def _are_names(name: str, written: list[Written], counts: Counter[str]) -> bool:
    if _has_codes(counts) or all(each.bracket for each in written):
        return True
    weak = [each for each in written if each.is_weak]
    if weak and not any(set(each.text) & set(".-+") for each in written):
        return True
    if any(each.unit or not each.is_plain for each in written) or names_quantity(name):
        return False
    numbers = {each.text: number for each in written if (number := each.value("point")) is not None}
    return _loses_zeros(numbers) and _look_like_versions(numbers)


def _has_codes(counts: Iterable[str]) -> bool:
    """Whether a text is digits with a leading zero, as in a zip code."""
    return any(text[:1] == "0" and len(text) > 1 and text.isdigit() for text in counts)


def _loses_zeros(numbers: Mapping[str, Number]) -> bool:
    """Whether zeros at the end would be lost, and would not come back with a fixed number of decimals."""
    texts = [text for text in numbers if "." in text and "e" not in text.lower()]
    decimals = {len(text) - text.index(".") for text in texts}
    if len(decimals) <= 1:
        return False
    return any(text.endswith("0") and not text.endswith(".0") for text in texts)


def _look_like_versions(numbers: Mapping[str, Number]) -> bool:
    return all(0 <= number < _MAX_VERSION for number in numbers.values()) and all(
        len(text) - text.index(".") <= _HUNDREDTHS + 1 for text in numbers if "." in text
    )
