"""A private PostgreSQL cluster on loopback, in a temporary folder, gone after the tests.

Tests that need it skip where PostgreSQL or its driver is not installed, except where `CI` is set: there they fail.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
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
_PATIENCE_S = 60


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
        server, port = _start(folder, home, as_user)
        try:
            yield f"postgresql+asyncpg://{_USER}@127.0.0.1:{port}"
        finally:
            server.communicate(timeout=_PATIENCE_S)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def new_database(server: str) -> str:
    """The URL of an empty database of its own."""
    folder, name = postgres_folder(), f"t{uuid4().hex}"
    assert folder is not None
    _run(folder / "createdb", "-h", "127.0.0.1", "-p", server.rpartition(":")[2], "-U", _USER, name)
    return f"{server}/{name}"


# The server goes when the pipe from the tests closes, so that tests which are killed leave none behind.
_GUARDED = """
"$@" >"$PG_HOME/log" 2>&1 &
server=$!
(while kill -0 $server 2>/dev/null; do sleep 1; done; kill $$ 2>/dev/null) &
read -r _
kill -QUIT $server
wait $server
rm -rf "$PG_HOME"
"""


def _start(folder: Path, home: Path, as_user: dict[str, Any]) -> tuple[subprocess.Popen[bytes], int]:
    for _ in range(_ATTEMPTS):
        port = _free_port()
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= {_FAST}".split()
        server = subprocess.Popen(  # noqa: S603 - commands of our own
            ["/bin/sh", "-c", _GUARDED, "sh", str(folder / "postgres"), "-D", str(home / "data"), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C", "PG_HOME": str(home)},
            **as_user,
        )
        if _is_ready(folder, port, server):
            return server, port
        # Somebody else may have taken the port in between.
    raise AssertionError((home / "log").read_text())


def _is_ready(folder: Path, port: int, server: subprocess.Popen[bytes]) -> bool:
    asked = [str(folder / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port), "-U", _USER]
    limit = time.monotonic() + _PATIENCE_S
    while server.poll() is None and time.monotonic() < limit:
        if subprocess.run(asked, check=False).returncode == 0:  # noqa: S603 - commands of our own
            return True
        time.sleep(0.1)
    return False


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
