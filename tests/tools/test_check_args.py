"""Checking arguments: mistakes are named, and mended where they can be meant in one way only."""

import json
import random

import jsonschema
import pytest

from adk_context_pack.tools.defer_tools import AnyValue, check_args
from adk_context_pack.tools.tool_index import _plain_schema
from tests.support.declared_values import as_standard, right_value, wrong_values
from tests.support.shared_data import shared_file
from tests.support.work import calls_of

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "max_price": {"type": "integer"},
        "cabin": {"type": "string", "enum": ["economy", "business"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "stay": {"type": "object", "properties": {"nights": {"type": "integer"}}, "required": ["nights"]},
        "when": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "place": {"$ref": "#/$defs/Place"},
    },
    "required": ["city"],
    "$defs": {"Place": {"type": "object", "properties": {"zip": {"type": "string"}}, "required": ["zip"]}},
}


@pytest.mark.parametrize(
    ("args", "said", "nearest"),
    [
        ({}, "city is missing", {}),
        ({"City": "Oslo"}, "no argument City; city is meant", {"city": "Oslo"}),
        ({"city": "Oslo", "maxPrice": "3"}, "max_price is meant", {"city": "Oslo", "max_price": 3}),
        ({"city": "Oslo", "max_price": "3"}, "max_price must be integer, not string", {"city": "Oslo", "max_price": 3}),
        ({"city": 5}, "city must be string, not integer", {"city": "5"}),
        ({"city": "Oslo", "cabin": "Economie"}, "cabin must be one of", {"city": "Oslo", "cabin": "economy"}),
        ({"city": "Oslo", "tags": "a"}, "tags must be array", {"city": "Oslo", "tags": ["a"]}),
        ({"city": "Oslo", "tags": [1]}, "tags[0] must be string", {"city": "Oslo", "tags": ["1"]}),
        ({"city": "Oslo", "stay": {}}, "stay.nights is missing", {"city": "Oslo", "stay": {}}),
        ({"city": "Oslo", "place": {}}, "place.zip is missing", {"city": "Oslo", "place": {}}),
        ({"city": True}, "city must be string, not boolean", {"city": True}),
        ({"city": "Oslo", "when": 5}, "when must be string", {"city": "Oslo", "when": 5}),
        ({"city": "Oslo", "xyz": 1}, "there is no argument xyz", {"city": "Oslo"}),
    ],
)
def test_mistakes_are_named_and_mended(args, said, nearest):
    """Each mistake is said with its place, and the nearest arguments are given."""
    problems, found = check_args(SCHEMA, args)
    assert said in "; ".join(problems)
    assert found == nearest


@pytest.mark.parametrize(
    ("schema", "right", "wrong", "said"),
    [
        ({"minimum": 2}, [2, "1"], [1, 1.9], "a must be at least 2"),
        ({"maximum": 2.5}, [2.5, "9"], [3], "a must be at most 2.5"),
        ({"exclusiveMinimum": 2}, [2.1], [2], "a must be above 2"),
        ({"exclusiveMaximum": 2}, [1], [2], "a must be below 2"),
        ({"minimum": 2, "exclusiveMinimum": True}, [3], [2], "a must be above 2"),
        ({"maximum": 2, "exclusiveMaximum": False}, [2], [3], "a must be at most 2"),
        ({"multipleOf": 0.1}, [0.3, 7], [0.35], "a must be a multiple of 0.1"),
        ({"minLength": 2}, ["ab", 1], ["a"], "a must have at least 2 characters"),
        ({"maxLength": 2}, ["ab"], ["abc"], "a must have at most 2 characters"),
        ({"pattern": "^[A-Z]+-\\d$"}, ["AB-1", 5], ["AB-12", "ab-1"], "a must match ^[A-Z]+"),
        ({"pattern": "b"}, ["abc"], ["ac"], "a must match b"), ({"pattern": "(?=x"}, ["y"], [], ""),
        ({"format": "date"}, ["2026-02-28"], ["2026-02-30", "soon"], "a must be a date"),
        ({"format": "date-time"}, ["2026-02-28T10:00:00Z"], ["noon"], "a must be a date-time"),
        ({"format": "email"}, ["a@b.de"], ["a.b.de"], "a must be a email"), ({"format": "of-our-own"}, ["x"], [], ""),
        ({"minItems": 1}, [[1], {}], [[]], "a must have at least 1 items"),
        ({"maxItems": 1}, [[1]], [[1, 2]], "a must have at most 1 items"),
        ({"uniqueItems": True}, [[1, "1", True]], [[1, 1]], "a must have no item twice"),
        ({"uniqueItems": False}, [[1, 1]], [], ""),
        ({"minProperties": 1}, [{"x": 1}], [{}], "a must have at least 1 fields"),
        ({"maxProperties": 1}, [{"x": 1}], [{"x": 1, "y": 2}], "a must have at most 1 fields"),
        ({"const": 0}, [0, 0.0], [False, "0", None], "a must be one of [0]"),
        ({"enum": [True, None]}, [True, None], [1, "x"], "a must be one of [true,null]"),
        ({"type": "integer", "enum": ["1", "2"]}, [1], [3], "a must be one of"),
        ({"type": "string", "nullable": True}, [None, "x"], [3], "a must be string, not integer"),
        ({"type": ["dict", "float"]}, [{"x": 1}, 2, 2.5], ["x"], "a must be object or number, not string"),
        ({"type": "any", "maxLength": 1}, [5, "x", None], ["xy"], "a must have at most 1"),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1], [3], "a must be at most 2"),
        ({"anyOf": [{"type": "string"}, {"minimum": 1}]}, ["x", 1], [0], "a must be string"),
        ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, [0, 3], [1], "a fits several forms"),
        ({"not": {"enum": ["x"]}}, ["y"], ["x"], "a must not be"),
        ({"if": {"minimum": 5}, "then": {"multipleOf": 5}, "else": {"minimum": 1}}, [10, 1], [6, 0], "a must be"),
        ({"items": {"maximum": 1}}, [[0, 1]], [[0, 2]], "a[1] must be at most 1"),
        ({"prefixItems": [{"type": "string"}], "items": False}, [["x"]], [[1], ["x", 1]], "a["),
        ({"items": [{"type": "string"}], "additionalItems": False}, [["x"]], [[1], ["x", 1]], "a["),
        ({"contains": {"const": 1}, "maxContains": 1}, [[0, 1]], [[0], [1, 1]], "items of the kind"),
        ({"additionalProperties": False}, [{}], [{"x": 1}], "no argument a.x"),
        ({"additionalProperties": {"type": "string"}}, [{"x": "y"}], [{"x": 1}], "a.x must be string"),
        ({"properties": {"x": {}}, "patternProperties": {"^y": {"minimum": 1}}}, [{"y1": 1}], [{"y1": 0}], "a.y1 must"),
        ({"properties": {"x": {}}, "allOf": [{"properties": {"z": {}}}]}, [{"x": 1, "z": 1}], [], ""),
        ({"properties": {"x": {}}, "required": ["z"]}, [{"z": 1}], [{"x": 1}], "a.z is missing"),
        ({"propertyNames": {"maxLength": 1}}, [{"x": 1}], [{"xy": 1}], "a.xy has a name"),
        ({"dependentRequired": {"x": ["y"]}}, [{"y": 1}], [{"x": 1}], "a.y is missing"),
        ({"$ref": "#/$defs/a~1b%20c", "minimum": 2}, [2], [1, 9], "a must be at"),
        ({"$ref": "#/$defs/none"}, [1, None], [], ""), ({"$ref": "#/$defs/loop"}, [1, None], [], ""),
        (False, [], [1, None], "a is not allowed"), ({"minimum": "much", "pattern": 5}, [1, "x"], [], ""),
    ],
)  # fmt: skip
def test_every_keyword(schema, right, wrong, said):
    """Each keyword refuses what breaks it, says so, lets through what does not, and is silent about other types."""
    defs = {"a/b c": {"maximum": 5}, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}]}}
    whole = {"type": "object", "properties": {"a": schema}, "$defs": defs}
    assert [value for value in right if check_args(whole, {"a": value}).problems] == []
    for value in wrong:
        assert said in "; ".join(check_args(whole, {"a": value}).problems)


def test_a_value_that_is_not_known_yet_breaks_no_rule():
    """What will be put in place of a reference may fit any of several forms, and may differ from what looks equal."""
    forms = {"oneOf": [{"properties": {"x": {"type": "string"}}}, {"properties": {"x": {"type": "integer"}}}]}
    refused = {"not": {"items": {"type": "string"}}, "uniqueItems": True, "enum": [[1]]}
    schema = {"properties": {"a": forms, "b": refused, "c": {"minLength": 99}}}
    args = {"a": {"x": AnyValue("r")}, "b": [AnyValue("r"), AnyValue("r")], "c": AnyValue("r")}
    assert check_args(schema, args) == ([], args)


def test_depth_and_branches_end():
    """Nesting has a bound, and forms within forms at each level are looked at once and not in each combination."""
    deep = {}
    for _ in range(2000):
        deep = {"a": deep}
    assert check_args({"properties": {"a": {}}}, deep).problems == ["the arguments are nested too deeply"]
    node = {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/node"}, "b": {"const": n}}} for n in range(8)]}
    schema = {"properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}

    def check(depth):
        tree = {"b": 9}
        for _ in range(depth):
            tree = {"a": tree, "b": 1}
        assert check_args(schema, {"a": tree}).problems
        return tree

    assert calls_of(lambda: check(8)) < 4 * calls_of(lambda: check(4))


@pytest.mark.newest
@pytest.mark.parametrize(
    ("name", "key"), [("bfcl/functions.json", "parameters"), ("github_mcp/tools.json", "inputSchema")]
)
def test_no_wrong_call_of_real_tools_passes_and_no_right_one_is_refused(name, key):
    """Of calls that are right, and changed in one place, the check says what `jsonschema` says, tool by tool."""
    chance, tried = random.Random(20261123), {True: 0, False: 0}
    for tool in json.loads(shared_file(name).read_text(encoding="utf-8")):
        schema = _plain_schema(tool[key])
        standard = as_standard(schema)
        judge = jsonschema.Draft202012Validator(standard, format_checker=jsonschema.FormatChecker(["date"]))
        call = right_value(standard, chance)
        wrong = [args for args in wrong_values(standard, call) if isinstance(args, dict)]
        for args in (call, *chance.sample(wrong, min(len(wrong), 12))):
            is_right = judge.is_valid(args)
            tried[is_right] += 1
            assert (not check_args(schema, args).problems) is is_right, (tool["name"], args)
    assert min(tried.values()) > 100
