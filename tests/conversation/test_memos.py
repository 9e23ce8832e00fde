"""What is remembered of runs and sessions, for how long, and for whom."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest
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


def test_a_session_is_known_in_any_object() -> None:
    """Runs of one session share a memo; another app, user or session has another one."""
    memos = SessionMemos()
    use(memos, session("s"))["call"] = 1
    assert use(memos, session("s")) == {"call": 1}
    for other in (session("t"), session("s", user="other"), session("s", app="other")):
        assert use(memos, other) == {}


@pytest.mark.parametrize("memos", [RunMemos(), SessionMemos()])
def test_a_memo_has_one_user_at_a_time(memos: RunMemos | SessionMemos) -> None:
    """A call that overlaps another one gets an empty memo, and a later one finds what was put back last."""
    one = session("s")
    with memos.lent(one) as first, memos.lent(one) as second:
        first["call"], second["call"] = 1, 2
    assert use(memos, one) == {"call": 1}


def test_a_memo_comes_back_from_a_call_that_fails() -> None:
    """An exception while a memo is lent loses nothing of it."""
    memos, one = SessionMemos(), session("s")

    def fail() -> None:
        with memos.lent(one) as memo:
            memo["call"] = 1
            raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"):
        fail()
    assert use(memos, one) == {"call": 1}


def test_a_memo_is_weighed_when_it_is_put_back() -> None:
    """All memos together weigh no more than the bound, after the first call of a session as after any other."""
    memos = SessionMemos(max_bytes=100_000)
    for number in range(50):
        use(memos, session(str(number)))["entry"] = None
        with memos.lent(session(str(number))) as memo:
            memo["entry"] = SimpleNamespace(bytes=20_000)
        assert memos.bytes <= 100_000
    assert len(memos) < 6


def test_sessions_that_called_once_go_first() -> None:
    """A crowd of sessions that call once drives out none that comes back."""
    memos = SessionMemos(max_bytes=100_000)
    for _ in range(2):
        fill(memos, "regular", 30_000)
    for number in range(50):
        fill(memos, f"guest {number}", 10_000)
    assert "entry" in use(memos, session("regular"))
    assert "entry" not in use(memos, session("guest 1"))


def test_new_sessions_get_a_place_among_old_ones() -> None:
    """Where sessions that come back fill all memory, the one that called longest ago makes room for a new one."""
    memos = SessionMemos(max_bytes=100_000)
    for _ in range(2):
        for number in range(5):
            fill(memos, f"regular {number}", 18_000)
    fill(memos, "new", 18_000)
    assert "entry" in use(memos, session("new"))
    assert "entry" not in use(memos, session("regular 0"))
    assert "entry" in use(memos, session("regular 4"))


def test_one_session_may_weigh_more_than_all() -> None:
    """The newest session stays even if it alone weighs more than the bound."""
    memos = SessionMemos(max_bytes=1_000)
    fill(memos, "small", 10)
    fill(memos, "large", 50_000)
    assert len(memos) == 1
    assert "entry" in use(memos, session("large"))
    memos.clear()
    assert (len(memos), memos.bytes) == (0, 0)


def test_all_is_forgotten() -> None:
    """After `clear` neither a session that called once nor one that came back is known."""
    memos = SessionMemos()
    for name in ("once", "often", "often"):
        fill(memos, name, 10)
    assert len(memos) == 2
    memos.clear()
    assert (len(memos), memos.bytes) == (0, 0)
    assert use(memos, session("once")) == {}
    assert use(memos, session("often")) == {}


def fill(memos: SessionMemos, name: str, size: int) -> None:
    with memos.lent(session(name)) as memo:
        memo["entry"] = SimpleNamespace(bytes=size)


def use(memos: RunMemos | SessionMemos, one: Session) -> dict:
    with memos.lent(one) as memo:
        return memo


def session(name: str, *, app: str = "app", user: str = "user") -> Session:
    return Session(id=name, app_name=app, user_id=user)
