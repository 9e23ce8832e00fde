"""Recordings: every form in which ADK stores a session is read, and none of them is written to."""

import asyncio
import json
import pickle
import sqlite3
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from google.adk.events.event_actions import EventActions
from google.adk.runners import Runner

from adk_context_pack import RecordingError
from adk_context_pack.replay.recordings import database_sessions, event_of_row, recorded_in
from tests.replay.recordings import recording
from tests.support.reported import SECRET


def contents(events):
    return [(event.author, event.invocation_id, event.content and event.content.model_dump()) for event in events]


@pytest.mark.parametrize("kind", ["new_tables", "old_tables"])
def test_a_database_url_is_read(kind, tmp_path):
    """A SQLite URL is read as its file, and others through a driver of either kind, without a loop of the caller's."""
    for name in ("sqlalchemy", "aiosqlite", "greenlet"):
        pytest.importorskip(name)
    path, session = asyncio.run(recording(kind, tmp_path))
    urls = f"sqlite:///{path}", f"sqlite+aiosqlite:///{path}"
    for (found,) in (recorded_in(urls[1]), *map(database_sessions, urls)):
        assert contents(found.events) == contents(session.events)
        assert found.state == session.state


def test_a_database_that_is_away_gets_one_line_without_its_password(tmp_path):
    """Neither a missing driver nor a missing server shows the password of the URL."""
    pytest.importorskip("sqlalchemy")
    for url in (f"postgresql://me:{SECRET}@127.0.0.1:1/db", f"mysql+nodriver://me:{SECRET}@127.0.0.1:1/db", "x://"):
        (error,) = recorded_in(url)
        assert isinstance(error, RecordingError)
        assert SECRET not in str(error)
        assert "\n" not in str(error)


def broken_files(folder):
    def sqlite(name, *statements):
        with sqlite3.connect(folder / name) as connection:
            for statement in statements:
                connection.execute(statement)
        return folder / name

    def file(name, data):
        (folder / name).write_bytes(data)
        return folder / name

    yield folder / "missing.json"
    yield folder
    yield file("empty", b"")
    yield file("text.md", b"# a text")
    yield file("list.json", b"[1, 2]")
    yield file("nothing.json", b"[]")
    yield file("object.json", b'{"a": 1}')
    yield file("events.json", b'{"id": "x", "events": [{"author": 7}]}')
    yield file("event.json", b'{"id": "x", "events": ["text"]}')
    yield file("deep.json", b"[" * 100_000)
    yield file("cases.json", b'{"eval_set_id": "x", "eval_cases": [{"eval_id": "y"}]}')
    yield sqlite("foreign.db", "CREATE TABLE customers (name TEXT)")
    yield file("damaged.db", b"SQLite format 3\0" + b"\xff" * 4096)
    yield file("cut.db", b"SQLite format 3\0")


def test_broken_and_foreign_files_get_one_clear_line_each(tmp_path):
    """Whatever is no recording is told with its name in one line."""
    for path in broken_files(tmp_path):
        (error,) = recorded_in(str(path))
        assert isinstance(error, RecordingError), path
        assert str(path) in str(error)
        assert "\n" not in str(error)


async def test_one_broken_session_does_not_hide_the_others(tmp_path):
    """A session that cannot be read gives its line, all others are read, and their number is known beforehand."""
    for name in ("a", "b", "c"):
        path, _ = await recording("sqlite", tmp_path, turns=1, name=name)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET event_data = 'no json' WHERE session_id = 'b'")
    first, broken, last = recorded_in(str(path))
    assert "session b: a JSON column holds no JSON" in str(broken)
    assert (first.id, last.id) == ("a", "c")


ROW = {"id": "e1", "invocation_id": "run", "author": "scout", "timestamp": "2025-06-01 12:00:00"}
CONTENT = {"role": "model", "parts": [{"text": "Oslo"}]}


def test_a_driver_may_give_objects_and_numbers():
    """JSON columns as objects, moments as numbers or with a zone, and actions as a dict read as their texts do."""
    moment = datetime(2025, 6, 1, 12, tzinfo=UTC)
    actions = {"state_delta": {"a": 1}, "from_the_future": 1}
    rows = (
        ROW | {"content": CONTENT, "actions": actions},
        ROW | {"content": json.dumps(CONTENT), "actions": actions, "timestamp": moment},
        ROW | {"content": CONTENT, "actions": actions, "timestamp": moment.timestamp()},
        {"id": "e1", "invocation_id": "run", "event_data": {"author": "scout", "content": CONTENT, "actions": actions,
                                                            "timestamp": moment.timestamp()}},
    )  # fmt: skip
    for row in rows:
        found = event_of_row(row)
        assert (found.author, found.content.parts[0].text, found.timestamp) == ("scout", "Oslo", moment.timestamp())
        assert found.actions.state_delta == {"a": 1}


class Attack:
    def __reduce__(self):
        return print, ("it ran",)


def test_pickled_actions_hold_plain_data_and_nothing_that_runs(capsys):
    """Dates, decimals and sets in pickled actions come back. What runs, and what is no actions, is refused unread."""
    delta = {"at": datetime(2025, 6, 1, tzinfo=UTC), "cost": Decimal("1.5"), "tags": {"a"}}
    found = event_of_row(ROW | {"actions": pickle.dumps(EventActions(state_delta=delta))})
    assert found.actions.state_delta == delta
    assert event_of_row(ROW | {"actions": None}).actions.state_delta == {}
    for actions, said in (
        (pickle.dumps(Attack()), r"pickled actions name builtins\.print"),
        (pickle.dumps(Runner), r"google\.adk\.runners\.Runner"),
        (b"", r"pickled actions cannot be read \(EOFError\)"),
        ("text", "an event has a field that this ADK cannot read: actions"),
    ):
        with pytest.raises(RecordingError, match=said):
            event_of_row(ROW | {"actions": actions})
    assert "it ran" not in capsys.readouterr().out
