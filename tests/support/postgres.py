"""A private PostgreSQL cluster on loopback, in a temporary folder, gone after the tests.

Tests that need it skip where PostgreSQL or its driver is not installed, except where `CI` is set: there they fail.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

_DRIVERS = ("asyncpg", "sqlalchemy", "greenlet")
_USER = "tests"
# The data are thrown away, so nothing needs to reach the disk.
_FAST = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=16MB -c max_connections=40"
_ATTEMPTS = 3


def postgres_folder() -> Path | None:
    """The folder with `initdb` and `pg_ctl`, which Debian keeps out of the PATH; None where there is none."""
    if found := shutil.which("pg_ctl"):
        # Debian's wrappers stand in the PATH without initdb; the real ones stand side by side.
        folder = Path(found).resolve().parent
        if (folder / "initdb").exists():
            return folder
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(installed, key=lambda path: int(path.parts[-3].split(".")[0]), default=None)
    return newest.parent if newest else None


def missing() -> str | None:
    """Why there can be no cluster here, or None."""
    for driver in _DRIVERS:
        if find_spec(driver) is None:
            return f"PostgreSQL needs {driver}, which is not installed"
    if postgres_folder() is None:
        return "PostgreSQL is not installed (Debian: apt-get install postgresql)"
    return None


def skip_or_fail(reason: str) -> None:
    """Skips by name, except where `CI` is set: a check that is not made there is a check that failed."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@contextmanager
def cluster() -> Iterator[str]:
    """A running cluster; gives the URL of its server, to which a database's name is added."""
    folder, home = postgres_folder(), Path(tempfile.mkdtemp(prefix="pg-"))
    assert folder is not None
    try:
        as_user = _unprivileged(home)
        data = home / "data"
        _run(folder / "initdb", "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--locale=C", "-N", **as_user)
        port = _start(folder, data, home, as_user)
        try:
            yield f"postgresql+asyncpg://{_USER}@127.0.0.1:{port}"
        finally:
            _run(folder / "pg_ctl", "-D", data, "stop", "-m", "immediate", **as_user)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def new_database(server: str) -> str:
    """The URL of an empty database of its own."""
    folder, name = postgres_folder(), f"t{uuid4().hex}"
    assert folder is not None
    _run(folder / "createdb", "-h", "127.0.0.1", "-p", server.rpartition(":")[2], "-U", _USER, name)
    return f"{server}/{name}"


def _start(folder: Path, data: Path, home: Path, as_user: dict[str, Any]) -> int:
    for attempt in range(_ATTEMPTS):
        port = _free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' {_FAST}"
        try:
            _run(folder / "pg_ctl", "-D", data, "-l", home / "log", "-w", "-t", 60, "-o", options, "start", **as_user)
        except subprocess.CalledProcessError:
            # Somebody else may have taken the port in between.
            if attempt == _ATTEMPTS - 1:
                raise AssertionError((home / "log").read_text()) from None
        else:
            return port
    raise AssertionError


def _unprivileged(home: Path) -> dict[str, Any]:
    # PostgreSQL refuses to run as root.
    if os.geteuid() != 0:
        return {}
    import pwd  # noqa: PLC0415 - not on every system

    names = {entry.pw_name for entry in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    os.chown(home, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": home}


def _run(*command: Any, **settings: Any) -> None:
    # No pipes: the server would hold them open.
    subprocess.run(  # noqa: S603 - commands of our own
        [str(word) for word in command],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
        **settings,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
