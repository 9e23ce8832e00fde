"""`replay --answerability`: what the next calls of recorded sessions needed, and where it is with the pack."""

import json

import pytest

from adk_context_pack import ContextPass
from adk_context_pack.replay.command import AnswerabilitySums
from tests.replay.test_command import run_command
from tests.support.events import agent_called, agent_said, tool_returned, user_said
from tests.support.run import session_service

ORDERS = {"orders": [{"id": f"A-{n:04}", "to": "Oslo" if n % 2 else "Bergen"} for n in range(400)]}
EVENTS = [
    user_said("Cancel my order to Bergen, I am ada_li_3668."),
    agent_called("clerk", "list_orders", "c1", user="ada_li_3668"),
    tool_returned("clerk", "list_orders", ORDERS, "c1"),
    agent_called("clerk", "cancel_order", "c2", order="A-0302"),
    tool_returned("clerk", "cancel_order", {"done": "cancelled"}, "c2"),
    agent_said("clerk", "It is cancelled."),
]


class Forgets(ContextPass):
    """Leaves nothing but the first content, without a word."""

    def apply(self, request, call):
        return request.model_copy(update={"contents": request.contents[:1]})


class Fails(ContextPass):
    """Fails on every request."""

    def apply(self, request, call):
        raise KeyError("odd")


@pytest.fixture
async def database(tmp_path):
    """The events in a database of ADK's own SQLite session service."""
    async with session_service("sqlite", tmp_path) as service:
        session = await service.create_session(app_name="shop", user_id="u", session_id="s1")
        for number, event in enumerate(EVENTS):
            stored = event.model_copy(update={"id": f"e{number}", "invocation_id": "run-1"})
            await service.append_event(session, stored)
    return tmp_path / "sessions.sqlite"


def run(capsys, *arguments):
    return run_command(capsys, "replay", *arguments, "--answerability")


def with_pack(out) -> dict:
    found = json.loads(out)["answerability"]
    whole, pack = found["strategies"]
    assert (whole["visible"], whole["reachable"]) == (whole["values"], whole["values"]) == (2, 2)
    return pack | {"lost": found["lost"]}


async def test_the_table_comes_first_and_nothing_is_lost(database, capsys):
    """Of a capped result the row that the next call needs is a query away, and the table says so."""
    code, out, err = run(capsys, database)
    assert (code, err) == (0, "")
    head, columns, without, pack = out.splitlines()[:4]
    assert head == "What the next tool calls needed, and where it is:"
    assert "last fifth" in columns
    assert without.split()[:7] == ["without", "the", "pack", "2", "2", "100.0%", "100.0%"]
    assert pack.split()[:7] == ["with", "the", "pack", "2", "2", "50.0%", "100.0%"]
    assert "model calls in 1 session" in out


async def test_what_is_lost_is_named(database, capsys):
    """A pass that drops the history without a word loses a value, and the command names the call and the value."""
    code, out, _ = run(capsys, database, "--passes", f"{__name__}:Forgets")
    assert code == 0
    assert "Neither visible nor reachable within two read-backs: 1" in out
    assert "  session s1: clerk called cancel_order with 'A-0302'" in out
    pack = with_pack(run(capsys, database, "--json", "--passes", f"{__name__}:Forgets")[1])
    assert (pack["visible"], pack["reachable"]) == (1, 1)
    assert pack["lost"] == ["session s1: clerk called cancel_order with 'A-0302'"]


async def test_a_pass_that_fails_is_skipped(database, capsys):
    """The measurement goes on as the plugin would, without the pass that failed."""
    code, out, _ = run(capsys, database, "--json", "--no-caps", "--passes", f"{__name__}:Fails")
    assert code == 0
    assert with_pack(out)["visible"] == 2


def test_where_nothing_was_needed_there_is_no_share():
    """Sessions in which no call uses what it was shown get a sentence, and no 100 %."""
    said = "No recorded tool call uses a value from its request, so answerability cannot be measured."
    assert list(AnswerabilitySums(None, 0.1).lines()) == [said]
