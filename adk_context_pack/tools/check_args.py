"""Checks the arguments of a call against a tool's own schema, and mends what can be meant in one way only."""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from pydantic_core import SchemaError, SchemaValidator, core_schema

from adk_context_pack._json import is_number, json_text
from adk_context_pack.errors import nearest

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
_NAMES = {kind.__name__: name for kind, name in _TYPES.items()} | {"tuple": "array"}
"""Types as some declarations write them that were made of Python code."""
_PARTS = frozenset({"allOf", "if", "then", "else", "not", "contains", "propertyNames", "dependentSchemas"})
"""Keywords with schemas that do not name all fields of an object."""
_OPEN = _PARTS | {"$ref", "anyOf", "oneOf", "patternProperties"}
"""Keywords beside which an object may have fields that it does not name."""
_KNOWN = frozenset({"required", "dependentRequired", "additionalProperties", "type"})
"""Keywords that hold or not whatever is within a value."""
_MAX_SAID, _MAX_NEAR = 200, 10


class AnyValue(str):
    """A text in the place of a value that is not known yet. It fits every schema."""

    __slots__ = ()


class Checked(NamedTuple):
    """Arguments after the check."""

    problems: list[str]
    nearest: Any


def check_args(schema: Mapping[str, Any], args: Mapping[str, Any]) -> Checked:
    """Returns the mistakes in `args`, and the nearest arguments that the schema allows.

    An argument that the schema does not name is a mistake, unless the schema says that there may be others. A schema
    that cannot be evaluated forbids nothing.
    """
    problems: list[str] = []
    try:
        nearest = copy.deepcopy(args)
        # A definition may be a part of another schema.
        standard = _standard(schema, has_parts=not _PARTS.isdisjoint(json_text(schema).split('"')))
        for _ in range(3):
            found = _library()(standard).iter_errors(nearest)
            # A mistake about a value that is not known yet is none.
            known = (error for error in found if not isinstance(error.instance, AnyValue))
            errors = [each for each in known if each.validator in _KNOWN or not _is_unknown(each.instance)]
            problems = problems or [text for error in errors for text in _said(error)]
            nearest = _mended(nearest, errors) if errors else nearest
    except RecursionError:
        return Checked(["the arguments are nested too deeply"], args)
    except (ArithmeticError, AttributeError, ImportError, TypeError, ValueError):
        return Checked([], args)
    return Checked(list(dict.fromkeys(problems)), nearest)


def _standard(schema: Any, *, has_parts: bool, is_whole: bool = True) -> Any:
    """Returns a schema in the standard's words, and closed to fields that it does not name if it is a whole one."""
    if isinstance(schema, list):
        return [_standard(each, has_parts=has_parts, is_whole=is_whole) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    known, found = schema.get("properties"), dict[str, Any]()
    for word, value in schema.items():
        if word in {"properties", "$defs", "definitions", "dependentSchemas"}:
            whole = word == "properties" or not has_parts
            found[word] = {name: _standard(each, has_parts=has_parts, is_whole=whole) for name, each in value.items()}
        elif word not in {"enum", "const", "default", "patternProperties"}:
            whole = word not in _PARTS and not (known and word in _OPEN)
            found[word] = _standard(value, has_parts=has_parts, is_whole=whole)
        elif word != "patternProperties":
            found[word] = value
    _translate(found)
    if known:
        found["properties"] = dict.fromkeys(_listed(schema.get("required")), True) | found["properties"]
        if is_whole and _OPEN.isdisjoint(schema):
            found.setdefault("additionalProperties", False)
    return found


def _translate(schema: dict[str, Any]) -> None:
    """Writes in the standard's words what Python code, Gemini, OpenAPI and older drafts write in their own."""
    kinds = [_NAMES.get(kind, kind) for kind in _listed(schema.pop("type", None))]
    nulls = [None] * bool(schema.get("nullable"))
    if kinds and {*kinds} <= {*_TYPES.values(), "null"}:
        schema["type"] = [*kinds, *("null" for _ in nulls)]
    if "enum" in schema:
        # Declarations for Gemini write numbers to choose from as texts.
        texts = schema["enum"] if "string" not in kinds else ()
        schema["enum"] = [*schema["enum"], *nulls, *(made for one in texts for made in _converted(one, kinds))]
    if isinstance(schema.get("items"), list):
        schema |= {"prefixItems": schema["items"], "items": schema.pop("additionalItems", True)}
    for word in ("minimum", "maximum"):
        # OpenAPI says here whether the bound itself belongs.
        exclusive = f"exclusive{word.capitalize()}"
        if isinstance(schema.get(exclusive), bool) and schema.pop(exclusive):
            schema[exclusive] = schema.pop(word)
    if isinstance(schema.get("multipleOf"), float):
        # The library divides floats, so that 0.3 is not a multiple of 0.1.
        del schema["multipleOf"]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> SchemaValidator | None:
    # Of pydantic, since its patterns take linear time, and both the pattern and the text are somebody else's.
    with suppress(SchemaError):
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    return None


@cache
def _library() -> Callable[[Any], Any]:
    """Returns what makes a validator of `jsonschema`, which google-adk depends on."""
    library: Any = import_module("jsonschema")
    from referencing import Registry  # noqa: PLC0415 - few apps need it
    from referencing.exceptions import Unresolvable  # noqa: PLC0415

    def refer(validator: Any, reference: str, value: Any, schema: Any) -> Iterator[Any]:
        # Forms within forms are looked at once, not in each combination. One that leads to itself asks for nothing.
        seen, key = validator.format_checker.seen, (reference, id(value))
        if key not in seen:
            seen[key] = []
            with suppress(Unresolvable):
                seen[key] = list(library.Draft202012Validator.VALIDATORS["$ref"](validator, reference, value, schema))
        yield from map(library.ValidationError.create_from, seen[key])

    def match(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
        expression = _pattern(pattern) if isinstance(value, str) else None
        if expression is not None and not expression.isinstance_python(value):
            yield library.ValidationError(f"{value!r} does not match {pattern!r}")

    validator = library.validators.extend(library.Draft202012Validator, {"$ref": refer, "pattern": match})

    def make(schema: Any) -> Any:
        formats = library.FormatChecker()
        is_moment = formats.checks("date-time", raises=ValueError)
        is_moment(lambda one: not isinstance(one, str) or bool(datetime.fromisoformat(one)))
        formats.seen = {}
        # A registry of its own fetches nothing.
        return validator(schema, format_checker=formats, registry=Registry())

    return make


def _is_unknown(value: Any) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, AnyValue) or any(map(_is_unknown, inner))


def _said(error: Any) -> Iterator[str]:
    """Yields what a model is told of a mistake."""
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)[1:]
    within, place = f"{place}." if place else "", place or "args"
    word, bound, value = error.validator, error.validator_value, error.instance
    if word == "required":
        yield from (f"{within}{name} is missing" for name in bound if name not in value)
    elif word == "additionalProperties" and bound is False:
        for name, near in _others(error):
            yield f"there is no argument {within}{name}" + (f"; {near} is meant" if near else "")
    elif word == "type":
        yield f"{place} must be {' or '.join(bound)}, not {_TYPES.get(type(value), type(value).__name__)}"
    elif word in {"enum", "const"}:
        yield f"{place} must be one of {json_text(_listed(bound))}"
    elif word in {"anyOf", "oneOf"} and error.context:
        yield from _said(error.context[0])
    else:
        yield f"{place}: {error.message[:_MAX_SAID]}"


def _others(error: Any) -> Iterator[tuple[str, str | None]]:
    """Yields the names that a schema does not have, and the one that each is meant for, if there is one."""
    known = [name for name in error.schema.get("properties", ()) if name not in error.instance]
    others = [name for name in error.instance if name not in error.schema.get("properties", ())]
    for place, name in enumerate(others):
        yield name, nearest(name[:_MAX_SAID], known) if place < _MAX_NEAR else None


def _mended(args: Any, errors: Sequence[Any]) -> Any:
    """Returns arguments without the mistakes that can be meant in one way only. It changes them."""
    whole: Any = [args]
    for error in errors:
        last, holder = 0, whole
        for step in error.absolute_path:
            last, holder = step, holder[last]
        if error.validator == "additionalProperties":
            for name, near in _others(error):
                one = holder[last].pop(name)
                holder[last].update({near: one} if near else {})
        elif error.validator == "type":
            holder[last] = next(iter(_converted(error.instance, error.validator_value)), holder[last])
        elif error.validator == "enum":
            texts = {str(one).casefold(): one for one in error.validator_value}
            close = difflib.get_close_matches(str(error.instance)[:_MAX_SAID].casefold(), texts, n=1, cutoff=0.5)
            holder[last] = texts[close[0]] if close else holder[last]
    return whole[0]


def _converted(value: Any, kinds: Sequence[str]) -> Iterator[Any]:
    """Yields `value` as the types that it can only be meant for."""
    for kind in kinds:
        if kind == "string" and is_number(value):
            yield str(value)
        elif kind == "array" and not isinstance(value, dict | list) and value is not None:
            yield [value]
        elif isinstance(value, str) and kind != "string":
            with suppress(ValueError):
                made = json.loads(value.strip().lower() if kind == "boolean" else value)
                if kind in {_TYPES.get(type(made), "null"), "number" if is_number(made) else ""}:
                    yield made
