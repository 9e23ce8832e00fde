"""Describes what the columns of a loaded table hold: numbers, dates or truth values, and how those were written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any, Literal

from adk_context_pack.sql.sql_names import WORDS
from adk_context_pack.tables.moments import iso_of, moment_of, sorts_as_text
from adk_context_pack.tables.number_columns import TextNumbers, could_be_thousands, is_unit
from adk_context_pack.tables.number_notation import Style, read_number
from adk_context_pack.tables.number_signs import clock_of
from adk_context_pack.tables.numbers import FLOAT_DIGITS, INT64, number_of
from adk_context_pack.tables.schema import truth_of

WRITTEN, UNIT = "#text", "#unit"
"""The ends of the names of two columns beside a column: what was written, and the currencies of its amounts."""

TYPED = frozenset({"number", "date", "flag"})
"""The kinds of columns whose cells all have one type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TypedColumn:
    """Describes a column as far as statements depend on it.

    Attributes:
        kind: what its cells are. Dates are ISO texts, and truth values are 1 and 0.
        written: SQL for its cells as they were written, with `{q}` for the name of the table in front.
        note: what a reader of a query's result should know.
        digits: whether its texts have one form with numbers of different lengths in it.
        style: the mark in front of the decimals, in texts.
        decimals: how many decimals its texts have at most, as far as some of them show.
        scaled: whether letters behind the digits are powers of ten.
        factors: how many of its unit each unit is.
        date_order: the order of the parts of its dates, such as "dmy", if `03/04/2026` has several.
        has_time: whether its dates have a time, or its texts are times.
        clock: of moments that are numbers, how many make a second.
        currency: the column that tells apart its amounts in several currencies or units.
        codes: some of these currencies or units.
        role: what the column is for, as `ColumnSchema` has it, if that had to be found out.
        whole: whether SQLite divides its numbers as integers.
        is_period: whether its dates are months, quarters or weeks.
        blanks: texts that stand for what is missing, such as an empty one.
        order: the collation of its texts, if SQLite's own is not theirs.
    """

    name: str
    kind: Literal["number", "date", "flag", "text", "any"]
    written: str = ""
    note: str = ""
    digits: bool = False
    style: Style = "point"
    decimals: int = 3
    scaled: bool = False
    factors: Mapping[str, int] = field(default_factory=dict)
    date_order: str = ""
    has_time: bool = False
    clock: int = 0
    currency: str = ""
    codes: Sequence[str] = ()
    table: str = ""
    role: str = ""
    whole: bool = False
    is_period: bool = False
    blanks: Sequence[str] = ()
    order: str = ""

    def meaning(self, text: str) -> Any:
        """Returns what a text means in this column, as SQLite holds it, or None if it means nothing there."""
        if self.is_period and sorts_as_text([text.strip()]):
            return text.strip()
        if self.kind == "date":
            text = f"{text[:4]}-{text[4:6]}-{text[6:]}" if clock_of([number_of(text)]) < 0 else text
            if moment := moment_of(text.strip(), self.date_order):
                return iso_of(moment, has_time=self.has_time)
            is_year = text[:4].isdecimal() and text[4:5] in {"", "-"}
            # SQLite compares the beginning of an ISO date with dates as it should.
            return text if is_year and len(text) <= len("2026-01-") and not text[4:].strip("-0123456789") else None
        if self.kind == "flag" and (truth := truth_of(text)) is not None:
            return int(truth)
        if self.clock and (digits := text.replace("-", "")).isdecimal() and len(digits) in {4, 6, 8}:
            text = f"{digits[:4]}-{digits[4:6] or '01'}-{digits[6:] or '01'}"
        if self.clock and not text.isdecimal() and (moment := moment_of(text.strip(), self.date_order)):
            return (moment[0] - date(1970, 1, 1).toordinal() * 86_400) * self.clock
        return self._number(text)

    def _number(self, text: str) -> Any:
        """Returns the number that a text is in the notation of the column, or in the only one that it can have."""
        unit, factors = (written.unit if (written := read_number(text)) else ""), dict(self.factors)
        # Where amounts have cents, `10,000` beside `9,50` is an English text.
        is_unclear = self.decimals < 3 and (".", ",")[self.style == "comma"] in text and could_be_thousands(text)  # noqa: PLR2004
        if is_unclear or (unit and self.currency.endswith(UNIT)):
            return None
        # One currency has several signs, as in `$1,000.00 USD`.
        if any(sign and read_number(f"{sign} 1 {unit}") for sign in factors):
            factors.setdefault(unit, 1)
        reader = TextNumbers(scaled=self.scaled or not any(factors), factors=factors)
        readings = (replace(reader, style=style).read(text) for style in (self.style, "point", "comma"))
        number = next((number for number in readings if number is not None), None)
        # SQLite rounds what it compares with texts.
        return f"{number:f}" if self.order and isinstance(number, Decimal) else stored(number)

    def said(self) -> str:
        """Returns what to know before amounts in several currencies are compared or added up."""
        by = f"told apart by {shown(self.currency)}"
        kinds = "units" if self.has_sides or any(map(is_unit, self.codes)) else "currencies"
        return f"{shown(self.name)} holds amounts in several {kinds} ({', '.join(self.codes)}), {by}"

    @property
    def has_sides(self) -> bool:
        """Tells whether its units are debit and credit, which say what is below zero."""
        return bool(self.codes) and WORDS["sides"].issuperset(map(str.lower, self.codes))

    def refusal(self, function: str = "") -> str:
        """Returns why these amounts are not used together, and a statement that aggregates within each currency."""
        amount, currency, table = map(shown, (self.name, self.currency, self.table))
        instead = f"SELECT {currency}, {function}({amount}) FROM {table} GROUP BY {currency}"  # noqa: S608 - for reading
        if self.has_sides:
            signed = f"CASE {currency} WHEN {literal(self.codes[0])} THEN -{amount} ELSE {amount} END"
            instead = f"{signed}, or the other way round, or select {currency} with it"
        return f"{self.said()}, which do not add up. Write {instead}."


def stored(value: Any) -> Any:
    """Returns a number as SQLite holds it: a text if SQLite would round it."""
    if isinstance(value, Decimal):
        return float(value) if value.is_finite() and fits_float(value) else str(value)
    return str(value) if isinstance(value, int) and value not in INT64 else value


def fits_float(value: Decimal) -> bool:
    """Tells whether a float is written with the same digits, as programs write those that they have calculated."""
    is_plain = len(value.as_tuple().digits) <= FLOAT_DIGITS and (value == 0 or abs(value.adjusted()) < 300)  # noqa: PLR2004
    # Amounts of so many digits are left as they are written.
    return is_plain or (abs(value) < 10**6 and Decimal(repr(float(value))) == value)


def literal(value: Any) -> str:
    """Returns a number or a text as SQL. A number that SQLite would round is a text."""
    value = stored(value)
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def shown(name: str) -> str:
    """Returns a name in double quotes, as models write it."""
    return '"' + name.replace('"', '""') + '"'
