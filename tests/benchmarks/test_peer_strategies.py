"""peer_strategies: libraries of the field, each in a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from adk_context_pack.testing import Conversation, answerability
from tests.benchmarks.peer_strategies import peer_strategies
from tests.support.events import agent_called, tool_returned, user_said

LIBRARY = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    left = [message | {"name": None} for message in asked["messages"]]
    for message in left[:-1]:
        if message["role"] == "tool":
            message["text"] = "[cleared]"
    print(json.dumps(["a library"] if asked["strategy"] is None else left), flush=True)
"""
SESSION = Conversation(
    agent="a",
    keep_ids=True,
    events=(
        user_said("Book a flight for Mia."),
        agent_called("a", "get_user", "c1", name="Mia"),
        tool_returned("a", "get_user", {"card": "credit_4421"}, "c1"),
        agent_called("a", "get_flights", "c2", day="2024-05-20"),
        tool_returned("a", "get_flights", {"flight": "HAT136"}, "c2"),
        agent_called("a", "book", "c3", name="Mia", card="credit_4421", flight="HAT136"),
    ),
)


def installed(folder: Path) -> None:
    """An environment whose Python runs a library that clears all results but the newest message."""
    python = folder / "langchain" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!{sys.executable}\n{LIBRARY}", encoding="utf-8")
    python.chmod(0o755)


def test_a_library_reduces_the_requests_of_recorded_calls(tmp_path: Path):
    """What it leaves as it was is the same content, and what it clears is neither visible nor reachable."""
    installed(tmp_path)
    strategies = peer_strategies(tmp_path)
    assert list(strategies) == ["a library"]
    (result,) = answerability([SESSION], strategies)
    assert [(lost.tool, lost.value) for lost in result.lost] == [("book", "credit_4421")]
    assert result.visible == result.values - 1
    assert result.characters < result.characters_whole


def test_contents_that_a_library_leaves_alone_are_whole(tmp_path: Path):
    """The request before the first result comes back as it was, part by part."""
    installed(tmp_path)
    request, call = SESSION.upto(3).built()
    (reduce,) = peer_strategies(tmp_path).values()
    assert reduce(request, call).contents == request.contents


def test_a_library_that_is_not_there_is_left_out_by_name(tmp_path: Path, capsys):
    """Each of the others is named on standard error."""
    installed(tmp_path)
    peer_strategies(tmp_path)
    told = capsys.readouterr().err
    assert "harness is not installed" in told
    assert "langchain" not in told
