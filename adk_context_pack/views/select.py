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
_Getter = Callable[[Any], Any]


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
    if isinstance(select, Mapping) and any(isinstance(fields, Mapping) for fields in select.values()):
        return _by_value(owner, select)
    getters = _getters(owner, select)
    roots = frozenset(source.partition(".")[0] for source in sources_of(select))
    return lambda value: _each(value, lambda item: _pick(item, getters), roots)


def _by_value(owner: object, select: Mapping[str, Any]) -> Callable[[Any], Any]:
    ((field, cases), *others) = select.items()
    if others or not isinstance(field, str) or not isinstance(cases, Mapping):
        raise SettingError.of(owner, "select", select, _EXPECTED)
    _getter(owner, field)
    picks: dict[Any, dict[str, _Getter]] = {}
    for values, fields in cases.items():
        getters = _getters(owner, fields)
        picks.update((value, getters) for value in (values if isinstance(values, tuple) else (values,)))
    otherwise = picks.get(None)

    def pick(item: Any) -> Any:
        getters = picks.get(deciding_value(item, field), otherwise)
        return _MISSING if getters is None else _pick(item, getters)

    return lambda value: _each(value, pick, frozenset({field.partition(".")[0]}))


def _plain(value: Any) -> Any:
    """Returns a deciding value as it can be looked up: an enum by its value, and None for anything unhashable."""
    if isinstance(value, enum.Enum):
        value = value.value
    return value if value is not _MISSING and isinstance(value, str | int | float | bool) else None


def _getters(owner: object, fields: Any) -> dict[str, _Getter]:
    if isinstance(fields, Mapping):
        pairs = tuple(fields.items())
    elif isinstance(fields, str) or not isinstance(fields, Collection):
        raise SettingError.of(owner, "select", fields, _EXPECTED)
    else:
        # A set has no order of its own that lasts from one process to the next, and a prompt must not move.
        pairs = tuple((name, name) for name in (sorted(fields) if isinstance(fields, set | frozenset) else fields))
    if not all(isinstance(name, str) and name for name, _ in pairs):
        raise SettingError.of(owner, "select", fields, _EXPECTED)
    return {name: _getter(owner, source) for name, source in pairs}


def _getter(owner: object, source: Any) -> _Getter:
    if callable(source):
        return source  # type: ignore[no-any-return]
    if not isinstance(source, str) or not source:
        raise SettingError.of(owner, "select", source, _EXPECTED)
    return lambda item: field_of(item, source)


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


def _pick(item: Any, getters: Mapping[str, _Getter]) -> Any:
    found = ((name, get(item)) for name, get in getters.items())
    return {name: value for name, value in found if value is not _MISSING}


def _each(value: Any, pick: _Getter, roots: frozenset[str]) -> Any:
    value = opened(value)
    if isinstance(value, list | tuple):
        return [found for found in (pick(item) if _is_item(item) else item for item in value) if found is not _MISSING]
    if _is_by_id(value, roots):
        found_by_id = ((key, pick(item) if _is_item(item) else item) for key, item in value.items())
        return {key: found for key, found in found_by_id if found is not _MISSING}
    found = pick(value) if _is_item(value) else value
    return None if found is _MISSING else found


def sources_of(fields: Any) -> list[str]:
    """Returns the names of the fields that a view is made of, without functions."""
    sources = fields.values() if isinstance(fields, Mapping) else fields
    return [source for source in sources if isinstance(source, str)]


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


def deciding_value(item: Any, source: str) -> Any:
    """Returns the value of an item's deciding field as a `select` lists it, or None."""
    return _plain(field_of(item, source))


def _is_by_id(value: Any, roots: frozenset[str]) -> bool:
    """Tells whether a dict holds items by id, because it has none of the requested fields itself."""
    if not isinstance(value, Mapping) or not value or not roots.isdisjoint(value):
        return False
    items = [item for item in value.values() if item is not None]
    return bool(items) and all(map(_is_item, items))
