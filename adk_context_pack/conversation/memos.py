"""What was found out about a session, for the calls that come after: of the same run, and of its later runs."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from google.adk.sessions.session import Session

Memo = dict[Hashable, Any]

_MAX_BYTES = 32 * 2**20


class RunMemos:
    """A memo for each run that is under way: ADK loads a session anew for each run, whose calls share the object."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[Session], Memo]] = {}

    def of(self, session: Session) -> Memo:
        """The memo of the run that `session` belongs to; it goes with that object."""
        held = self._held
        key = id(session)
        found = held.get(key)
        if found is None or found[0]() is not session:

            def forget(ref: weakref.ref[Session]) -> None:
                if key in held and held[key][0] is ref:
                    del held[key]

            held[key] = found = (weakref.ref(session, forget), {})
        return found[1]

    def __len__(self) -> int:
        return len(self._held)


class SessionMemos:
    """A memo for each session that was called lately, in bounded memory; who called longest ago is forgotten first.

    Most runs are a call or two, so that a memo of the run alone would find out the whole history again at every turn:
    that took 15 % of the throughput of an app whose model answers at once.

    Args:
        max_bytes: how much all memos together may weigh. What a memo's entries weigh they say in their `bytes`.
    """

    def __init__(self, *, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._held: OrderedDict[tuple[str, str, str], Memo] = OrderedDict()
        self._weights: dict[tuple[str, str, str], int] = {}
        self._bytes = 0

    def of(self, session: Session) -> Memo:
        """The memo of `session`, whatever object ADK holds it in."""
        key = session.app_name, session.user_id, session.id
        memo = self._held.get(key)
        if memo is None:
            self._held[key] = memo = {}
        self._held.move_to_end(key)
        # What was put in since the session's last call is weighed now.
        weight = sum(entry.bytes for entry in memo.values())
        self._bytes += weight - self._weights.get(key, 0)
        self._weights[key] = weight
        while self._bytes > self._max_bytes and len(self._held) > 1:
            oldest, _ = self._held.popitem(last=False)
            self._bytes -= self._weights.pop(oldest)
        return memo

    def clear(self) -> None:
        """Forgets all sessions."""
        self._held.clear()
        self._weights.clear()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)


RUNS = RunMemos()
SESSIONS = SessionMemos()
