"""Session databases that outlive the service that wrote them, a real PostgreSQL among them."""

import pytest

from tests.support import postgres
from tests.support.databases import Database


@pytest.fixture(scope="session")
def postgres_server():
    """The URL of a private PostgreSQL server."""
    if reason := postgres.missing():
        postgres.skip_or_fail(reason)
    with postgres.cluster() as url:
        yield url


@pytest.fixture(params=["memory", "sqlite", "database", "postgres"])
def database(request, tmp_path):
    """Each of ADK's session services."""
    return _database(request.param, request, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def lasting(request, tmp_path):
    """A database that a second service, or a second process, can open."""
    return _database(request.param, request, tmp_path)


def _database(kind, request, folder):
    if kind == "postgres":
        return Database(kind=kind, place=postgres.new_database(request.getfixturevalue("postgres_server")))
    return Database(kind=kind, place=str(folder / "sessions.db"))
