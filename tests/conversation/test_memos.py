"""What is remembered of runs and sessions, and for how long."""

from __future__ import annotations

import gc
from types import SimpleNamespace

from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from adk_context_pack.conversation.memos import RunMemos, SessionMemos


async def test_a_run_is_forgotten_with_its_session() -> None:
    """Calls of a run share a memo, another run has another one, and it goes when ADK lets go of the session object."""
    memos = RunMemos()
    service = InMemorySessionService()
    made = await service.create_session(app_name="app", user_id="user")
    first = await service.get_session(app_name="app", user_id="user", session_id=made.id)
    second = await service.get_session(app_name="app", user_id="user", session_id=made.id)
    assert memos.of(first) is memos.of(first) is not memos.of(second)
    assert len(memos) == 2
    del first, second
    gc.collect()
    assert len(memos) == 0


def test_a_session_is_known_in_any_object() -> None:
    """Runs of one session share a memo; another app, user or session has another one."""
    memos = SessionMemos()
    assert memos.of(session("s")) is memos.of(session("s"))
    others = [session("t"), session("s", user="other"), session("s", app="other")]
    assert all(memos.of(other) is not memos.of(session("s")) for other in others)


def test_who_called_longest_ago_is_forgotten_first() -> None:
    """Memos together weigh no more than the bound, except for one session that alone weighs more."""
    memos = SessionMemos(max_bytes=100)
    for name in "abc":
        memos.of(session(name))["entry"] = SimpleNamespace(bytes=40)
        memos.of(session(name))
    assert len(memos) == 2
    assert "entry" not in memos.of(session("a"))
    assert "entry" in memos.of(session("c"))
    memos.of(session("c"))["more"] = SimpleNamespace(bytes=1000)
    assert "more" in memos.of(session("c"))
    assert len(memos) == 1
    memos.of(session("d"))
    assert "more" not in memos.of(session("c"))
    memos.clear()
    assert len(memos) == 0


def session(name: str, *, app: str = "app", user: str = "user") -> Session:
    return Session(id=name, app_name=app, user_id=user)
