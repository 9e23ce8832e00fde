"""Advice for a model whose query failed: what to write in place of what SQLite does not know."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.resources import files

from adk_context_pack.sql.guard import FUNCTIONS
from adk_context_pack.sql.table_image import TableNames, names_in, one_line

_NAMED = re.compile(
    r"(?:no such column|no such function|function|no such table|ambiguous column name): (.+?)\)?$", re.DOTALL
)
_NEAR = re.compile(r'near "(.+?)": syntax error', re.DOTALL)
_TOKEN = re.compile(r'unrecognized token: "(.*?)"?$', re.DOTALL)
_QUOTES = 'Texts go in single quotes; names with dots, spaces or odd letters in double quotes: "metrics.clicks".'
_MAY_BE_QUOTES = ("no such table", "incomplete input", "begin with SELECT")

# What SQLite has in place of functions and syntax of other databases.
_INSTEAD = dict(
    row.split(": ", 1) for row in files(__package__).joinpath("instead.txt").read_text("utf-8").splitlines()
)


def hint_for(message: str, images: Iterable[TableNames]) -> str:
    """Returns what to do about an error of SQLite's, or an empty text where the error says it all.

    Args:
        message: the error.
        images: the tables that the query could read.
    """
    if match := _NEAR.search(message):
        return _syntax_hint(match[1], [name for names in images for name in names_in(names)])
    if match := _TOKEN.search(message):
        return _token_hint(match[1])
    name = match[1] if (match := _NAMED.search(message)) else ""
    if "function" in message and name:
        return _function_hint(name.lower())
    if message.startswith("no such column"):
        return _column_hint(name, images)
    if message.startswith("ambiguous"):
        one = one_line(name)
        return f"Several tables have {one}: write the table's name or alias before it, as in a.{one}."
    if "misuse of aggregate" in message:
        return "Filter by an aggregate with HAVING, or compute it in an inner SELECT."
    if "misuse of window" in message:
        return "Compute the window function in an inner SELECT and filter or group outside."
    return _QUOTES if any(words in message for words in _MAY_BE_QUOTES) else ""


@cache
def there_are() -> tuple[str, ...]:
    """Returns the names of the functions that a query may call with this release of SQLite."""
    connection = sqlite3.connect(":memory:")
    try:
        found = {name for (name,) in connection.execute("SELECT DISTINCT name FROM pragma_function_list")}
    except sqlite3.Error:
        return tuple(sorted(FUNCTIONS))
    finally:
        connection.close()
    return tuple(sorted(FUNCTIONS & found - {"json_each", "json_tree"}))


def _function_hint(name: str) -> str:
    known = there_are()
    near = get_close_matches(name, known, n=3)
    advice = _INSTEAD.get(f"function {name}") or (f"Did you mean {' or '.join(near)}?" if near else "")
    return f"{advice} Functions: {', '.join(known)}, and json_each(x) in FROM.".strip()


def _column_hint(name: str, images: Iterable[TableNames]) -> str:
    lowered = name.lower()
    columns = [column for names in images for table in names.tables.values() for column in table]
    for nested in (column for names in images for column in names.nested):
        # `rows.items.price`: the alias may come first.
        if f".{nested.lower()}." in f".{lowered}":
            path = lowered.partition(f"{nested.lower()}.")[2]
            return (
                f"{one_line(nested)} holds JSON: write json_extract({one_line(nested)}, '$.{one_line(path)}'), with"
                f" '$[0]' for the first of a list, or FROM rows, json_each(rows.{one_line(nested)}) for a row each."
            )
    if lowered.rpartition(".")[2] in map(str.lower, columns):
        return (
            f"An inner query or WITH passes on what it selects: add {_quoted(name.rpartition('.')[2])} to its SELECT."
        )
    inner = [column for column in columns if column.lower().startswith(f"{lowered}.")]
    if inner:
        return (
            f"{one_line(name)} is nested and its fields are columns: {', '.join(map(_quoted, inner[:20]))}. {_QUOTES}"
        )
    near = get_close_matches(lowered.rpartition(".")[2], columns, n=3) or get_close_matches(lowered, columns, n=3)
    return f"Did you mean {' or '.join(map(_quoted, near))}? {_QUOTES}" if near else _QUOTES


def _syntax_hint(near: str, names: list[str]) -> str:
    if advice := _INSTEAD.get(f"syntax {near.lower()}"):
        return advice
    if near.lower() in {name.lower() for name in names}:
        return f'{near} is a reserved word: write it in double quotes, "{near}".'
    return f"A name that is a reserved word (order, group, index) goes in double quotes. {_QUOTES}"


def _token_hint(token: str) -> str:
    if token[:1] in {"'", '"', "`", "["}:
        return "A quote is not closed. Within a text, write a single quote twice: 'it''s'."
    if token[:1].isdigit():
        return f'A name that begins with a digit goes in double quotes: "{one_line(token)}".'
    if advice := _INSTEAD.get(f"syntax {token}"):
        return advice
    return f"SQLite does not know this character outside of quotes. {_QUOTES}"


def _quoted(name: str) -> str:
    return '"' + one_line(name).replace('"', '""') + '"'
