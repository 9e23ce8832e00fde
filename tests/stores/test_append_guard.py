"""The guard on a session service: in nobody's way, once for each service, and exact about what it takes out."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.in_memory_session_service import InMemorySessionService

from adk_context_pack.stores.append_guard import Addition, AppendGuard, guard


def event(**delta) -> Event:
    """An event of the agent with a state delta."""
    return Event(author="a", invocation_id="i", actions=EventActions(state_delta=delta))


class Service(InMemorySessionService):
    """Notes how it was called, and refuses some keys."""

    refused = ()

    async def append_event(self, session, event, *more, **named):
        self.calls = [*getattr(self, "calls", ()), (session, event, more, named)]
        if any(key in event.actions.state_delta for key in self.refused):
            raise PermissionError(event.id)
        await super().append_event(session=session, event=event)
        return "the service's own answer"


@pytest.fixture
async def service():
    """A service with a session in it."""
    made = Service()
    made.session = await made.create_session(app_name="app", user_id="u", session_id="s")
    return made


def add(service, key="ours") -> None:
    """Writes an addition of the pack."""
    guard(SimpleNamespace(session_service=service, session=service.session), Addition(key=key))


async def test_a_partial_event_is_not_the_one_that_is_stored(service):
    """Streamed parts carry the same delta; the addition is waited for until the whole event comes."""
    add(service)
    partial = event(ours=1)
    partial.partial = True
    await service.append_event(service.session, partial)
    service.refused = ("ours",)
    assert await service.append_event(service.session, event(ours=1)) == "the service's own answer"


async def test_the_session_in_hand_is_as_stored(service):
    """A refused key goes from the state in hand, or holds again what the last stored event says."""
    await service.append_event(service.session, event(ours=1, other=2))
    for key in ("ours", "new"):
        add(service, key)
        service.session.state[key] = 3
    service.refused = ("ours", "new")
    refused = event(ours=3, new=3, other=4)
    await service.append_event(service.session, refused)
    assert refused.actions.state_delta == {"other": 4}
    assert service.session.state == {"ours": 1, "other": 4}


async def test_an_event_that_the_service_added_first_is_there_once():
    """Some services add an event to the session in hand, and then fail to store it."""

    class Remote(InMemorySessionService):
        async def append_event(self, session, event):
            if event.actions.state_delta:
                session.events.append(event)
                raise PermissionError
            return await super().append_event(session, event)

    service = Remote()
    service.session = await service.create_session(app_name="app", user_id="u", session_id="s")
    add(service)
    refused = event(ours=1)
    await service.append_event(service.session, refused)
    assert service.session.events == [refused]


async def test_what_is_refused_without_it_as_well_is_raised(service):
    """The second refusal is what the run would have met without the pack."""
    add(service)
    service.refused = ("ours", "theirs")
    refused = event(ours=1, theirs=2)
    with pytest.raises(PermissionError, match=refused.id):
        await service.append_event(service.session, refused)
    assert [len(service.calls), service.session.events] == [2, []]


async def test_other_sessions_keep_their_own(service):
    """A key that the pack wrote in one session is another session's own."""
    add(service)
    other = await service.create_session(app_name="app", user_id="u", session_id="other")
    service.refused = ("ours",)
    with pytest.raises(PermissionError):
        await service.append_event(other, event(ours=1))


@pytest.mark.parametrize("copied_by", [copy.copy, copy.deepcopy], ids=["copy", "deepcopy"])
async def test_a_copy_of_a_service_writes_to_itself(service, copied_by):
    """A copied service stores its own events, before and after the pack adds something there too."""
    add(service)
    copied = copied_by(service)
    copied.calls, copied.session = [], await copied.create_session(app_name="app", user_id="u", session_id="other")
    await copied.append_event(copied.session, event())
    add(copied)
    await copied.append_event(copied.session, event(ours=1))
    assert len(copied.calls) == 2
    assert not hasattr(service, "calls")
    assert copied.append_event.__self__ is not service.append_event.__self__


async def test_no_message_of_a_service_reaches_the_log(service, caplog, monkeypatch):
    """A service whose errors quote what it was given leaves only their types in the log."""
    add(service)

    async def quoting(*_, **__):
        raise ValueError("secret 4711")

    monkeypatch.setattr(service, "get_session", quoting)
    service.refused = ("ours",)
    with pytest.raises(PermissionError):
        await service.append_event(service.session, event(ours=1))
    assert "unknown whether an event was stored (ValueError)" in caplog.text
    assert "4711" not in caplog.text


def test_a_service_that_takes_no_method_is_left_alone():
    """Slots: nothing is put on it, and nothing fails."""

    class Slots:
        __slots__ = ("session",)

        async def append_event(self, session, event):
            return event

    made = Slots()
    made.session = SimpleNamespace(id="s")
    add(made)
    assert not isinstance(made.append_event.__self__, AppendGuard)
    guard(None, Addition(key="ours"))
