"""Words of trouble: one answer for stubs, previews, counts of levels and failed results."""

import re
from pathlib import Path

import pytest

from adk_context_pack.tables.failure import has_failed
from adk_context_pack.tables.trouble import Severity, alarming_rows, level_of, troubles
from adk_context_pack.tools.payload_preview import text_preview

# The lines that tell how bad they are, and whether a call failed that answered with that line alone.
TEXT = Path(__file__).with_name("golden").joinpath("trouble.txt").read_text("utf-8")
LINES = [line.partition("|") for line in TEXT.splitlines() if not line.startswith(("bad ", "good "))]


@pytest.mark.parametrize(("said", "line"), re.findall(r"^(bad|good) +\| (.+)", TEXT, re.MULTILINE))
def test_a_line_reports_trouble_or_mentions_it(said, line):
    """Reports of many programs in 28 languages are told from counts of none, code, settings and documentation."""
    found = any(any(True for _ in places) for places in troubles(line, 0, len(line), most=99))
    assert found is (said == "bad")


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
    ("2026-01-01 ERROR a", "ERROR"), ("[warn] low", "WARN"), ("INFO 0 errors, error: none", "INFO"), ("0 errors", None),
    ("error_rate fine", None), ("alert: cpu high", "ALERT"), ("W0304 10:17:44.120934 2417 evict.go:3] low", "W"),
    ("03-02 06:03:50.551  1102  1188 W AudioFlinger: slow", "W"), ("Vitamin E and D: fine", None), ("[crit] a", "CRIT"),
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
