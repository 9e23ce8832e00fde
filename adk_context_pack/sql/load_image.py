"""Loads tables into SQLite, once, as the server's own process does before it hands them to a child."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import date
from decimal import Decimal
from itertools import count, islice
from operator import ne
from typing import Any, Literal

from adk_context_pack._json import json_text
from adk_context_pack.sql.exact_sum import install_texts
from adk_context_pack.sql.sql_names import TableImage, TableNames, one_line, quote, unique_name
from adk_context_pack.sql.typed_columns import TYPED, UNIT, WRITTEN, TypedColumn, fits_float, shown, stored
from adk_context_pack.tables.column_names import named
from adk_context_pack.tables.columns import Column, as_record, is_record
from adk_context_pack.tables.moments import is_date_text, iso_of, moment_of, term_of
from adk_context_pack.tables.number_signs import clock_of
from adk_context_pack.tables.numbers import FLOAT_EXACT, INT64, decimals_of, plain, short_text
from adk_context_pack.tables.schema import (
    NUMBERS,
    ColumnSchema,
    column_schema,
    in_one_table,
    repeated_headers,
    said_of_rows_apart,
    total_rows,
    truth_of,
)

# Of a table in SQLite.
_MAX_COLUMNS = 2_000


@dataclass(slots=True)
class Loaded:
    """Holds one column, ready to be inserted.

    Attributes:
        declared: its type in `CREATE TABLE`, empty for "as they come".
        is_exact: whether the connection needs aggregates of its own, as SQLite's `sum` may overflow or round.
        notes: what a reader of query results should know about it.
        about: other fields of its `TypedColumn`.
    """

    name: str
    declared: str
    values: Sequence[Any]
    kind: Literal["number", "date", "flag", "text", "any"] = "text"
    is_exact: bool = False
    notes: list[str] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    schema: ColumnSchema | None = None

    def typed(self, table: str) -> TypedColumn:
        """Returns what a statement has to know of the column."""
        note = one_line(f"{self.name}: {'; '.join(self.notes)}", 400) if self.notes else ""
        order = self.declared.partition(" COLLATE ")[2].replace("binary", "")
        about = {**self.about, "note": note, "order": order, "whole": self.declared == "INTEGER"}
        return TypedColumn(name=self.name, kind=self.kind, table=table, **about)


def cells_of(column: Column, schema: ColumnSchema, name: str, taken: Collection[str] = ()) -> list[Loaded]:
    """Returns the cells of one column under its name, and behind them what was written, if that is something else.

    Integers and floats stay what they are, booleans and words for them become 1 and 0, and NaN becomes NULL, since
    SQLite has none. Lists and objects become JSON text. Texts that are numbers become numbers, and those beyond 64 bits
    or 15 decimal digits exact texts. Dates become ISO dates. In such columns words for "no value" (`N/A`) and cells
    that are something else are NULL.
    """
    types, taken = column.types - {type(None)}, [*taken, name]
    if types and all(issubclass(kind, date) for kind in types):
        texts = [value and value.isoformat() for value in column.values]
        column = Column(column.name, texts, frozenset(map(type, texts)))
    if types <= {int, float} or types == {bool}:
        found = [_from_numbers(name, column.values, column.types)]
        if types == {bool}:
            found[0].about["written"] = f"CASE {{q}}{quote(name)} WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    elif schema.reading in NUMBERS:
        found = _read_numbers(column, schema, name, taken)
    elif column.types - {type(None)} != {str}:
        found = [Loaded(name, "TEXT" if schema.kind == "identifier" else "", [*map(_cell, column.values)], "any")]
    elif schema.reading == "boolean":
        truths = [None if value is None else truth_of(value) for value in column.values]
        found = _beside(Loaded(name, "INTEGER", truths, "flag", notes=["1 and 0 here"]), column, taken)
    elif schema.reading == "date":
        found = _read_dates(column, schema, name, taken)
    else:
        found = [_read_texts(column, schema, name)]
    first = found[0]
    clock = clock_of(first.values) if schema.role == "time" and first.kind == "number" else 0
    day = TypedColumn(name="", kind="date")
    iso = {number: day.meaning(f"{number:.0f}") for number in set(first.values) - {None}} if clock < 0 else {}
    if None not in iso.values() and iso:
        first.values, first.declared, first.kind = [*map(iso.get, first.values)], "TEXT", "date"
        first.notes.append(f"ISO dates here, numbers as written ({min(iso):.0f})")
        first.about["written"] = f"CAST(replace({{q}}{quote(name)}, '-', '') AS INTEGER)"
    first.about["clock"], first.schema = max(clock, 0), schema
    return found


def _read_texts(column: Column, schema: ColumnSchema, name: str) -> Loaded:
    # With TEXT, `id = 123` finds the text '123'.
    notes = [schema.texts.note] if schema.texts.names and schema.texts.note else []
    values, missing = column.values, schema.texts.missing
    texts = set(filter(None, values))
    clocks = [text for text in texts if ":" in text and text[0].isdecimal() and not text.strip("0123456789: .amAMpP")]
    if are_clocks := 2 * len(clocks) > len(texts):
        notes += _missing(missing)
        values = [None if value in missing else value for value in values]
    order = "versions" if schema.reading == "version" else "terms" if texts and all(map(term_of, texts)) else "binary"
    if are_clocks:
        # Among 9:05:00 and 10:30:00, or 9:05 AM, 9:30 is half past nine.
        has_hours = all(text.count(":") == 2 or text[-1].isalpha() for text in clocks)  # noqa: PLR2004
        order = "hours" if has_hours or len(set(map(len, clocks))) == 1 else "clocks"
    if texts and all(map(is_date_text, islice(texts, 9))):
        notes.append(f"texts here, since {min(texts)} may be two days: they are not in the order of time")
    are_digits = all(text.isascii() and text.isdecimal() for text in texts)
    some = [text for text in column.values[:1_000] if text]
    is_alike = len({"".join(filter(str.isalpha, text)) for text in some}) < 4  # noqa: PLR2004 - `Dr` and `Cr`
    lengths = {sum(map(str.isdecimal, text)) for text in some if are_digits or not set(" .,").isdisjoint(text)}
    is_uneven = is_alike and order == "binary" and len(lengths - {0}) > 1
    about: dict[str, Any] = {"digits": is_uneven, "has_time": are_clocks}
    if column.types == {str} and not are_clocks:
        # A name may be "NA", and a kind "none".
        blanks = (text for text in missing if not text.isalpha() or text.lower() in {"nan", "null"})
        about["blanks"] = sorted({*blanks, *[""] * ("" in values)})
    return Loaded(name, f"TEXT COLLATE {order}", values, "any" if are_digits else "text", notes=notes, about=about)


def _beside(loaded: Loaded, column: Column, taken: Collection[str]) -> list[Loaded]:
    """Returns a column and the column of what was written."""
    name = unique_name(f"{loaded.name}{WRITTEN}", taken)
    written = [value if value is None or type(value) is str else str(_cell(value)) for value in column.values]
    example = next((text for text in written if text and text.strip()), "")
    loaded.notes.append(f"as written ({short_text(example)!r}) in {shown(name)}")
    loaded.about["written"] = f"{{q}}{quote(name)}"
    return [loaded, Loaded(name, "TEXT", written)]


def _read_numbers(column: Column, schema: ColumnSchema, name: str, taken: Collection[str]) -> list[Loaded]:
    numbers = schema.numbers(column.values)
    loaded = _from_numbers(name, numbers, set(map(type, numbers)))
    texts = schema.texts
    loaded.about |= {"style": texts.style, "scaled": texts.scaled, "factors": dict(texts.factors)}
    loaded.about["decimals"] = decimals_of(islice(texts.numbers.values(), 1_000))
    loaded.notes += _unread(column, schema, "number")
    kind: Any = float if loaded.declared in {"REAL", ""} else str
    formatted = any(map(ne, map(str, map(kind, texts.numbers.values())), texts.numbers))
    units = " and ".join(texts.units) or schema.unit
    unit = f"numbers in {units}" * (units not in texts.note.split()) if units else "numbers here" * formatted
    loaded.notes += filter(None, [unit, texts.note, *_missing(texts.missing)])
    if not formatted and not schema.unread:
        return [loaded]
    found = _beside(loaded, column, taken)
    if texts.units:
        labels = [texts.unit_of.get(value) if isinstance(value, str) else None for value in column.values]
        found.append(Loaded(unique_name(f"{name}{UNIT}", [*taken, found[1].name]), "TEXT", labels))
        loaded.about |= {"currency": found[2].name, "codes": texts.units}
    return found


def _missing(texts: Iterable[str]) -> list[str]:
    words = sorted(filter(str.strip, texts))
    return [f"{', '.join(map(repr, words[:3]))} are NULL"] * bool(words)


def _unread(column: Column, schema: ColumnSchema, what: str) -> list[str]:
    are = f"is not a {what}" if schema.unread == 1 else f"are not {what}s"
    cells = f"{schema.unread} of {len(column.values) - schema.missing} cells {are} ({short_text(schema.example)!r})"
    return [f"{cells}, NULL here and left out of figures"] if schema.unread else []


def _read_dates(column: Column, schema: ColumnSchema, name: str, taken: Collection[str]) -> list[Loaded]:
    missing = schema.texts.missing
    values = [None if value in missing else value for value in column.values]
    texts = list(dict.fromkeys(filter(None, values)))
    has_time = any(":" in text for text in texts)
    about: dict[str, Any] = {"date_order": schema.date_order, "has_time": has_time}
    shortest = len("2026-01-31 10:00:00") * has_time
    # Of sorted ones all have the same zone.
    has_end = not set("".join(texts)).isdisjoint("TZ+.") or texts[0].count("-") > 2  # noqa: PLR2004
    is_sorted = not (schema.unread or schema.moments)
    loaded = Loaded(name, "TEXT", values, "date", about=about)
    if is_sorted and not has_end and min(map(len, texts)) >= shortest:
        about["is_period"] = any(len(text) < len("2026-01-31") for text in texts)
        return [loaded]
    first, end = texts[0], "Z" * texts[0].endswith("Z")
    is_utc = len(first) >= shortest > 0 and not first[shortest:].strip(".0123456789Z")
    if is_utc and is_sorted and len({*map(len, texts)}) == 1:
        written = f"replace({{q}}{quote(name)}, ' ', '{first[10]}')"
        values = [value and value.replace("T", " ").removesuffix(end) for value in values]
        if "." in first:
            values = [value and value.rstrip("0").rstrip(".") for value in values]
            zeros = f"CASE instr({written}, '.') WHEN 0 THEN '.' ELSE '' END || '000000000'"
            written = f"substr({written} || {zeros}, 1, {len(first) - len(end)})"
        about["written"] = f"{written} || '{end}'"
        loaded.values = values
        return [loaded]
    read = ((text, schema.moments.get(text) or moment_of(text)) for text in texts)
    iso = {text: iso_of(moment, has_time=has_time) if moment else text for text, moment in read}
    loaded.values = [value and iso[value] for value in values]
    loaded.notes += _unread(column, schema, "date")
    loaded.notes.append("ISO dates here, in UTC if they have a zone" if has_time else "ISO dates here")
    return _beside(loaded, column, taken)


def name_roles(columns: Sequence[Loaded]) -> None:
    """Tells columns what they are for, and those of amounts in several currencies which column tells these apart."""
    both = [(each, each.schema) for each in columns if each.schema]
    codes = {schema.name: (each.name, schema.codes) for each, schema in both if schema.name}
    # R writes NA for all that is missing. Beside EU and EMEA it may be a region.
    is_of_r = any("NA" in schema.texts.missing for each, schema in both if each.kind in TYPED)
    for each in (one for one, _ in both if is_of_r and "blanks" in one.about and "NA" in one.values):
        if not any(text.isupper() and 1 < len(text) < len("REGION") for text in {*each.values} - {"NA", None}):
            each.about["blanks"] = sorted({*each.about["blanks"], "NA"})
    for each, schema in both:
        # An unknown name alone does not justify a warning.
        each.about["role"] = schema.role if schema.role != "rate" or named(schema.name) & {"rate", "quantity"} else ""
        if schema.currency_column in codes and not schema.texts.units:
            each.about["currency"], each.about["codes"] = codes[schema.currency_column]


def _from_numbers(name: str, values: Sequence[Any], types: Collection[type]) -> Loaded:
    whole = values if types == {int} else [value for value in values if type(value) is int]
    low, high = min(whole, default=0), max(whole, default=0)
    is_exact = Decimal in types and not all(fits_float(value) for value in values if type(value) is Decimal)
    if is_exact or low not in INT64 or high not in INT64:
        cells = [None if value is None or value != value else str(value) for value in values]  # noqa: PLR0124 - NaN
        notes = ["numbers kept exactly, as text: calculations round them to 15 digits"]
        return Loaded(name, "TEXT COLLATE exact_number", cells, "number", is_exact=True, notes=notes)
    if float not in types and Decimal not in types:
        # SQLite's own sum and `abs` of integers may leave 64 bits.
        may_overflow = max(-low, high) * max(len(whole), 1) not in INT64
        kind: Literal["flag", "number"] = "flag" if bool in types or (whole and {low, high} <= {0, 1}) else "number"
        return Loaded(name, "INTEGER", values, kind, is_exact=may_overflow)
    if Decimal in types:
        values = [float(value) if type(value) is Decimal else value for value in values]
    # REAL makes a float of 3, so that 3 / 2 is 1.5 in every row; only integers that no float holds stay as they are.
    declared = "REAL" if max(-low, high) <= FLOAT_EXACT else ""
    return Loaded(name, declared, values, "number", is_exact=Decimal in types)


def _cell(value: Any) -> Any:
    if value is None or type(value) in (str, float):
        return value
    if isinstance(value, int | Decimal):
        return stored(int(value) if isinstance(value, int) else value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if is_record(type(value)):
        value = as_record(value)
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return json_text(plain(dict(value) if isinstance(value, Mapping) else value), layout="spaced")
    return str(plain(value))


_numbers = count(1)


def image_of(tables: Mapping[str, Iterable[Column]], *, main: str | None = None) -> TableImage:
    """Loads tables, by their names, into SQLite and returns them as one image.

    The main table, by default the only one, is called `rows`, while its own name works as well.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        install_texts(connection)
        there, names = TableNames(), list(tables)
        main = "rows" if "rows" in names else names[0] if main is None and len(names) == 1 else main
        for key, columns in tables.items():
            table = _table_name("rows" if key == main else key, there.tables)
            for name, part, schemas in _parts(table, list(islice(columns, _MAX_COLUMNS + 1)), there):
                _create(connection, name, _load(name, part, schemas, there), there)
        # Stubs speak of tables by their keys.
        if main is not None and (key := _table_name(main, {})).lower() not in map(str.lower, there.tables):
            connection.execute(f"CREATE VIEW {quote(key)} AS SELECT * FROM rows")  # noqa: S608 - quoted
            there.views.append(key)
        return TableImage(next(_numbers), connection.serialize(), there)


def _parts(
    table: str, columns: Sequence[Column], there: TableNames
) -> Iterator[tuple[str, Sequence[Column], Sequence[ColumnSchema]]]:
    """Yields a table and, under a name of their own, its rows that no figure of facts has, each with its schemas."""
    schemas = in_one_table(map(column_schema, columns))
    totals, headers = total_rows(columns, schemas), repeated_headers(columns)
    if not (apart := {*totals, *headers}):
        yield table, columns, schemas
        return
    name = unique_name(f"{table}#apart", there.tables)
    there.notes.append(f"{said_of_rows_apart(totals, headers)}; they are in {shown(name)}, not in {shown(table)}")
    kept = set(range(len(columns[0].values))) - apart
    for part, rows in ((table, sorted(kept)), (name, sorted(apart))):
        some = [column.of_rows(rows) for column in columns]
        yield part, some, in_one_table(map(column_schema, some))


def _load(table: str, columns: Iterable[Column], schemas: Iterable[ColumnSchema], there: TableNames) -> list[Loaded]:
    loaded = list[Loaded]()
    for column, schema in zip(columns, schemas, strict=True):
        names = [each.name for each in loaded]
        if len(names) >= _MAX_COLUMNS:
            there.notes.append(f"{table} has more than {_MAX_COLUMNS} columns; the others are left out")
            break
        clean = _clean(column.name)
        found = cells_of(column, schema, unique_name(clean, names), names)
        if found[0].name != clean:
            first = next(other for other in names if other.lower() == clean.lower())
            renamed = f"{one_line(clean)} is `{one_line(found[0].name)}` here, beside {one_line(first)}"
            found[0].notes.insert(0, renamed)
            there.renamed[clean] = found[0].name
        if column.types & {list, tuple, dict, set, frozenset}:
            there.nested.append(found[0].name)
        loaded += found[: _MAX_COLUMNS - len(names)]
    name_roles(loaded)
    there.columns[table] = [asdict(each.typed(table)) for each in loaded]
    loaded = loaded or [Loaded("value", "", ())]
    there.tables[table] = [each.name for each in loaded]
    there.exact |= any(each.is_exact for each in loaded)
    texts = ([v for v in each.values if type(v) is str] for each in loaded if each.declared[:4] in {"TEXT", ""})
    there.longest_row = max(there.longest_row, sum(64 + 4 * max(map(len, some), default=0) for some in texts))
    return loaded


def _create(connection: sqlite3.Connection, table: str, columns: list[Loaded], there: TableNames) -> None:
    declared = ", ".join(f"{quote(each.name)} {each.declared}" for each in columns)
    connection.execute(f"CREATE TABLE {quote(table)} ({declared})")
    insert = f"INSERT INTO {quote(table)} VALUES ({','.join('?' * len(columns))})"  # noqa: S608 - quoted
    connection.execute("BEGIN")
    try:
        connection.executemany(insert, zip(*(each.values for each in columns), strict=True))
    except UnicodeEncodeError:
        connection.execute(f"DELETE FROM {quote(table)}")  # noqa: S608 - quoted
        there.notes.append("characters that are not Unicode text (lone surrogates) appear as U+FFFD")
        change = lambda value: value.encode("utf-8", "replace").decode() if type(value) is str else value  # noqa: E731
        connection.executemany(insert, zip(*(map(change, each.values) for each in columns), strict=True))
    connection.execute("COMMIT")


def _table_name(key: str, taken: Mapping[str, object]) -> str:
    name = _clean(key) or "rows"
    # SQLite keeps this prefix for itself.
    return unique_name(f"t_{name}" if name.lower().startswith("sqlite_") else name, [*taken, "json_each", "json_tree"])


def _clean(name: str) -> str:
    return name.replace("\0", "\ufffd").encode("utf-8", "replace").decode() or "column"
