"""What is remembered of runs and sessions, for how long, and for whom."""

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
    use(memos, first)["call"] = 1
    assert use(memos, first) == {"call": 1}
    assert use(memos, second) == {}
    assert len(memos) == 2
    del first, second
    gc.collect()
    assert len(memos) == 0


def test_sessions_that_called_once_go_first() -> None:
    """A crowd of sessions that call once drives out none that comes back."""
    memos = SessionMemos(max_bytes=100_000)
    for _ in range(2):
        fill(memos, "regular", 30_000)
    for number in range(50):
        fill(memos, f"guest {number}", 10_000)
    assert "entry" in use(memos, session("regular"))
    assert "entry" not in use(memos, session("guest 1"))


def test_one_session_may_weigh_more_than_all() -> None:
    """The newest session stays even if it alone weighs more than the bound."""
    memos = SessionMemos(max_bytes=1_000)
    fill(memos, "small", 10)
    fill(memos, "large", 50_000)
    assert len(memos) == 1
    assert "entry" in use(memos, session("large"))
    memos.clear()
    assert (len(memos), memos.bytes) == (0, 0)


def fill(memos: SessionMemos, name: str, size: int) -> None:
    with memos.lent(session(name)) as memo:
        memo["entry"] = SimpleNamespace(bytes=size)


def use(memos: RunMemos | SessionMemos, one: Session) -> dict:
    with memos.lent(one) as memo:
        return memo


def session(name: str, *, app: str = "app", user: str = "user") -> Session:
    return Session(id=name, app_name=app, user_id=user)
