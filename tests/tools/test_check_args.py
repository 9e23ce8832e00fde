"""Checking arguments: mistakes are named, and mended where they can be meant in one way only."""

import json

import pytest

from adk_context_pack.tools.defer_tools import AnyValue, _lowered, check_args
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


@pytest.mark.parametrize(("args", "said", "nearest"), [
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
])  # fmt: skip
def test_mistakes_are_named_and_mended(args, said, nearest):
    """Each mistake is said with its place, and the nearest arguments are given."""
    problems, found = check_args(SCHEMA, args)
    assert said in "; ".join(problems)
    assert found == nearest


@pytest.mark.parametrize(("schema", "right", "wrong", "said"), [
    ({"minimum": 2, "maximum": 5}, [2, "1"], [1, 1.9], "a: 1"), ({"format": "of-our-own"}, ["x"], [], ""),
    ({"minimum": 2, "exclusiveMinimum": True}, [3], [2], "a: 2 is less than or equal"),
    ({"maximum": 2, "exclusiveMaximum": False}, [2], [3], "a: 3 is greater"), ({"multipleOf": 0.1}, [0.3], [], ""),
    ({"pattern": "(?=x"}, ["y"], [], ""),
    ({"pattern": "^[A-Z]+-\\d$"}, ["AB-1", 5], ["AB-12", "ab-1"], "does not match"),
    ({"format": "date"}, ["2026-02-28"], ["2026-02-30", "soon"], "not a 'date'"),
    ({"format": "date-time"}, ["2026-02-28T10:00:00Z", 5], ["noon"], "not a 'date-time'"),
    ({"const": 0}, [0, 0.0], [False, "0", None], "a must be one of [0]"),
    ({"enum": [True, None]}, [True, None], [1, "x"], "a must be one of [true,null]"),
    ({"type": "integer", "enum": ["1", "2"]}, [1], [3], "a must be one of"),
    ({"type": "string", "nullable": True}, [None, "x"], [3], "a must be string or null, not integer"),
    ({"type": "string", "enum": ["x"], "nullable": True}, [None, "x"], ["y"], "a must be one of"),
    ({"type": ["dict", "float"]}, [{"x": 1}, 2, 2.5], ["x"], "a must be object or number, not string"),
    ({"type": "any", "maxLength": 1}, [5, "x", None], ["xy"], "a: 'xy' is too long"),
    ({"anyOf": [{"type": "string"}, {"minimum": 1}]}, ["x", 1], [0], "a must be string"),
    ({"anyOf": [{"properties": {"x": {}}}, {"type": "string"}]}, [{"x": 1}, "x"], [{"z": 1}], "no argument a.z"),
    ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, [0, 3], [1], "a: 1 is valid under each"),
    ({"items": [{"type": "string"}], "additionalItems": False}, [["x"]], [[1], ["x", 1]], "a"),
    ({"additionalProperties": False}, [{}], [{"x": 1}], "no argument a.x"),
    ({"additionalProperties": {"type": "string"}}, [{"x": "y"}], [{"x": 1}], "a.x must be string"),
    ({"properties": {"x": {}}, "patternProperties": {"^y": {"minimum": 1}}}, [{"y1": 1}], [], ""),
    ({"properties": {"x": {}}, "allOf": [{"properties": {"z": {}}}]}, [{"x": 1, "z": 1}], [], ""),
    ({"dependentSchemas": {"type": {"properties": {"y": {"minimum": 1}}}}}, [{"type": 1, "y": 1, "z": 1}], [], ""),
    ({"properties": {"x": {}}, "required": ["z"]}, [{"z": 1}], [{"x": 1}], "a.z is missing"),
    ({"$ref": "#/$defs/a~1b%20c", "minimum": 2}, [2], [1, 9], "a: "),
    ({"$ref": "#/$defs/none"}, [1, None], [], ""), ({"$ref": "#/$defs/loop"}, [1, None], [], ""),
    (False, [], [1, None], "does not allow"), ({"minimum": "much", "pattern": 5}, [1, "x"], [], ""),
])  # fmt: skip
def test_every_dialect(schema, right, wrong, said):
    """What a schema forbids is said, whichever words it uses, and what it cannot say clearly it does not forbid."""
    defs = {"a/b c": {"maximum": 5}, "loop": {"anyOf": [{"$ref": "#/$defs/loop"}]}}
    whole = {"type": "object", "properties": {"a": schema}, "$defs": defs}
    assert [value for value in right if check_args(whole, {"a": value})[0]] == []
    for value in wrong:
        assert said in "; ".join(check_args(whole, {"a": value})[0])


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
    assert check_args({"properties": {"a": {}}}, deep)[0] == ["the arguments are nested too deeply"]
    node = {"anyOf": [{"properties": {"a": {"$ref": "#/$defs/node"}, "b": {"const": n}}} for n in range(8)]}
    schema = {"properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}

    def check(depth):
        tree = {"b": 9}
        for _ in range(depth):
            tree = {"a": tree, "b": 1}
        assert check_args(schema, {"a": tree})[0]
        return tree

    assert calls_of(lambda: check(8)) < 4 * calls_of(lambda: check(4))


@pytest.mark.newest
@pytest.mark.parametrize(
    ("name", "key"), [("bfcl/functions.json", "parameters"), ("github_mcp/tools.json", "inputSchema")]
)
def test_real_tools_refuse_what_they_do_not_declare(name, key):
    """Each argument that is missing, has another name or is one more is named, and nothing else is."""
    for tool in json.loads(shared_file(name).read_text(encoding="utf-8")):
        schema = _lowered(tool[key])
        needed = {f"{each} is missing" for each in schema.get("required", ())}
        problems = check_args(schema, {"zzz_more": 1})[0]
        assert {*problems} == needed | ({"there is no argument zzz_more"} if schema.get("properties") else set())
        for each in schema.get("properties", {}):
            assert check_args(schema, {f"{each}x": AnyValue("r")})[1] == {each: "r"}
