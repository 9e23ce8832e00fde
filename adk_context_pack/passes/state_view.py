"""The view of a state value that an agent needs, declared as a function or as data.

A `select` is one of:

* `None`: the whole value.
* a function: gets the whole value (never one item), returns any value that JSON can hold.
* field names, `("id", "title")`: these fields, in this order. A dot goes into a nested value (`"result.row_count"`).
* new names, `{"id": "query_id", "rows": "result.row_count", "n": lambda item: len(item["rows"])}`: a field under
  another name, or a function of the item.
* a deciding field, with fields for each of its values. A tuple of values shares its fields. `None` covers all others:

      {"status": {
          "success": ("id", "title", "status", "row_count"),
          ("failed", "error"): ("id", "title", "status", "error_message", "query"),
          None: ("id", "title", "status", "depends_on"),
      }}

  An item whose value is not listed is left out if there is no `None`.

Fields are taken from a dict, a pydantic model or a dataclass. A list or tuple of these is handled item by item, and so
is a dict of them by id, which keeps its ids. A field that an item lacks is left out. An item without fields (a string
in the list) is kept unchanged. Text that holds a JSON object or list, as an agent's `output_key` stores it, is parsed.
A field that no item has is warned of where `FieldCheck` can tell that it is a mistake.

A view is filled into the `{compact:KEY}` slots of an instruction, which is cut at them, and found again in the text of
ADK. A slot in the text holds either the brace expression, as ADK leaves it, or a view, which is one JSON value. So a
text can be read back exactly, however often and in whatever order views were filled in. A view holds no slot.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache, reduce
from typing import Any, NamedTuple, TypeGuard

from pydantic import BaseModel

from adk_context_pack._adk.instruction import BRACES
from adk_context_pack._json import DECODER, is_number, opened, view_json
from adk_context_pack.errors import SettingError, did_you_mean, logger, misspelled, must, valid_function, warn_once

Fields = Collection[str] | Mapping[str, str | Callable[[Any], Any]]
"""Field names, or new names for them."""

Select = Callable[[Any], Any] | Fields | Mapping[str, Mapping[Any, Fields]]
"""The part of a state value that an agent needs, in one of the forms that `state_view` describes."""

_EXPECTED = (
    'a function of the value, field names such as ("id", "title"), new names such as {"rows": "row_count"}, '
    'or fields for each value of a deciding field such as {"status": {"failed": ("id", "query"), None: ("id",)}}'
)
_MISSING = object()


def compiled_view(owner: object, select: Select | None) -> Callable[[Any], Any]:
    """Checks `select`, or raises a `SettingError`, and compiles it into a function from the state value to the view."""
    if select is None:
        return lambda value: value
    if callable(select):
        valid_function(owner, "select", select, "a function of the value alone, not async")
        return select
    field, cases = by_case(owner, select)
    roots = frozenset(source.partition(".")[0] for source in (sources_of(cases[None]) if field is None else (field,)))

    def pick(item: Any) -> Any:
        value = None if field is None else field_of(item, field)
        value = value.value if isinstance(value, enum.Enum) else value
        # Without the field, and for a value that cannot be looked up, it is the case for None.
        fields = cases.get(value if isinstance(value, str | int | float | bool) else None, cases.get(None))
        if fields is None:
            return _MISSING
        found = ((name, get(item) if callable(get) else field_of(item, get)) for name, get in fields.items())
        return {name: value for name, value in found if value is not _MISSING}

    return lambda value: _each(value, pick, roots)


def by_case(owner: object, select: Any) -> tuple[str | None, dict[Any, dict[str, Any]]]:
    """Returns the deciding field of a `select` that is data, if any, and the sources of new names by its values."""
    field, cases = None, {None: select}
    if isinstance(select, Mapping) and any(isinstance(fields, Mapping) for fields in select.values()):
        ((field, cases), *others) = select.items()
        is_right = not others and isinstance(field, str) and field and isinstance(cases, Mapping)
        must(is_right, owner, "select", select, _EXPECTED)
    found: dict[Any, dict[str, Any]] = {}
    for values, fields in cases.items():
        found.update(dict.fromkeys(values if isinstance(values, tuple) else (values,), _sources(owner, fields)))
    return field, found


def _sources(owner: object, fields: Any) -> dict[str, Any]:
    must(isinstance(fields, Collection) and not isinstance(fields, str), owner, "select", fields, _EXPECTED)
    # A set has no order of its own that lasts from one process to the next, and a prompt must not move.
    names = sorted(fields) if isinstance(fields, set | frozenset) else fields
    pairs = fields.items() if isinstance(fields, Mapping) else [(name, name) for name in names]
    for name, source in pairs:
        is_right = all(isinstance(text, str) and text for text in (name, name if callable(source) else source))
        must(is_right, owner, "select", fields, _EXPECTED)
    return dict(pairs)


def field_of(item: Any, source: str) -> Any:
    """Returns a field of an item, or what a path of fields with dots leads to, or `_MISSING`."""
    found = _field(item, source)
    return reduce(_field, source.split("."), item) if found is _MISSING and "." in source else found


def _field(item: Any, name: str) -> Any:
    if isinstance(item, Mapping):
        return item.get(name, _MISSING)
    return getattr(item, name, _MISSING) if _is_item(item) else _MISSING


def _is_item(value: Any) -> bool:
    return isinstance(value, Mapping | BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type))


def _each(value: Any, pick: Callable[[Any], Any], roots: frozenset[str]) -> Any:
    value = opened(value)
    if isinstance(value, list | tuple):
        return [found for found in (pick(item) if _is_item(item) else item for item in value) if found is not _MISSING]
    # A dict with none of the requested fields may hold items by id.
    by_id = isinstance(value, Mapping) and roots.isdisjoint(value)
    items = [item for item in value.values() if item is not None] if by_id else ()
    if items and all(map(_is_item, items)):
        found_by_id = ((key, pick(item) if _is_item(item) else item) for key, item in value.items())
        return {key: found for key, found in found_by_id if found is not _MISSING}
    found = pick(value) if _is_item(value) else value
    return None if found is _MISSING else found


def sources_of(fields: Mapping[str, Any]) -> list[str]:
    """Returns the names of the fields that a view is made of, without functions."""
    return [source for source in fields.values() if isinstance(source, str)]


def items_in(value: Any, roots: Collection[str]) -> list[Any]:
    """Returns the items of a state value that have fields. A dict without any of `roots` may hold items by id."""
    found: list[Any] = []
    _each(value, found.append, frozenset(roots))
    return found


class FieldCheck:
    """Looks for each field of a `select` in the items, until it was found or warned of.

    A field that no item has may be one that few get, such as an error. It is a mistake only if one of these holds:

    * The items have a field that it is a misspelling of, and that the `select` does not name.
    * The items have none of several requested fields.
    * All items are of types that declare their fields, none declares this one, and no other field decides about it.
    * It is a deciding field without a case for `None`, so that the view leaves out all items.

    An empty list, and a value without fields, prove nothing. The check ends after a few values.
    """

    def __init__(self, owner: str, select: Select | None) -> None:
        self._owner = owner
        is_data = select is not None and not callable(select)
        self._field, cases = by_case(owner, select) if is_data else (None, {})
        self._always = [self._field] if self._field else [name for each in cases.values() for name in sources_of(each)]
        self._needed = None if None in cases else self._field
        self._names = {*self._always, *(name for each in cases.values() for name in sources_of(each))}
        self._open = set(self._names)
        self._looks = 20

    def look(self, value: Any) -> None:
        """Looks at the items of one state value, and warns of the fields that are mistakes."""
        if not self._open or not self._looks:
            return
        found = items_in(value, [name.partition(".")[0] for name in self._always])[:200]
        if not (items := [item for item in found if next(_own_names(item), None) is not None]):
            return
        self._looks -= 1
        missing = {name for name in self._names if all(field_of(item, name) is _MISSING for item in items)}
        self._open &= missing
        has_none = len(missing) == len(self._names) > 1
        # A model that allows extra fields does not declare all that it has.
        models = (item for item in items if not dataclasses.is_dataclass(item))
        is_declared = all(isinstance(one, BaseModel) and one.model_config.get("extra") != "allow" for one in models)
        for name in sorted(self._open):
            near = _names(name, items)
            # A nested value may still come.
            is_sure = "." not in name and (has_none or name == self._needed or (is_declared and name in self._always))
            if is_sure or misspelled(name, near - self._names):
                self._open.discard(name)
                what = f"{'deciding ' if name == self._field else ''}field {name!r}"
                warn_once(f"{self._owner}: no item has the {what}{did_you_mean(name, near)}")


def _names(name: str, items: Iterable[Any]) -> set[str]:
    """Returns the names that items have in the place of `name`. The head of a path is kept where items have it."""
    head, dot, _ = name.rpartition(".")
    if dot and any(field_of(item, head) is not _MISSING for item in items):
        inner = items_in([field_of(item, head) for item in items], ())
        return {f"{head}.{found}" for item in inner for found in _own_names(item)}
    return {found for item in items for found in _own_names(item)}


def _own_names(item: Any) -> Iterator[str]:
    if isinstance(item, Mapping):
        yield from (name for name in item if isinstance(name, str))
    elif isinstance(item, BaseModel):
        yield from type(item).model_fields
    else:
        yield from (field.name for field in dataclasses.fields(item))


class StateView:
    """The view of one state key, checked once and rendered at every call. Errors in the settings name `owner`."""

    def __init__(self, *, owner: str, key: str, select: Select | None = None, output_key: str | None = None) -> None:
        self.key = _checked_key(owner, "key", key)
        is_other = output_key is None or _checked_key(owner, "output_key", output_key) != key
        must(is_other, owner, "output_key", output_key, "another name than key")
        self._view = compiled_view(owner, select)
        self._fields = FieldCheck(f"{owner} of {key!r}", select)

    def render(self, state: Mapping[str, Any], *, strict: bool = False) -> str:
        """Renders the view as JSON text. A missing value and None give `null`, without calling `select`.

        An exception from a function in `select` is raised if `strict`. Otherwise it is logged, and the text is a JSON
        object that says so, so that a model does not take a missing view for an empty value.
        """
        try:
            value = state.get(self.key)
            if value is None:
                return "null"
            try:
                self._fields.look(value)
            except Exception:
                # The view does not depend on the check.
                logger.debug("the fields of state key %s could not be checked", self.key, exc_info=True)
            return view_json(self._view(value))
        except Exception as exception:
            if strict:
                raise
            logger.exception("the view of state key %s could not be made", self.key)
            return view_json({"error": f"no view of {self.key}: {type(exception).__name__}"})


def _checked_key(owner: str, name: str, key: object) -> str:
    if not isinstance(key, str) or not key or key != key.strip() or key.endswith("?") or set(key) & {"{", "}"}:
        raise SettingError.of(owner, name, key, 'a state key such as "gaql_queries"')
    return key


PREFIX = "compact:"


class Slot(NamedTuple):
    """One placeholder of a template: the brace expression, and what is between the braces without a question mark.

    With a question mark it is optional, so that a missing value leaves no text.
    """

    text: str
    name: str
    optional: bool


Pieces = tuple[str | Slot, ...]
"""A template: plain text, a slot, plain text, and so on. It begins and ends with plain text, which may be empty."""


@lru_cache(maxsize=256)
def parse(template: str, output_key: str | None = None) -> Pieces:
    """Cuts a template at the slots of all passes and at `{output_key}`. ADK's other variables are plain text."""
    pieces, done = list[str | Slot](), 0
    for match in BRACES.finditer(template):
        text = match.group()
        name = text.strip("{}").strip()
        start, end = match.span()
        if name.startswith(PREFIX):
            # ADK takes all braces for the expression's own, so `{"rows": {name}}` loses one. Here the extra one stays.
            extra = len(text.rstrip("}")) - len(text.lstrip("{"))
            start, end = start + max(extra, 0), end + min(extra, 0)
        elif name.removesuffix("?") != output_key:
            continue
        pieces += (template[done:start], Slot(template[start:end], name.removesuffix("?"), name.endswith("?")))
        done = end
    return (*pieces, template[done:])


def slot_keys(template: str) -> set[str]:
    """Returns the keys of all `{compact:KEY}` slots of a template."""
    return {piece.name.removeprefix(PREFIX) for piece in parse(template) if isinstance(piece, Slot)}


class View(NamedTuple):
    """The JSON for the slots of a state key, and the `stale` one that ADK filled in for `{output_key}` at this call."""

    key: str
    text: str
    missing: bool
    output_key: str | None
    stale: str

    def owns(self, piece: str | Slot) -> TypeGuard[Slot]:
        """Tells whether a piece is a slot of this key. Another pass fills in the others."""
        return isinstance(piece, Slot) and piece.name in (PREFIX + self.key, self.output_key)

    def of(self, slot: Slot) -> str:
        """Returns the text of one slot. As with ADK's `{name?}`, an optional slot without a value is empty."""
        return "" if self.missing and slot.optional else self.text

    def unfilled(self, slot: Slot) -> str:
        """Returns what ADK leaves of a slot: the brace expression, or the state's value of `output_key`."""
        return self.stale if slot.name == self.output_key else slot.text

    def ends(self, text: str, at: int, slot: Slot) -> Iterator[int]:
        """Yields the places where a slot that begins at `at` may end, the likeliest first."""
        for held in (self.unfilled(slot), self.text if self.owns(slot) else ""):
            if held and text.startswith(held, at):
                yield at + len(held)
        with contextlib.suppress(StopIteration, ValueError, RecursionError):
            # Unlike `raw_decode`, it does not count the lines before what is no JSON.
            value, end = DECODER.scan_once(text, at)
            # Nothing says where a number ends if digits follow it.
            yield from range(end, at, -1) if is_number(value) else (end,)
        if slot.optional or slot.name == self.output_key:
            yield at


def find_block(text: str, pieces: Pieces, view: View, cursor: int = 0, follower: str = "") -> list[int]:
    """Finds the pieces one after the other in `text`, at or after `cursor`. Returns where they begin, and the end."""
    # A user's text may hold the whole instruction byte for byte. Of several places, the one that is followed by
    # `follower` wins, then the one at `cursor`, then one that is a paragraph by itself.
    first = pieces[0]
    starts = occurrences(text, first, cursor) if isinstance(first, str) and first else ()
    best: tuple[tuple[bool, ...], list[int]] = ((), [])
    for start in starts or [cursor, *(found + 2 for found in occurrences(text, "\n\n", cursor))]:
        if block := match_at(text, start, pieces, view):
            led = start == 0 or text.startswith("\n\n", start - 2)
            ended = block[-1] == len(text) or text.startswith("\n\n", block[-1])
            followed = not follower or text.startswith("\n\n" + follower, block[-1])
            rank = (followed, start == cursor, led and ended)
            best = max(best, (rank, block), key=lambda found: found[0])
            if all(rank):
                break
    return best[1]


def match_at(text: str, start: int, pieces: Pieces, view: View, *, end: int | None = None) -> list[int]:
    """Returns where each of the pieces begins if they stand at `start`, and where they end. `end` may ask for one."""
    if not pieces:
        return [start] if end in (None, start) else []
    piece, rest = pieces[0], pieces[1:]
    if isinstance(piece, Slot):
        ends = view.ends(text, start, piece)
    else:
        ends = iter([start + len(piece)] if text.startswith(piece, start) else [])
    found = (match_at(text, after, rest, view, end=end) for after in ends)
    return next(([start, *block] for block in found if block), [])


def occurrences(text: str, part: str, start: int = 0) -> Iterator[int]:
    """Finds all places of `part` in `text`, overlapping ones included."""
    found = text.find(part, start) if part else -1
    while found >= 0:
        yield found
        found = text.find(part, found + 1)


def slots_in(text: str, name: str) -> Iterator[tuple[int, int, Slot]]:
    """Finds the slots of a name in a text that has no template. Yields where each begins and ends, and the slot."""
    at = 0
    # Such a text differs from call to call, and may hold state.
    for piece in parse.__wrapped__(text) if name in text else ():
        start, at = at, at + len(piece if isinstance(piece, str) else piece.text)
        if isinstance(piece, Slot) and piece.name == name:
            yield start, at, piece
