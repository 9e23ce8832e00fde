"""Warns of the fields of a `select` that no item has."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from adk_context_pack.errors import did_you_mean, misspelled, warn_once
from adk_context_pack.views.select import Select, by_case, deciding_value, field_of, has_field, items_in, sources_of

_ALL = object()
"""All items, in the place of a value of their deciding field."""


class FieldCheck:
    """Looks for each field of a `select` in the items, until it was found or warned of.

    A field that no item has may be one that only some items get, such as an error message. It is taken for a mistake
    only if one of these holds:

    * The items have a field that it is a misspelling of, and that the `select` does not name.
    * The items have none of several requested fields.
    * All items are of types that declare their fields, and none declares this one.
    * It is a deciding field without a case for `None`, so that the view leaves out all items.

    Fields that are requested for some values of a deciding field are looked for in the items with these values. An
    empty list, and a value without fields, prove nothing. The check ends after a few values.

    Args:
        owner: whose setting it is, for the warning.
        select: a `select` that was checked.
    """

    def __init__(self, owner: str, select: Select | None) -> None:
        self._owner = owner
        is_data = select is not None and not callable(select)
        self._field, cases = by_case(owner, select) if is_data else (None, {})
        named: dict[Any, list[str]] = {value: sources_of(fields) for value, fields in cases.items()}
        self._cases = {_ALL: named.get(None, [])} if self._field is None else {_ALL: [self._field], **named}
        self._open = {(case, name) for case, names in self._cases.items() for name in names}
        self._looks = 20

    @property
    def is_open(self) -> bool:
        """Tells whether there is anything left to look for."""
        return bool(self._open) and self._looks > 0

    def look(self, value: Any) -> None:
        """Looks at the items of one state value, and warns of the fields that are mistakes."""
        found = items_in(value, [name.partition(".")[0] for name in self._cases[_ALL]])[:200]
        items = [item for item in found if next(_own_names(item), None) is not None]
        self._looks -= bool(items)
        values = [deciding_value(item, self._field) if self._field else None for item in items]
        decided = [value if value in self._cases else None for value in values]
        for case, fields in self._cases.items():
            chosen = [item for item, own in zip(items, decided, strict=True) if case is _ALL or own == case]
            missing = [name for name in fields if not any(has_field(item, name) for item in chosen)]
            self._open.difference_update((case, name) for name in set(fields).difference(missing))
            missing = [name for name in missing if (case, name) in self._open and chosen]
            # Without a case for None, a view of items without the deciding field is empty.
            is_needed = case is _ALL and self._field is not None and None not in self._cases
            has_none = len(missing) == len(fields) > (0 if is_needed else 1)
            for name in missing:
                # A nested value may still come.
                if (has_none and "." not in name) or _is_mistake(name, chosen, fields):
                    self._open.discard((case, name))
                    what = f"{'deciding ' if name == self._field else ''}field {name!r}"
                    warn_once(f"{self._owner}: no item has the {what}{did_you_mean(name, _names(name, chosen))}")


def _is_mistake(name: str, items: Sequence[Any], requested: Iterable[str]) -> bool:
    if "." not in name and all(map(_declares_all, items)):
        return True
    return misspelled(name, _names(name, items) - set(requested)) is not None


def _declares_all(item: Any) -> bool:
    if isinstance(item, BaseModel):
        return type(item).model_config.get("extra") != "allow"
    return dataclasses.is_dataclass(item)


def _names(name: str, items: Iterable[Any]) -> set[str]:
    """Returns the names that items have in the place of `name`. The head of a path is kept where items have it."""
    head, dot, _ = name.rpartition(".")
    if dot and any(has_field(item, head) for item in items):
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
