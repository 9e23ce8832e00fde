"""What a query may do, how long and with how much memory."""

from __future__ import annotations

import re
import sqlite3
import sys
import time
from collections.abc import Collection
from pathlib import Path

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.bounded_functions import BoundedFunctions

# Everything that computes from its arguments alone. What is missing reaches out (load_extension, readfile) or only
# fills memory (zeroblob, randomblob).
_NAMES = """
    -> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count
    cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format
    glob group_concat hex ifnull iif instr json json_array json_array_length json_each json_extract json_group_array
    json_group_object json_object json_quote json_tree json_type json_valid julianday lag last_value lead length like
    likelihood likely ln log log10 log2 lower ltrim max min mod nth_value ntile nullif octet_length percent_rank pi pow
    power printf quote radians random rank replace round row_number rtrim sign sin sinh sqrt strftime string_agg substr
    substring subtype sum tan tanh time timediff total trim trunc typeof unicode unixepoch unlikely upper
"""
_FUNCTIONS = frozenset(_NAMES.split())
_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})
_STEPS_A_LOOK = 200
_LOOKS_A_MEMORY_LOOK = 64
_STATM = Path("/proc/self/statm")
_PAGE_BYTES = 4096
_MAX_MESSAGE = 300
_MAX_TEXT_BYTES = 100_000
_MIN_PATTERN, _MAX_PATTERN = 50, 1_000
_MAX_COMPARISONS = 500_000_000
_NOT_ALLOWED = re.compile("not authorized|prohibited|authorization denied", re.IGNORECASE)


class QueryGuard:
    """Holds a connection to reading its own tables, within limits.

    Args:
        connection: with all its tables filled; from now on nothing can be changed.
        tables: the tables and views that may be read.
        longest_row: bytes of the longest row, which a query must still be able to read.
        most_columns: columns that a result may have.
        max_seconds: time for one query.
        max_bytes: by how much the process may grow during one query (looked at on Linux only: SQLite's own limit would
            hold for every connection of the process, the session database included).
    """

    def __init__(  # noqa: PLR0913 - a limit each
        self,
        connection: sqlite3.Connection,
        tables: Collection[str],
        *,
        longest_row: int,
        most_columns: int,
        max_seconds: float,
        max_bytes: int,
    ) -> None:
        self._tables = frozenset(name.lower() for name in tables) | _TABLE_FUNCTIONS
        self._max_seconds = max_seconds
        self._max_bytes = max_bytes
        self._deadline = 0.0
        self._looks = 0
        self._start_bytes = 0
        self._stopped_by = ""
        self._close(connection, longest_row, most_columns)

    def _close(self, connection: sqlite3.Connection, longest_row: int, most_columns: int) -> None:
        # The first use of json_each writes into the schema of the connection, so it comes before the lock.
        for name in _TABLE_FUNCTIONS:
            connection.execute(f"SELECT * FROM {name}('[]')").fetchall()  # noqa: S608 - names of our own
        # Sorting may not write to the disk; in memory it is counted.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA query_only = ON")
        longest = max(_MAX_TEXT_BYTES, longest_row)
        BoundedFunctions(connection, max_bytes=longest)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        # LIKE and GLOB compare a pattern at each place of a text, and nothing stops them in between.
        pattern = max(_MIN_PATTERN, min(_MAX_PATTERN, _MAX_COMPARISONS // longest))
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, pattern)
        connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, most_columns)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.setlimit(sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0)
        connection.set_authorizer(self._allows)
        connection.set_progress_handler(self._look, _STEPS_A_LOOK)

    def start(self) -> None:
        """Begins the time of one query."""
        self._stopped_by = ""
        self._looks = 0
        self._deadline = time.monotonic() + self._max_seconds
        self._start_bytes = _resident_bytes()

    def explain(self, error: Exception) -> QueryError:
        """An error of SQLite's in words for a model."""
        if self._stopped_by or "interrupted" in str(error):
            return QueryError(f"The query was stopped: {self._stopped_by or 'it took too long'}. Make it smaller.")
        if "user-defined function" in str(error):
            return QueryError("A text function was asked for too much: a wide format, or a text that became too long.")
        if isinstance(error, MemoryError) or "too big" in str(error):
            return QueryError("The query was stopped: a text or row became too long.")
        if _NOT_ALLOWED.search(str(error)):
            return QueryError(f"Only SELECT over the stored rows is allowed, with plain functions ({error}).")
        # SQLite quotes what it cannot read, however long.
        return QueryError(str(error)[:_MAX_MESSAGE])

    @property
    def stopped(self) -> bool:
        """Whether the running query was stopped by a limit."""
        return bool(self._stopped_by)

    def _allows(
        self, action: int, one: str | None, two: str | None, _database: str | None, _trigger: str | None
    ) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        # A table of which no column is read: count(*), also over what WITH has named.
        if action == sqlite3.SQLITE_READ and ((one or "").lower() in self._tables or two == ""):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in _FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _look(self) -> int:
        if time.monotonic() > self._deadline:
            self._stopped_by = f"it took longer than {self._max_seconds:g} s"
            return 1
        self._looks += 1
        if self._looks % _LOOKS_A_MEMORY_LOOK == 0 and _resident_bytes() - self._start_bytes > self._max_bytes:
            self._stopped_by = f"it needed more than {self._max_bytes // 2**20} MB"
            return 1
        return 0


def _resident_bytes() -> int:
    if sys.platform != "linux":
        return 0
    try:
        return int(_STATM.read_bytes().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0
