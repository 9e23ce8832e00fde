"""Defines every error and warning of this package, and the checks that settings share.

* `ContextPackError`: catches everything that this package raises on purpose
    * `SettingError` (also a `ValueError`): a setting that cannot work, found when the object is built
    * `StoreError`: a result could not be kept, or a store could not be read (the original result stays in place)
        * `HandleError`: a handle opens no result (unknown in this session, expired, replaced, damaged)
    * `QueryError`: a query over stored rows that cannot be answered
    * `RecordingError`: a recorded session cannot be read
* `ContextPackWarning` (a `UserWarning`): the library is used in a way that cannot do what was meant
    * `UnknownRelayFormatWarning`: ADK relays agents in a format that this release does not know

Trouble at run time, such as a pass that raises or a store that cannot be reached, does not raise in the caller. It is
logged under `adk_context_pack`, it is in the report, and the agent's run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable


class ContextPackError(Exception):
    """Base of every error that this package raises on purpose."""


class SettingError(ContextPackError, ValueError):
    """A setting that cannot work, found when the object is built. The message holds the value."""

    @classmethod
    def of(cls, owner: object, name: str, value: object, expected: str) -> SettingError:
        """Makes the error for one setting, worded the same everywhere.

        Args:
            owner: the object being built, or its name.
            name: the setting.
            value: the value that was given.
            expected: a description of accepted values, as the end of a sentence ("a positive integer").
        """
        label = owner if isinstance(owner, str) else type(owner).__name__
        return cls(f"{label}: {name} must be {expected}, not {value!r}")


class StoreError(ContextPackError):
    """A result could not be kept, or the store could not be read. The message holds no payload."""


class HandleError(StoreError):
    """A handle that opens no result: unknown in this session, expired, replaced or damaged.

    The message is written for a model.
    """


class QueryError(ContextPackError):
    """A query over stored rows that cannot be answered. The message is written for a model."""


class RecordingError(ContextPackError):
    """A recorded session that cannot be read. The message says where and why in one line, without payload."""


class ContextPackWarning(UserWarning):
    """Base of every warning of this package, so that one filter can name them all."""


class UnknownRelayFormatWarning(ContextPackWarning):
    """ADK relays other agents in a format that this release does not know, so recognising them takes longer."""


def positive(owner: object, name: str, value: object) -> int:
    """Returns `value` if it is an integer of at least 1, and raises a `SettingError` otherwise."""
    return at_least(owner, name, value, 1)


def at_least(owner: object, name: str, value: object, minimum: int) -> int:
    """Returns `value` if it is an integer of at least `minimum`, and raises a `SettingError` otherwise."""
    # bool is an int to Python, but max_rows=True is a mistake.
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise SettingError.of(owner, name, value, f"an integer of at least {minimum}")
    return value


def names(owner: object, name: str, value: object) -> frozenset[str]:
    """Returns `value` as a set of names. A single string is refused, since Python would read it letter by letter."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise SettingError.of(owner, name, value, 'a collection of names such as ("researcher",)')
    found = tuple(value)
    for item in found:
        if not isinstance(item, str) or not item:
            raise SettingError.of(owner, name, item, "made of non-empty names")
    return frozenset(found)


def one_of(owner: object, name: str, value: object, allowed: tuple[str, ...]) -> str:
    """Returns `value` if it is one of `allowed`, and raises a `SettingError` otherwise."""
    if value not in allowed:
        raise SettingError.of(owner, name, value, f"one of {', '.join(map(repr, allowed))}")
    return str(value)
