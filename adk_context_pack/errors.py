"""Every error and warning of this package, in one tree.

* `ContextPackError`: catches everything that this package raises on purpose
    * `SettingError` (also a `ValueError`): a setting that cannot work, found when the object is built
    * `StoreError`: a result could not be kept, or a store could not be read; the original result stays in place
        * `HandleError`: no result behind a handle (unknown in this session, expired, replaced, damaged)
    * `QueryError`: a query over stored rows that cannot be answered
    * `RecordingError`: a recorded session cannot be read
* `ContextPackWarning` (a `UserWarning`): the library is used in a way that cannot do what was meant
    * `UnknownRelayFormatWarning`: ADK relays agents in a format that this release does not know

Trouble at run time (a pass that raises, a store that is away) is no exception for the caller:
it is logged under `adk_context_pack` and stands in the report, and the agent's run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable


class ContextPackError(Exception):
    """Base of every error that this package raises on purpose."""


class SettingError(ContextPackError, ValueError):
    """A setting that cannot work, found when the object is built; the message holds the value."""

    @classmethod
    def of(cls, owner: object, name: str, value: object, expected: str) -> SettingError:
        """The error for one setting, worded the same everywhere.

        Args:
            owner: the object being built, or its name.
            name: the setting.
            value: what was given.
            expected: what would have been accepted, as the end of a sentence ("a positive integer").
        """
        label = owner if isinstance(owner, str) else type(owner).__name__
        return cls(f"{label}: {name} must be {expected}, not {value!r}")


class StoreError(ContextPackError):
    """A result could not be kept, or the store could not be read; the message names no payload."""


class HandleError(StoreError):
    """No result behind a handle: unknown in this session, expired, replaced or damaged; the message is for a model."""


class QueryError(ContextPackError):
    """A query over stored rows that cannot be answered; the message is for a model."""


class RecordingError(ContextPackError):
    """A recorded session cannot be read; the message says where and why in one line, and names no payload."""


class ContextPackWarning(UserWarning):
    """Base of every warning of this package, so that one filter can name them all."""


class UnknownRelayFormatWarning(ContextPackWarning):
    """ADK relays other agents in a format that this release does not know, so recognising them takes longer."""


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
