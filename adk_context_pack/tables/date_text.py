"""Reads texts and other values as moments, so that a column of dates can be put in the order of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from importlib.resources import files
from typing import Any

_MAX_LENGTH = 48
_SECONDS_A_DAY = 86_400
# The beginnings of their names in the languages of Europe and in Indonesian, a month a line.
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
_NOTATIONS = tuple(
    re.compile(pattern + _TIME, re.IGNORECASE).fullmatch
    for pattern in (
        r"(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})",
        rf"{_WEEKDAY}{_MONTH}\s+(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<year>[0-9]{{4}})",
        rf"{_WEEKDAY}(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|er|\.)?[-/\s]+(?:de\s+)?{_MONTH},?[-/\s]+(?:de\s+)?{_YEAR}",
        r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})(?=T)",
        r"(?P<year>[0-9]{4})[年년]\s?(?P<month>[0-9]{1,2})[月월]\s?(?P<day>[0-9]{1,2})[日일]",
    )
)
_SLASHES = re.compile(
    r"(?P<one>[0-9]{1,2})(?P<mark>[-/.])(?P<two>[0-9]{1,2})(?P=mark)(?P<year>[0-9]{4}|(?<=[-/])[0-9]{2})" + _TIME,
    re.IGNORECASE,
).fullmatch
_PERIOD = re.compile(
    r"(?P<year>[0-9]{4})-?(?:(?P<part>[QW])(?P<number>[0-9]{1,2})|(?<=-)(?P<month>0[1-9]|1[0-2]))"
).fullmatch
_SORTS = re.compile(
    r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01])(?:(?P<gap>[T ])[0-9]{2}:[0-9]{2}"
    r"(?::[0-9]{2}(?:\.[0-9]+)?)?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?)?|-?(?:Q[1-4]|W[0-9]{2})|[0-9]{4})?"
).fullmatch
_MONTHS_A_YEAR, _HOURS_A_HALF = 12, 12

Moment = tuple[int, str]
"""Seconds since the year 1, UTC, and the digits of the fraction of a second."""


def date_range(values: Iterable[Any]) -> tuple[Any, Any] | None:
    """Returns the earliest and the latest of some dates as they were written; None if they cannot be ordered.

    A moment without a zone counts as UTC. Offsets and fractions of a second count. `03/04/2026` counts only among
    dates that show whether the day or the month is first; with points between its parts, the day is first.

    Args:
        values: texts, date and datetime objects, or integers (years, `YYYYMMDD`, epochs), without missing ones.
    """
    distinct = list(dict.fromkeys(values))
    texts = [value for value in distinct if isinstance(value, str)]
    if texts and len(texts) == len(distinct) and sorts_as_text(texts):
        return min(texts), max(texts)
    moments = _moments(distinct)
    if not moments or any(moment is None for moment in moments):
        return None
    places = range(len(distinct))
    return distinct[min(places, key=moments.__getitem__)], distinct[max(places, key=moments.__getitem__)]


def is_date_text(text: str) -> bool:
    """Tells whether a text alone looks like a date; only its column can tell which one it is."""
    return len(text) <= _MAX_LENGTH and (_SLASHES(text) is not None or moment_of(text, day_first=True) is not None)


def sorts_as_text(texts: Iterable[str]) -> bool:
    """Tells whether dates are in the order of time where they are sorted as texts: ISO dates of one form and zone."""
    gaps, zones = {""}, set[str]()
    for text in texts:
        if (found := _SORTS(text)) is None:
            return False
        gaps.add(found["gap"] or "")
        zones.add(found["zone"] or "")
    return max(len(gaps), len(zones | {""})) <= 2 and not (zones - {"", "Z"} and "" in zones)  # noqa: PLR2004


def _moments(values: Sequence[Any]) -> list[Any]:
    if all(type(value) is int for value in values):
        return list(values)
    if all(isinstance(value, str) and value.isdecimal() for value in values):
        return [int(value) for value in values]
    day_first = day_first_in([value for value in values if isinstance(value, str)])
    texts = (value.isoformat() if isinstance(value, date) else value for value in values)
    return [moment_of(text, day_first=day_first) if isinstance(text, str) else None for text in texts]


def day_first_in(texts: Iterable[str]) -> bool | None:
    """Tells whether the day is before the month in `03/04/2026`; None where nothing shows it, or both are shown."""
    ones, twos = False, False
    for text in texts:
        if len(text) <= _MAX_LENGTH and (found := _SLASHES(text)):
            ones |= found["mark"] == "." or int(found["one"]) > _MONTHS_A_YEAR
            twos |= int(found["two"]) > _MONTHS_A_YEAR
    return ones if ones != twos else None


def moment_of(text: str, *, day_first: bool | None) -> Moment | None:
    """Returns the moment that a text is, where the day is first in `03/04/2026` or not; None for any other text."""
    if len(text) > _MAX_LENGTH:
        return None
    # Of 03/04/25 any part may be the year.
    if (found := _SLASHES(text)) and len(found["year"]) > 2:  # noqa: PLR2004
        one, two = int(found["one"]), int(found["two"])
        if day_first is None:
            return _at(found, one, two) if one == two else None
        return _at(found, two, one) if day_first else _at(found, one, two)
    for notation in _NOTATIONS:
        if found := notation(text):
            month = found["month"].lower()
            # The longest beginning counts: Finnish November is not March.
            named = (_MONTHS[month[:end]] for end in range(7, 2, -1) if month[:end] in _MONTHS)
            return _at(found, int(month) if month.isdecimal() else next(named, 0), int(found["day"]))
    if found := _PERIOD(text.upper()):
        return _period(found)
    return None


def iso_of(moment: Moment, *, has_time: bool) -> str:
    """Returns a moment as SQLite writes it.

    Args:
        moment: the moment.
        has_time: whether midnight is written as well.
    """
    days, seconds = divmod(moment[0], _SECONDS_A_DAY)
    day = date.fromordinal(min(max(days, 1), date.max.toordinal())).isoformat()
    fraction = f".{moment[1]}".rstrip("0").rstrip(".")
    return f"{day} {timedelta(seconds=seconds)!s:0>8}{fraction}" if seconds or has_time else day


def _at(found: re.Match[str], month: int, day: int) -> Moment | None:
    # Some count the years from 30 to 69 from 1900 and some from 2000.
    year = int(found["year"]) + (0 if found["year"][2:] else 2000 if found["year"] < "3" else 1900)
    try:
        days = date(year, month, day).toordinal()
    except ValueError:
        return None
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    if half := found["half"]:
        if not 1 <= hour <= _HOURS_A_HALF:
            return None
        hour = hour % _HOURS_A_HALF + (_HOURS_A_HALF if half[0] in "pP" else 0)
    if hour > 24 or minute > 59 or second > 60:  # noqa: PLR2004  24:00 ends a day, and a leap second is the 60th
        return None
    offset = _offset(found["zone"] or "")
    return days * _SECONDS_A_DAY + hour * 3600 + minute * 60 + second - offset, found["fraction"] or ""


def _offset(zone: str) -> int:
    digits = zone[1:].replace(":", "") if zone[:1] in {"+", "-"} else ""
    seconds = int(digits[:2] or 0) * 3600 + int(digits[2:] or 0) * 60
    return -seconds if zone[:1] == "-" else seconds


def _period(found: re.Match[str]) -> Moment | None:
    year, number, part = int(found["year"]), int(found["number"] or 1), found["part"]
    if not year or (part == "Q" and not 1 <= number <= 4):  # noqa: PLR2004  quarters of a year
        return None
    month = int(found["month"] or (3 * number - 2 if part == "Q" else 1))
    days = date(year, month, 1).toordinal() + (7 * number if part == "W" else 0)
    return days * _SECONDS_A_DAY, ""
