"""Session services over data that outlive them, and what is really stored there, told without ids and times."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session

from tests.support.run import closed_at_the_end

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_TIMES = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?|\b1[6-9]\d{8}(?:\.\d+)?\b")
REPORT = "adk_context_pack"


@dataclass(frozen=True, kw_only=True)
class Database:
    """Where sessions are stored.

    Attributes:
        kind: "memory", "sqlite" (ADK's SqliteSessionService), "database" (DatabaseSessionService on SQLite) or
            "postgres" (DatabaseSessionService on PostgreSQL).
        place: the file or the URL.
    """

    kind: str
    place: str = ""
    _memory: InMemorySessionService = field(default_factory=InMemorySessionService, repr=False)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[BaseSessionService]:
        """A new session service over the data; in memory, where nothing outlives a service, always the same."""
        async with closed_at_the_end(self._service()) as service:
            yield service

    def _service(self) -> BaseSessionService:
        if self.kind == "memory":
            return self._memory
        if self.kind == "sqlite":
            return import_module("google.adk.sessions.sqlite_session_service").SqliteSessionService(db_path=self.place)
        return import_module("google.adk.sessions.database_session_service").DatabaseSessionService(db_url=self.url)

    @property
    def url(self) -> str:
        """The URL for a DatabaseSessionService."""
        return self.place if self.kind == "postgres" else f"sqlite+aiosqlite:///{self.place}"

    async def rows(self, session_id: str) -> str:
        """Every row of the session, column by column, as the database itself has it; "" in memory."""
        if self.kind == "memory":
            return ""
        read = self._postgres_rows if self.kind == "postgres" else self._sqlite_rows
        return "\n".join(await read(session_id))

    async def _sqlite_rows(self, session_id: str) -> list[str]:
        with closing(sqlite3.connect(self.place)) as connection:
            of_session = "SELECT * FROM {} WHERE {} = ? ORDER BY rowid"
            found = [
                *connection.execute(of_session.format("sessions", "id"), (session_id,)),
                *connection.execute(of_session.format("events", "session_id"), (session_id,)),
            ]
        return [repr(row) for row in found]

    async def _postgres_rows(self, session_id: str) -> list[str]:
        import asyncpg  # noqa: PLC0415 - only where it is installed

        connection = await asyncpg.connect(self.place.replace("+asyncpg", ""))
        try:
            session = await connection.fetch("SELECT t::text FROM sessions t WHERE id = $1", session_id)
            of_events = "SELECT t::text FROM events t WHERE session_id = $1 ORDER BY timestamp, ctid"
            events = await connection.fetch(of_events, session_id)
        finally:
            await connection.close()
        return [record[0] for record in (*session, *events)]


def without_ids(text: str) -> str:
    """`text` with every UUID replaced by its place among them, and every time by a word."""
    places: dict[str, str] = {}
    numbered = _UUID.sub(lambda found: places.setdefault(found[0], f"id-{len(places)}"), text)
    return _TIMES.sub("time", numbered)


def canonical(session: Session) -> str:
    """A session as JSON in one form, without ids, times and the reports that the plugin leaves on events."""
    dumped = session.model_dump(mode="json")
    for event in dumped["events"]:
        metadata = {name: value for name, value in (event.get("custom_metadata") or {}).items() if name != REPORT}
        event["custom_metadata"] = metadata or None
    return without_ids(json.dumps(dumped, sort_keys=True))


def kept_results(state: Mapping[str, Any]) -> list[str]:
    """The state keys under which the pack keeps results."""
    return [key for key in state if key.startswith(("rows:", "payload:"))]
