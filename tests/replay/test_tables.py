"""The text of a replay: what stands last, what fits, and what rounding may not hide."""

import io

import pytest

from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.replay.sums import ReplaySums, Screen, Sum, percent, replay_text


def some(sessions=3, name="session", calls=4):
    """Sums of some sessions with one agent."""
    entry = Sum(
        calls=calls, tokens_without=120_000, tokens_with=480, cost_without=2.5, cost_with=0.01, largest_with=200
    )
    named = [
        RecordedSession(id=f"{name}-{n}", app_name="a", user_id="u", source="f.db", events=[]) for n in range(sessions)
    ]
    return ReplaySums(
        total=entry, agents={"writer": entry}, sessions=[(each, entry) for each in named], passes={"tool_caps": 119_520}
    )


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (1000, 4, "-99.6 %"),
        (1000, 0, "-100 %"),
        (1000, 999, "-0.1 %"),
        (1000, 500, "-50 %"),
        (1000, 1000, "0 %"),
        (0, 0, "0 %"),
        (100, 125, "+25 %"),
    ],
)
def test_rounding_hides_nothing(before, after, text):
    """A saving that is not all of it is not shown as all of it, and a small one not as none."""
    assert percent(before, after) == text


def test_the_headline_is_last():
    """The saving in tokens and in money is the last line, behind the tables."""
    lines = replay_text(some()).splitlines()
    assert lines[-1] == "The pack saves 119,520 of 120,000 tokens (-99.6 %) and 2.49 of 2.50 (-99.6 %)."
    assert lines[-2] == "4 model calls in 3 sessions"
    assert [line.split()[0] for line in lines if line.startswith(("session ", "pass ", "agent "))] == [
        "session",
        "pass",
        "agent",
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_tables_fit_the_terminal(width):
    """No row of a table is wider than the terminal, and each keeps its name and what was saved."""
    text = replay_text(some(name="a-session-with-quite-a-long-name"), Screen(width=width))
    rows = [line for line in text.splitlines() if "120,000" in line and not line.startswith("The pack")]
    assert len(rows) == 4
    assert all(len(row) <= width and "-99.6 %" in row for row in rows)


def test_colors_are_for_terminals(monkeypatch):
    """A file gets plain text at full width, a terminal colors, and a terminal with NO_COLOR none."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert Screen.of(io.StringIO()) == Screen(width=120, colors=False)
    assert "\x1b[" in replay_text(some(), Screen.of(Terminal()))
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in replay_text(some(), Screen.of(Terminal()))
