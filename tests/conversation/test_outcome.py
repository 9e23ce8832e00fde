"""What came of a call, in a few words."""

import pytest

from adk_context_pack.conversation.outcome import outcome_of


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


ROWS = [{"id": 1, "cost": 2}, {"id": 2, "cost": 3}]
MARK = "[text of 24000 characters, shown in part. The whole is kept; read_payload(handle='abc') reads and searches it]"


@pytest.mark.parametrize(
    ("response", "told"),
    [
        ({"result": f"{MARK}\nhead\ntail"}, "text of 24000 characters (_handle abc)"),
        (
            {"log": "[JSON of 9000 characters, shown in part. The whole is kept as abc]\n{}", "status": "ok"},
            '{log: JSON of 9000 characters (_handle abc), status: "ok"}',
        ),
        (
            {"a": {"rows": ROWS}, "_row_limits": {"a.rows": {"shown": 2, "total": 900}}, "_handle": "abc"},
            '{a: {rows}, _handle: "abc", a.rows: list of 900}',
        ),
        ({"error": f"{MARK}\ndisk full"}, "error: disk full… [text of 24000 characters (_handle abc)]"),
        ({"error": "one shard", "rows": ROWS}, "error: one shard, beside {rows: list of 2 {id, cost}}"),
        ({"content": [{"type": "text", "text": "sunny"}], "isError": False}, '"sunny"'),
        ({"content": [{"type": "text", "text": '{"a": 1, "b": [1, 2]}'}]}, "{a, b}"),
        ({"content": [{"type": "text", "text": "12"}]}, '"12"'),
        ({"content": [{"type": "text", "text": " [1, 2"}]}, '" [1, 2"'),
        ({"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, "list of 2"),
        ({"content": [{"type": "text", "text": "x"}, {"type": "audio"}]}, '{result: "x", attached: "audio"}'),
        ({"data": [], "error": "no"}, "error: no"),
        (
            {"data": [1], "other": [2], "error": "no", "_handle": "h1"},
            'error: no, beside {data: list of 1, _handle: "h1"}',
        ),
        ({"content": [{"type": "text", "text": '[{"a": 1}, {"a": 2}]'}]}, "list of 2 {a}"),
        ({"content": [{"type": "text", "text": '{"a": 1}'}] * 3, "isError": False}, "list of 3 {a}"),
        (
            {"content": [{"type": "text", "text": "x"}], "structuredContent": {"rows": ROWS, "next": None}},
            "{rows: list of 2 {id, cost}, next: null}",
        ),
        (
            {
                "content": [{"type": "text", "text": "x"}],
                "structuredContent": {"rows": ROWS},
                "_row_limits": {"rows": {"shown": 2, "total": 150}},
                "_handle": "abc",
            },
            '{rows: list of 150, _handle: "abc"}',
        ),
        ({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]}, '{attached: "image"}'),
        ({"content": [{"type": "text", "text": "no quota"}], "isError": True}, "error: no quota"),
    ],
)
def test_tells_true_sizes_handles_and_what_blocks_hold(response, told):
    """A reduced result is described by its true size and its handle, and an MCP result by what its blocks hold."""
    assert outcome_of(response, max_chars=300, max_error_chars=300) == told
