"""Tells versions and numbers of sections from decimal numbers, by all texts of a column together.

`3.10` is a version, where it is not `3.1`, or the number 3.1. These rules decide, the first one that fits:

1. Under a name with a word for an amount (`price`, `revenue`) the texts are numbers. Under a name with a word for
   versions (`release`, `section`) they are versions.
2. A text of three parts or more (`3.10.2`) makes versions of the others.
3. A text that no version looks like makes numbers of the others: it is below zero, has three decimals or more, a zero
   in front of its decimals (`1.05`), a last part above 60 (`4.75`), or is 1000 or more and not a year (`2024.1`).
4. Two texts that are the same number (`3.1` and `3.10`) are versions, since their writer tells them apart.
5. A text that ends in zero is a version where another one counts on to it or from it: `3.9` or `3.8` beside `3.10`.
   The last parts are at most two apart.
6. All other texts (`1.5`, `2.50`, `12.75`) are numbers, with a note that the zeros mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from adk_context_pack.tables.names import QUANTITIES, named
from adk_context_pack.tables.number_text import read_number
from adk_context_pack.tables.numbers import Number

_PARTS = re.compile(r"[vV]?[0-9]{1,5}(?:\.[0-9]{1,5}){2,}(?:[-.]?[a-z]{1,6}[0-9]*)?").fullmatch
_LIKE_VERSION = re.compile(r"(?:[0-9]{1,3}|19[0-9]{2}|20[0-9]{2})(?:\.(?:[0-9]|[1-5][0-9]|60))?").fullmatch

# `3.8` counts on to `3.10` where nobody has a `3.9`.
_NEAR = 2


def version_note(name: str, texts: Iterable[str], numbers: Mapping[str, Number]) -> str:
    """Returns why the texts of a column are versions, for its facts; an empty text where they are numbers.

    Args:
        name: the column.
        texts: all of its texts.
        numbers: those that are numbers without a unit, with their numbers.
    """
    decimals = [text for text in numbers if "." in text]
    tags = named(name)
    if decimals and "version" in tags and tags.isdisjoint(QUANTITIES):
        return "versions, not numbers"
    if "rate" in tags or not tags.isdisjoint(QUANTITIES):
        return ""
    parts = next((text for text in texts if _PARTS(text) and read_number(text) is None), "")
    if parts:
        return f"not numbers, since one is {parts}"
    if not loses_zeros(decimals) or not all(map(_LIKE_VERSION, numbers)):
        return ""
    pair = _same_number(numbers) or _counted(decimals)
    return f"versions, not numbers: {pair[0]} and {pair[1]} differ" if pair else ""


def loses_zeros(texts: Collection[str]) -> bool:
    """Tells whether zeros at the end of decimals would be lost, and not come back with a fixed number of decimals."""
    decimals = {len(text) - text.index(".") for text in texts if "." in text}
    return len(decimals) > 1 and any(text.endswith("0") and not text.endswith(".0") for text in texts if "." in text)


def _same_number(numbers: Mapping[str, Number]) -> tuple[str, str] | None:
    first: dict[Number, str] = {}
    for text, number in numbers.items():
        # `3` and `3.0` are one version as well as one number.
        other = first.setdefault(number, text)
        if other != text and not {text, other} & {f"{number:.0f}", f"{number:.0f}.0"}:
            return other, text
    return None


def _counted(decimals: Iterable[str]) -> tuple[str, str] | None:
    minors: dict[str, dict[int, str]] = {}
    for text in decimals:
        whole, _, rest = text.partition(".")
        minors.setdefault(whole, {})[int(rest)] = text
    for found in minors.values():
        for minor, text in found.items():
            near = next((found[other] for other in found if 0 < abs(other - minor) <= _NEAR), "")
            if near and minor and minor % 10 == 0:
                return near, text
    return None
