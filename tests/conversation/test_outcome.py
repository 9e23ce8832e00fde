"""What came of a call, in a few words."""

import pytest

from adk_context_pack._json import json_text
from adk_context_pack.conversation.outcome import cut, outcome_of


@pytest.mark.parametrize(
    ("response", "told"),
    [
        (None, "null"),
        ({}, "{}"),
        ("plain", '"plain"'),
        ([1, 2, 3], "list of 3"),
        ({"result": "short"}, '"short"'),
        ({"result": "x" * 61}, "text of 61 characters"),
        ({"result": [{"a": 1, "b": 2}] * 7}, "list of 7 {a, b}"),
        ({"output": True}, "true"),
        ({"rows": []}, "{rows: list of 0}"),
        ({"a": None, "b": False, "c": 1.5, "d": 2}, "{a: null, b: false, c: 1.5, d: 2}"),
        ({"deep": {str(n): n for n in range(10)}}, "{deep: {0, 1, 2, 3, 4, 5, 6, 7, +2}}"),
        ({"blob": b"x"}, "{blob: b'x'}"),
        ({1: 2, "x": 3}, "{1: 2, x: 3}"),
        ({"k" * 70: "v", "x": 1}, f'{{{"k" * 60}… [+10 characters]: "v", x: 1}}'),
        (
            {"rows": [{"id": 1}], "_row_limits": {"rows": {"shown": 1, "total": 500}}, "_handle": "h1", "_note": "n"},
            '{rows: list of 500, _handle: "h1"}',
        ),
        (
            {"rows": [1], "a": [2], "_row_limits": {"rows": "odd", "a": {"total": "many"}, "gone": {"total": 5}}},
            "{rows: list of 1, a: list of 1}",
        ),
        ({"errors": ["a", "b"]}, 'error: ["a","b"]'),
        ({"error": {"code": 3}}, 'error: {"code":3}'),
        ({"status": "FAILED", "reason": "no"}, "error: no"),
        ({"status": "denied"}, "error: denied"),
        ({"isError": True}, "error: failed"),
        ({"result": "Traceback (most recent call last)"}, "error: Traceback (most recent call last)"),
    ],
)
def test_tells_status_errors_counts_and_shapes(response, told):
    """Each kind of response is told by its status, error text, counts and shapes."""
    assert outcome_of(response, max_chars=300, max_error_chars=300) == told


def test_tells_only_the_first_entries_of_a_wide_response():
    """A response of very many keys is told by its first ones, and how many more there are."""
    told = outcome_of({f"k{n}": n for n in range(30)}, max_chars=1000, max_error_chars=9)
    assert told.endswith("k19: 19, +10}")


def test_keeps_to_its_limits():
    """Neither a description nor an error text gets longer than its limit and the mark."""
    wide = {f"key{n}": "v" * 30 for n in range(20)}
    assert outcome_of(wide, max_chars=50, max_error_chars=9).startswith('{key0: "')
    assert outcome_of({"error": "e" * 99}, max_chars=9, max_error_chars=10) == f"error: {'e' * 10}… [+89 characters]"


def test_cut_says_how_much_is_missing():
    """A cut text ends in a mark with the number of characters left out; a short one stays as it is."""
    assert cut("abcdef", 4) == "abcd… [+2 characters]"
    assert cut("abcd", 4) == "abcd"


def test_what_json_cannot_hold_is_shown_all_the_same():
    """A value that refers to itself, or has keys that JSON refuses, is still told."""
    loop = {}
    loop["self"] = loop
    assert json_text(loop) == '{"self":"<circular>"}'
    assert json_text({(1, 2): 3}) == '{"[1,2]":3}'
