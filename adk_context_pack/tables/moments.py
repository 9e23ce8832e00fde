"""Reads texts and other values as moments, so that a column of dates can be put in the order of time.

A date is read by its parts. A number is known by how many digits it has, and a word by what it names. A table says for
what they make up, such as `1b4` for `3. maart 2025`, what each number is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise, product
from operator import itemgetter
from typing import Any

_SECONDS_A_DAY = 86_400
# Months in the languages of Europe and in Indonesian (CLDR 47), kinds of periods, and words that add nothing.
_SAID = files(__package__).joinpath("parts_of_dates.txt").read_text("utf-8").splitlines()
_WORDS = {word: said.split(": ")[0] for said in _SAID for word in said.split(": ")[1].split()}
# A number, a word, and a mark. The last group is what no date has.
_PARTS = re.compile(
    r"((?<=[HQTW])[0-9]{1,2}(?=[0-9]{4}(?![0-9]))|[0-9]+)(?:\.(?=\s*(?:[^\W\d]|$)))?"
    r"|([年月日년월일](?!요)|[^\W\d_]+)\.?|([-/.:]|['\u2019](?=[0-9]))\s?"
    r"|[\s,'\u2019]+|\([月火水木金土日一二三四五六월화수목금토일]\)|(.)",
    re.IGNORECASE,
).finditer
# Dots between hours and minutes need a blank in front of them.
_TIME = re.compile(
    r"(?:(?<=[0-9])T|(?<=[-/][0-9]{2}):|(?<=[-/][0-9]{4}):|(?<![0-9:./+-]))(?P<noon>[午上下오][前午後전후]\s?)?"
    r"(?P<hour>[0-9]{1,2})(?::|\s?h\s?|(?<=[0-9]T[0-9]{2})|(?:(?<=\s[0-9])|(?<=\s[0-9]{2}))\.)(?P<minute>[0-9]{2})"
    r"(?:(?::|(?<=[0-9]T[0-9]{4})|(?<=\.[0-9]{2})\.)(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"(?![0-9:]|\.[0-9])(?:\s*(?P<half>[ap])\.?\s?m\b\.?)?"
    r"(?:\s*(?P<zone>(?:UTC|GMT)?[+-][0-9]{2}(?::?[0-9]{2})?(?![0-9:])|(?:Z|UTC|GMT)\b)(?:\s?[\[(][^\])]*[\])])?)?",
    re.IGNORECASE,
).search
# What the numbers are of dates of some form: `n` has one digit or two, `b` is a month and `p` another period. In an
# order without "y" no year is written, "z" is the year after it in a season, and "f" begins a term, such as FY24.
_FORMS = files(__package__).joinpath("forms_of_dates.txt").read_text("utf-8")
_ORDERS = {
    "".join(digits): tuple(orders.split())
    for orders, _, forms in (row.partition(": ") for row in _FORMS.splitlines())
    for form in forms.split()
    for digits in product(*("12" if part == "n" else part for part in form))
}
_MONTHS_OF = {"q": 3, "h": 6, "m": 1}
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_SORTS = re.compile(
    r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01])(?:(?P<gap>[T ])[0-9]{2}:[0-9]{2}"
    r"(?::[0-9]{2}(?:\.[0-9]+)?)?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?)?|-?(?:Q[1-4]|W[0-9]{2})|[0-9]{4})?"
).fullmatch

Moment = tuple[int, str]
"""Seconds since the year 1, UTC, and the digits of the fraction of a second."""
Dates = tuple[Any, Any, str, Mapping[Any, Moment]]
"""The earliest and the latest of some dates as they were written, in which order `03/04/2026` has its parts, such as
"dmy", and the moment of each, or nothing if texts are in the order of time as they are."""


@dataclass(frozen=True, eq=False, slots=True)
class _Form:
    """Describes how a date is written: which orders its parts may have, and how to get them from a text.

    `numbers` gets its numbers from a text with `month` behind it, in two digits, and `clock` the parts of its time.
    """

    orders: Sequence[str]
    numbers: Callable[[str], tuple[str, ...]]
    month: str = ""
    kind: str = ""
    clock: Callable[[str], tuple[str, ...]] | None = None


def read_dates(values: Iterable[Any]) -> Dates | None:
    """Returns what some dates are, or None if they cannot be ordered.

    A moment without a zone counts as UTC. Offsets and fractions of a second count. `03/04/2026` counts only among
    dates that can have one order alone, differ less in their years than in their days, or go on evenly.
    """
    texts = {value: value if isinstance(value, str) else value.isoformat() for value in values}
    if texts and sorts_as_text(texts.values()):
        return min(texts, key=texts.__getitem__), max(texts, key=texts.__getitem__), "", {}
    read = [found for text in texts.values() if (found := _read(text))]
    if not read or len(read) < len(texts) or (order := _order_of([days for days, *_ in read])) is None:
        return None
    moments = ((value, _moment(*found, order)) for value, found in zip(texts, read, strict=True))
    known = {value: moment for value, moment in moments if moment}
    if len(known) < len(texts):
        return None
    return min(known, key=known.__getitem__), max(known, key=known.__getitem__), order, known


def _order_of(read: Sequence[Mapping[str, int]]) -> str | None:
    """Returns the order of the parts that some dates have, "" if each shows its own, or None if it is not known."""
    unclear = [days for days in read if "" not in days]
    orders = set[str].intersection(*map(set, unclear)) if unclear else {""}
    varied, even = set[str](), set[str]()
    for order in orders if len(orders) > 1 and "yz" not in orders else ():
        days = [each[order] for each in unclear]
        # Years differ less than what is at the other end.
        found, end = [date.fromordinal(day or 1) for day in days], "month" if "m" in (order[0], order[-1]) else "day"
        if 2 * len({day.year for day in found}) <= len({getattr(day, end) for day in found}):
            varied.add(order)
        steps = [after - before for before, after in pairwise(days)]
        low, high = sorted((min(steps, default=0), max(steps, default=0)), key=abs)
        # Such as a month each.
        if steps[2:] and low * high > 0 and abs(high) < 2 * abs(low):
            even.add(order)
    orders = varied or orders
    orders = orders & even or orders
    return orders.pop() if len(orders) == 1 else None


def is_date_text(text: str) -> bool:
    """Tells whether a text alone looks like a date. Only its column can tell which one it is."""
    return _read(text) is not None


def is_month(text: str) -> bool:
    """Tells whether a text alone looks like a month, a quarter or another part of a year."""
    return (form := _form_of(text)) is not None and "y" in form.orders[0] and "d" not in form.orders[0]


def term_of(text: str) -> tuple[int, ...] | None:
    """Returns the place of a month without a year or of a part of a fiscal year among others, or None."""
    if (form := _form_of(text)) is None or form.orders[0][0] != "f":
        return None
    parts = dict(zip(form.orders[0][1:], form.numbers(text + form.month), strict=False))
    month = int(parts.get("m", 0)) + _MONTHS_OF.get(form.kind, 0) * int(parts.get("p", 0))
    return _full_year(parts.get("y", "0000")), month, int(parts.get("d", 0))


def sorts_as_text(texts: Iterable[str]) -> bool:
    """Tells whether dates are in the order of time if they are sorted as texts: ISO dates of one form and zone."""
    gaps, zones = {""}, set[str]()
    for text in texts:
        if (found := _SORTS(text)) is None:
            return False
        gaps.add(found["gap"] or "")
        zones.add(found["zone"] or "")
    return max(len(gaps), len(zones | {""})) <= 2 and not (zones - {"", "Z"} and "" in zones)  # noqa: PLR2004


def moment_of(text: str, order: str = "") -> Moment | None:
    """Returns the moment that a text is if its parts have an order, or in the only way that it can be read."""
    return (found := _read(text)) and _moment(*found, order)


def _moment(days: Mapping[str, int], seconds: int, fraction: str, order: str) -> Moment | None:
    day = days.get("") or days.get(order) or (max(days.values()) if len({*days.values()}) == 1 else 0)
    return (day * _SECONDS_A_DAY + seconds, fraction) if day else None


def _read(text: str) -> tuple[Mapping[str, int], int, str] | None:
    """Returns the days that a text may be by the order of its parts, and its time of day."""
    # As .NET writes moments, `/Date(1760000000000+0200)/`, whose zone changes nothing.
    digits = text[6:-2].replace("-", "+").partition("+")[0] if text.startswith("/Date(") else ""
    if digits.isdecimal() and not digits[14:]:
        day, of_day = divmod(int(digits) // 1000, _SECONDS_A_DAY)
        return {"": date(1970, 1, 1).toordinal() + day}, of_day, f"{int(digits) % 1000:03}".rstrip("0")
    form = _form_of(text)
    days = _days(form, form.numbers(text + form.month)) if form and form.orders[0][0] != "f" else None
    if not form or not days:
        return None
    if not form.clock:
        return days, 0, ""
    noon, hour, minute, second, fraction, half, zone = form.clock(text)
    seconds = _clock(hour, minute, half or noon, zone)
    # A leap second is the 60th.
    return None if seconds is None or second > "60" else (days, seconds + int(second or 0), fraction)


@lru_cache(maxsize=4096)
def _days(form: _Form, numbers: tuple[str, ...]) -> Mapping[str, int]:
    """Returns the first days of what numbers may be by their order, 0 for those that are not known."""
    found, kind = dict[str, int](), form.kind
    for order in form.orders:
        parts = dict(zip(order, numbers, strict=False))
        year, day, month = parts.get("y", ""), int(parts.get("d", "1")), int(parts.get("z") or parts.get("m", "1"))
        # Without a day, most numbers are something else.
        if "d" not in parts and year and (kind in {"w", "m"} if not year[2:] else not "1600" < year < "2300"):
            continue
        if kind in _MONTHS_OF:
            month = _MONTHS_OF[kind] * (int(parts["p"]) - 1) + 1
        is_known = "z" not in parts if year[2:] else year and not "3" <= year < "7"
        if "z" in parts and (int(year) + 1) % 100 != month:
            continue
        try:
            full = int(year) if year[2:] else _full_year(year or "2000")
            first = date.fromisocalendar(full, int(parts["p"]), day) if kind == "w" else date(full, month, day)
        except ValueError:
            continue
        found[order if form.orders[1:] else ""] = first.toordinal() if is_known else 0
    return found


def _form_of(text: str) -> _Form | None:
    return _read_form(text.encode("utf-8", "replace").translate(_ZEROS)) if len(text) <= 80 else None  # noqa: PLR2004


@lru_cache(maxsize=4096)
def _read_form(zeros: bytes) -> _Form | None:
    """Returns the form of dates that are written as a text is in which all digits are zeros."""
    text = zeros.decode()
    month, kind, form, places, clock = "", "", "", list[slice](), None
    if "0" in text and (time := _TIME(text)) and time[0] != text:
        clock = itemgetter(*(slice(*time.span(name)) for name in time.groupdict()))
        text = text[: time.start()] + " " * len(time[0]) + text[time.end() :]
        if len(day := text.rstrip()) == len("20260131") and day.isdecimal():
            return _Form(("ymd",), itemgetter(slice(4), slice(4, 6), slice(6, 8)), clock=clock)
    for part in _PARTS(text):
        number, word, mark, other = part.groups("")
        what = _WORDS.get(word.lower(), "?").strip("~") if word else mark.replace("\u2019", "'") or "_"
        if other or what == "?" or len(number) > len("2026"):
            return None
        if number or what.isdecimal():
            places.append(slice(*part.span(1)) if number else slice(-2, None))
            month, what = (month, str(len(number))) if number else (what.zfill(2), "b")
        elif what and what in "qhwm":
            kind, what = what, "p"
        form += what
    orders = _ORDERS.get(form := form.strip("_")) or _ORDERS.get(re.sub("[-/_']", "", form), ())
    return _Form(orders, itemgetter(*places, slice(0)), month, kind, clock) if orders else None


def _full_year(year: str) -> int:
    # Some count the years from 30 to 69 from 1900 and some from 2000.
    return int(year) + (0 if year[2:] else 2000 if year < "7" else 1900)


def iso_of(moment: Moment, *, has_time: bool) -> str:
    """Returns a moment as SQLite writes it, with midnight if `has_time`."""
    # An offset may lead out of the years that Python knows.
    seconds = min(max(moment[0], _SECONDS_A_DAY), date.max.toordinal() * _SECONDS_A_DAY)
    text, fraction = str(datetime.min + timedelta(-1, seconds)), moment[1].rstrip("0")  # noqa: DTZ901 - UTC
    return f"{text}.{fraction}" if fraction else text if has_time or seconds % _SECONDS_A_DAY else text[:10]


@lru_cache(maxsize=4096)
def _clock(hours: str, minutes: str, half: str, zone: str) -> int | None:
    """Returns the seconds from midnight in Greenwich to a time of day, or None if it has too many hours or minutes."""
    hour, minute, ahead = int(hours), int(minutes), "".join(filter(str.isdecimal, zone))
    if half:
        hour = hour % 12 + 12 * bool({*half} & {*"pP後下후"}) if 1 <= hour <= 12 else 99  # noqa: PLR2004 - half a day
    offset = (int(ahead[:2] or 0) * 60 + int(ahead[2:] or 0)) * (-1 if "-" in zone else 1)
    # 24:00 ends a day.
    return (hour * 60 + minute - offset) * 60 if hour <= 24 and minute <= 59 else None  # noqa: PLR2004
