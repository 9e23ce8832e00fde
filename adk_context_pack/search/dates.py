"""Finds words such as "yesterday" or "last month" in a text, and the dates that they meant when they were said."""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from importlib.resources import files

import regex  # type: ignore[import-untyped]

# From a kind of word to what each word of it means.
_MEANT = defaultdict[str, dict[str, str]](dict)
for _row in files(__package__).joinpath("date_words.txt").read_text("utf-8").splitlines()[3:]:
    (_kind, _meaning), _words = _row.split(": ")[0].split(maxsplit=1), _row.split(": ")[1]
    _MEANT[_kind].update(dict.fromkeys(_words.split(", "), _meaning))
_RELATIVE = regex.compile(
    r"\b(?:(?P<phrase>\L<phrase>)\b"
    r"|(?:(?P<before>\L<before>)\s+)?(?P<number>\d{1,2}|\L<number>)\s+(?P<unit>\L<unit>)\b(?:\s+(?P<after>\L<after>)\b)?"
    # In Korean a particle joins the word.
    r"|(?P<last>\L<last>)\s+(?P<weekday>\L<weekday>)(?:\b|(?<=일))"
    r"|(?P<day>\L<weekday>)(?:\s+(?P<past>\L<past>)\b"
    # A weekday alone is the nearest one on either side, unless the sentence says which one or how far it is.
    r"|\b(?<!\L<homograph>)(?<!\b\L<article>\s+\w+)"
    r"(?<!(?:\d|\b\L<which>\b)[^.!?\n]{0,60})(?![^.!?\n]{0,60}(?:\d|\b\L<which>\b))))"
    # A number behind a week is that of its day in Chinese, if nothing follows that it could count or begin.
    r"|(?![\sa-z])(?:(?P<unspaced>\L<unspaced>)"
    r"(?:(?P<within>\L<within>)(?<=週の.曜日?|(?:[周期拜]|[上下這]週).(?=[^一-鿿]|$|的|[上下中]午|凌晨|发布|[早晚我你您他她它在去来就已要和与有没])))?"
    # Not the end of a larger number, nor the "3" of "2-3 days".
    r"|(?<![\d月第数几百十一二三四五六七八九两兩บง수십열물두、,，~\-\u0900-\u097f])"  # noqa: RUF001
    r"(?P<count>\d{1,2}|\L<number>)\s?(?P<measure>\L<measure>)\s?(?P<ago>\L<ago>))",
    **{kind: list(words) for kind, words in _MEANT.items()},
)


def relative_dates(text: str, said: date) -> dict[str, str]:
    """Returns what words in `text` that name a time by its distance from today meant on the day when they were said.

    It is such as `{"yesterday": "Sun 7 May 2023", "last month": "Apr 2023"}`, by the words in lower case, in the
    languages of Europe and the large ones of Asia. A weekday alone is the nearest one before or after. Other words
    of two meanings are left out.
    """
    found: dict[str, str] = {}
    for match in _RELATIVE.finditer(text.replace("İ", "i").lower().replace("\u2019", "'")):
        unit, about = "day", ""
        if phrase := match["phrase"] or match["unspaced"]:
            unit, _, far = (_MEANT["phrase"].get(phrase) or _MEANT["unspaced"][phrase]).partition(" ")
            distances = [int(far)]
            if within := match["within"]:
                unit, distances = "day", [7 * int(far) - said.weekday() + int(_MEANT["within"][within])]
        elif weekday := match["weekday"] or match["day"]:
            ahead = (int(_MEANT["weekday"][weekday]) - said.weekday()) % 7
            side = _MEANT["last"].get(match["last"]) or _MEANT["past"].get(match["past"])
            # It may be today as well, or in a title or name such as "Freaky Friday".
            in_name = regex.search(r"[^.!?…:\s] \W?\p{Lu}[\p{Ll}'\u2019]+ \p{Lu}$", text[: match.start() + 1][-60:])
            if side is None and (not ahead or in_name):
                continue
            distances = [each for each in (ahead - 7, ahead or 7) if side is None or int(side) * each > 0]
        elif way := next((int(_MEANT[kind][match[kind]]) for kind in ("before", "after", "ago") if match[kind]), 0):
            about, number = "about ", match["number"] or match["count"]
            unit = _MEANT["unit"].get(match["unit"]) or _MEANT["measure"][match["measure"]]
            distances = [way * int(_MEANT["number"].get(number, number))]
        else:
            continue
        found.setdefault(match[0], " or ".join(_named(said, unit, each, about) for each in distances))
    return found


def day_name(day: date) -> str:
    """Returns a day as "Sun 7 May 2023"."""
    # In English, whatever the locale.
    name = date.ctime(day)
    return f"{name[:3]} {day.day} {name[4:7]} {day.year}"


def _named(said: date, unit: str, distance: int, about: str) -> str:
    if unit == "year":
        return str(said.year + distance)
    if unit == "month":
        year, month = divmod(said.year * 12 + said.month - 1 + distance, 12)
        return day_name(date(year, month + 1, 1)).split(maxsplit=2)[2]
    first = last = said + timedelta(days=distance if unit == "day" else 7 * distance)
    if about or unit == "day":
        return (about if unit != "day" else "") + day_name(first)
    last += timedelta(days=6 - first.weekday())
    return f"{day_name(last - timedelta(days=1 if unit == 'weekend' else 6))} to {day_name(last)}"
