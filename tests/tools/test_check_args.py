"""Checking arguments: mistakes are named, and mended where they can be meant in one way only."""

import pytest

from adk_context_pack.tools.check_args import check_args

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
    "args",
    [
        {"city": "Oslo"},
        {"city": "Oslo", "max_price": 3, "cabin": "economy", "tags": ["a"], "stay": {"nights": 2}, "when": None},
        {"city": "Oslo", "max_price": 3.0, "when": "today", "place": {"zip": "1"}},
    ],
)
def test_what_fits_is_left_as_it_is(args):
    """Valid arguments have no problem and come back unchanged."""
    assert check_args(SCHEMA, args) == ([], args)


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


def test_a_schema_that_is_open_takes_anything():
    """Without properties, or where more are allowed, no argument is unknown."""
    assert check_args({"type": "object"}, {"x": 1}).problems == []
    assert check_args({"properties": {"a": {}}, "additionalProperties": True}, {"x": 1}).problems == []
