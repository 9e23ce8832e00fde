"""Puts the numbers of a column in the place of its texts where SQLite would take the digits in front of a text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from adk_context_pack.sql.number_places import Item, NumberPlaces, TextColumn
from adk_context_pack.sql.sql_names import Token, quote, tokens_of

NUMBERS = "#"
"""The end of the name of the column that holds the numbers of a column of texts: `price#` for `price`."""


def use_numbers(sql: str, tables: Mapping[str, Sequence[TextColumn]], handles: Collection[str] = ()) -> str:
    """Returns `sql` with the numbers of a column in the place of its texts wherever a number is meant.

    Sums, arithmetic, numeric functions and comparisons with numbers use `price#` for `price`. Everything else shows
    and compares the texts as they are.

    Args:
        sql: one statement.
        tables: from the name of each table to its columns of texts.
        handles: names of tables that may begin with a digit, in lower case.

    Raises:
        QueryError: a sum, mean or extreme would leave cells out in silence, or would add up what is not a number. The
            message names the column and says what to write instead.
    """
    tokens = tokens_of(sql, handles)
    columns = _columns(tokens, tables)
    if not columns:
        return sql
    query = NumberPlaces(_items(tokens, columns))
    places = {item.first: item for item in query.as_numbers()}
    collated = {item.first: (item, end, within) for item, end, within in query.collated() if item.first not in places}
    written: list[str] = []
    place = 0
    while place < len(tokens):
        if item := places.get(place):
            prefix = "".join(token.text for token in tokens[place : item.last + 1])
            written.append(_numbers_of(item, prefix))
            place = item.last + 1
            continue
        if place in collated:
            item, end, is_within = collated[place]
            written += [token.text for token in tokens[place : item.last + 1]]
            written.append(f" COLLATE {item.column.collation}" if item.column and is_within else "")
            place = end + 1
            continue
        written.append(tokens[place].text)
        place += 1
    return "".join(written)


def _numbers_of(item: Item, written: str) -> str:
    """The name of the column of numbers, behind the alias of a table that stood before the texts' name."""
    column = item.column
    if column is None:
        return written
    bare = "".join(letter for letter in written if letter not in '"`[]')
    head = bare[: -len(column.name)].rstrip(".") if len(bare) > len(column.name) else ""
    return f"{head}.{quote(column.numbers)}" if head else quote(column.numbers)


def _columns(tokens: Sequence[Token], tables: Mapping[str, Sequence[TextColumn]]) -> dict[str, TextColumn]:
    """The columns of texts of those tables that the statement names, or of all of them."""
    named = {(token.name or "").lower() for token in tokens}
    chosen = [name for name in tables if name.lower() in named or name.lower().rpartition(".")[2] in named] or list(
        tables
    )
    return {column.name.lower(): column for name in chosen or tables for column in tables[name]}


def _items(tokens: Sequence[Token], columns: Mapping[str, TextColumn]) -> list[Item]:
    items: list[Item] = []
    longest = max(name.count(".") for name in columns) + 1
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if token.kind == "comment" or token.text.isspace():
            place += 1
            continue
        end, column = _column_at(tokens, place, columns, longest)
        name = (tokens[end].name or "").lower()
        items.append(Item(token.text, token.word, token.kind, place, end, column, name))
        place = end + 1
    return items


def _column_at(
    tokens: Sequence[Token], place: int, columns: Mapping[str, TextColumn], longest: int
) -> tuple[int, TextColumn | None]:
    parts: list[str] = []
    ends: list[int] = []
    at = place
    while at < len(tokens) and (name := tokens[at].name) is not None and len(parts) <= longest:
        parts.append(name.lower())
        ends.append(at)
        if at + 1 >= len(tokens) or tokens[at + 1].text != ".":
            break
        at += 2
    for count in range(len(parts), 0, -1):
        # An alias of a table may stand in front.
        for skipped in (0, 1):
            if skipped < count and (column := columns.get(".".join(parts[skipped:count]))):
                return ends[count - 1], column
    return (ends[-1] if ends else place), None
