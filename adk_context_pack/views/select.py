"""Compiles a `select` into a function from a state value to its view. `state_view` describes its forms."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Collection, Mapping
from functools import reduce
from typing import Any

from pydantic import BaseModel

from adk_context_pack._json import opened
from adk_context_pack.errors import SettingError

Fields = Collection[str] | Mapping[str, str | Callable[[Any], Any]]
"""Field names, or new names for them."""

Select = Callable[[Any], Any] | Fields | Mapping[str, Mapping[Any, Fields]]
"""The part of a state value that an agent needs, in one of the forms that `state_view` describes."""

_EXPECTED = (
    'a function of the value, field names such as ("id", "title"), new names such as {"rows": "row_count"}, '
    'or fields for each value of a deciding field such as {"status": {"failed": ("id", "query"), None: ("id",)}}'
)
_MISSING = object()


def view_of(owner: object, select: Select | None) -> Callable[[Any], Any]:
    """Checks `select` once and compiles it into a function from the state value to the view.

    Raises:
        SettingError: `select` is neither a function nor one of the forms above.
    """
    if select is None:
        return lambda value: value
    if inspect.iscoroutinefunction(select):
        raise SettingError.of(owner, "select", select, "a function that is not async")
    if callable(select):
        return select
    field, cases = by_case(owner, select)
    roots = frozenset(source.partition(".")[0] for source in (sources_of(cases[None]) if field is None else (field,)))

    def pick(item: Any) -> Any:
        fields = cases.get(None if field is None else deciding_value(item, field), cases.get(None))
        if fields is None:
            return _MISSING
        found = ((name, get(item) if callable(get) else field_of(item, get)) for name, get in fields.items())
        return {name: value for name, value in found if value is not _MISSING}

    return lambda value: _each(value, pick, roots)


def by_case(owner: object, select: Any) -> tuple[str | None, dict[Any, dict[str, Any]]]:
    """Checks a `select` that is data, and returns its deciding field and the sources of new names by its values.

    Without a deciding field, all sources are under None.

    Raises:
        SettingError: `select` is none of the forms.
    """
    field, cases = None, {None: select}
    if isinstance(select, Mapping) and any(isinstance(fields, Mapping) for fields in select.values()):
        ((field, cases), *others) = select.items()
        if others or not isinstance(field, str) or not field or not isinstance(cases, Mapping):
            raise SettingError.of(owner, "select", select, _EXPECTED)
    found: dict[Any, dict[str, Any]] = {}
    for values, fields in cases.items():
        found.update(dict.fromkeys(values if isinstance(values, tuple) else (values,), _sources(owner, fields)))
    return field, found


def _sources(owner: object, fields: Any) -> dict[str, Any]:
    if isinstance(fields, str) or not isinstance(fields, Collection):
        raise SettingError.of(owner, "select", fields, _EXPECTED)
    # A set has no order of its own that lasts from one process to the next, and a prompt must not move.
    names = sorted(fields) if isinstance(fields, set | frozenset) else fields
    pairs = fields.items() if isinstance(fields, Mapping) else [(name, name) for name in names]
    for name, source in pairs:
        if not all(isinstance(text, str) and text for text in (name, name if callable(source) else source)):
            raise SettingError.of(owner, "select", fields, _EXPECTED)
    return dict(pairs)


def deciding_value(item: Any, source: str) -> Any:
    """Returns the value of an item's deciding field as a `select` lists it: an enum by its value.

    It is None for a field that is missing, and for a value that cannot be looked up.
    """
    value = field_of(item, source)
    value = value.value if isinstance(value, enum.Enum) else value
    return value if isinstance(value, str | int | float | bool) else None


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
    if _is_by_id(value, roots):
        found_by_id = ((key, pick(item) if _is_item(item) else item) for key, item in value.items())
        return {key: found for key, found in found_by_id if found is not _MISSING}
    found = pick(value) if _is_item(value) else value
    return None if found is _MISSING else found


def sources_of(fields: Mapping[str, Any]) -> list[str]:
    """Returns the names of the fields that a view is made of, without functions."""
    return [source for source in fields.values() if isinstance(source, str)]


def items_in(value: Any, roots: Collection[str]) -> list[Any]:
    """Returns the items of a state value that have fields.

    Args:
        value: the state value.
        roots: the first segments of the requested fields. A dict with none of them may hold items by id.
    """
    found: list[Any] = []
    _each(value, found.append, frozenset(roots))
    return found


def has_field(item: Any, source: str) -> bool:
    """Tells whether an item has a field, or a path of fields with dots."""
    return field_of(item, source) is not _MISSING


def _is_by_id(value: Any, roots: frozenset[str]) -> bool:
    """Tells whether a dict holds items by id, because it has none of the requested fields itself."""
    if not isinstance(value, Mapping) or not value or not roots.isdisjoint(value):
        return False
    items = [item for item in value.values() if item is not None]
    return bool(items) and all(map(_is_item, items))
