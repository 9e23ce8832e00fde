"""Reads texts and other values as moments, so that a column of dates can be put in the order of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from operator import itemgetter
from typing import Any

_SECONDS_A_DAY = 86_400
_SOME = 3
# Their names and abbreviations in the languages of Europe and in Indonesian, a month a line (CLDR 47).
_ROWS = files(__package__).joinpath("months.txt").read_text("utf-8").splitlines()
_MONTHS = {name: number for number, names in enumerate(_ROWS, 1) for name in names.split()}
_MONTH = r"(?P<month>[^\W\d_]{3,})\.?"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
_YEAR = r"(?P<year>[0-9]{4}|[0-27-9][0-9])(?:\s?[гр]\.)?"  # noqa: RUF001
_TIME = (
    r"(?:(?:[T :]|,\s)\s*(?P<hour>[0-9]{1,2})(?::|(?<=T[0-9]{2}))(?P<minute>[0-9]{2})"
    r"(?:(?::|(?<=T[0-9]{4}))(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]+))?)?"
    r"(?:\s*(?P<half>[ap]\.?m\.?))?(?:\s*(?P<zone>Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
# What is behind the day is read apart, so that each day is read once.
_TEXT = re.compile(f"(?P<day>.{{4,}}?){_TIME}", re.IGNORECASE).fullmatch
_NOTATIONS = tuple(
    re.compile(f"{pattern}T?", re.IGNORECASE).fullmatch
    for pattern in (
        r"(?P<day>[0-9]{1,2})(?P<mark>[-/.])\s?(?P<month>[0-9]{1,2})(?P=mark)\s?(?P<year>[0-9]{4}|(?:(?<=[-/])|(?<=[0-9]{2}\.[0-9]{2}\.))[0-9]{2})\.?",
        r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})",
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>[0-9]{{4}})",
        rf"{_WEEKDAY}(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|er|\.)?[-/\s]+(?:de\s+)?{_MONTH},?[-/\s]+(?:de\s+)?{_YEAR}",
        r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?=T)",
        r"(?P<year>[0-9]{4})[年년]\s?(?P<month>[0-9]{1,2})[月월]\s?(?P<day>[0-9]{1,2})[日일]",
    )
)
# Half-years, quarters, weeks and months. French and Spanish quarters begin with T, German weeks with KW.
_FULL_YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
_PERIODS = tuple(
    re.compile(pattern, re.IGNORECASE).fullmatch
    for pattern in (
        r"(?P<year>[0-9]{4})[-/ ]?(?P<part>[HQTWM])(?P<number>[0-9]{1,2})",
        rf"(?P<part>[HQTW]|KW\s?)(?P<number>[0-9]{{1,2}})[-/'\u2019\s]*{_FULL_YEAR}",
        r"(?P<part>[HQT])(?P<number>[1-4])[-'\u2019](?P<year>[0-2][0-9])",
        r"(?P<number>[1-4])(?P<part>[HQT])[-'\u2019\s]?(?P<year>(?:19|20)?[0-9]{2})",
        r"(?P<year>[0-9]{4})-(?P<month>0[1-9]|1[0-2])",
        rf"(?P<month>0?[1-9]|1[0-2])/{_FULL_YEAR}",
        rf"(?P<month>0[1-9]|1[0-2])\.{_FULL_YEAR}",
        r"(?P<year>[0-9]{4})[年년]\s?(?P<month>[0-9]{1,2})[月월]",
        rf"{_FULL_YEAR}[-/.\s]+{_MONTH}",
        rf"{_MONTH}(?P<mark>(?:\s+de|,)?[-/'\u2019\s]*)(?P<year>(?:19|20)[0-9]{{2}}|(?<=[-/'\u2019\s])[0-27-9][0-9])",
    )
)
_MONTHS_OF = {"H": 6, "Q": 3, "T": 3}
_SORTS = re.compile(
    r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01])(?:(?P<gap>[T ])[0-9]{2}:[0-9]{2}"
    r"(?::[0-9]{2}(?:\.[0-9]+)?)?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?)?|-?(?:Q[1-4]|W[0-9]{2})|[0-9]{4})?"
).fullmatch

Moment = tuple[int, str]
"""Seconds since the year 1, UTC, and the digits of the fraction of a second."""
Dates = tuple[Any, Any, bool | None, Mapping[Any, Moment]]
"""The earliest and the latest of some dates as they were written, whether the day is before the month in `03/04/2026`
(None where nothing shows it), and the moment of each, or nothing where texts are in the order of time as they are."""
_Parts = tuple[tuple[int, int], int, str]


def read_dates(values: Iterable[Any]) -> Dates | None:
    """Returns what some dates are, or None if they cannot be ordered.

    A moment without a zone counts as UTC. Offsets and fractions of a second count. `03/04/2026` counts only among
    dates that show whether the day or the month is first, or go on evenly in one of both orders. With points between
    its parts, the day is first.

    Args:
        values: texts, date and datetime objects, without missing ones.
    """
    texts = {value: value if isinstance(value, str) else value.isoformat() for value in values}
    if texts and sorts_as_text(texts.values()):
        return min(texts, key=texts.__getitem__), max(texts, key=texts.__getitem__), None, {}
    read = [_read(text) for text in _in_full(list(texts.values()))]
    shown = {bool(parts[0]) for parts in {*map(itemgetter(0), filter(None, read))} if 0 in parts}
    day_first = shown.pop() if len(shown) == 1 else None if shown else _goes_on(list(filter(None, read)))
    found = ((value, _moment(parts, day_first=day_first)) for value, parts in zip(texts, read, strict=True))
    moments = {value: moment for value, moment in found if moment}
    if not moments or len(moments) < len(texts):
        return None
    return min(moments, key=moments.__getitem__), max(moments, key=moments.__getitem__), day_first, moments


def _goes_on(read: list[_Parts]) -> bool | None:
    """Returns whether the day is first in dates that go on by even steps in one order only, such as a month each."""
    even = []
    for order in (0, 1):
        steps = [after[0][order] - before[0][order] for before, after in pairwise(read)]
        low, high = sorted((min(steps, default=0), max(steps, default=0)), key=abs)
        even.append(len(steps) >= _SOME and low * high > 0 and abs(high) < 2 * abs(low))
    return even[0] if even[0] != even[1] else None


def _in_full(texts: list[str]) -> list[str]:
    """Returns dates such as `13.04.25` and `Apr-25` with the century, if their years differ less than their days."""
    short = [found for text in texts if (found := _PERIODS[-1](text)) and not found["year"][2:]]
    if texts and len(short) == len(texts):
        months, years, marks = ({found[part] for found in short} for part in ("month", "year", "mark"))
        # Behind a blank may be the day.
        is_year = 2 * len(years) <= len(months) or " " not in marks
        return [with_century(text, -2) for text in texts] if is_year else texts
    if texts and all(text[2:3] + text[5:6] + text[8:9].strip() in {"--", "//", ".."} for text in texts):
        for year, day in (6, 0), (0, 6):
            years, days = ({text[at : at + 2] for text in texts} for at in (year, day))
            if 2 * len(years) <= len(days) and (max(years) < "3" or min(years) >= "7"):
                return [with_century(text, year) for text in texts]
    return texts


def with_century(text: str, at: int) -> str:
    """Returns a date with a year of two digits at a place, with four digits in it."""
    return f"{text[:at]}{20 if text[at : at + 1] < '3' else 19}{text[at:]}"


def is_date_text(text: str) -> bool:
    """Tells whether a text alone looks like a date. Only its column can tell which one it is."""
    return _read(text) is not None


def is_month(text: str) -> bool:
    """Tells whether a text alone looks like a month, a quarter or another part of a year."""
    return _period(text) is not None


def sorts_as_text(texts: Iterable[str]) -> bool:
    """Tells whether dates are in the order of time if they are sorted as texts: ISO dates of one form and zone."""
    gaps, zones = {""}, set[str]()
    for text in texts:
        if (found := _SORTS(text)) is None:
            return False
        gaps.add(found["gap"] or "")
        zones.add(found["zone"] or "")
    return max(len(gaps), len(zones | {""})) <= 2 and not (zones - {"", "Z"} and "" in zones)  # noqa: PLR2004


def moment_of(text: str, *, day_first: bool | None) -> Moment | None:
    """Returns the moment that a text is, where the day is first in `03/04/2026` or not, or None for any other text."""
    return _moment(_read(text), day_first=day_first)


def _moment(parts: _Parts | None, *, day_first: bool | None) -> Moment | None:
    if parts is None:
        return None
    (one, two), seconds, fraction = parts
    days = one if day_first or one == two else 0 if day_first is None else two
    return (days * _SECONDS_A_DAY + seconds, fraction) if days else None


def _read(text: str) -> _Parts | None:
    if len(text) > 48 or (found := _TEXT(text)) is None:  # noqa: PLR2004 - characters
        return None
    day, hours, minutes, second, fraction, half, zone = found.groups("")
    if not hours:
        return (days := _days(day)) and (days, 0, "")
    days, seconds = _days(f"{day}T"), _clock(hours, minutes, half, zone)
    # A leap second is the 60th.
    if days is None or seconds is None or second > "60":
        return None
    return days, seconds + int(second or 0), fraction


@lru_cache(maxsize=4096)
def _days(said: str) -> tuple[int, int] | None:
    """Returns the day that a text is if the day is before the month in it, and if the month is, or 0 for none.

    Args:
        said: the text, with a `T` behind it if a time follows.
    """
    for notation in _NOTATIONS:
        if found := notation(said):
            year, month, day = found["year"], found["month"], int(found["day"])
            number = _month(month)
            days = _ordinal(year, number, day)
            if notation is _NOTATIONS[0]:
                # Of 13/04/25 the first part may be the year, and of 3/13/40 the century is not known.
                if len(year) == 2 and (day > 12 or found["mark"] == "." or "3" <= year < "7"):  # noqa: PLR2004
                    return 0, 0
                return days, 0 if found["mark"] == "." else _ordinal(year, day, number)
            break
    else:
        period = _period(said)
        days = _first_day(period) if period else 0
        if period and not (period["year"][2:] or "part" in period):
            return (0, 0) if days else None
    return (days, days) if days else None


def iso_of(moment: Moment, *, has_time: bool) -> str:
    """Returns a moment as SQLite writes it.

    Args:
        moment: the moment.
        has_time: whether midnight is written as well.
    """
    # An offset may lead out of the years that Python knows.
    seconds = min(max(moment[0], _SECONDS_A_DAY), date.max.toordinal() * _SECONDS_A_DAY)
    text, fraction = str(datetime.min + timedelta(-1, seconds)), moment[1].rstrip("0")  # noqa: DTZ901 - UTC
    return f"{text}.{fraction}" if fraction else text if has_time or seconds % _SECONDS_A_DAY else text[:10]


def _ordinal(year: str, month: int, day: int) -> int:
    # Some count the years from 30 to 69 from 1900 and some from 2000.
    full = int(year) + (0 if year[2:] else 2000 if year < "3" else 1900)
    try:
        return date(full, month, day).toordinal()
    except ValueError:
        return 0


@lru_cache(maxsize=4096)
def _clock(hours: str, minutes: str, half: str, zone: str) -> int | None:
    """Returns the seconds from midnight in Greenwich to a time of day, or None if it has too many hours or minutes."""
    hour, minute, ahead = int(hours), int(minutes), "".join(filter(str.isdecimal, zone))
    if half:
        hour = hour % 12 + 12 * (half[0] in "pP") if 1 <= hour <= 12 else 99  # noqa: PLR2004 - half a day
    offset = (int(ahead[:2] or 0) * 60 + int(ahead[2:] or 0)) * (-1 if zone[:1] == "-" else 1)
    # 24:00 ends a day.
    return (hour * 60 + minute - offset) * 60 if hour <= 24 and minute <= 59 else None  # noqa: PLR2004


def month_named(text: str) -> int:
    """Returns the number of the month that a text names, or 0 for any other text."""
    return _MONTHS.get(text.strip(" .").lower(), 0)


def _month(text: str) -> int:
    return int(text) if text.isdecimal() else month_named(text)


def _period(text: str) -> dict[str, str] | None:
    may_be = len(text) <= 24 and (text[:1].isdigit() or text[-1:].isdigit())  # noqa: PLR2004 - characters
    found = next(filter(None, (period(text) for period in _PERIODS)), None) if may_be else None
    return found and found.groupdict()


def _first_day(found: Mapping[str, str]) -> int:
    """Returns the first day of a period, in days since the year 1, or 0 for a part that a year lacks."""
    part, number, year = found.get("part", "").upper().strip(), int(found.get("number", 1)), found["year"]
    if part in {"W", "KW"}:
        try:
            return date.fromisocalendar(int(year), number, 1).toordinal()
        except ValueError:
            return 0
    size = _MONTHS_OF.get(part, 1)
    return _ordinal(year, size * (number - 1) + 1 if part else _month(found["month"]), 1)
