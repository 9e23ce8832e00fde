"""Lists the identifiers of what left a request, so that an agent knows what to look for, and often need not look."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import OPENERS, READ_BACK, declared_in
from adk_context_pack.conversation.known_contents import said_in
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.tables.column_names import words
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

_Name = tuple[str, str, int]
"""A name, the tool that it belongs to, and 0 if somebody asked with it, 1 if a tool takes such names, 2 otherwise."""


def ledger_text(  # noqa: PLR0913 - what is known of the contents
    contents: Sequence[types.Content],
    left: Collection[int],
    *,
    users: Collection[int],
    max_tokens: int,
    cache: MutableMapping[int, Sequence[Any]],
    taken: tuple[str, ...] = (),
) -> str:
    """Returns the identifiers that stand in some contents, each with the tool that it belongs to, or "".

    Names that an agent or a user asked with come first, then those under keys that are named as arguments are. Of
    these, codes come before words and words before small numbers, then those that are written as one asked with, those
    mentioned most often, and the newest. Arguments and users' texts are searched further back than all else.

    Args:
        contents: the contents.
        left: the indexes of those that left the request. Nothing else has a part in the text.
        users: the indexes of those in which a user speaks. The role does not tell: relays have the user's as well.
        max_tokens: the most tokens of the text, as estimated, or 0 for none.
        cache: the names that earlier calls found in each content.
        taken: the arguments that tools take, as `arguments_in` gives them.
    """
    if max_tokens <= 0:
        return ""
    found: dict[str, tuple[int, int, int, str]] = {}
    ordered = sorted(left)[-_ASKED:]
    for place, index in enumerate(ordered):
        whole = place >= len(ordered) - _RECENT
        # An older content is searched only in part, so that its names have another key.
        key = index if whole else -index - 1
        if key not in cache:
            cache[key] = _names_in(contents[index], user=index in users, whole=whole, taken=taken)
        for text, source, use in cache[key]:
            best, count, _, first = found.get(text, (use, 0, 0, ""))
            found[text] = min(use, best), count + 1, index, first or source
    forms = {_form(text) for text, (use, *_) in found.items() if not use}

    def rank(text: str) -> tuple[int, int, bool, int, int, str]:
        use, count, new, _ = found[text]
        return use, _level(text), _form(text) not in forms, -count, -new, text

    return _within(((text, found[text][3]) for text in sorted(found, key=rank)), max_tokens)


def result_names(response: Any, *, max_tokens: int, said: str, taken: tuple[str, ...] = ()) -> str:
    """Returns the identifiers at the beginning of a result, or "": codes, words, numbers `taken`, then others."""
    return _within(((name, "") for name in _ranked(response, said, taken)), max_tokens)


def arguments_in(request: LlmRequest) -> tuple[str, ...]:
    """Returns the arguments that the tools of a request take, each as its words."""
    found = set[str]()
    for each in declared_in(request):
        # What reads back is declared with the first cut, which must not change what was cut.
        if getattr(each, "name", None) not in (READ_BACK, *OPENERS):
            schema = getattr(each, "parameters_json_schema", None) or getattr(each, "parameters", None)
            fields = schema.get("properties") if isinstance(schema, dict) else getattr(schema, "properties", None)
            found.update(map(_spelled, fields or ()))
    return tuple(sorted(found - {""}))


@lru_cache(maxsize=4096)
def _spelled(name: str) -> str:
    """Returns the words of a name, each behind a blank and without the ending of a plural."""
    return "".join(f" {word.removesuffix('s')}" for word in words(name))


def names_within(text: str, *, most: int) -> list[str] | None:
    """Returns the different identifiers in a text in their order, or None if there are more than `most`."""
    found = list(dict.fromkeys(match[0] for match in _NAMES.finditer(text)))
    return found if len(found) <= most else None


def _ranked(response: Any, said: str, taken: tuple[str, ...]) -> Iterator[str]:
    """Yields names while it searches, since a result may have thousands of which the first few fill the note."""
    seen = set[str]()
    characters = 0
    leaves = _leaves(response, taken, most=_MAX_OF_CONTENT, numbers=_MAX_OF_TEXT)
    for _, alike in groupby(leaves, itemgetter(1)):
        later = list[str]()
        # A table says the same again and again, and names nothing new by it.
        for leaf in dict.fromkeys(map(itemgetter(0), alike)):
            for name in islice(_in_leaf(leaf), _MAX_OF_TEXT):
                if name not in seen and name not in said:
                    seen.add(name)
                    if _level(name):
                        later.append(name)
                    else:
                        yield name
            characters += len(leaf)
            if characters > _MAX_CHARACTERS:
                break
        yield from sorted(later, key=_level)


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


def _names_in(content: types.Content, *, user: bool, whole: bool, taken: tuple[str, ...]) -> tuple[_Name, ...]:
    # Lists rather than generators in generators, since this runs for hundreds of contents at a session's first call.
    found: list[_Name] = []
    for part in content.parts or ():
        kind, name, _, value = said_in(part)
        if kind == "call" or (kind == "result" and whole):
            source, asks = re.sub(r"\s", " ", name or "?")[:_MAX_LENGTH], kind == "call"
            leaves = _leaves(value, taken, most=10 * _MAX_OF_CONTENT, numbers=_MAX_OF_CONTENT)
            named = ((text, source, 0 if asks else use) for leaf, use in leaves for text in _in_leaf(leaf))
            found += islice(named, _MAX_OF_CONTENT)
        elif kind == "text" and not part.thought and (user or whole):
            found += [(text, "said", 0 if user else 2) for text in islice(_in_text(value), _MAX_OF_CONTENT)]
        if len(found) >= _MAX_OF_CONTENT:
            break
    return tuple(found[:_MAX_OF_CONTENT])


def scalars(value: Any) -> Iterator[Any]:
    """Yields the texts, numbers, booleans and nulls within a JSON-like value in their order, and ids that are keys.

    Shared parts are yielded once.
    """
    return map(itemgetter(1), _placed(value))


def _placed(value: Any) -> Iterator[tuple[tuple[Any, Any], Any]]:
    """Yields what `scalars` does, each with the key of what it stands in and its own key."""
    waiting, seen = [iter([(("", ""), value)])], set[int]()
    while waiting:
        for keys, item in waiting[-1]:
            # Most items are leaves, and this runs for each one of hundreds of results.
            if type(item) in _LEAVES or not isinstance(item, (dict, list, tuple)):
                yield keys, item
            # What is inside itself would never end.
            elif id(item) not in seen:
                seen.add(id(item))
                if not isinstance(item, dict):
                    waiting.append(zip(repeat(keys), item))
                    break
                within: Iterator[Any] = zip(zip(repeat(keys[1]), item), item.values(), strict=True)
                # Keys that end in digits are ids, or such as years.
                if str(next(iter(item), ""))[-3:].isdigit():
                    within = chain(zip(repeat(keys), item), within)
                if not _LEAVES.issuperset(map(type, item.values())):
                    waiting.append(within)
                    break
                yield from within
        else:
            waiting.pop()


def _in_leaf(leaf: str) -> Iterable[str]:
    # A short value without blanks names something, whatever it looks like, and so do a few words of which none begins
    # with a small letter: a name, a street, a city.
    words = leaf.split() if leaf[2:] and len(leaf) <= _MAX_LENGTH and leaf.isprintable() else ()
    if len(words) == 1 or (words and len(leaf) <= _MAX_LENGTH / 2 and not any(word[0].islower() for word in words)):
        return (leaf,)
    # The line before a preview holds a handle and a length.
    return _in_text(leaf.partition("\n")[2] if stored_text(leaf) else leaf)


def _leaves(value: Any, taken: tuple[str, ...], *, most: int, numbers: int) -> list[tuple[str, int]]:
    """Returns texts and whole numbers of 100 and more among the first values of a result.

    Those whose key is named as an argument, or that of their object, come first with 1 beside them. The others have 2:
    texts, then some numbers. A number with a fraction is a measure, save one that is an answer by itself.
    """
    asked, others, whole = list[str](), list[str](), list[str]()
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key not in (LIMITS, NOTE, HANDLE)}
        answers = (item for item in value.values() if isinstance(item, float) and abs(item) >= _LEAST_NUMBER)
        others += map(str, islice(answers, _MAX_OF_TEXT))
    named = dict[tuple[Any, Any], bool]()
    for keys, item in islice(_placed(value), most):
        is_text = isinstance(item, str)
        if is_text or (isinstance(item, int) and abs(item) >= _LEAST_NUMBER):
            if taken and keys not in named:
                outer, inner = (_spelled(str(key)) for key in keys)
                named[keys] = outer.endswith(taken) or f"{outer}{inner}".endswith(taken)
            (asked if taken and named[keys] else others if is_text else whole).append(str(item))
    return [*zip(asked, repeat(1)), *zip(others + whole[:numbers], repeat(2))]


def _in_text(text: str) -> Iterator[str]:
    found = map(itemgetter(0), _NAMES.finditer(text, 0, _MAX_CHARACTERS))
    return (name for name in found if len(name) <= _MAX_LENGTH)
