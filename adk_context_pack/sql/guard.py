"""Holds a SQLite connection to reading its own tables.

SQLite's authorizer refuses what writes or reaches out, its limits bound what is counted before a query runs (length of
texts and patterns, columns, size of the compiled query), and its progress handler ends what runs too long, with a clear
message. SQLite calls that handler between two steps only: `worker.py` ends a single long step, and bounds memory.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import chain, pairwise

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.exact_sum import CHECKS
from adk_context_pack.sql.sql_names import INSTEAD, WORDS, TableNames, Token, in_sqlite, one_line, tokens_of
from adk_context_pack.sql.typed_columns import shown

_TABLE_FUNCTIONS = frozenset({"json_each", "json_tree"})
_LIMITS = {
    "ATTACHED": 0, "COMPOUND_SELECT": 200, "LIKE_PATTERN_LENGTH": 1_000, "SQL_LENGTH": 50_000, "TRIGGER_DEPTH": 0,
    "VARIABLE_NUMBER": 0, "VDBE_OP": 250_000, "WORKER_THREADS": 0,
}  # fmt: skip

MAX_SQL_LENGTH = 10_000
"""Characters of a statement."""


def check_statement(sql: str, handles: Collection[str] = ()) -> None:
    """Raises `QueryError`, worded for a model, for a text that is not one `SELECT` of reasonable size.

    Handles are names of tables that may begin with a digit, in lower case.
    """
    if len(sql) > MAX_SQL_LENGTH:
        raise QueryError(f"The query is longer than {MAX_SQL_LENGTH} characters.")
    tokens = [token for token in tokens_of(sql, handles) if token.kind not in {"space", "comment"}]
    first = tokens[0].word if tokens else ""
    if first not in {"SELECT", "WITH", "VALUES"}:
        raise QueryError("Only SELECT over the stored rows is allowed; begin with SELECT or WITH.")
    if any(token.text == ";" != after.text for token, after in pairwise(tokens)):
        raise QueryError("Only SELECT over the stored rows is allowed, one statement at a time. Ask others next.")


def mentioned_handles(sql: str, handles: Collection[str]) -> list[str]:
    """Returns those of `handles` (lower case) that a statement names, in its order."""
    lowered = sql[:MAX_SQL_LENGTH].lower()
    names = ((token.name or "").lower() for token in tokens_of(lowered, handles))
    return list(dict.fromkeys(name for name in names if name in handles))


class QueryGuard:
    """Lets a connection read the tables and views that it has now and do nothing else.

    A query can read a row of `longest` bytes.

    Attributes:
        stopped: whether the running query exceeded its time.
        read: the columns that the statement reads, each behind its database and its table or view in lower case.
    """

    def __init__(
        self, connection: sqlite3.Connection, tables: Collection[str], views: Collection[str], longest: int
    ) -> None:
        self._views = frozenset(views)
        self._tables = frozenset(name.lower() for name in tables) | _TABLE_FUNCTIONS
        self._max_seconds = self._deadline = 0.0
        self.stopped = False
        self.read: dict[tuple[str, str, str], None] = {}
        # The first use of json_each writes into the schema of the connection, so it comes before the lock.
        for name in _TABLE_FUNCTIONS:
            connection.execute(f"SELECT * FROM {name}('[]')").fetchall()  # noqa: S608 - fixed names
        connection.execute("PRAGMA query_only = ON")
        for limit, value in _LIMITS.items():
            connection.setlimit(getattr(sqlite3, f"SQLITE_LIMIT_{limit}"), value)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(1_000_000, longest))
        connection.set_authorizer(self._allows)
        connection.set_progress_handler(self._look, 200)

    def start(self, max_seconds: float) -> None:
        """Begins the time of one query."""
        self.stopped = False
        self.read.clear()
        self._max_seconds = max_seconds
        self._deadline = time.monotonic() + max_seconds

    def explain(self, error: Exception) -> QueryError:
        """Returns an error of SQLite's in words for a model."""
        # SQLite quotes what it cannot read, however long, and names as they are, line breaks included.
        message = one_line(str(error), 300)
        if self.stopped or "interrupted" in message:
            return QueryError(too_long(self._max_seconds))
        if known := TOO_MUCH_MEMORY if isinstance(error, MemoryError) else _about("error ", message):
            return QueryError(known)
        refusal = f"Only SELECT over the stored rows is allowed, with plain functions ({message})."
        is_refused = re.search("not authorized|prohibited|authorization denied", message, re.IGNORECASE)
        return QueryError(refusal if is_refused else message)

    def _allows(self, action: int, one: str | None, two: str | None, database: str | None, view: str | None) -> int:
        # Of a table in count(*) no column is read, also of what WITH has named.
        is_table = action == sqlite3.SQLITE_READ and ((one or "").lower() in self._tables or two == "")
        # The columns of a view are read for it, whichever of them a statement names.
        if is_table and view not in self._views:
            self.read[database or "", (one or "").lower(), two or ""] = None
        is_function = action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in WORDS["functions"] | CHECKS
        is_query = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE)
        return sqlite3.SQLITE_OK if is_table or is_function or is_query else sqlite3.SQLITE_DENY

    def _look(self) -> int:
        self.stopped |= time.monotonic() > self._deadline
        return self.stopped


TOO_MUCH_MEMORY = "The query was stopped: it needed too much memory. Make it smaller."
SEARCH_TOO_LONG = "The search was stopped: the pattern took too long. Use a simpler one."
SEARCH_TOO_LARGE = "The search was stopped: the pattern needs too much memory. Use a simpler one."
"""The answers to a query that met the limit of its process, and to a search that met that of time or of memory."""


def too_long(seconds: float) -> str:
    """Returns the answer to a query that ran out of its time."""
    return f"The query was stopped: it took longer than {seconds:g} s. Make it smaller."


_SAID = re.compile(
    r"near \"(?P<near>.+?)\": syntax error|unrecognized token: \"(?P<token>.*?)\"?$"
    r"|(?:no such (?:column|function|table)|function): (?P<name>.+?)\)?$",
    re.DOTALL,
)
_QUOTES = 'Texts go in single quotes; names with dots, spaces or odd letters in double quotes: "metrics.clicks".'


def hint_for(message: str, images: Collection[TableNames], sql: str = "") -> str:
    """Returns what to do about an error of SQLite's, or an empty text if the error says it all."""
    is_of_form = any(words in message for words in ("syntax", "no such", "wrong number", "unrecognized", "begin with"))
    if is_of_form and (advice := _of_another_database(in_sqlite(sql), message, images)):
        return advice
    near, token, name = match.groups("") if (match := _SAID.search(message)) else ("", "", "")
    if near.lower() in {name.lower() for name in all_names(images)}:
        return f"Write {shown(near)} in double quotes if it is a name. Else BY, a comma or an operator is missing."
    if near[:1].isalnum() and f"'{near}" in sql:
        return INSTEAD["token '"]
    if near or token:
        kind, said = ("near", near) if near else ("token", token)
        return INSTEAD.get(f"{kind} {said.upper()}") or INSTEAD.get(f"{kind} {said[0]}") or f"{INSTEAD[kind]} {_QUOTES}"
    if "function:" in message:
        known = sorted(WORDS["functions"] - _TABLE_FUNCTIONS)
        near = " or ".join(get_close_matches(name.lower(), known, n=3))
        return f"{near and f'Did you mean {near}? '}Functions: {', '.join(known)}, and json_each(x) in FROM."
    return _column_hint(name, images) if message.startswith("no such column") else _about("hint ", message)


def _about(kind: str, message: str) -> str:
    found = (said for key, said in INSTEAD.items() if key.startswith(kind) and key[len(kind) :] in message.lower())
    return next(found, "")


def all_names(images: Iterable[TableNames]) -> list[str]:
    """Returns the names of all tables and columns."""
    return [name for each in images for name in (*each.tables, *each.views, *chain(*each.tables.values()))]


def _of_another_database(sql: str, message: str, images: Iterable[TableNames]) -> str:
    """Returns what to write in place of the first words that SQLite does not have."""
    tokens = [token for token in tokens_of(sql) if token.kind not in {"space", "comment"}]
    names = {name.lower() for name in (*all_names(images), message.removeprefix("no such column: "))}
    functions = () if "wrong number" in message else ("cast", *WORDS["functions"])
    found: dict[str, str] = {}
    for token, after in pairwise([*tokens, Token("end", "")]):
        word = token.text.lower()
        # `INTERVAL '7 days'` is a column with another name to SQLite.
        is_known = word in (functions if after.text == "(" else names) and after.kind != "text"
        is_known = is_known or token.kind in {"text", "quoted"}
        # `timestamp_trunc` is told as `trunc` is.
        forms = (word + after.text[:1], word, *(f"{part}(" for part in word.split("_") if after.text == "("))
        advice = next(filter(None, map(INSTEAD.get, forms)), "")
        found |= {advice: token.text} if advice and not is_known and advice not in found else {}
    said = [f"{word}: {advice}" for advice, word in found.items()]
    return " ".join(said[:3] if said[1:] else found)


def _column_hint(name: str, images: Iterable[TableNames]) -> str:
    lowered = name.lower()
    last = lowered.rpartition(".")[2]
    tables = {table: columns for names in images for table, columns in names.tables.items()}
    columns = list(chain.from_iterable(tables.values()))
    for nested in (column for names in images for column in names.nested):
        # `rows.items.price`: the alias may come first.
        before, found, _ = f".{lowered}".partition(f".{nested.lower()}.")
        if found:
            if held := next((table for table in tables if table.endswith(f".{nested}")), None):
                return f"Write FROM {_quoted(held)}, which has a row for each entry of {_quoted(nested)}. {_QUOTES}"
            path, one = one_line(name[len(before) + len(nested) + 1 :]), _quoted(nested)
            said = f"{one} holds JSON: write json_extract({one}, '$.{path}'), with '$[0]' for the first of a list,"
            return f"{said} or FROM rows, json_each(rows.{one}) for a row each."
    longer = [*dict.fromkeys(column for column in columns if column.lower().endswith(f".{last}"))]
    if owners := [table for table, among in tables.items() if last in map(str.lower, among)]:
        missing, also = _quoted(name.rpartition(".")[2]), " or ".join(map(_quoted, longer[:3]))
        said = f"{missing} is in {' and '.join(map(_quoted, owners[:3]))}{also and f', and as {also} in others'}."
        said = f"{said} A table with an alias has no other name."
        return f"{said} An inner query or WITH passes on what it selects: add {missing} to its SELECT."
    fields = [column for column in columns if column.lower().startswith(f"{lowered}.")]
    near = fields[:20] or longer[:3] or get_close_matches(last, columns) or get_close_matches(lowered, columns)
    if not near:
        text = one_line(name.strip("\u201c\u201d\u201e\u2018\u2019"))
        return f"The names of columns are in `tables`. If it is a text, write '{text}'. {_QUOTES}"
    return f"Did you mean {' or '.join(map(_quoted, near))}? {_QUOTES}"


def _quoted(name: str) -> str:
    return shown(one_line(name))
