"""Checks that settings share, so that each of them fails in the same words."""

from __future__ import annotations

from collections.abc import Iterable

from adk_context_pack.errors import SettingError


def positive(owner: object, name: str, value: object) -> int:
    """`value` if it is an integer of at least 1, else a `SettingError` that names it."""
    return at_least(owner, name, value, 1)


def at_least(owner: object, name: str, value: object, minimum: int) -> int:
    """`value` if it is an integer of at least `minimum`, else a `SettingError` that names it."""
    # bool is an int to Python, but max_rows=True is a mistake.
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise SettingError.of(owner, name, value, f"an integer of at least {minimum}")
    return value


def names(owner: object, name: str, value: object) -> frozenset[str]:
    """`value` as a set of names; a lone string is refused, since it would be read letter by letter."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError.of(owner, name, value, 'a collection of names such as ("researcher",)')
    found = tuple(value)
    for item in found:
        if not isinstance(item, str) or not item:
            raise SettingError.of(owner, name, item, "made of non-empty names")
    return frozenset(found)


def one_of(owner: object, name: str, value: object, allowed: tuple[str, ...]) -> str:
    """`value` if it is one of `allowed`, else a `SettingError` that names both."""
    if value not in allowed:
        raise SettingError.of(owner, name, value, f"one of {', '.join(map(repr, allowed))}")
    return str(value)
