"""Turns a model's `use_tool` calls into checked calls of the real tool, and back in the model's own history."""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import json
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple
from urllib.parse import unquote
from uuid import UUID

from google.genai import types
from pydantic_core import SchemaError, SchemaValidator, core_schema

from adk_context_pack._json import is_number, json_text
from adk_context_pack.conversation.contents import changed
from adk_context_pack.tools.references import replaced
from adk_context_pack.tools.tool_index import ToolIndex

FIND_TOOLS, USE_TOOL = "find_tools", "use_tool"


class Asked(NamedTuple):
    """A call that a model asks for by `use_tool`.

    Attributes:
        name: the tool's name.
        args: its arguments.
        error: the answer for a call that cannot be made. None for one that can.
    """

    name: str
    args: dict[str, Any]
    error: dict[str, Any] | None = None


def asked(arguments: Mapping[str, Any] | None, index: ToolIndex) -> Asked:
    """Returns what the arguments of a `use_tool` call ask for, checked against the tool's own schema."""
    name = str((arguments or {}).get("name") or "")
    tool = index.tools.get(name)
    if tool is None:
        near = index.nearest(name)
        known = index.tools[near].shown() if near else None
        note = f"There is no tool {name[:80]!r}." + (f" {near} is the nearest name." if near else " Use find_tools.")
        return Asked(name, {}, {"error": note} | ({"tool": known} if known else {}))
    try:
        args = _args((arguments or {}).get("args"))
        # The tool checks a value that is only referred to.
        checked = replaced(args, AnyValue, whole_only=True) if tool.takes_references else args
    except (ValueError, RecursionError) as error:
        return Asked(name, {}, {"error": str(error), "parameters": tool.parameters})
    problems, nearest = check_args(tool.parameters, checked)
    if not problems:
        return Asked(name, args)
    answer: dict[str, Any] = {"error": "; ".join(problems)[:1000], "parameters": tool.parameters}
    if not check_args(tool.parameters, nearest).problems:
        answer["nearest_valid_args"] = nearest
    return Asked(name, args, answer)


def _args(given: Any) -> dict[str, Any]:
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"args is not a JSON object: {error}") from None
    if not isinstance(given, dict):
        raise ValueError("args must be a JSON object with the tool's arguments.")  # noqa: TRY004 - worded for a model
    return given


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def as_real_calls(content: types.Content, index: ToolIndex) -> types.Content:
    """Returns `content` with each valid `use_tool` call as a call of the tool itself, or `content` itself."""

    def real(part: types.Part) -> types.Part:
        call = part.function_call
        if call is None or call.name != USE_TOOL:
            return part
        wanted = asked(call.args, index)
        if wanted.error is not None:
            return part
        return changed(part, "function_call", call.model_copy(update={"name": wanted.name, "args": wanted.args}))

    return _mapped(content, real)


def as_model_wrote(content: types.Content, deferred: Collection[str]) -> types.Content:
    """Returns `content` with each call of a deferred tool, and its result, under the name that the model knows."""

    def shown(part: types.Part) -> types.Part:
        if (call := part.function_call) is not None and call.name in deferred:
            args = {"name": call.name, "args": json_text(call.args or {})}
            return changed(part, "function_call", call.model_copy(update={"name": USE_TOOL, "args": args}))
        if (result := part.function_response) is not None and result.name in deferred:
            return changed(part, "function_response", changed(result, "name", USE_TOOL))
        return part

    return _mapped(content, shown)


def _mapped(content: types.Content, change: Callable[[types.Part], types.Part]) -> types.Content:
    parts = content.parts or []
    new = [change(part) for part in parts]
    same = all(one is other for one, other in zip(new, parts, strict=True))
    return content if same else changed(content, "parts", new)


_MISSING = object()
_MAX_DEPTH = 64
_MAX_BOUND = 200
_FORMS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if"})
"""Keywords with schemas that may name further fields of the same object."""
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_PYTHON_TYPES = dict(
    zip(
        ("dict", "list", "tuple", "str", "int", "float", "bool"),
        ("object", "array", "array", "string", "integer", "number", "boolean"),
        strict=True,
    )
)
"""Types as some declarations write them that were made of Python code."""
_FORMATS: dict[str, Callable[[str], object]] = {
    "date": dt.date.fromisoformat,
    "date-time": dt.datetime.fromisoformat,
    "uuid": UUID,
    "email": lambda text: text.index("@"),
}
"""What raises a `ValueError` for a text that has another format."""


class AnyValue(str):
    """A text in the place of a value that is not known yet. It fits every schema."""

    __slots__ = ()


class Checked(NamedTuple):
    """Arguments after the check."""

    problems: list[str]
    nearest: Any


def check_args(schema: Mapping[str, Any], args: Mapping[str, Any]) -> Checked:
    """Returns the mistakes in `args`, and the nearest arguments that the schema allows.

    An argument that the schema does not name is a mistake, unless the schema says that there may be others. A keyword
    that cannot be evaluated, such as a pattern in a dialect of its own, forbids nothing.
    """
    try:
        depth, is_known = _looked_at(args)
        if depth <= _MAX_DEPTH:
            return _Checker(schema, is_known=is_known).check(schema, args, "")
    except RecursionError:
        pass
    return Checked(["the arguments are nested too deeply"], args)


def _matches(text: str, pattern: str) -> bool:
    validator = _validator(pattern)
    return validator is None or validator.isinstance_python(text)


@functools.lru_cache(maxsize=256)
def _validator(pattern: str) -> SchemaValidator | None:
    # Of pydantic, since its patterns take linear time, and both the pattern and the text are somebody else's.
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None


def _has_format(text: str, name: str) -> bool:
    try:
        _FORMATS.get(name, str)(text)
    except ValueError:
        return False
    return True


_RULES: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "minimum": ("number", operator.ge, "must be at least {}"),
    "maximum": ("number", operator.le, "must be at most {}"),
    "exclusiveMinimum": ("number", operator.gt, "must be above {}"),
    "exclusiveMaximum": ("number", operator.lt, "must be below {}"),
    "multipleOf": (
        "number",
        lambda one, bound: Fraction(str(one)) % Fraction(str(bound)) == 0,
        "must be a multiple of {}",
    ),
    "minLength": ("string", lambda one, bound: len(one) >= bound, "must have at least {} characters"),
    "maxLength": ("string", lambda one, bound: len(one) <= bound, "must have at most {} characters"),
    "pattern": ("string", _matches, "must match {}"),
    "format": ("string", _has_format, "must be a {}"),
    "minItems": ("array", lambda one, bound: len(one) >= bound, "must have at least {} items"),
    "maxItems": ("array", lambda one, bound: len(one) <= bound, "must have at most {} items"),
    "uniqueItems": ("array", lambda one, _: len(set(map(json_text, one))) == len(one), "must have no item twice"),
    "minProperties": ("object", lambda one, bound: len(one) >= bound, "must have at least {} fields"),
    "maxProperties": ("object", lambda one, bound: len(one) <= bound, "must have at most {} fields"),
}
"""For each keyword the type of the values that it is about, whether one holds to it, and what a model is told."""


class _Checker:
    """Checks one call."""

    def __init__(self, root: Mapping[str, Any], *, is_known: bool) -> None:
        self._root, self._is_known = root, is_known
        self._done: dict[tuple[int, str, bool], Checked] = {}

    def check(self, schema: Any, value: Any, path: str, *, closed: bool = True) -> Checked:
        """Returns the mistakes in a value, and the nearest one that the schema allows."""
        key = id(schema), path, closed
        if key not in self._done:
            # A schema that leads to itself without a step into the value asks for nothing.
            self._done[key] = Checked([], value)
            self._done[key] = self._checked(schema, value, path, closed=closed)
        return self._done[key]

    def _checked(self, schema: Any, value: Any, path: str, *, closed: bool) -> Checked:
        place = path or "args"
        if schema is False:
            return Checked([f"{place} is not allowed"], value)
        if not isinstance(schema, Mapping) or isinstance(value, AnyValue) or (value is None and schema.get("nullable")):
            return Checked([], value)
        wanted = [_PYTHON_TYPES.get(kind, kind) for kind in _listed(schema.get("type"))]
        if set(wanted) <= _TYPES.keys() and wanted and not any(_is(value, kind) for kind in wanted):
            mended = next((made for kind in wanted if (made := _converted(value, kind)) is not _MISSING), value)
            return Checked([f"{place} must be {' or '.join(wanted)}, not {_kind(value)}"], mended)
        choices = [schema["const"]] if "const" in schema else _listed(schema.get("enum"))
        if choices and not self._chosen(value, choices, as_text=bool(wanted)):
            texts = {str(one).casefold(): one for one in choices}
            near = difflib.get_close_matches(str(value)[:_MAX_BOUND].casefold(), texts, n=1, cutoff=0.5)
            return Checked([f"{place} must be one of {json_text(choices)}"], texts[near[0]] if near else value)
        problems = [f"{place} {text}" for text in self._broken(schema, value)]
        problems += self._in_forms(schema, value, path, closed=closed and not schema.get("properties"))
        within = Checked([], value)
        if isinstance(value, dict):
            within = self._object(schema, value, path, closed=closed and schema.keys().isdisjoint(_FORMS))
        elif isinstance(value, list):
            within = self._array(schema, value, path)
        return Checked(problems + within.problems, within.nearest)

    def _fits(self, schema: Any, value: Any, path: str) -> bool:
        return not self.check(schema, value, path, closed=False).problems

    def _chosen(self, value: Any, choices: Sequence[Any], *, as_text: bool) -> bool:
        if isinstance(value, dict | list) and not self._is_known:
            return True
        # Declarations for Gemini write numbers to choose from as texts.
        same = {json_text(one) for one in choices} | {one for one in choices if as_text and isinstance(one, str)}
        return json_text(value) in same or (is_number(value) and any(one == value for one in choices if is_number(one)))

    def _broken(self, schema: Mapping[str, Any], value: Any) -> Iterator[str]:
        """Yields what a value breaks of the rules that no other schema is part of."""
        for word in schema.keys() & _RULES.keys():
            kind, holds, text = _RULES[word]
            bound = schema[word]
            if bound is True and word.startswith("exclusive"):
                # OpenAPI says here whether the bound itself belongs.
                bound = schema.get(word.removeprefix("exclusive").lower())
            if not _is(value, kind) or bound is False or (bound is True and not self._is_known):
                continue
            # A bound that means nothing forbids nothing.
            with suppress(TypeError, ArithmeticError):
                if not holds(value, bound):
                    yield text.format(str(bound)[:_MAX_BOUND])

    def _in_forms(self, schema: Mapping[str, Any], value: Any, path: str, *, closed: bool) -> Iterator[str]:
        """Yields what a value breaks of the schemas that are about the same value."""
        if "$ref" in schema:
            yield from self.check(self._referred(schema["$ref"]), value, path, closed=closed).problems
        every = list(schema.get("allOf") or ())
        if "if" in schema and self._is_known:
            every.append(schema.get("then" if self._fits(schema["if"], value, path) else "else", True))
        for form in every:
            yield from self.check(form, value, path, closed=False).problems
        for word in ("anyOf", "oneOf"):
            found = [self.check(form, value, path, closed=closed).problems for form in schema.get(word) or ()]
            if found and all(found):
                yield from found[0]
            elif word == "oneOf" and self._is_known and found.count([]) > 1:
                yield f"{path or 'args'} fits several forms where one is allowed"
        if "not" in schema and self._is_known and self._fits(schema["not"], value, path):
            yield f"{path or 'args'} must not be {json_text(schema['not'])[:_MAX_BOUND]}"

    def _object(self, schema: Mapping[str, Any], value: Mapping[str, Any], path: str, *, closed: bool) -> Checked:
        known, patterns = schema.get("properties") or {}, schema.get("patternProperties") or {}
        required = _listed(schema.get("required"))
        others = schema.get("additionalProperties", not (closed and known and not patterns))
        problems: list[str] = []
        found: dict[str, Any] = {}
        for name, one in value.items():
            place = f"{path}.{name}" if path else name
            forms = [known[name]] if name in known else []
            forms += [form for pattern, form in patterns.items() if _matches(name, pattern)]
            if not forms and others is False and name not in required:
                # The answer has no room for more of them.
                is_told = not problems[10:11]
                near = _near(name[:_MAX_BOUND], [other for other in known if other not in value]) if is_told else None
                problems.append(f"there is no argument {place}" + (f"; {near} is meant" if near else ""))
                if near:
                    found[near] = self.check(known[near], one, f"{path}.{near}" if path else near).nearest
                continue
            checked = [self.check(form, one, place) for form in forms or [others or True]]
            problems += [problem for each in checked for problem in each.problems]
            found[name] = checked[0].nearest
            if "propertyNames" in schema and not self._fits(schema["propertyNames"], name, f"the name {place}"):
                problems.append(f"{place} has a name that is not allowed")
        asked = (schema.get("dependentRequired") or {}).items()
        needed = dict.fromkeys((*required, *(other for name, names in asked if name in value for other in names)))
        problems += [
            f"{path}.{name} is missing" if path else f"{name} is missing" for name in needed if name not in found
        ]
        return Checked(problems, found)

    def _array(self, schema: Mapping[str, Any], value: Sequence[Any], path: str) -> Checked:
        # Older schemas list the first items' schemas in `items`.
        items = schema.get("items", True)
        first, rest = (items, schema.get("additionalItems", True)) if isinstance(items, list) else ((), items)
        first = schema.get("prefixItems") or first
        checked = [self.check(first[n] if n < len(first) else rest, one, f"{path}[{n}]") for n, one in enumerate(value)]
        problems = [problem for each in checked for problem in each.problems]
        if "contains" in schema:
            fitting = sum(self._fits(schema["contains"], one, f"{path}[{n}]") for n, one in enumerate(value))
            if not schema.get("minContains", 1) <= fitting <= schema.get("maxContains", len(value)):
                problems.append(f"{path or 'args'} has {fitting} items of the kind that it must contain")
        return Checked(problems, [each.nearest for each in checked])

    def _referred(self, reference: Any) -> Any:
        """Returns the schema that a reference leads to, or True, which allows everything, where there is none."""
        found: Any = self._root
        for step in str(reference).removeprefix("#").split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            found = found.get(name, True) if isinstance(found, Mapping) else True
        return found if str(reference).startswith("#") else True


def _looked_at(args: Any) -> tuple[int, bool]:
    """Returns how deeply arguments are nested, and whether all values in them are known."""
    level, depth, is_known = [args], 0, True
    while level and depth <= _MAX_DEPTH:
        depth += 1
        is_known = is_known and not any(isinstance(one, AnyValue) for one in level)
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [item for one in inner for item in one]
    return depth, is_known


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


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
