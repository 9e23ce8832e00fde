"""State keys that are made from a call's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from adk_context_pack.errors import SettingError

_SCOPES = ("app:", "user:", "temp:", "rows:", "payload:", "stored_until:")
_MAX_LENGTH = 2_000
_EXPECTED = 'a template of plain names such as "results:{query_id}"'


def checked_template(owner: object, name: str, template: object) -> str:
    """`template` if it can be filled from arguments.

    Raises:
        SettingError: no text, or more in its braces than names: attributes would let arguments reach into objects.
    """
    if not isinstance(template, str) or not template:
        raise SettingError.of(owner, name, template, _EXPECTED)
    try:
        fields = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    except ValueError:
        raise SettingError.of(owner, name, template, _EXPECTED) from None
    if not all(field.isidentifier() for field in fields):
        raise SettingError.of(owner, name, template, _EXPECTED)
    return template


def filled(template: str, tool_name: str, args: Mapping[str, Any]) -> str | None:
    """The key of one call. None if the call lacks an argument that the template names."""
    try:
        key = template.format_map({"tool": tool_name, **args})
    except (KeyError, ValueError):
        # ValueError: a format such as `{count:>5d}` over an argument of another type.
        return None
    # A model's argument must not choose whose state is written, nor give a key that a database refuses.
    own = next((scope for scope in _SCOPES if template.startswith(scope)), "")
    chosen = next((scope for scope in _SCOPES if key.startswith(scope)), "")
    return key if chosen == own and key.isprintable() and len(key) <= _MAX_LENGTH else None
