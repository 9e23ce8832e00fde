"""error_of: one answer to "did this fail?", for every shape that tools return."""

import pytest

from adk_context_pack.tables.failure import error_of, has_failed

SUCCESSES = [
    "Exceptionally strong quarter", {"result": "Exceptionally strong quarter"}, {"passed": 118, "errors": 1},
    {"error": 0.113, "r2": 0.97}, {"result": "Failover completed"}, {"error": None}, {"error": None, "rows": [1]},
    {"error": ""}, {"errors": []}, {"error": "none"}, {"status": "ok", "errors": ["lint"]},
    {"order_id": "1", "status": "cancelled", "items": []}, {"result": "Error rate fell to 2 %"},
    {"result": "Error budget: 80%"}, {"result": "Failed logins: 3"}, {"result": "error: 0.113"},
    {"result": "MeanSquaredError: 0.113"}, {"isError": False, "content": [{"type": "text", "text": "Error rate fell"}]},
    {"error": {"train": 0.1, "test": 0.2}}, {"errors": {"a": 3}}, {"error": [0.1]}, {"failed": 0, "passed": 3},
    {"result": "Failed: 3, passed: 4"}, {"url": "x", "status_code": 404}, {"exception": None},
    {"success": True, "error": ""}, "Failure is not an option, said the report", "Exceptions: 3",
    {"result": "Fatalities fell"}, {"result": "error-free run"}, {"error_rate": 0.2}, {"status": "active"}, [], {},
    None, 3, {"result": None}, {"error": False}, {"status": "failed over"}, {"result": "Errors were fixed"},
    {"result": "An error budget was agreed"}, {"error": 0}, {"errors": 0},
]  # fmt: skip


@pytest.mark.parametrize("result", SUCCESSES, ids=str)
def test_a_success_is_never_told_as_an_error(result):
    """Counts, measures, empty error fields, good news and data that names a failure are no failures."""
    assert error_of(result) is None
    assert not has_failed(result)


FAILURES = [
    ({"error": "quota"}, "quota"), ({"error": {"code": 3}}, '{"code":3}'),
    ({"error": {"code": 3, "message": "not there"}}, "not there"),
    ({"error": True, "message": "not there"}, "not there"), ({"error": True}, "failed"),
    ({"error": 404, "message": "nope"}, "nope"), ({"error_message": "x"}, "x"), ({"exception": "boom"}, "boom"),
    ({"errors": ["a", "b"]}, '["a","b"]'), ({"errors": [{"message": "a"}, {"message": "b"}], "data": None}, "a\nb"),
    ({"errors": {"field": ["is missing"]}}, '{"field":["is missing"]}'), ({"errors": "two of them"}, "two of them"),
    ({"status": "error", "message": "m"}, "m"), ({"status": "ERROR"}, "error"),
    ({"status": "FAILED", "reason": "no disk"}, "no disk"), ({"status": "denied"}, "denied"),
    ({"status": "timeout", "query_id": "q"}, "timeout"), ({"status": 404, "detail": "Not found"}, "Not found"),
    ({"timestamp": 1, "status": 500, "error": "Internal Server Error", "path": "/x"}, "Internal Server Error"),
    ({"success": False}, "failed"), ({"ok": False, "error": "invalid_auth"}, "invalid_auth"),
    ({"isError": True}, "failed"),
    ({"isError": True, "content": [{"type": "text", "text": "boom"}, {"type": "text", "text": "bang"}]}, "boom\nbang"),
    ({"isError": False, "content": [{"type": "text", "text": '{"error": "no such"}'}]}, "no such"),
    ({"result": {"error": "deep"}}, "deep"), ({"result": '{"status": "error", "message": "in JSON"}'}, "in JSON"),
    ({"error": "one shard timed out", "rows": [1, 2]}, "one shard timed out"),
    ({"ok": False, "error": "<html><style>.a{}</style><h1>502 Bad\nGateway</h1><!-- db-1 --></html>"},
     "502 Bad Gateway db-1"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "said"), FAILURES, ids=str)
def test_a_failure_is_told_in_its_own_words(result, said):
    """What says that it failed is a failure, and its own message is what it says."""
    assert error_of(result) == said


def test_rows_beside_an_error_are_a_partial_result():
    """A result with rows and an `error` did not fail as a whole, unless its status says so."""
    rows = {"error": "one shard timed out", "rows": [1, 2]}
    assert not has_failed(rows)
    assert has_failed({**rows, "status": "error"})
    assert has_failed({"error": "quota"})
    assert has_failed({"errors": ["a", "b"]})


@pytest.mark.parametrize("empty", ["  ", " None ", "NO ERRORS"])
def test_an_empty_word_among_blanks_is_not_an_error(empty):
    """Words for "no error" count with blanks around them and in any case, and not as the start of a longer text."""
    assert not has_failed({"error": empty})
    assert has_failed({"error": f"{empty} of the servers answered " * 100_000})
