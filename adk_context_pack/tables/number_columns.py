"""Decides how the texts of one column are to be read as numbers, from all of them together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from importlib.resources import files
from itertools import islice
from typing import Any, Literal

from adk_context_pack.tables.column_names import QUANTITIES, meanings_of, named, words
from adk_context_pack.tables.number_notation import POWERS, Style, Written, currency_of, is_missing_text, read_number
from adk_context_pack.tables.numbers import Number

is_version = re.compile(r"(?a)(?:[vV]\d{1,5}|\d{1,5}\.\d{1,5})(?:\.\d{1,5})+(?:[-.+]?[a-z]{1,6}\.?\d*)?").fullmatch
_LIKE_VERSION = re.compile(r"(?:[0-9]{1,3}|19[0-9]{2}|20[0-9]{2})(?:\.(?:[0-9]|[1-5][0-9]|60))?").fullmatch


def version_note(name: str, texts: Iterable[str], numbers: Mapping[str, Number]) -> str:
    """Returns why the texts of a column are versions, for its facts, or an empty text if they are numbers.

    `3.10` is a version if it is not `3.1`. A name for an amount makes numbers of the texts, and one for versions makes
    versions. Else a text of three parts does, and so do two texts that are the same number, and one that ends in zero
    beside another that counts on to it. A text that no version looks like makes numbers of all, as does anything else.
    `numbers` has those of all texts that are numbers without a unit.
    """
    decimals = [text for text in numbers if "." in text]
    tags = named(name)
    # Where integers are missing, pandas writes all as `36.0`, and what is below zero or long was calculated.
    are_numbers = all(text.endswith(".0") for text in decimals) or any(text[0] == "-" or text[8:] for text in decimals)
    if decimals and not are_numbers and "version" in tags and tags.isdisjoint(QUANTITIES):
        return "versions, not numbers"
    if "rate" in tags or not tags.isdisjoint(QUANTITIES):
        return ""
    if parts := next((text for text in texts if is_version(text) and read_number(text) is None), ""):
        return f"not numbers, since one is {parts}"
    pair = _counted(decimals) if loses_zeros(decimals) and all(map(_LIKE_VERSION, numbers)) else None
    return f"versions, not numbers: {pair[0]} and {pair[1]} differ" if pair else ""


def loses_zeros(texts: Collection[str]) -> bool:
    """Tells whether zeros at the end of decimals would be lost, and not come back with a fixed number of decimals."""
    decimals = {len(text) - text.index(".") for text in texts if "." in text}
    return len(decimals) > 1 and any(text.endswith("0") and not text.endswith(".0") for text in texts if "." in text)


def _counted(decimals: Iterable[str]) -> tuple[str, str] | None:
    """Returns two texts of which the second ends in zero and counts on from the first, or is the same number."""
    found: dict[tuple[str, ...], str] = {tuple(text.split(".")): text for text in decimals}
    for (whole, minor), text in found.items():
        near = [minor.rstrip("0"), *(str(int(minor) + step) for step in (-2, -1, 1, 2))]
        other = next((found[whole, each] for each in near if (whole, each) in found), "")
        if other and int(minor) and minor[-1] == "0":
            return other, text
    return None


_PLAIN = re.compile(r"(?:-?(?:0|[1-9][0-9]{0,3999})(?:\.[0-9]+)?\n)*").fullmatch
_PARTS = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zµμ]{1,7})\.?(?:,|\s+and)?", re.IGNORECASE)
_ISO_DURATION = re.compile(r"(?a)-?P(?=.)(?:\d+D)?(?:T(?=.)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?").fullmatch
_SCALES: dict[str, dict[str, int]] = {}
for _row in files(__package__).joinpath("units.txt").read_text("utf-8").splitlines()[2:]:
    _kind, _factor, *_spelled = _row.split()
    _SCALES.setdefault(_kind, {}).update(dict.fromkeys(_spelled, int(_factor)))
_DURATIONS = _SCALES["duration"]
could_be_thousands = re.compile(r"[^0-9.,]*[1-9][0-9]{0,2}[.,][0-9]{3}[^0-9.,eE]*").fullmatch


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
        family: "duration" or "size" if that is what the units measure.
        factors: how many of `unit` each unit is, if there are several that are one another's multiples.
        units: the currencies or other units, if there are several that do not add up.
        unit_of: the unit of each text, if there are several that do not add up.
        note: what a reader has to know of the notation, empty if there is nothing.
    """

    numbers: Mapping[str, Number] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    names: bool = False
    style: Style = "point"
    scaled: bool = False
    unit: str = ""
    is_money: bool = False
    family: Literal["duration", "size", ""] = ""
    factors: Mapping[str, int] = field(default_factory=dict)
    units: tuple[str, ...] = ()
    unit_of: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def read(self, text: str) -> Number | None:
        """Returns the number that a text would be in this column, or None if it is none."""
        if text in self.numbers:
            return self.numbers[text]
        if (written := read_number(text)) is None:
            found = _duration(text, has_colons=True)
            parts = [(_exact(digits), self.factors.get(unit.lower(), 0)) for digits, unit in found]
            is_read = bool(parts) and all(factor or not number for number, factor in parts)
            return sum(_scaled(number, factor) for number, factor in parts) if is_read else None
        unit = "" if self.scaled and written.power and not written.is_currency else written.unit
        number = written.value(self.style, scaled=self.scaled or written.is_currency)
        factor = self.factors.get(unit, self.factors.get(unit.lower(), int(not unit or not any(self.factors))))
        return _scaled(number, factor) if number is not None and factor else None


def read_texts(name: str, counts: Counter[str]) -> TextNumbers:
    """Returns the texts of a column as numbers, from how many rows have each. The name tells a price from a version."""
    if (fast := _fast_numbers(name, counts)) is not None:
        return fast
    missing = frozenset(filter(is_missing_text, counts))
    if (durations := _compound_durations(name, counts, missing)) is not None:
        return durations
    written = [found for text in counts if text not in missing and (found := read_number(text)) is not None]
    if not written:
        return TextNumbers(missing=missing, names=_has_codes(counts))
    written, style, note = _in_one_style(name, written, counts)
    written, scaled = _in_magnitudes(name, written)
    if (names := _note_on_names(name, written, counts)) is not None:
        return TextNumbers(missing=missing, names=True, note=names)
    known = _in_units(name, written, counts)
    read = ((each, each.value(style, scaled=bool(scaled))) for each in written if each.unit in known.factors)
    numbers = {each.text: _scaled(value, known.factors[each.unit]) for each, value in read if value is not None}
    texts = [each.text for each in written] if all(each.is_plain and not each.unit for each in written) else []
    known = replace(known, numbers=numbers, missing=missing, style=style, scaled=bool(scaled))
    note = ", ".join(filter(None, [note, scaled, known.note, _zeros(name, texts)]))
    labels = _labels(known.units)
    units = {each.text: unit for each in written if (unit := labels.get(currency_of(each.unit)))}
    return replace(known, unit_of=units, note=note)


def mark_of(texts: TextNumbers) -> Style | Literal["either", "blank", ""]:
    """Returns which mark some numbers prove to be that of decimals, or "either" if theirs may be that of thousands.

    Or "blank" if a blank is, with which nobody has a comma between thousands.
    """
    some = list(islice(texts.numbers, 64))
    marked = [text for text in some if "." in text or "," in text]
    if not marked:
        return "blank" if any(re.search(r"\d[ \u00a0\u2009\u202f]\d", text) for text in some) else ""
    if not all(map(could_be_thousands, marked)):
        return texts.style
    lengths = {text: sum(map(str.isdigit, text)) for text in some}
    # In Spain and Poland 9573 has no mark, and 12.480 has one.
    limit = min(5, *(lengths.pop(text) for text in marked))
    return "either" if all(length < limit for length in lengths.values()) else ""


def in_style(texts: TextNumbers, style: Style) -> TextNumbers:
    """Returns the numbers of a column as they are with a mark that the columns beside it prove."""
    marked = next(text for text in texts.numbers if "." in text or "," in text)
    note = f"a {style} marks the decimals, as beside it: {marked.strip()}"
    moved = replace(texts, style=style, numbers={}, note=note)
    mark, point = (".", ",") if style == "comma" else (",", ".")
    digits = ((text, text.replace(mark, "").replace(point, ".")) for text in texts.numbers)
    read = ((text, _exact(bare) if bare.replace(".", "").isdecimal() else moved.read(text)) for text, bare in digits)
    return replace(moved, numbers={text: number for text, number in read if number is not None})


def _exact(digits: str) -> int | Decimal:
    return Decimal(digits) if "." in digits else int(digits)


def _scaled(number: int | Decimal, factor: int) -> int | Decimal:
    if factor == 1:
        return number
    with localcontext() as context:
        context.prec = 5000
        return number * factor


def _compound_durations(name: str, counts: Iterable[str], missing: frozenset[str]) -> TextNumbers | None:
    """Reads texts such as `1h 30m` and `PT90S`, and `1:30:00` under a name of durations, if all of a column are."""
    texts = [text for text in counts if text not in missing]
    is_named = "duration" in named(name)
    # Most columns are known by one of their texts.
    likely = texts if texts and _duration(texts[0], has_colons=is_named) else []
    found = {text: parts for text in likely if (parts := _duration(text, has_colons=is_named))}
    units = {unit.lower() for parts in found.values() for _, unit in parts}
    are_known = len(found) == len(texts) and units <= _DURATIONS.keys()
    if not are_known or not any(len(parts) > 1 or text[:1] == "P" for text, parts in found.items()):
        return None
    smallest = min(units, key=_DURATIONS.__getitem__)
    label = "min" if smallest == "m" else smallest
    factors, note = _factors(_DURATIONS, smallest), f"read in {label}"
    read = {text: [_scaled(_exact(n), factors[unit.lower()]) for n, unit in parts] for text, parts in found.items()}
    known = TextNumbers(missing=missing, unit=label, family="duration", factors=factors, note=note)
    return replace(known, numbers={text: sum(parts) for text, parts in read.items()})


def _duration(text: str, *, has_colons: bool) -> list[tuple[str, str]]:
    """Returns the digits and units of a text that is a duration, or nothing."""
    said = f"{text}s".replace(":", "h", 1).replace(":", "m", 1) if has_colons and text.count(":") == 2 else text  # noqa: PLR2004
    if len(text) > 999:  # noqa: PLR2004 - in so many characters a run of digits takes minutes
        return []
    if _ISO_DURATION(text):
        said = said.removeprefix("P").replace("T", "", 1)
    elif _PARTS.sub("", said).strip():
        return []
    return _PARTS.findall(said)


def _factors(scales: Mapping[str, int], smallest: str) -> dict[str, int]:
    """Returns how many of a unit each of its multiples is."""
    one = scales[smallest.lower()]
    return {unit: scale // one for unit, scale in scales.items() if scale >= one}


def _fast_numbers(name: str, counts: Counter[str]) -> TextNumbers | None:
    """Reads texts the fast way if all are plain digits, as most are, or all have one sign in front and commas."""
    texts = [text for text in counts if text]
    joined = "\n".join([*texts, ""])
    sign = found[0] if texts and (found := re.match(r"[$\xa2-\xa5\u0e3f\u20a0-\u20cf]", texts[0].lstrip("-"))) else ""
    pattern = rf"(?:-?{re.escape(sign)}(?:0|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})*)(?:\.[0-9]{{2}})?\n)*"
    is_plain = _PLAIN(joined) is not None
    # A text with a line break in it would pass for two.
    if not (is_plain or re.fullmatch(pattern, joined)) or joined.count("\n") != len(texts):
        return None
    digits = joined.replace(sign, "").replace(",", "").split("\n")
    numbers = dict(zip(texts, map(_exact if "." in joined else int, digits), strict=False))
    known = TextNumbers(numbers=numbers, missing=frozenset(("",)) if "" in counts else frozenset())
    if not is_plain:
        return replace(known, unit=sign, is_money=bool(sign), factors={sign: 1} if sign else {})
    if "." not in joined:
        return known
    if note := version_note(name, (), numbers):
        return replace(known, numbers={}, names=True, note=note)
    style, note = _of_points(name, texts)
    if style == "comma":
        return replace(known, numbers={text: int(text.replace(".", "")) for text in texts}, style=style, note=note)
    return replace(known, note=", ".join(filter(None, (note, _zeros(name, texts)))))


def _in_one_style(name: str, written: list[Written], counts: Counter[str]) -> tuple[list[Written], Any, str]:
    """Keeps what one decimal mark can read. Where both marks are proven, what could be either is left out."""
    with_comma = [each for each in written if each.point is None]
    with_point = [each for each in written if each.comma is None]
    if with_comma and with_point:
        points, commas = (sum(counts[each.text] for each in some) for some in (with_point, with_comma))
        kept, style = (with_point, "point") if points >= commas else (with_comma, "comma")
        return [*kept, *(each for each in written if each.point == each.comma)], style, ""
    if with_comma:
        return written, "comma", "a comma marks the decimals"
    if len({each.unit for each in written}) > 1 and all(is_unit(each.unit) for each in written):
        # Thousands would be written in the next unit.
        return written, "point", ""
    return written, *_of_points(name, [each.text for each in written])


def _of_points(name: str, texts: Sequence[str]) -> tuple[Style, str]:
    """Returns how texts such as `1.250` are read, which other people write for 1,250, and a note that says so."""
    # Who writes three decimals writes them everywhere. A whole number below a thousand beside them is therefore proof
    # of thousands, and a longer one without a point is proof of decimals.
    marked = [text for text in texts if "." in text]
    if not marked or not all(map(could_be_thousands, marked)):
        return "point", ""
    # Parts of a thing are not counted.
    usual = 3 if {"count", "rate"} & named(name) == {"count"} else 4
    longest = max((sum(map(str.isdigit, text)) for text in texts if "." not in text), default=usual)
    style: Style = "comma" if longest <= 3 else "point"  # noqa: PLR2004 - digits between two marks
    return style, f"a point marks the {'thousands' if style == 'comma' else 'decimals'}: {marked[0].strip()}"


def _in_units(name: str, written: list[Written], counts: Counter[str]) -> TextNumbers:
    """Returns what the numbers count, and by what those of each unit are multiplied. Other units are not read."""
    # Amounts without a sign count as of the one currency that the others name. Units that are multiples of one another
    # are read in the smallest one. Up to four others are kept apart. Letters as in `12A` and `9D` are parts of names.
    rows = Counter[str]()
    for each in written:
        rows[each.unit] += counts[each.text]
    currencies = tuple(dict.fromkeys(each.unit for each in written if each.is_currency))
    others = [unit for unit in rows if unit and unit not in currencies]
    if currencies and not others:
        kinds = tuple(_labels(currencies).values())
        unit, apart = ("", kinds) if len(kinds) > 1 else (currencies[0], ())
        return TextNumbers(unit=unit, is_money=True, units=apart, factors=dict.fromkeys(rows, 1))
    if others and not currencies and (found := _family(name, others)) is not None:
        family, factors, smallest = found
        # `m` alone may be metres.
        label = "min" if smallest == "m" and family == "duration" and others[1:] else smallest
        if 2 * rows[""] <= rows.total():
            note = f"{' and '.join(others)} read in {label}" if len(others) > 1 else ""
            return TextNumbers(unit=label, family="" if label == "m" else family, factors=factors, note=note)
    are_whole = not any("." in each.text or "," in each.text for each in written)
    are_letters = len(others) == sum(map(len, others)) > 1 and ("".join(others).isupper() or "b" in others)
    # Styles of houses are `1.5Fin` and `2Story`.
    are_words = bool(others[1:]) and not any(map(is_unit, others)) and not any(" " in each.text for each in written)
    if not currencies and ((are_letters and are_whole) or are_words):
        return TextNumbers(names=True)
    if not currencies and 1 < len(others) <= 4:  # noqa: PLR2004 - units
        return TextNumbers(units=tuple(others), factors=dict.fromkeys(others, 1))
    unit = rows.most_common(1)[0][0]
    return TextNumbers(unit=unit, is_money=unit in currencies, factors={unit: 1})


def _labels(units: Iterable[str]) -> dict[str, str]:
    """Returns the units, and of two for one currency the first."""
    labels: dict[str, str] = {}
    for unit in units:
        labels.setdefault(currency_of(unit), unit)
    return labels


def _family(name: str, units: Sequence[str]) -> tuple[Literal["duration", "size", ""], dict[str, int], str] | None:
    for kind, scales in _SCALES.items():
        is_scale = kind != "other" and (kind != "letters" or "bytes" in named(name))
        # Debit and credit are `S` and `H` in German books, and `Gb` beside `GB` are bits.
        are_sides = kind == "duration" and "".join(units).isupper() and max(map(len, units)) == 1
        are_bits = {"b", "B"} <= {unit[-1] for unit in units if unit[0].isupper()}
        if is_scale and not are_sides and not are_bits and all(unit.lower() in scales for unit in units):
            family: Any = {"duration": "duration", "size": "size", "letters": "size"}.get(kind, "")
            smallest = min(units, key=lambda unit: scales[unit.lower()])
            multiples = _factors(scales, smallest)
            return family, multiples | {unit: multiples[unit.lower()] for unit in units}, smallest
    return None


def is_unit(text: str) -> bool:
    """Returns whether a text is a unit, or has a word for one, such as `gibibyte month` and `request`."""
    said = (meanings_of(word) | meanings_of(f"{word}s") for word in words(text))
    is_known = any(text.strip().lower() in scales for scales in _SCALES.values())
    return is_known or any(meanings & QUANTITIES - {"money"} for meanings in said)


def _note_on_names(name: str, written: list[Written], counts: Counter[str]) -> str | None:
    """Says that the texts are names that only look like numbers, or None if they are numbers."""
    # Only an E between digits makes the room `12E5` other than an integer.
    are_weak = any(re.search("[eE]", each.point or "") for each in written)
    are_weak = are_weak and not any(re.search("[-+.]", each.text) for each in written)
    # `(3)`, and from 65 years on.
    listed = r"(?=.*\()[() ]*\d+[() ]*", r"\d{1,3}[-+]"
    are_listed = any(all(re.fullmatch(form, each.text) for each in written) for form in listed)
    if (are_weak and QUANTITIES.isdisjoint(named(name))) or _has_codes(counts) or are_listed:
        return ""
    if any(each.unit or not each.is_plain for each in written):
        return None
    numbers = {each.text: number for each in written if (number := each.value("point")) is not None}
    return version_note(name, counts, numbers) or None


def _zeros(name: str, texts: Iterable[str]) -> str:
    """Says how decimals of different lengths were read, which others would take for versions."""
    plain = [text for text in texts if "e" not in text.lower()]
    if not QUANTITIES.isdisjoint(named(name)) or not loses_zeros(plain):
        return ""
    ended = next(text for text in plain if "." in text and text.endswith("0") and not text.endswith(".0"))
    return f"decimals, not versions: {ended} is {ended.rstrip('0').rstrip('.')}"


def _in_magnitudes(name: str, written: list[Written]) -> tuple[list[Written], str]:
    """Takes letters behind the digits for powers of ten if nothing else is meant, and says so."""
    # They are behind amounts with a currency, or words (`million`), or of two kinds (`1.2m` beside `3k`), or `k` beside
    # bare numbers. A letter alone may be a unit (`m` for metres), and under a name for memory `K` may be 1,024. Amounts
    # with a currency whose letters are not taken for powers are left unread.
    powers = sorted({each.power for each in written} - {0})
    bare = {each.unit.lower() for each in written if each.power and not each.is_currency}
    are_words = any(len(letter) > 1 or not letter.isascii() for letter in bare)
    is_k = bare == {"k"} and any(not each.unit for each in written)
    are_told = are_words or is_k or len(powers) > 1 or any(each.is_currency for each in written)
    has_units = any(each.unit and not each.power and not each.is_currency for each in written)
    if not powers or has_units or (bare and ("bytes" in named(name) or not are_told)):
        return [each for each in written if not (each.power and each.is_currency)], ""
    read = [each if each.is_currency or not each.power else replace(each, unit="") for each in written]
    return read, f"written in {', '.join(name for power, name, *_ in POWERS if int(power) in powers)}"


def _has_codes(counts: Iterable[str]) -> bool:
    """Returns whether a text is digits with a leading zero, as in a zip code."""
    return any(text[:1] == "0" and len(text) > 1 and text.isdigit() for text in counts)
