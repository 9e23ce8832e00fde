"""Checks the arguments of a call against a JSON schema, and mends what can only be meant one way."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from adk_context_pack._json import is_number, json_text

_MISSING = object()
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class AnyValue(str):
    """A text in the place of a value that is not known yet. It fits every schema."""

    __slots__ = ()


class Checked(NamedTuple):
    """Arguments after the check.

    Attributes:
        problems: one sentence for each mistake; none where the arguments fit.
        nearest: the arguments with each mistake mended that can be.
    """

    problems: list[str]
    nearest: Any


def check_args(schema: Mapping[str, Any], args: Mapping[str, Any]) -> Checked:
    """Returns the mistakes in `args`, and the nearest arguments that the schema allows.

    Args:
        schema: the JSON schema of the arguments. What it says beyond types, enumerations, properties, required names
            and alternatives is not checked.
        args: the arguments.
    """
    problems: list[str] = []
    nearest = _object(schema, args, "", problems, schema)
    return Checked(problems, nearest)


def _value(schema: Mapping[str, Any], value: Any, path: str, problems: list[str], root: Mapping[str, Any]) -> Any:
    if isinstance(value, AnyValue):
        return value
    schema = _resolved(schema, root)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return _choice(choices, value, path, problems, root)
    if value is None and (schema.get("nullable") or schema.get("type") is None):
        return value
    if schema.get("enum"):
        return _enum(schema["enum"], value, path, problems)
    kinds = schema.get("type")
    wanted = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds or ()) if kind in _TYPES]
    if not wanted:
        return value
    if not any(_is(value, kind) for kind in wanted):
        mended = next((made for kind in wanted if (made := _converted(value, kind)) is not _MISSING), _MISSING)
        problems.append(f"{path} must be {' or '.join(wanted)}, not {_kind(value)}")
        return value if mended is _MISSING else mended
    if isinstance(value, dict):
        return _object(schema, value, path, problems, root)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [_value(schema["items"], one, f"{path}[{n}]", problems, root) for n, one in enumerate(value)]
    return value


def _object(
    schema: Mapping[str, Any], value: Mapping[str, Any], path: str, problems: list[str], root: Mapping[str, Any]
) -> dict[str, Any]:
    known = schema.get("properties") or {}
    found: dict[str, Any] = {}
    open_ended = not known or bool(schema.get("additionalProperties"))
    for name, one in value.items():
        place = f"{path}.{name}" if path else name
        if name in known:
            found[name] = _value(known[name], one, place, problems, root)
        elif open_ended:
            found[name] = one
        else:
            near = _near(name, [other for other in known if other not in value])
            problems.append(f"there is no argument {place}" + (f"; {near} is meant" if near else ""))
            if near:
                found[near] = _value(known[near], one, near, [], root)
    lacking = [name for name in schema.get("required") or () if name not in found]
    problems += [f"{path}.{name} is missing" if path else f"{name} is missing" for name in lacking]
    return found


def _choice(choices: Sequence[Any], value: Any, path: str, problems: list[str], root: Mapping[str, Any]) -> Any:
    first: list[str] | None = None
    for choice in choices:
        tried: list[str] = []
        made = _value(choice, value, path, tried, root)
        if not tried:
            return made
        first = first if first is not None else tried
    problems += first or []
    return value


def _enum(allowed: Sequence[Any], value: Any, path: str, problems: list[str]) -> Any:
    if value in allowed:
        return value
    problems.append(f"{path} must be one of {json_text(list(allowed))}")
    texts = {str(one).casefold(): one for one in allowed}
    near = difflib.get_close_matches(str(value).casefold(), texts, n=1, cutoff=0.5)
    return texts[near[0]] if near else value


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str):
        return schema if isinstance(schema, Mapping) else {}
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) and "$ref" not in found else {}


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _converted(value: Any, kind: str) -> Any:
    """Returns `value` as the type that it can only be meant for, or `_MISSING`."""
    if kind == "string" and is_number(value):
        return str(value)
    if kind == "array" and not isinstance(value, dict | list) and value is not None:
        return [value]
    if isinstance(value, str) and kind != "string":
        try:
            made = json.loads(value.strip().lower() if kind == "boolean" else value)
        except ValueError:
            return _MISSING
        return made if _is(made, kind) else _MISSING
    return _MISSING


def _near(name: str, known: Sequence[str]) -> str | None:
    plain = {_squeezed(other): other for other in known}
    found = difflib.get_close_matches(_squeezed(name), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def _squeezed(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _kind(value: Any) -> str:
    return next((kind for kind in _TYPES if _is(value, kind)), type(value).__name__)
