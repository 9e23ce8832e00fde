"""Lines of a log that somebody would look for first."""

import pytest

from adk_context_pack.tools.stub_plan import alarming_rows


@pytest.mark.parametrize(
    ("line", "alarms"),
    [
        ("10:06:40 FATAL worker-3 out of memory", True),
        ("[error] connection reset", True),
        ("Traceback (most recent call last):", True),
        ("ValueError: no", False),
        ("java.lang.Exception: no", False),
        ("INFO error_rate=0.1", False),
        ("INFO all is well", False),
    ],
)
def test_words_of_failure_stand_alone(line, alarms):
    """Levels and stack traces alarm; names that merely hold such a word do not."""
    assert bool(alarming_rows([line], most=5)) is alarms


def test_the_first_ones_are_given_and_other_rows_have_none():
    """No more than asked for, in order; rows that are no texts are not searched."""
    assert alarming_rows(["ok", "ERROR 1", "ok", "ERROR 2", "ERROR 3"], most=2) == [1, 3]
    assert alarming_rows([{"level": "ERROR"}], most=2) == []
    assert alarming_rows([], most=2) == []
