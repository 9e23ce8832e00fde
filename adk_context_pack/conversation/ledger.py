"""Lists the identifiers of what left a request, so that an agent knows what to look for, and often need not look."""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice, repeat
from operator import itemgetter
from typing import Any

from adk_context_pack._adk import LlmRequest, types
from adk_context_pack._adk.known_tools import OPENERS, READ_BACK, declared_in
from adk_context_pack.conversation.contents import said_in
from adk_context_pack.conversation.token_estimate import estimate_tokens
from adk_context_pack.tables.column_names import words
from adk_context_pack.tables.stub_form import HANDLE, LIMITS, NOTE, stored_text

NAMED = "named"
"""The key of a note's identifiers."""
_MAX_OF_CONTENT = 200
MAX_OF_TEXT = 4
_MAX_CHARACTERS = 20_000
_MAX_LENGTH = 60
# In this order: e-mail addresses, paths and files, handles, groups as `HRB 123`, `KX61 XRT` and `5 U.S. 812`, dates
# and times, words that hold a digit, IP addresses, codes, amounts. Each repetition has a bound, since the texts are
# whatever users and tools wrote.
_NAMES = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{1,60}){1,6}"
    r"|(?<![\w.-])[\w.-]{0,60}(?:/[\w.-]{1,60}){2,20}(?:::[\w.-]{1,60}){0,3}|\b[\w-]{1,60}\.[a-zA-Z]{2,4}\b"
    r"|[@#](?<!\w[@#])[\w-]{2,40}"
    r"|\b[A-Z]{2,5} \d{1,4}(?:[./:-]\w{1,6}){0,2}\b|\b[A-Z]{1,2}\d[\dA-Z]{0,3}(?: [\dA-Z]{2,4}){1,8}\b"
    r"|(?:\[\d{4}\]|\b\d{1,4}|\b[IVX]{1,5})(?: [A-Z][\w.]{0,9}){1,3} \d{1,5}(?:/\d{2,4})?\b"
    r"|\b\d{1,5}/\d{3,6}\b|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?"
    r"|\b(?<!\w[-./:])(?=\w)(?=(?:[a-zA-Z_-]|[./:](?=\w)){0,60}\d)(?=(?:\d|[./:](?=\w)){0,60}[a-zA-Z_-])"
    r"\w(?:[\w-]|[./:](?=\w)){2,60}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\b[A-Z]{3,5}\b"
    r"|[$€£]\s?\d[\d.,]{0,30}\d|\b\d[\d.,]{0,30}\d{2}\b"
)
_FEWEST_DIGITS = 5
_LEAST_NUMBER = 100
LEAVES = frozenset({str, int, float, bool, type(None)})

# Of older contents only users' are searched, since the walk would cost more than all the rest of a first call.
_RECENT = 120

_Field = tuple[str, Any]
_Name = tuple[str, int, _Field]
"""A name, -1 if a user said it, 0 if an agent asked with it, 1 if a tool takes it, or else 2, and its tool and keys."""


def ledger_text(
    contents: Sequence[types.Content],
    left: Collection[int],
    *,
    users: Collection[int],
    max_tokens: int,
    taken: tuple[str, ...] = (),
) -> str:
    """Returns the identifiers that stand in some contents, each with the tool that it belongs to, or "".

    Names that users said come first, then those that a later call is likely to ask with: agents asked with others of
    the same key and tool, or an argument is named as the key is. Of each key the newest come first. The first of all
    keys are mixed, so that no list fills the ledger. Late names of a content count as older, words and small numbers as
    less likely. Users' texts are searched further back than others.

    Args:
        contents: the contents.
        left: the indexes of those that left the request. Nothing else has a part in the text.
        users: the indexes of those in which a user speaks. The role does not tell: relays have the user's as well.
        max_tokens: the most tokens of the text, as estimated, or 0 for none.
        taken: the arguments that tools take, as `arguments_in` gives them.
    """
    if max_tokens <= 0:
        return ""
    found, ordered = dict[str, tuple[int, int, _Field]](), sorted(left)
    for index in (*(each for each in ordered[-800:-_RECENT] if each in users), *ordered[-_RECENT:]):
        for place, (text, use, field) in enumerate(_names_in(contents[index], user=index in users, taken=taken)):
            best, age, first = found.get(text, (use, index - place, field))
            found[text] = min(use, best), max(age, index - place), first
    named, asked = (Tally(field for use, _, field in found.values() if use < most) for most in (3, 1))
    before, worth = Tally[_Field](), dict[str, float]()
    for text, (use, age, field) in sorted(found.items(), key=lambda each: (-each[1][1], each[0])):
        before[field] += 1
        # How many of its kind were asked with. That a tool takes them counts as one.
        likely = (asked[field] + (0.1 if use == 2 else 1)) / (named[field] + 4) / (1 + _level(text))  # noqa: PLR2004
        worth[text] = (use >= 0) - likely / (1 + before[field] / 10) / (1 + (ordered[-1] - age) / 100)
    return _within(((text, f"{found[text][2][0]}: ") for text in sorted(worth, key=worth.__getitem__)), max_tokens)


def result_names(
    response: Any, *, max_tokens: int, said: str, taken: tuple[str, ...] = (), most: int = MAX_OF_TEXT
) -> str:
    """Returns the identifiers at the beginning of a result, up to `most` of one text, short codes first, or ""."""
    # A table says the same again and again, and names nothing new by it. The names of more rows hardly ever fit.
    leaves = dict.fromkeys(leaf[:2] for leaf in _leaves(response, taken, rows=max(max_tokens // 5, 12)))
    before = accumulate((len(leaf) for leaf, _ in leaves), initial=0)
    read = (each for each, size in zip(leaves, before, strict=False) if size <= _MAX_CHARACTERS)
    named = ((use, _level(name), len(name) // 4, name) for leaf, use in read for name in islice(_in_leaf(leaf), most))
    # Of short ones more fit, and of one length the first rows stay first. More than these never fit.
    ranked = sorted(islice(named, 4 * max_tokens), key=itemgetter(0, 1, 2))
    names = dict.fromkeys(name for *_, name in ranked if name not in said)
    return _within(zip(names, repeat("")), max_tokens)


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
    # Some words are kept together that say something else of a column.
    return "".join(f" {word.removesuffix('s')}" for phrase in words(name) for word in phrase.split("_"))


@lru_cache(maxsize=4096)
def _is_taken(tool: str, outer: str, key: str, taken: tuple[str, ...]) -> bool:
    """Tells whether a key, or that of its object, is named as an argument, or has a part of the name of one."""
    outer, key = _spelled(outer), _spelled(key)
    # The `id` in what `list_orders` returns is that of an order.
    if outer.endswith(taken) or any(f"{of}{key}".endswith(taken) for of in (outer, _spelled(tool))):
        return True
    # Compounds such as `vorgangsnummer` begin with the name of what they count.
    return bool(key[3:]) and any(each.startswith(key) or each.endswith(key) for each in taken)


def names_within(text: str, *, most: int) -> list[str] | None:
    """Returns the different identifiers in a text in their order, or None if there are more than `most`."""
    found = list(dict.fromkeys(match[0] for match in _NAMES.finditer(text)))
    return found if len(found) <= most else None


def _level(name: str) -> int:
    """Returns 0 for codes and long numbers, 1 for words, dates, times and amounts, and 2 for small numbers."""
    if name.isdigit():
        return 0 if len(name) >= _FEWEST_DIGITS else 2
    # A call asks with the code of a thing rather than with its address, the day or the time of day.
    if " " in name or ":" in name or not (digits := sum(map(str.isdigit, name))):
        return 1
    return int(not any(map(str.isalpha, name)) and (digits < _FEWEST_DIGITS or name[4::3] == "--"))


def _within(names: Iterable[tuple[str, str]], max_tokens: int) -> str:
    """Returns the names that fit, behind their sources with blanks between them, since each comma is a token."""
    by_source: dict[str, list[str]] = {}
    spent = 0
    for text, source in names:
        shown = f"'{text}'" if " " in text else text
        # Counted one by one, since a sum of estimates is never below the estimate of the whole.
        cost = estimate_tokens(f" {shown}") + (source not in by_source and estimate_tokens(f"; {source}"))
        if spent + cost > max_tokens:
            break
        spent += cost
        by_source.setdefault(source, []).append(shown)
    return "; ".join(f"{source}{' '.join(each)}" for source, each in by_source.items())


def _names_in(content: types.Content, *, user: bool, taken: tuple[str, ...]) -> tuple[_Name, ...]:
    # Lists rather than generators in generators, since this runs for hundreds of contents at a session's first call.
    found: list[_Name] = []
    for part in content.parts or ():
        kind, name, _, value = said_in(part)
        if kind in ("call", "result"):
            source, asks = re.sub(r"\s", " ", name or "?")[:_MAX_LENGTH], kind == "call"
            leaves = _leaves(value, taken, tool=source)
            named = ((text, 0 if asks else use, (source, at)) for leaf, use, at in leaves for text in _in_leaf(leaf))
            found += islice(named, _MAX_OF_CONTENT)
        elif kind == "text" and not part.thought:
            found += [(text, -1 if user else 2, ("said", "")) for text in islice(_in_text(value), _MAX_OF_CONTENT)]
        if len(found) >= _MAX_OF_CONTENT:
            break
    return tuple(found[:_MAX_OF_CONTENT])


def scalars(value: Any) -> Iterator[Any]:
    """Yields the texts, numbers, booleans and nulls within a JSON-like value in their order, and ids that are keys.

    Shared parts are yielded once.
    """
    return (item for _, items in _placed(value) for _, item in items)


def _placed(value: Any, rows: int = 0) -> Iterator[tuple[Any, Iterable[tuple[Any, Any]]]]:
    """Yields what `scalars` does, each behind its key, and some behind an outer one, from so many rows of a list."""
    waiting: list[tuple[Any, Iterator[tuple[Any, Any]]]] = [("", iter([("", value)]))]
    seen = set[int]()
    while waiting:
        outer, items = waiting[-1]
        for key, item in items:
            if type(item) in LEAVES or not isinstance(item, (dict, list, tuple)):
                yield outer, ((key, item),)
            # What is inside itself would never end.
            elif id(item) not in seen:
                seen.add(id(item))
                if not isinstance(item, dict):
                    told = item[:rows] if rows and dict in map(type, item[:1]) else item
                    waiting.append((outer, zip(repeat(key), told)))
                    break
                if _has_ids(item):
                    yield outer, zip(repeat(key), item)
                if not LEAVES.issuperset(map(type, item.values())):
                    waiting.append((key, iter(item.items())))
                    break
                yield key, item.items()
        else:
            waiting.pop()


def _has_ids(item: dict[Any, Any]) -> bool:
    """Tells whether keys are ids, or such as years: they end in digits, or hold some and their objects are alike."""
    key = str(next(iter(item), ""))
    # Of most the first key is a word, and this runs for each object in a session.
    if key.isalpha() or not any(map(str.isdigit, key)):
        return False
    alike = [each.keys() for each in islice(item.values(), 2) if isinstance(each, dict)]
    return key[-3:].isdigit() or alike[1:] == alike[:1] != []


def _in_leaf(leaf: str) -> Iterable[str]:
    # A short value without blanks names something, whatever it looks like, and so do a few words of which none begins
    # with a small letter: a name, a street, a city.
    words = leaf.split() if leaf[2:] and len(leaf) <= _MAX_LENGTH and leaf.isprintable() else ()
    if len(words) == 1 or (words and len(leaf) <= _MAX_LENGTH / 2 and not any(word[0].islower() for word in words)):
        return (leaf,)
    # The line before a preview holds a handle and a length.
    return _in_text(leaf.partition("\n")[2] if stored_text(leaf) else leaf)


def _leaves(value: Any, taken: tuple[str, ...], *, rows: int = 0, tool: str = "") -> list[tuple[str, int, Any]]:
    """Returns texts and whole numbers of 100 and more among the first values of a result, each with its keys.

    Those whose key is named as an argument, or that of their object, come first with 1 beside them. The others have 2:
    texts, then some numbers. A number with a fraction is a measure, save one that is an answer by itself.
    """
    asked, others, whole = (list[tuple[str, int, Any]]() for _ in range(3))
    most, numbers = (_MAX_OF_CONTENT, MAX_OF_TEXT) if rows else (10 * _MAX_OF_CONTENT, _MAX_OF_CONTENT)
    if isinstance(value, dict):
        value = {key: item for key, item in value.items() if key not in (LIMITS, NOTE, HANDLE)}
        answers = (item for item in value.values() if isinstance(item, float) and abs(item) >= _LEAST_NUMBER)
        others += [(str(item), 2, "") for item in islice(answers, MAX_OF_TEXT)]
    placed = ((outer, key, item) for outer, items in _placed(value, rows) for key, item in items)
    uses = dict[tuple[Any, Any], int]()
    for outer, key, item in islice(placed, most):
        if isinstance(item, str) or (isinstance(item, int) and abs(item) >= _LEAST_NUMBER):
            at = outer, key
            use = uses.get(at) or uses.setdefault(at, 2 - _is_taken(tool, str(outer), str(key), taken))
            (asked if use == 1 else whole if isinstance(item, int) else others).append((str(item), use, at))
    return asked + others + whole[:numbers]


def _in_text(text: str) -> Iterator[str]:
    found = map(itemgetter(0), _NAMES.finditer(text, 0, _MAX_CHARACTERS))
    return (name for name in found if len(name) <= _MAX_LENGTH)
