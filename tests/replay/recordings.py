"""Recorded sessions in every form in which ADK writes them, made by ADK itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.adk.sessions.session import Session

from tests.support.reported import reported_run
from tests.support.run import session_service


async def recording(kind, folder: Path, *, turns=2, name="session"):
    """The path of a recording of `turns` turns of the reported app, and the session itself."""
    questions = ["Where is Oslo?"] * turns
    if kind in ("sqlite", "database"):
        async with session_service(kind, folder) as service:
            run, _ = await reported_run(
                *questions, session_service=service, session_id=name, state={"user:lang": "no", "app:tax": 25}
            )
        return folder / ("sessions.sqlite" if kind == "sqlite" else "sessions.db"), run.session
    run, _ = await reported_run(*questions, session_id=name, state={"user:lang": "no", "app:tax": 25})
    if kind in ("old_tables", "new_tables"):
        return tables(run.session, folder / f"{kind}.db", "v0" if kind == "old_tables" else "v1"), run.session
    path = folder / f"{name}.json"
    # `adk web` writes camel case, `adk run --save_session` snake case.
    path.write_text(run.session.model_dump_json(by_alias=kind == "camel", exclude_none=True), encoding="utf-8")
    return path, run.session


def tables(session: Session, path: Path, version: str) -> Path:
    """A database of `DatabaseSessionService`, written by ADK's own models.

    Args:
        session: what is stored in it.
        path: the file.
        version: "v0" for the tables of the first 1.x releases, whose actions are pickled, "v1" for those of today.
    """
    sqlalchemy = pytest.importorskip("sqlalchemy")
    orm = pytest.importorskip("sqlalchemy.orm")
    schema = pytest.importorskip(f"google.adk.sessions.schemas.{version}")
    engine = sqlalchemy.create_engine(f"sqlite:///{path}")
    schema.Base.metadata.create_all(engine)
    key = {"app_name": session.app_name, "user_id": session.user_id}
    user, app = (
        {name.removeprefix(prefix): value for name, value in session.state.items() if name.startswith(prefix)}
        for prefix in ("user:", "app:")
    )
    state = {name: value for name, value in session.state.items() if ":" not in name}
    with orm.Session(engine) as rows:
        rows.add(schema.StorageSession(**key, id=session.id, state=state))
        rows.add(schema.StorageUserState(**key, state=user))
        rows.add(schema.StorageAppState(app_name=session.app_name, state=app))
        for event in session.events:
            rows.add(schema.StorageEvent.from_event(session, event))
        rows.commit()
    engine.dispose()
    return path
