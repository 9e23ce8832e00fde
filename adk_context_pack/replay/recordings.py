"""Opens the recordings that the command line names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote

from adk_context_pack.errors import RecordingError
from adk_context_pack.replay.database_recording import MAGIC, DatabaseRecording, Found, SqliteRecording
from adk_context_pack.replay.json_recording import JsonRecording

_SUFFIXES = (".json", ".db", ".sqlite", ".sqlite3")
"""The endings of files that `adk web` and ADK's session services write."""


class Recording(Protocol):
    """Something that holds sessions."""

    def __iter__(self) -> Iterator[Found]:
        """Yields each session, or the error that keeps one from being read."""

    def count(self) -> int | None:
        """Returns the number of sessions, or None if counting would mean reading them."""


def files_in(name: str) -> list[str]:
    """Returns the files below a folder that may hold sessions, or `name` itself if it is not a folder.

    Raises:
        RecordingError: the folder holds no such file.
    """
    if "://" in name or not Path(name).is_dir():
        return [name]
    found = sorted(str(path) for path in Path(name).rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    if not found:
        raise RecordingError(f"{name}: no recorded sessions in this folder ({', '.join(_SUFFIXES)})")
    return found


def open_recording(name: str) -> Recording:
    """Opens the recording behind a file name or a database URL.

    Raises:
        RecordingError: the file does not exist, or cannot be opened.
    """
    if "://" in name:
        scheme, _, rest = name.partition("://")
        if scheme.partition("+")[0] != "sqlite":
            return DatabaseRecording(name)
        # sqlite:///relative.db and sqlite:////absolute.db, as SQLAlchemy has them.
        name = unquote(rest.partition("?")[0].removeprefix("/"))
    path = Path(name)
    try:
        with path.open("rb") as file:
            head = file.read(len(MAGIC))
    except OSError as error:
        raise RecordingError(f"{name}: {error.strerror or type(error).__name__}") from None
    return SqliteRecording(path) if head == MAGIC else JsonRecording(path)


def sessions_in(recording: Recording) -> Iterable[Found]:
    """Yields every session of a recording. If the recording fails as a whole, its error is the last item."""
    try:
        yield from recording
    except RecordingError as error:
        yield error
    except OSError as error:
        yield RecordingError(f"{error.filename}: {error.strerror or type(error).__name__}")
