"""Words of trouble: one answer for stubs, previews, counts of levels and failed results."""

import pytest

from adk_context_pack.tables.failure import error_of, has_failed
from adk_context_pack.tables.trouble import Severity, alarming_rows, level_of, troubles
from adk_context_pack.tools.payload_preview import text_preview

# The lines that tell how bad they are, and whether a call failed that answered with that line alone.
CASES = """
fatal failed | Segmentation fault (core dumped)
fatal failed | fatal: not a git repository (or any of the parent directories): .git
fatal failed | panic: runtime error: index out of range
fatal        | 10:06:40 FATAL worker-3 is gone
fatal failed | kernel: Out of memory: Killed process 4121 (java)
fatal        | alert: cpu high
fatal        | {"level": "critical", "m": 250}
error failed | step 7 FAILED exit 3
error failed | Failure: quota
error failed | BUILD FAILED
error failed | bash: jq: command not found
error failed | cat: /etc/shadow: Permission denied
error failed | ERROR 1064 (42000): You have an error in your SQL syntax
error failed | ERROR:  relation "orders" does not exist
error failed | Process exited with code 2
error failed | exit_code: 127
error failed | error[E0382]: borrow of moved value
error failed | ssh: connect to host db-1 port 22: Connection refused
error failed | dial tcp 10.0.0.7:443: net/http: TLS handshake timeout
error failed | db-1: Verbindung abgebrochen
none         | 0 fehlgeschlagen, Zeitüberschreitung: 0, deadlock detected: no
error failed | java.io.IOException: closed
error failed | npm ERR! code ELIFECYCLE
error failed | worker 0 failed with status 1
error failed | [error] connection was lost
fatal failed | thread 'main' panicked at src/main.rs:4:5:
fatal failed | CUDA out of memory. Tried to allocate 2 GiB
error failed | Killed
error failed | make: *** [all] Error 2
error failed | cp: cannot stat 'a.txt': it is gone
error failed | mkdir: x: File exists
error failed | ! [rejected]        main -> main (non-fast-forward)
error failed | HTTP/1.1 502 Bad Gateway
error failed | rpc error: code = UNAUTHENTICATED
error failed | Ошибка: не удалось подключиться
error failed | エラー: 接続できません
error failed | Erreur : fichier introuvable
error        | level=error msg=gone
error        | 3 errors found
error        | 12:00:07 ERROR_BUDGET job failed again
error failed | 03-02 06:03:50.551  1102  1188 E ActivityManager: ANR in com.acme
none         | 03-02 06:03:50.551  1102  1188 I ActivityManager: 4 E 5: fine
error failed | java.lang.Exception: no such thing
warning      | [WARN] disk 91 %
warning      | DeprecationWarning: old warnings: 3 of them, WARNING all
none         | INFO error_rate=0.1
none         | 0 errors, 0 warnings
none         | 12 passed, 0 failed
none         | errors: []
none         | "error": null, "errors": 0
none         | failed=0 failures: none
none         | finished without errors or failures
none         | Error budget agreed, error rate fell
none         | margin of error and standard error
none         | MeanSquaredError: 0.113
none         | exit code 0
error failed | 10.0.0.7 - - [24/Nov/2026] "GET /api/items?page=2 HTTP/1.1" 502 157 "-" "curl/8.1"
none         | 10.0.0.7 - - [24/Nov/2026] "GET /api/items?page=500 HTTP/2.0" 200 5021 "-" "curl/8.1"
none         | exited with 0, exit status: 0, returncode=0
none         | raise ValueError("x")
none         | It is critical that we are on high alert
none         | the exception proves the rule
none         | error.log and ErrorHandler
none         | All errors fixed
none         | code: 200
none         | He could fail, terror-stricken
none         | We killed it; this cannot be combined with other offers
none         | Fatal Attraction, Deadlock and The Forbidden Room
none         | All 34 tests passed, none failed; Fehlerquote 0,0 %
none         | all is well
"""
LINES = [line.partition("|") for line in CASES.strip().splitlines()]


@pytest.mark.parametrize(("said", "_", "line"), LINES, ids=[line.strip() for *_, line in LINES])
def test_a_line_is_as_bad_for_each_reader(said, _, line):
    """A stub's rows, a preview's lines and a failed result have one answer for one line."""
    expected = Severity[said.split()[0].upper()]
    line = line.strip()
    worst = [any(True for _ in places) for places in troubles(line, 0, len(line), most=99)]
    assert ([*sorted(Severity, reverse=True)][worst.index(True)] if any(worst) else Severity.NONE) is expected
    assert has_failed(line) is has_failed({"result": line}) is ("failed" in said)
    assert alarming_rows(["fine", line], most=5) == ([1] if expected >= Severity.ERROR else [])
    log = "\n".join([*["all is well"] * 200, line, *["all is well"] * 200])
    assert ("kinds of trouble: 1" in text_preview(log, max_tokens=200)) is bool(expected)


LEVELS = [
    ("2026-01-01 ERROR gone", "ERROR"), ("[warn] low", "WARN"), ("INFO 0 errors, error: none", "INFO"),
    ("error_rate fine", None), ("alert: cpu high", "ALERT"), ("0 errors", None),
    ("03-02 06:03:50.551  1102  1188 W AudioFlinger: slow", "W"), ("Vitamin E and D: fine", None),
]  # fmt: skip


@pytest.mark.parametrize(("line", "level"), LEVELS)
def test_a_level_is_a_word_that_is_meant(line, level):
    """The first level of a line that reports something is its level."""
    assert level_of(line) == level


def test_the_first_rows_are_given_and_other_rows_have_none():
    """No more than asked for, in order. Rows that are no strings are not searched."""
    assert alarming_rows(["ok", "ERROR 1", "ok", "ERROR 2", "ERROR 3"], most=2) == [1, 3]
    assert alarming_rows([{"level": "ERROR"}], most=2) == []
    assert alarming_rows([], most=2) == []


def test_the_worst_comes_first_wherever_it_is():
    """Places are given by severity, also behind the first million characters and behind a letter that lowers to two."""
    text = "warning: a\nERROR b\n" + "\u0130 fine\n" * 200_000 + "FATAL c"
    places = [list(found) for found in troubles(text, 0, len(text), most=9)]
    assert places == [[text.index("FATAL")], [text.index("ERROR")], [0]]


RESULTS = [
    ({"exit_code": 127, "stdout": "", "stderr": "sh: jq: not found"}, "sh: jq: not found"),
    ({"returncode": 2}, "returncode: 2"), ({"code": 404, "message": "Not Found", "path": "/v1/x"}, "Not Found"),
    ({"code": 404, "status": "NOT_FOUND"}, "not_found"), ({"code": "503", "data": None}, "code: 503"),
    ({"status": "PERMISSION_DENIED", "message": "no role"}, "no role"),
    ("line one\nline two\nProcess exited with code 2", "line one\nline two\nProcess exited with code 2"),
    ("compiling\nBUILD FAILED in 3s\n", "compiling\nBUILD FAILED in 3s\n"),
    ({"exit_code": 0, "stderr": "a note"}, None), ({"exitCode": 1, "job_id": "etl-7"}, None),
    ({"code": 404, "id": 7, "message": "Room"}, None), ({"code": 450, "title": "Physics"}, None),
    ({"code": 200, "message": "ok"}, None), ("2026 INFO a\n2026 ERROR b failed\n2026 INFO c", None),
    ("The banner Permission denied was seen\nby all of us", None),
]  # fmt: skip


@pytest.mark.parametrize(("result", "said"), RESULTS, ids=str)
def test_codes_of_shells_and_services_are_failures(result, said):
    """An exit code other than zero and an HTTP code are failures of the call, unless they belong to what was found."""
    assert error_of(result) == said
