"""Decides how the texts of one column are to be read as numbers, from all of them together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from adk_context_pack.tables.names import names_bytes, names_quantity
from adk_context_pack.tables.number_text import Style, Written, is_missing_text, read_number
from adk_context_pack.tables.numbers import Number
from adk_context_pack.tables.version_text import loses_zeros, version_note

_PLAIN = re.compile(r"(?:-?(?:0|[1-9][0-9]{0,3999})(?:\.[0-9]+)?\n)*").fullmatch
_SIGN = re.compile(r"[$\xa2-\xa5\u0e3f\u20a0-\u20cf]").match
_HAS_POINT = re.compile(r"\.").search
_MAGNITUDES = {3: "thousands", 6: "millions", 9: "billions", 12: "trillions"}
_COULD_BE_THOUSANDS = re.compile(r"[^0-9.]*[1-9][0-9]{0,2}\.[0-9]{3}[^0-9.eE]*").fullmatch


@dataclass(frozen=True, slots=True)
class TextNumbers:
    """The texts of a column as numbers.

    Attributes:
        numbers: from each text that is a number to the number, exactly.
        missing: the texts that stand for a missing value.
        names: whether the texts only look like numbers and are names: versions, codes with leading zeros.
        style: the mark in front of the decimals.
        scaled: whether letters behind the digits are powers of ten, as in `1.2m` beside `3k`.
        unit: what the numbers count, as written beside them: `$`, `EUR`, `%`, `km`.
        is_money: whether the unit is a currency.
        currencies: the currencies, where there are several, which are never added up.
        note: what a reader has to know of the notation; empty where there is nothing.
    """

    numbers: Mapping[str, Number] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    names: bool = False
    style: Style = "point"
    scaled: bool = False
    unit: str = ""
    is_money: bool = False
    currencies: tuple[str, ...] = ()
    note: str = ""

    def read(self, text: str) -> Number | None:
        """Returns the number that a text would be in this column; None where it is none."""
        if text in self.numbers:
            return self.numbers[text]
        written = read_number(text)
        return written.value(self.style, scaled=self.scaled) if written else None


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
    written, scaled = _in_magnitudes(name, written)
    written, unit, currencies = _in_one_unit(written, counts)
    if (names := _note_on_names(name, written, counts)) is not None:
        return TextNumbers(missing=missing, names=True, note=names)
    numbers = {each.text: number for each in written if (number := each.value(style, scaled=bool(scaled))) is not None}
    return TextNumbers(
        numbers=numbers,
        missing=missing,
        style=style,
        scaled=bool(scaled),
        unit=unit,
        is_money=any(each.is_currency for each in written),
        currencies=currencies,
        note=", ".join(filter(None, [note, scaled, _note_on_zeros(name, written)])),
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
    if note := version_note(name, (), numbers):
        return TextNumbers(missing=missing, names=True, note=note)
    notes = (_note_on_thousandths(texts), "" if names_quantity(name) else _zeros(texts))
    return TextNumbers(numbers=numbers, missing=missing, note=", ".join(filter(None, notes)))


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


def _note_on_names(name: str, written: list[Written], counts: Counter[str]) -> str | None:
    """Says that the texts are names that only look like numbers; None where they are numbers."""
    if _has_codes(counts) or all(each.bracket for each in written):
        return ""
    weak = [each for each in written if each.is_weak]
    if weak and not any(set(each.text) & set(".-+") for each in written):
        return ""
    if any(each.unit or not each.is_plain for each in written):
        return None
    numbers = {each.text: number for each in written if (number := each.value("point")) is not None}
    return version_note(name, counts, numbers) or None


def _note_on_zeros(name: str, written: list[Written]) -> str:
    is_plain = all(each.is_plain and not each.unit for each in written)
    return _zeros([each.text for each in written]) if is_plain and not names_quantity(name) else ""


def _zeros(texts: list[str]) -> str:
    """Says how decimals of different lengths were read, which others would take for versions."""
    plain = [text for text in texts if "e" not in text.lower()]
    if not loses_zeros(plain):
        return ""
    ended = next(text for text in plain if "." in text and text.endswith("0") and not text.endswith(".0"))
    return f"decimals, not versions: {ended} is {ended.rstrip('0').rstrip('.')}"


def _in_magnitudes(name: str, written: list[Written]) -> tuple[list[Written], str]:
    """Takes letters behind the digits for powers of ten where nothing else is meant, and says so.

    They are behind amounts with a currency, or words (`million`), or of two kinds (`1.2m` beside `3k`), or `k` beside
    bare numbers. A letter alone may be a unit (`m` for metres), and under a name for memory `K` may be 1,024. Amounts
    with a currency whose letters are not taken for powers are left unread.
    """
    marked = [each for each in written if each.power]
    if not marked:
        return written, ""
    if not _are_powers(name, written, marked):
        return [each for each in written if not (each.power and each.is_currency)], ""
    letters = dict.fromkeys(_MAGNITUDES[each.power] for each in sorted(marked, key=lambda each: each.power))
    read = [each if each.is_currency or not each.power else replace(each, unit="") for each in written]
    return read, f"written in {', '.join(letters)}"


def _are_powers(name: str, written: list[Written], marked: list[Written]) -> bool:
    if any(each.unit and not each.power and not each.is_currency for each in written):
        return False
    bare = {each.unit.lower().rstrip(".") for each in marked if not each.is_currency}
    if not bare:
        return True
    if names_bytes(name):
        return False
    has_currency = any(each.is_currency for each in written)
    has_words = any(len(letter) > 1 for letter in bare)
    is_k = bare == {"k"} and any(not each.unit for each in written)
    return has_currency or has_words or is_k or len({each.power for each in marked}) > 1


def _has_codes(counts: Iterable[str]) -> bool:
    """Tells whether a text is digits with a leading zero, as in a zip code."""
    return any(text[:1] == "0" and len(text) > 1 and text.isdigit() for text in counts)
