"""Reads one text as a number in any notation that people use, without deciding between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from typing import Literal

Style = Literal["point", "comma"]
"""The mark in front of the decimals: `1,250.5` has a point, `1.250,5` a comma."""

# No formatted number is longer, plain digits may be.
_MAX_LENGTH = 64
_CODES_OF: dict[str, set[str]] = {}
"""By the code of a currency, or a sign or word for it: the codes that it may mean."""
for _row in files(__package__).joinpath("currencies.txt").read_text("utf-8").splitlines()[1:]:
    for _spelling in _row.split():
        _CODES_OF.setdefault(_spelling, set()).add(_row[:3])
_WORDS = "|".join(map(re.escape, sorted((each for each in _CODES_OF if each[-1].isalpha()), key=len, reverse=True)))
_CURRENCY = (
    # `TL12` is a name, and `USD12` an amount.
    rf"(?:(?=[^\W\d])(?:{_WORDS})(?:(?<=[A-Z]{{3}})(?![^\W\d_])|(?!\w)\.?)|(?:[A-Z]{{1,3}})?[$\xa2-\xa5\u0e3f\u20a0-\u20cf]"
    # Rand are told from the name of a room by their cents.
    r"|R(?=\s?[0-9]{1,3}(?:[ \xa0,]?[0-9]{3})*[.,][0-9]{2}(?![0-9])))"
)
POWERS = [row.split() for row in files(__package__).joinpath("magnitudes.txt").read_text("utf-8").splitlines()]
"""Powers of ten, each with what it is called and the letters and words for it behind digits."""
_POWER_OF = {word: int(power) for power, _, *words in POWERS for word in words}
_MAGNITUDE = (
    rf"(?P<magnitude>(?i:{'|'.join(sorted(_POWER_OF, key=len, reverse=True))})(?:(?=[円元원])|(?![^\W\d_]|[/²³]))\.?)"
)
# Digits and signs of Arabic, Persian, Hindi and wide scripts, as those of others.
_DIGITS = {start + at: str(at) for start in (0x660, 0x6F0, 0x966, 0xFF10) for at in range(10)}
_DIGITS |= dict(zip((0x66B, 0x66C, 0x66A, 0xFF0C, 0xFF0E, 0xFF04, 0xFFE1, 0xFFE5, 0xFFE6), ".,%,.$£¥₩", strict=True))
_UNIT = r"(?:[%‰°]|[°µμ]?[^\W\d_]{1,12}(?:/[^\W\d_]{1,8})?[²³]?)"
_MINUS = "-\u2010\u2011\u2012\u2013\u2014\u2212\ufe63\uff0d"
_SIGNS = rf"[{_MINUS}+(\s]{{0,12}}"
_SHAPE = re.compile(
    rf"(?P<before>{_SIGNS})(?P<sign>{_CURRENCY})?(?P<between>{_SIGNS})"
    r"(?P<body>(?>[0-9.](?:[0-9.,'\u2019 \u00a0\u2009\u202f]*[0-9])?\.?(?:[eE][+-]?[0-9]{1,3}(?![0-9]))?))"
    rf"\s*{_MAGNITUDE}?\s*(?P<unit>{_CURRENCY}|{_UNIT})?(?P<after>[{_MINUS})\s]*)"
).fullmatch
is_currency = re.compile(_CURRENCY).fullmatch
"""Matches the signs and the codes of currencies that amounts in texts have."""
# What people and programs write for no value, among them two dashes.
_MISSING = frozenset(re.split(" ", " - -- --- \u2013 \u2014 n/a n.a. #n/a na <na> nan nat null none nil \\n"))

_BODY = re.compile(
    r"(?P<whole>0|[1-9][0-9]*)|(?P<point>(?P<thousand>[1-9][0-9]{0,2}\.[0-9]{3})|(?:0|[1-9][0-9]*)?\.[0-9]+"
    r"|(?:0|[1-9][0-9]*)\.)|(?P<comma>(?P<thousands>[1-9][0-9]{0,2},[0-9]{3})|(?:0|[1-9][0-9]*),[0-9]+)"
    r"|(?P<commas>[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?|[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}(?:\.[0-9]+)?)"
    r"|(?P<points>[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]+)?)"
    r"|(?P<scientific>(?:[0-9]+(?:[.,][0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]{1,3})"
    r"|(?P<blanks>[1-9][0-9]{0,2}(?:[ '\u2019\u00a0\u2009\u202f][0-9]{3})+(?P<rest>[.,][0-9]+)?)"
).fullmatch


@dataclass(frozen=True, slots=True)
class Written:
    """A text that is a number in at least one notation.

    Attributes:
        text: the text.
        point: the digits as Python reads them if a point marks the decimals, or None if that is impossible.
        comma: the same if a comma marks the decimals.
        negative: whether a minus or brackets say that it is below zero.
        unit: the currency, percent sign or unit beside the digits, empty if there is none.
        is_currency: whether the unit is a currency.
        is_plain: whether the text holds digits, a point, a minus, an exponent and nothing else.
        power: the power of ten that a letter or word behind the digits may be: 6 for the `m` of `1.2m`, and 0 for none.
    """

    text: str
    point: str | None
    comma: str | None
    negative: bool
    unit: str = ""
    is_currency: bool = False
    is_plain: bool = True
    power: int = 0

    def value(self, style: Style, *, scaled: bool = False) -> int | Decimal | None:
        """Returns the number under one notation, exactly, or None. If `scaled`, a letter is a power of ten."""
        if (digits := self.point if style == "point" else self.comma) is None:
            return None
        number = int(digits) if digits.isdecimal() else Decimal(digits)
        if scaled and self.power:
            # The arithmetic of Decimal would round.
            sign, figures, exponent = Decimal(number).as_tuple()
            shifted = int(exponent) + self.power
            number = Decimal((sign, figures, shifted))
            number = int(number) if shifted >= 0 else number
        # A Decimal's own minus keeps the digits beyond the precision of the context, arithmetic would not.
        return number if not self.negative else -number if isinstance(number, int) else number.copy_negate()


def is_missing_text(text: str) -> bool:
    """Tells whether a text among numbers or dates stands for a missing value: `N/A`, `--`, `null` or blanks."""
    return text.strip().lower() in _MISSING


def read_number(text: str) -> Written | None:
    """Returns the parts of a text that is a number in some notation, or None for anything else.

    Reads plain digits, thousands separators (comma, point, blank, apostrophe, and the Indian grouping), signs in front
    and behind, accounting brackets, currency signs and ISO codes, percent signs, units, and blanks around all of it.
    Digits with a leading zero and international telephone numbers are names.
    """
    whole = text
    if len(text) > _MAX_LENGTH and len(text := text.strip()) > _MAX_LENGTH:
        found = _BODY(digits := text.removeprefix("-")) if len(text) <= 4000 else None  # noqa: PLR2004 - digits
        if found is None or found.lastgroup not in {"whole", "point"}:
            return None
        return Written(text, digits, None if "." in digits else digits, negative=text[0] == "-")
    if (found := _SHAPE(text if text.isascii() else text.translate(_DIGITS))) is None:
        return None
    before, currency, between, body, magnitude, unit, after = found.groups()
    marks = "".join(f"{before}{between}{after}".split())
    is_minus = marks == "()" or (len(marks) == 1 and marks in _MINUS)
    is_sign = is_minus or not marks or (marks == "+" and "+" not in after)
    is_money = is_currency(unit or currency or "") is not None
    # A sign in front and a code behind have to mean one currency, as in `$1,000.00 USD`.
    apart = currency and unit and _CODES_OF.get(currency, set()).isdisjoint(_CODES_OF.get(unit, ()))
    # `1. White` is the first of several names.
    is_listed = body[-1:] == "." and unit and not is_money
    if not is_sign or (magnitude and unit and not is_money) or apart or is_listed:
        return None
    unit = (unit or currency or magnitude or "").rstrip(".")
    point, comma = _readings(body)
    # A plus and so many digits in a row are a telephone number.
    is_phone = "+" in marks and len(body) >= 7 and body.isdecimal()  # noqa: PLR2004
    # Times of day and ordinals look like a number with a unit.
    if unit.lower() in {"am", "pm", "st", "nd", "rd", "th", "e"} or point is comma is None or is_phone:
        return None
    is_plain = point == body and whole.removeprefix("-" if is_minus else "") == body.strip(".")
    power = _POWER_OF[magnitude.rstrip(".").lower()] if magnitude else 0
    return Written(whole, point, comma, is_minus, unit, is_money, is_plain, power)


def currency_of(sign: str) -> str:
    """Returns the code of a currency if a sign or word is that of one alone, or else the sign."""
    codes = _CODES_OF.get(sign, ())
    return next(iter(codes)) if len(codes) == 1 else sign


def _readings(body: str) -> tuple[str | None, str | None]:
    """Returns the digits as read with a point and with a comma in front of the decimals."""
    if (found := _BODY(body)) is None:
        return None, None
    match found.lastgroup:
        case "whole":
            return body, body
        case "point":
            return body, body.replace(".", "") if found["thousand"] else None
        case "comma":
            return body.replace(",", "") if found["thousands"] else None, body.replace(",", ".")
        case "commas":
            return body.replace(",", ""), None
        case "points":
            are_bytes = all(part.isdecimal() and int(part) < 256 for part in body.split("."))  # noqa: PLR2004
            is_address = body.count(".") == 3 and not body.endswith(".000") and are_bytes  # noqa: PLR2004
            return None, None if is_address else body.replace(".", "").replace(",", ".")
        case "scientific":
            return None if "," in body else body, None if "." in body else body.replace(",", ".")
    digits, rest = re.sub("[^0-9.,]", "", body), found["rest"] or ""
    return None if "," in rest else digits, None if "." in rest else digits.replace(",", ".")
