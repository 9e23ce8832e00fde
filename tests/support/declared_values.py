"""Makes values that a declaration allows, and values with one mistake, for a judge to tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

_NAMES = {"dict": "object", "float": "number", "tuple": "array"}
_OTHERS: tuple[Any, ...] = ("text", 7, 3.5, True, None, [1], {"q": 1}, -(10**6), 10**6, "", "x" * 500, 0)


def as_standard(schema: Any) -> Any:
    """Returns a schema as the standard writes it, and says in it that there are no arguments without a name."""
    if isinstance(schema, list):
        return [as_standard(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: as_standard(value) for key, value in schema.items() if key not in {"properties", "enum", "default"}}
    if "enum" in schema:
        found["enum"] = schema["enum"]
    if found.get("type") == "any":
        del found["type"]
    elif isinstance(found.get("type"), str):
        found["type"] = _NAMES.get(found["type"], found["type"])
    if "properties" in schema:
        found["properties"] = {name: as_standard(each) for name, each in schema["properties"].items()}
        if schema["properties"] and not schema.keys() & {"anyOf", "oneOf", "allOf"}:
            found.setdefault("additionalProperties", False)
    return found


def right_value(schema: dict[str, Any], chance: Random) -> Any:
    """Returns a value that a schema in the standard's words allows."""
    for key in ("oneOf", "anyOf"):
        if key in schema:
            return right_value(chance.choice(schema[key]), chance)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema.get("type", "object" if "properties" in schema else "boolean")
    if kind == "string":
        if schema.get("format") == "date":
            return "2026-11-23"
        size = max(schema.get("minLength", 0), min(chance.randint(1, 12), schema.get("maxLength", 12)))
        return "".join(chance.choices("abc é", k=size))
    if kind in {"integer", "number"}:
        low = int(schema.get("minimum", -5))
        return chance.randint(low, int(schema.get("maximum", low + 200)))
    if kind == "array":
        size = max(schema.get("minItems", 0), chance.randint(0, 3))
        return [right_value(schema.get("items", {}), chance) for _ in range(size)]
    if kind == "object":
        wanted = schema.get("required", ())
        known = schema.get("properties", {}).items()
        return {name: right_value(each, chance) for name, each in known if name in wanted or chance.random() < 0.6}
    return None if kind == "null" else chance.random() < 0.5


def wrong_values(schema: dict[str, Any], value: Any) -> Iterator[Any]:
    """Yields a value with one change in one place, which nearly always breaks its schema."""
    if isinstance(value, dict):
        for name in value:
            left = {key: each for key, each in value.items() if key != name}
            yield left
            yield left | {f"{name}x": value[name]}
            for changed in wrong_values(schema.get("properties", {}).get(name, {}), value[name]):
                yield value | {name: changed}
        yield value | {"zzz_more": 1}
    if isinstance(value, list):
        for place, one in enumerate(value):
            for changed in wrong_values(schema.get("items", {}), one):
                yield [*value[:place], changed, *value[place + 1 :]]
        yield value * 50
    yield from _OTHERS
