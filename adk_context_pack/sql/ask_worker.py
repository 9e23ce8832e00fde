"""Sends queries and searches to a worker process, with the limits of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.database import QueryAnswer
from adk_context_pack.sql.guard import SEARCH_TOO_LARGE, SEARCH_TOO_LONG, TOO_MUCH_MEMORY, too_long
from adk_context_pack.sql.table_image import TableImage
from adk_context_pack.sql.worker_process import JobEndedError, WorkerProcess
from adk_context_pack.stores.byte_cache import CACHE

_SECONDS_FOR_OPENING = 60
_MAX_HELD = 10_000
_ENCODED_AT_ONCE = 1_000_000
# The memory that a search may use beside its text. Without a limit `regex` takes a gigabyte.
_SEARCH_BYTES = 128 * 2**20


def query_images(  # noqa: PLR0913 - a limit each
    process: WorkerProcess,
    images: Mapping[str, TableImage],
    sql: str,
    *,
    max_rows: int,
    max_seconds: float,
    max_bytes: int,
) -> QueryAnswer:
    """Runs one SELECT over images in a worker process.

    Args:
        process: runs it; keeps the images for the next query.
        images: from a handle to its tables, see `RowDatabase`.
        sql: the statement.
        max_rows: how many rows to return.
        max_seconds: time for the query. Its process is killed at one and a half times that.
        max_bytes: by how much the process may grow during the query (Linux only).

    Raises:
        QueryError: a mistake in the statement, or a limit was met; worded for a model.
    """
    limits = _limits(max_seconds, max_bytes) | {"max_rows": max_rows}
    key = tuple(image.number for image in images.values())
    header = {"images": [{"number": number} for number in key], "sql": sql, "limits": limits}
    try:
        if key not in process.holds:
            _open(process, key, images)
        answer = _ask(process, "query", header)
        if "missing" in answer:
            _open(process, key, images)
            answer = _ask(process, "query", header)
    except JobEndedError as ended:
        raise QueryError(too_long(max_seconds) if ended.by_time else TOO_MUCH_MEMORY) from None
    return QueryAnswer(**_checked(answer))


def search_text(  # noqa: PLR0913 - a limit each
    process: WorkerProcess, text: str, search: str, *, start: int, most: int, max_seconds: float
) -> dict[str, Any]:
    """Finds patterns in a text in a worker process.

    Args:
        process: runs the search, and keeps nothing of it.
        text: the whole.
        search: see `find_places`.
        start: the character to begin with.
        most: how many places to find.
        max_seconds: time for the search. Its process is killed at one and a half times that.

    Returns:
        The fields of `Places`.

    Raises:
        QueryError: the pattern met a limit; worded for a model.
    """
    limits = _limits(max_seconds, _SEARCH_BYTES)
    # Other threads run between two steps, and while Python joins them.
    steps = (text[at : at + _ENCODED_AT_ONCE] for at in range(0, len(text), _ENCODED_AT_ONCE))
    data = b"".join(step.encode("utf-8", "surrogatepass") for step in steps)
    try:
        process.ask({"do": "open text"}, [data], seconds=_SECONDS_FOR_OPENING)
        answer = _ask(process, "search", {"search": search, "start": start, "most": most, "limits": limits})
    except JobEndedError as ended:
        raise QueryError(SEARCH_TOO_LONG if ended.by_time else SEARCH_TOO_LARGE) from None
    return _checked(answer)


def _limits(max_seconds: float, max_bytes: int) -> dict[str, Any]:
    # SQLite and `regex` end most jobs by themselves, with their process alive for the next one.
    limits = {"max_seconds": max_seconds, "kill_seconds": 1.5 * max_seconds + 0.1, "max_bytes": max_bytes}
    return limits | {"at_rest": CACHE.max_bytes // 4}


def _ask(process: WorkerProcess, do: str, header: dict[str, Any]) -> dict[str, Any]:
    seconds = header["limits"]["kill_seconds"] + 0.2
    return process.ask({"do": do} | header, seconds=seconds)


def _open(process: WorkerProcess, key: tuple[int, ...], images: Mapping[str, TableImage]) -> None:
    described = [
        {"handle": handle, "number": image.number, "names": image.names.as_json()} for handle, image in images.items()
    ]
    blobs = [image.data for image in images.values()]
    _checked(process.ask({"do": "open", "images": described}, blobs, seconds=_SECONDS_FOR_OPENING))
    if len(process.holds) > _MAX_HELD:
        process.holds.clear()
    process.holds.add(key)
    process.holds.update(images)


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise QueryError(answer["error"])
    return answer
