"""Lists the identifiers of what left a request, so that an agent knows what to look for, and often need not look."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

from google.genai import types

from adk_context_pack.conversation.known_contents import said_in
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.tables.stub_form import HANDLE, LIMITS, NOTE, stored_text

KEY, NAMED = "left_out", "named"
"""The first key of every note that stands for a result, and the key of its identifiers."""
_MAX_OF_CONTENT = 200
_MAX_OF_TEXT = 4
_MAX_CHARACTERS = 20_000
_MAX_LENGTH = 60
# In this order: e-mail addresses, paths and files, dates and times, words that hold a digit, codes, amounts. Each
# repetition has a bound, since the texts are whatever users and tools wrote.
_NAMES = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,6}"
    r"|(?:/[\w.-]{1,60}){2,20}|\b[\w-]{1,60}\.[a-zA-Z]{2,4}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?"
    r"|\b(?=[A-Za-z_-]{0,60}\d)(?=\d{0,60}[A-Za-z_-])\w[\w-]{2,60}\b"
    r"|\b[A-Z]{3,5}\b"
    r"|[$€£]\s?\d[\d.,]{0,30}\d|\b\d[\d.,]{0,30}\d{2}\b"
)
_FEWEST_DIGITS = 5
_LEAST_NUMBER = 100
_LEAVES = frozenset({str, int, float, bool, type(None)})


# Older results are not searched, since the walk would cost more than all the rest of a session's first call.
_RECENT = 120
_ASKED = 800


class Ledger(NamedTuple):
    """The text about what left a request, and what it was made of."""

    left: array[int]
    text: str


_Name = tuple[str, str, bool]
"""A name, the tool that it belongs to, and whether somebody asked with it."""


def ledger_text(
    contents: Sequence[types.Content],
    left: Collection[int],
    *,
    users: Collection[int],
    max_tokens: int,
    cache: MutableMapping[int, Sequence[Any]],
) -> str:
    """Returns the identifiers that stand in some contents, each with the tool that it belongs to, or "".

    Names that an agent or a user asked with come first, codes before words and words before small numbers. Of these,
    those come first that are written as one asked with, then those mentioned most often and the newest. Arguments and
    users' texts are searched further back than all else.

    Args:
        contents: the contents.
        left: the indexes of those that left the request. Nothing else has a part in the text.
        users: the indexes of those in which a user speaks. The role does not tell: relays have the user's as well.
        max_tokens: the most tokens of the text, as estimated, or 0 for none.
        cache: the names that earlier calls found in each content.
    """
    if max_tokens <= 0:
        return ""
    found: dict[str, tuple[bool, int, int, str]] = {}
    ordered = sorted(left)[-_ASKED:]
    for place, index in enumerate(ordered):
        whole = place >= len(ordered) - _RECENT
        # An older content is searched only in part, so that its names have another key.
        key = index if whole else -index - 1
        if key not in cache:
            cache[key] = _names_in(contents[index], user=index in users, whole=whole)
        for text, source, is_asked in cache[key]:
            asked, count, _, first = found.get(text, (False, 0, 0, ""))
            found[text] = asked or is_asked, count + 1, index, first or source
    forms = {_form(text) for text, (asked, *_) in found.items() if asked}
    ranked = sorted(
        [
            (not asked, _level(text), _form(text) not in forms, -count, -new, text)
            for text, (asked, count, new, _) in found.items()
        ]
    )
    return _within(((text, found[text][3]) for *_, text in ranked), max_tokens)


def result_names(response: Any, *, max_tokens: int, said: str) -> str:
    """Returns the identifiers at the beginning of a result, codes before words before small numbers, or ""."""
    if max_tokens <= 0:
        return ""
    return _within(((name, "") for name in _ranked(response, said)), max_tokens)


def names_within(text: str, *, most: int) -> list[str] | None:
    """Returns the different identifiers in a text in their order, or None if there are more than `most`."""
    found: dict[str, None] = {}
    for match in _NAMES.finditer(text):
        found[match[0]] = None
        if len(found) > most:
            return None
    return list(found)


def _ranked(response: Any, said: str) -> Iterator[str]:
    """Yields names while it searches, since a result may have thousands of which the first few fill the note."""
    named: dict[str, int] = {}
    characters = 0
    # A table says the same again and again, and names nothing new by it.
    for leaf in dict.fromkeys(_leaves(response, most=_MAX_OF_CONTENT, numbers=_MAX_OF_TEXT)):
        for name in islice(_in_leaf(leaf), _MAX_OF_TEXT):
            if name not in named and name not in said:
                named[name] = level = _level(name)
                if not level:
                    yield name
        characters += len(leaf)
        if characters > _MAX_CHARACTERS:
            break
    yield from sorted(filter(named.get, named), key=named.__getitem__)


def _level(name: str) -> int:
    """Returns 0 for codes, dates and long numbers, 1 for words, times and amounts, and 2 for small numbers."""
    if name.isdigit():
        return 0 if len(name) >= _FEWEST_DIGITS else 2
    # A call asks with the code of a thing rather than with its address or the time of day.
    if " " in name or ":" in name or not (digits := sum(map(str.isdigit, name))):
        return 1
    return int(digits < _FEWEST_DIGITS and not any(map(str.isalpha, name)))


def _form(name: str) -> str | int:
    """Returns how a name is written: its length if it is a number, and else how its letters, digits and signs begin."""
    return len(name) if name.isdigit() else re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", name))[:3]


def _within(names: Iterable[tuple[str, str]], max_tokens: int) -> str:
    by_source: dict[str, list[str]] = {}
    spent = 0
    for text, source in names:
        # Counted one by one, since a sum of estimates is never below the estimate of the whole.
        cost = estimate_tokens(f", {text}")
        if source and source not in by_source:
            cost += estimate_tokens(f"; {source}: ")
        if spent + cost > max_tokens:
            break
        spent += cost
        by_source.setdefault(source, []).append(text)
    return "; ".join(f"{source}: " * bool(source) + ", ".join(texts) for source, texts in by_source.items())


def _names_in(content: types.Content, *, user: bool, whole: bool) -> tuple[_Name, ...]:
    # Lists rather than generators in generators, since this runs for hundreds of contents at a session's first call.
    found: list[_Name] = []
    for part in content.parts or ():
        kind, name, _, value = said_in(part)
        if kind == "call" or (kind == "result" and whole):
            source = _source(name)
            found += [(text, source, kind == "call") for text in islice(_in_value(value), _MAX_OF_CONTENT)]
        elif kind == "text" and not part.thought and (user or whole):
            found += [(text, "said", user) for text in islice(_in_text(value), _MAX_OF_CONTENT)]
        if len(found) >= _MAX_OF_CONTENT:
            break
    return tuple(found[:_MAX_OF_CONTENT])


def _source(name: str | None) -> str:
    # Nearly all tools are Python functions.
    if name and len(name) <= _MAX_LENGTH and name.isidentifier():
        return name
    return re.sub(r"\s", " ", name or "?")[:_MAX_LENGTH]


def scalars(value: Any) -> Iterator[Any]:
    """Yields the texts, numbers, booleans and nulls within a JSON-like value in their order, and ids that are keys.

    Shared parts are yielded once.
    """
    waiting, seen = [chain((value,))], set[int]()
    while waiting:
        for item in waiting[-1]:
            # Most items are leaves, and this runs for each one of hundreds of results.
            if type(item) in _LEAVES or not isinstance(item, (dict, list, tuple)):
                yield item
            # What is inside itself would never end.
            elif id(item) not in seen:
                seen.add(id(item))
                # Keys that end in digits are ids, or such as years.
                has_ids = isinstance(item, dict) and str(next(iter(item), ""))[-3:].isdigit()
                waiting.append(chain(item if has_ids else (), item.values() if isinstance(item, dict) else item))
                break
        else:
            waiting.pop()


def _in_value(value: Any) -> Iterable[str]:
    """Returns the names within a JSON-like value. A note says which there were in its result."""
    if isinstance(value, dict) and isinstance(note := value.get(KEY), str):
        return chain(re.findall(r'"([^"]{3,60})"', note), filter(None, str(value.get(NAMED, "")).split(", ")))
    return chain.from_iterable(map(_in_leaf, _leaves(value)))


def _in_leaf(leaf: str) -> Iterable[str]:
    # A short value without blanks names something, whatever it looks like, and so do a few words of which none begins
    # with a small letter: a name, a street, a city.
    words = leaf.split() if leaf[2:] and len(leaf) <= _MAX_LENGTH and leaf.isprintable() else ()
    if len(words) == 1 or (words and len(leaf) <= _MAX_LENGTH / 2 and not any(word[0].islower() for word in words)):
        return (leaf,)
    # The line before a preview holds a handle and a length.
    return _in_text(leaf.partition("\n")[2] if stored_text(leaf) else leaf)


def _leaves(value: Any, *, most: int = 10 * _MAX_OF_CONTENT, numbers: int = _MAX_OF_CONTENT) -> Iterator[str]:
    """Yields the texts among the first values of a result, then some of its whole numbers of 100 and more.

    A number with a fraction is a measure, save one that is an answer by itself. What a stub says of its size is not
    searched.
    """
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key not in (LIMITS, NOTE, HANDLE)}
        answers = (item for item in value.values() if isinstance(item, float) and abs(item) >= _LEAST_NUMBER)
        yield from map(str, islice(answers, _MAX_OF_TEXT))
    whole: list[int] = []
    for item in islice(scalars(value), most):
        if isinstance(item, str):
            yield item
        elif isinstance(item, int) and (item >= _LEAST_NUMBER or item <= -_LEAST_NUMBER):
            whole.append(item)
    yield from map(str, whole[:numbers])


def _in_text(text: str) -> Iterator[str]:
    found = map(itemgetter(0), _NAMES.finditer(text, 0, _MAX_CHARACTERS))
    return (name for name in found if len(name) <= _MAX_LENGTH)
