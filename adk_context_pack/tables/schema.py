"""Decides once what the columns of a table are, from their names and their values.

Facts, sums by value, `query_rows` and `DataSummarizer` read the schema, and decide nothing of the kind themselves.
Values outweigh names. Numbers are added up only if they are clearly amounts.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache, partial
from importlib.resources import files
from itertools import accumulate, chain, compress, groupby, islice, product
from operator import add, countOf, itemgetter, ne
from typing import Any, Literal

from adk_context_pack.tables.column_names import meanings_of, named, total_label, words
from adk_context_pack.tables.columns import Column, ColumnKind, column_of, is_missing
from adk_context_pack.tables.headers import is_name
from adk_context_pack.tables.moments import Moment, is_date_text, read_dates
from adk_context_pack.tables.number_columns import TextNumbers, in_style, is_unit, is_version, mark_of, read_texts
from adk_context_pack.tables.number_notation import Style, currency_of, is_currency, is_missing_text, read_number
from adk_context_pack.tables.number_signs import Trend, are_amounts, head_of, made_of, running_in, sign_of, trend_of
from adk_context_pack.tables.numbers import PROOF, Number, as_float, as_floats, decimals_of, float_sum
from adk_context_pack.tables.outliers import sample_positions

Role = Literal["identifier", "time", "category", "flag", "measure", "rate", "text", "empty"]
"""The purpose of a column. Only measures have a sum and a mean."""
Reading = Literal[
    "number", "money", "duration", "size", "date", "version", "boolean", "currency", "unit", "text", "other", "empty"
]
"""How the cells of a column are written."""

NUMBERS = frozenset(("number", "money", "duration", "size"))
"""The readings in which cells are numbers."""

_KINDS: dict[Role, ColumnKind] = {
    "time": "date", "measure": "number", "rate": "rate", "identifier": "identifier", "empty": "empty",
}  # fmt: skip
ADDED = frozenset(("measure", "rate"))
"""The roles of numbers that have extremes. Only measures are added up."""
NO_UNIT = "(no currency)"
"""The label of amounts without a currency or unit beside others with one."""

_NO_TEXTS = TextNumbers()
_NONE = type(None)
_HEAD, _SAMPLE = 128, 128
_MAX_CODES, _MAX_CATEGORIES = 200, 50
_FEW = 3
# As close as the sum of floats is to the true one.
_is_same = partial(math.isclose, rel_tol=1e-12)
_SAID = files(__package__).joinpath("truths.txt").read_text("utf-8").splitlines()
_TRUTHS = {word: not at for at, line in enumerate(_SAID) for word in line.split()}


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnSchema:
    """Describes one column.

    Attributes:
        name: the column, nested ones dotted.
        role: what the column is for.
        reading: how its cells are written.
        texts: how its texts are read as numbers, with their notation, scale and unit.
        missing: how many cells hold nothing. In columns of numbers and dates, words for it (`N/A`, `--`) count.
        unread: how many cells of a column of numbers are not numbers.
        example: one of the cells that are not numbers.
        earliest: the first of a column of dates, as written.
        latest: the last of a column of dates, as written.
        date_order: the order of the parts of its dates, such as "dmy", if `03/04/2026` has several.
        moments: from each date of a column of texts to its moment, unless dates are in order as texts.
        codes: the currencies in a column of currencies, or the units in one of units.
        currency_column: the column that holds the currency or unit of each amount, if there are several.
        currency: the one currency or unit of all amounts, from a column beside them.
        trend: how numbers or dates go on in the order of the rows.
        head: the first numbers of the column, or numbers for its first texts, by which columns are compared.
        figures: whether its texts name figures of which some do not add up, such as users and a bounce rate, or all.
    """

    name: str
    role: Role
    reading: Reading
    texts: TextNumbers = _NO_TEXTS
    missing: int = 0
    unread: int = 0
    example: Any = None
    earliest: Any = None
    latest: Any = None
    date_order: str = ""
    moments: Mapping[str, Moment] = field(default_factory=dict, repr=False)
    codes: tuple[str, ...] = ()
    currency_column: str = ""
    currency: str = ""
    trend: Trend = ""
    head: Sequence[float] = field(default=(), repr=False)
    figures: Literal["some", "all", ""] = ""

    @property
    def kind(self) -> ColumnKind:
        """Returns what is said of the column: figures, a range, or how often its values occur."""
        return _KINDS.get(self.role) or ("boolean" if self.reading == "boolean" else "text")

    @property
    def unit(self) -> str:
        """Returns the unit of the numbers: what is written beside them, or their currency."""
        return (self.texts.unit or self.currency) if self.reading in NUMBERS and not self.currency_column else ""

    def is_empty(self, cell: Any) -> bool:
        """Returns whether a cell of this column holds nothing."""
        return is_missing(cell) or (isinstance(cell, str) and cell in self.texts.missing and self.kind != "text")

    def numbers(self, values: Sequence[Any], types: Collection[type] = ()) -> Sequence[Number | None]:
        """Returns the number in each cell, exactly, and None for a cell that holds none. `types` are those of cells."""
        found, types = self.texts.numbers, set(types or map(type, values))
        if types <= {str, _NONE}:
            return list(map(found.get, values))
        if types <= {int, float, _NONE}:
            # Only NaN differs from itself.
            return [None if n != n else n for n in values] if self.missing else values  # noqa: PLR0124
        kinds = {kind for kind in types if issubclass(kind, (int, float, Decimal)) and kind is not bool}
        numbers = (cell if type(cell) in kinds and not is_missing(cell) else None for cell in values)
        return [found.get(cell) if isinstance(cell, str) else n for cell, n in zip(values, numbers, strict=True)]


def column_schema(column: Column) -> ColumnSchema:
    """Returns the schema of one column, from its name and all of its cells.

    A column holds numbers if more than half of its cells that hold something are numbers. The rest is counted as
    unread. Digits with a leading zero, and versions, are not numbers.
    """
    types, name, values = column.types - {_NONE}, column.name, column.values
    is_text, nothing = types == {str}, column.missing
    if types == {bool}:
        return ColumnSchema(name=name, role="flag", reading="boolean", missing=nothing)
    if nothing == len(values) and not is_text:
        return ColumnSchema(name=name, role="empty", reading="empty", missing=nothing)
    if "identifier" in named(name) and not (is_text or types <= {int, float}):
        return ColumnSchema(name=name, role="identifier", reading="other", missing=nothing)
    if all(issubclass(kind, date) for kind in types):
        days = [value and value.isoformat() for value in values]
        known, dates = column_schema(column_of(name, days)), dict(zip(days, values, strict=True))
        return replace(known, earliest=dates.get(known.earliest), latest=dates.get(known.latest))
    mixed = values if any(issubclass(kind, str) for kind in types) else ()
    counts = column.counts if is_text else Counter(str(each) for each in mixed if isinstance(each, str))
    if None in counts:
        counts = Counter({text: count for text, count in counts.items() if text is not None})
    some = (cell for cell in dict.fromkeys(_sampled(values) if is_text else ()) if cell)
    are_few = not is_text or len(counts) <= 256 or "duration" in named(name)  # noqa: PLR2004
    are_few = are_few or any((cell[0] == "0" or read_number(cell)) and not is_date_text(cell) for cell in some)
    found = read_texts(name, counts) if counts and are_few else _NO_TEXTS
    missing = nothing + sum(counts[text] for text in found.missing if text)
    if (found.numbers or not is_text) and (schema := _of_numbers(column, found, missing)):
        return schema
    if not is_text:
        return ColumnSchema(name=name, role="text", reading="other", texts=found, missing=nothing)
    first = list(islice(values, _HEAD))
    ranks = {text: rank for rank, text in enumerate(dict.fromkeys(first), 1)}
    return replace(_of_words(name, found, counts, nothing), head=head_of(map(ranks.get, first)))


def in_one_table(columns: Iterable[ColumnSchema]) -> tuple[ColumnSchema, ...]:
    """Returns columns with what those beside them tell of their notation, their role, and their currency or unit."""
    table = _Table(columns)
    roles = table.tell_levels, table.tell_products, table.tell_sums, table.tell_repeated
    for rule in (table.read_alike, *roles, table.tell_units, table.tell_currencies):
        rule()
    return tuple(table.columns)


def said_of_rows_apart(total_rows: Sequence[int], repeated_headers: Sequence[int]) -> str:
    """Returns a sentence on the rows that take no part in figures, or an empty text."""
    apart = ((total_rows, "sum up the others"), (repeated_headers, "repeat the names of the columns"))
    said = ((why, ", ".join(map(str, rows[:10]))) for rows, why in apart if rows)
    return ". ".join(f"Left out of all figures, since they {why}: rows {rows}" for why, rows in said)


def truth_of(text: str) -> bool | None:
    """Returns the truth value that a text is in a column of truth values, or None."""
    return _TRUTHS.get(text.strip().lower())


def _is_rate(unit: str) -> bool:
    return unit[0] in "%‰°" or "/" in unit or "rate" in named(unit) | named(unit.lower())


def _number_role(name: str, numbers: Sequence[Number], rows: int, texts: TextNumbers = _NO_TEXTS) -> Role:
    tags = named(name)
    if "identifier" in tags:
        return "identifier"
    units = tuple(filter(None, texts.units or (texts.unit,)))
    if any(map(_is_rate, units)):
        return "rate"
    # `n_fertility` is not a count, nor is `log_income` an amount.
    is_scale = "logarithm" in tags or ("counting" in tags and "number" not in tags)
    if is_scale and any(float(number) % 1 for number in numbers):
        return "rate"
    is_dated, is_amount = not {"dated", "moment"}.isdisjoint(tags), "quantity" in tags
    # `Num. Gasto` is a count or, if it counts on, a number. So is `n`, which then numbers the rows.
    first = list(numbers[:_HEAD])
    is_counting = "nameless" in tags and first in [list(range(start, start + len(first))) for start in (0, 1)]
    is_named = is_amount and "number" not in tags and not is_counting
    if not units and (sign := sign_of(numbers, rows, is_dated=is_dated, is_amount=is_named)):
        return sign
    if "rate" in tags:
        return "rate"
    if "time" in tags and not texts.is_money and "done" not in tags:
        return "time"
    if "flag" in tags and set(numbers) <= {0, 1}:
        return "flag"
    return "measure" if are_amounts(numbers, tags, are_told=is_amount or bool(units)) else "rate"


def _of_numbers(column: Column, found: TextNumbers, missing: int) -> ColumnSchema | None:
    """Returns the schema of a column most cells of which are numbers, or None if they are too few."""
    name, values = column.name, column.values
    reading: Reading = "money" if found.is_money else found.family or "number"
    schema = ColumnSchema(name=name, role="measure", reading=reading, texts=found, missing=missing)
    cells, present = schema.numbers(values, column.types), len(values) - missing
    numbers: Sequence[Any] = cells if cells is values else [number for number in cells if number is not None]
    if found.names or 2 * len(numbers) <= present or ("identifier" in named(name) and any(found.factors)):
        return None
    role = _number_role(name, some := _sampled(numbers), len(numbers), found)
    # Where many cells are words, `100m` is the name of a race.
    are_words = 2 < present - len(numbers) > present / 8 and "quantity" not in named(name)  # noqa: PLR2004
    if are_words and (found.unit or found.units) and not found.is_money:
        return None
    role = "rate" if role == "measure" and are_words else role
    strays = (v for v, n in zip(values, cells, strict=True) if n is None and not schema.is_empty(v))
    stray = next(strays, None) if len(numbers) < present else None
    told: dict[Any, Any] = dict(zip(cells[::-1], values[::-1], strict=True)) if role == "time" else {0: None}
    told.pop(None, None)
    low, high = told[min(told)], told[max(told)]
    schema = replace(schema, role=role, trend=trend_of(some), head=head_of(cells), example=stray)
    schema = replace(schema, unread=present - len(numbers), earliest=low, latest=high)
    if named(name) & {"currency", "money", "quantity", "rate"} != {"currency"}:
        return schema
    # ISO 4217 has numbers for currencies as well, as in `currencyCode: 980`.
    codes = dict.fromkeys(numbers)
    are_codes = 0 < len(codes) <= _MAX_CODES and all(0 < code <= 999 and code == int(code) for code in codes)  # noqa: PLR2004
    iso = replace(schema, role="category", reading="currency", trend="", codes=tuple(map(str, codes)))
    return iso if are_codes else schema


def _of_words(name: str, found: TextNumbers, counts: Counter[str], nothing: int) -> ColumnSchema:
    some = list(islice((text for text in counts if not is_missing_text(text)), 64))
    if some and not (any(map(is_date_text, some[:3])) and 2 * sum(map(is_date_text, some)) >= len(some)):
        return _of_texts(name, found, counts, nothing)
    empty = frozenset(filter(is_missing_text, counts))
    shown = [text for text in counts if text not in empty]
    only = ColumnSchema(name=name, role="empty", reading="empty", texts=TextNumbers(missing=empty))
    only = replace(only, missing=nothing + sum(counts[text] for text in empty if text))
    if not shown:
        return only
    # Such as a total, or "ongoing".
    strays = dict.fromkeys(() if (dates := read_dates(shown)) else (text for text in shown if not is_date_text(text)))
    unread, total = (sum(map(counts.__getitem__, texts)) for texts in (strays, shown))
    shown = [text for text in shown if text not in strays]
    if 2 * unread >= total or not (dates := dates or read_dates(shown)):
        return _of_texts(name, found, counts, nothing)
    low, high, order, moments = dates
    # They are in order if the extremes are at both ends.
    trend: Trend = "even" if shown[1:] and {shown[0], shown[-1]} == {low, high} else ""
    only = replace(only, role="time", reading="date", trend=trend, earliest=low, latest=high, date_order=order)
    only = replace(only, moments=moments, unread=unread, example=next(iter(strays), None))
    return replace(only, texts=TextNumbers(missing=empty.union(strays)))


def _of_texts(name: str, found: TextNumbers, counts: Counter[str], nothing: int) -> ColumnSchema:
    distinct = len(counts) - ("" in counts)
    truths = [text for text in counts if text and text not in found.missing]
    are_versions = (found.names and found.note) or (truths and all(map(is_version, truths)))
    reading: Reading = "version" if are_versions else "text"
    schema = ColumnSchema(name=name, role="text", reading=reading, texts=found, missing=nothing)
    if len(truths) <= _MAX_CATEGORIES and all(map(is_name, truths)):
        told = [tags for tags in map(named, truths) if not tags.isdisjoint(("quantity", "rate"))]
        # A rate and what it is of, or a profit and what makes it up. Grades and groups of age share a word.
        are_apart = any({"rate", "result"} & tags or tags & {"share", "money"} == {"share"} for tags in told)
        is_named = len(told) > max(1, len(truths) // 2) and not set(words(truths[0])).intersection(*map(words, truths))
        schema = replace(schema, figures="some" if are_apart and is_named else "")
    are_all = all(total_label(text) or text[-1:] == "%" or "count" in named(text) for text in truths[:_MAX_CATEGORIES])
    if are_all and {"total", "extreme"} <= set(map(total_label, truths)):
        schema = replace(schema, figures="all")
    if found.names:
        return replace(schema, role="identifier") if all(map(str.isdecimal, truths)) else schema
    codes = tuple(islice(filter(None, counts), _MAX_CODES))
    if codes and distinct <= _MAX_CODES and _are_currencies(name, codes):
        return replace(schema, role="category", reading="currency", codes=codes)
    is_named = "unitname" in frozenset[str]().union(*map(meanings_of, words(name)))
    if is_named and 2 * sum(is_unit(code) or _is_rate(code) for code in codes) > len(codes):
        return replace(schema, role="category", reading="unit", codes=codes)
    if 1 <= len(truths) <= 2 and all(truth_of(text) is not None for text in truths):  # noqa: PLR2004 - true, false
        blanks = sum(counts[text] for text in found.missing if text)
        return replace(schema, role="flag", reading="boolean", missing=nothing + blanks)
    if distinct <= _MAX_CATEGORIES and 2 * distinct <= counts.total() - counts[""]:
        return replace(schema, role="category")
    return schema


def _are_currencies(name: str, values: Sequence[str]) -> bool:
    codes = {code for value in values for code in value.strip().upper().split("/")}
    if "currency" in named(name):
        return all(len(code) <= 30 and not any(map(str.isdigit, code)) for code in codes)  # noqa: PLR2004
    # Some codes are words as well, which texts of amounts do not have: all, cup, top, try. There are coins without end.
    written = (part for value in values for part in value.strip().split("/"))
    spelled = {part.upper() for part in written if is_currency(part) or is_currency(part.upper())}
    are_like = all(text.isascii() and text.isalpha() and text.isupper() and 3 <= len(text) <= 5 for text in values)  # noqa: PLR2004
    are_codes = all(code in spelled or "iso4217" in meanings_of(code.lower()) for code in codes)
    is_told = len(spelled) > 1 or not codes.isdisjoint(("BTC", "ETH"))
    return bool(spelled) and (are_codes or (are_like and is_told and 2 * len(spelled) >= len(codes)))


class _Table:
    """Holds the columns of a table while they tell what one another are. Each rule builds on those before it."""

    def __init__(self, columns: Iterable[ColumnSchema]) -> None:
        self.columns = list(columns)
        self._tags = [named(each.name) for each in self.columns]

    def _call(self, places: Iterable[int], role: Role) -> None:
        for at in places:
            self.columns[at] = replace(self.columns[at], role=role)

    def _are_added(self, places: Iterable[int]) -> bool:
        return any(self.columns[at].role == "measure" for at in places)

    def _places(self) -> list[int]:
        """Returns the columns of numbers that may make up one another."""
        return [
            at for at, each in enumerate(self.columns)
            if each.head and each.reading in NUMBERS and "identifier" not in self._tags[at]
            and each.role in {"measure", "rate", "identifier"}
        ]  # fmt: skip

    def read_alike(self) -> None:
        """Reads `1.250` and `1,250` as the marks of the columns beside them prove."""
        marks = [mark_of(each.texts) if each.texts.numbers and each.reading in NUMBERS else "" for each in self.columns]
        proven: list[Style] = [style for style in ("point", "comma") if style in marks]
        # Or as a count does, which has no decimals.
        are_counts = "comma" in (each.texts.style for each, mark in zip(self.columns, marks, strict=True) if mark)
        proven = proven or ["comma"] * (are_counts or "blank" in marks)
        for at, each in enumerate(self.columns if len(proven) == 1 and "either" in marks else ()):
            style, old = proven[0], each.texts.numbers
            # Places and shares have no thousands.
            is_share = {"rate", "money"} & self._tags[at] == {"rate"}
            is_place = style == "comma" and (is_share or "blank" in marks) and any("." in text for text in old)
            if marks[at] != "either" or each.texts.style == style or is_place or each.role not in ADDED:
                continue
            texts = in_style(each.texts, style)
            new_of = {float(old[text]): number for text, number in texts.numbers.items()}
            role = _number_role(each.name, list(texts.numbers.values()), len(texts.numbers), texts)
            head = [float(new_of.get(number, number)) for number in each.head]
            self.columns[at] = replace(each, texts=texts, role=role if role in ADDED else each.role, head=head)

    def tell_levels(self) -> None:
        """Tells what only rises over time or stays close, and running balances and values of several things."""
        columns, tags, panels = self.columns, self._tags, list(_panels(self.columns))
        said, figures = frozenset[str]().union(*tags), {each.figures for each in columns}
        clocks = [each for each in columns if each.role == "time"]
        # The years of one thing come before those of the next one.
        goes_on = (_rises(each.head, [range(len(each.head))]) for each in clocks if each.reading == "number")
        in_order = (each.trend in {"even", "rising"} for each in clocks)
        is_in_time = any(chain(map(itemgetter(1), panels), in_order, goes_on))
        others = [each for each in columns if each.role not in {*ADDED, "empty"}]
        is_series = bool(others) and all(each.role == "time" or each.trend == "even" for each in others)
        currencies = [each.head for each, its in zip(columns, tags, strict=True) if its >= {"iso4217", "single"}]
        are_exchanged = bool(currencies[1:]) and any(round(n, 2) != n for head in currencies for n in head)

        def is_level(column: ColumnSchema, its: frozenset[str]) -> bool:
            # Sales may grow each month.
            may_count = "money" not in its or not its.isdisjoint(("running", "vague"))
            is_counter = column.trend in {"even", "rising"} and may_count
            is_calm = column.trend == "close" and may_count
            is_extent = its & {"stock", "flow"} == {"stock"} or its & {"dimension", "total"} == {"dimension"}
            # A value at a time is a level as often as an amount, unless it is counted or paid.
            is_sorted = column.head == sorted(column.head)
            is_measured = column.reading == "number" and any(n % 1 or n < 0 for n in column.head)
            may_be_level = "series" in said or ((is_in_time or is_series) and is_measured)
            return (
                (is_in_time and (is_counter or is_calm or is_extent))
                or (is_counter and column.head[0] < column.head[-1] <= 1.5 * column.head[0])
                or ("running" in its and (is_in_time or column.trend != ""))
                or (may_be_level and its >= {"vague", "single"})
                # Beside known amounts others are likely.
                or (is_series and clocks and is_measured and "quantity" not in said)
                # Who takes a step has taken those before it.
                or ("funnel" in said and "count" in its and column.head == sorted(column.head, reverse=True))
                or ("scraped" in said and column.name.endswith(("_total", "_bucket")))
                or (may_count and any(_rises(column.head, each) for each, timed in panels if timed or not is_sorted))
                or (are_exchanged and column.head in currencies)
                or "all" in figures
                or ("some" in figures and ("vague" in its or "quantity" not in its))
            )

        measures = (at for at, each in enumerate(columns) if each.role == "measure")
        self._call([at for at in measures if is_level(columns[at], tags[at])], "rate")

    def tell_products(self) -> None:
        """Tells of a product and its factors that what is multiplied by a number of things is a price or a share."""
        places, tags = self._places(), self._tags
        heads = [self.columns[at].head for at in places]
        for made, *factors in made_of(heads, by_factors=True):
            rows = zip(*(heads[at] for at in (made, *factors)), strict=True)
            scale = next((row[0] / math.prod(row[1:]) for row in rows if all(row)), 1)

            def weight(at: int, *, are_things: bool = scale > 0.02) -> float:  # noqa: PLR2004 - percent
                # Less if it is a rate or money, and more if it is whole or large.
                its, head = tags[places[at]], heads[at]
                size = all(number % 1 == 0 for number in head) if are_things else math.fsum(head) / 10**20
                return size + 2 * ("quantity" in its and "money" not in its) - 4 * ("rate" in its)

            each, *more = sorted(factors, key=weight)
            if more and weight(each) == weight(*more):
                continue
            self._call([places[each]] if more else [], "rate")
            added = [places[at] for at in (made, *(more or [each]))]
            self._call([at for at in added if "rate" not in tags[at]] if self._are_added(added) else [], "measure")

    def tell_sums(self) -> None:
        """Tells that what makes up another column is an amount, and that what goes on by amounts is a level."""
        columns, tags, places = self.columns, self._tags, self._places()
        heads = [columns[at].head for at in places]
        levels, parts = set[int](), set[int]()
        # Of each thing the rows are in order.
        things = [each.head for each in columns if each.head and each.role not in {*ADDED, "time"}][:_FEW]
        orders = (sorted(range(len(head)), key=head.__getitem__) for head in things if 1 < len(set(head)) < len(head))
        ordered: list[Sequence[Sequence[float]]] = [
            [[head[row] for row in order] for head in heads] for order in orders
        ]
        for at, flows in chain.from_iterable(map(running_in, [heads, *ordered])):
            if not any("rate" in tags[places[flow]] for flow in flows):
                levels.add(places[at])
                parts.update(places[flow] for flow in flows)
        sums = list[list[int]]()
        for whole, *others in made_of(heads):
            made = [places[at] for at in (whole, *others) if at >= 0]
            # Readings at both ends are not amounts. A meter seldom stands still.
            used, *ends = sorted(made, key=lambda at: math.fsum(columns[at].head))
            both = zip(columns[used].head, columns[ends[0]].head, strict=True)
            shares = [one / other for one, other in both if other]
            is_open = whole >= 0 and not ends[2:] and not self._are_added(ends)
            is_small = min(shares, default=0) > 0 and 4 * math.fsum(shares) < len(shares)
            if is_open and is_small:
                levels.update(ends)
                parts.add(used)
                continue
            # What is 100 in each row are shares.
            of_all = max(map(math.fsum, zip(*(heads[at] for at in others), strict=True)))
            levels.update(made if whole < 0 and round(of_all, 6) in {1, 100} else ())
            sums.append(made)
        for whole, *others in sums * 2:
            levels.update(others if whole in levels and parts.isdisjoint(others) else ())
        for found in sums:
            are_whole = not any(number % 1 for at in found for number in columns[at].head)
            is_told = are_whole or found[3:] or self._are_added(found)
            is_rate = any("rate" in tags[at] or columns[at].trend for at in found)
            parts.update(found if is_told and levels.isdisjoint(found) and not is_rate else ())
        self._call(parts - levels, "measure")
        self._call(levels, "rate")

    def tell_repeated(self) -> None:
        """Tells that rows repeat what a thing has, such as `order_total` beside `order_id`, or `population`."""
        columns, tags = self.columns, self._tags
        names = [words(each.name.replace(".", "_")) for each in columns]
        measures = [at for at, each in enumerate(columns) if each.role == "measure" and each.head]
        owners = {names[at][:length] for at in measures for length in range(1, len(names[at]))}
        standing = {at for at in measures if tags[at] & {"stock", "standing"}}
        bare = [at for at in measures if columns[at].reading == "number" and tags[at].isdisjoint(("money", "duration"))]
        kinds = {at: len(set(columns[at].head)) for at in bare}
        for name, thing in zip(names, columns, strict=True):
            stem = name[:-1] if name and "identifier" in meanings_of(name[-1]) else name
            if not (stem in owners or standing or kinds) or thing.role in {*ADDED, "time"} or not thing.head:
                continue
            once = len(set(thing.head))
            is_same = [len(set(zip(thing.head, each.head, strict=False))) == once for each in columns]
            both = zip(columns, is_same, strict=True)
            # What one is paid each month adds up.
            is_paid = any(each.role == "time" and each.head and not same for each, same in both)
            heads = {at: Counter(columns[at].head).values() for at in measures if is_same[at]}
            size = len(thing.head)
            same = [at for at in heads if (once - size) * math.log(sum(n * n for n in heads[at]) / size**2) > PROOF]
            is_named = any(names[at][: len(stem)] == stem for at in same)
            own = [at for at in same if kinds.get(at, 0) > _FEW and 4 * kinds[at] >= 3 * once]
            self._call(own if is_paid else [at for at in same if is_named or at in standing or at in own], "rate")

    def tell_units(self) -> None:
        """Tells what a column of units is about: what shares a name with it, or is next to it."""
        columns = self.columns
        kinds = ("unit", "currency")
        units, monies = ([at for at, each in enumerate(columns) if each.reading == kind] for kind in kinds)

        def near(at: int, place: int) -> tuple[int | bool, ...]:
            shared, is_measure = _nearness(columns[at].name, columns[place].name), columns[at].role == "measure"
            return *shared, likely(at), is_measure, -abs(at - place), at < place

        def likely(at: int) -> bool:
            return "money" not in self._tags[at]  # Amounts of money rarely have such a unit.

        for unit in units:
            bare = [at for at, each in enumerate(columns) if each.role in ADDED and not each.texts.unit]
            bare = [at for at in bare if columns[at].reading in NUMBERS - {"money"}]
            bare = [at for at in bare if likely(at) or all(near(at, unit) > near(at, money) for money in monies)]
            if bare:
                nearest = max(bare, key=partial(near, place=unit))
                columns[nearest] = _told_apart(columns[nearest], columns[unit])
                if any(map(_is_rate, columns[unit].codes)):
                    columns[nearest] = replace(columns[nearest], role="rate")

    def tell_currencies(self) -> None:
        """Tells of amounts of money which column holds their currency."""
        monies = [(at, each) for at, each in enumerate(self.columns) if each.reading == "currency"]
        both = zip(self.columns, self._tags, strict=True)
        units = {each.name.rpartition(".")[0] for each, its in both if its & {"unitname", "currency"}} - {""}
        for at, column in enumerate(self.columns if monies else ()):
            if column.role not in ADDED or column.reading not in NUMBERS or column.currency_column or column.currency:
                continue
            # Of two with other names, the one right behind the amount.
            _, nearest = max(monies, key=lambda money: (*_nearness(column.name, money[1].name), money[0] - at == 1))
            # An amount of usage beside its cost may have an empty unit.
            is_other = (above := column.name.rpartition(".")[0]) in units and not nearest.name.startswith(f"{above}.")
            if not is_other and _is_in(column, nearest):
                self.columns[at] = replace(_told_apart(column, nearest), reading="money")


def _panels(columns: Sequence[ColumnSchema]) -> Iterator[tuple[list[list[int]], bool]]:
    """Yields the rows of each thing in a table of several things, such as countries by year, and whether time goes on.

    If it is not known to go on, the rows of the things alternate.
    """
    clocks = [each.head for each in columns if each.head and (each.role == "time" or "turn" in named(each.name))]
    for things in (each.head for each in columns if each.role not in {*ADDED, "time"} and each.head):
        groups = groupby(sorted(range(len(things)), key=things.__getitem__), things.__getitem__)
        panel = [rows for _, group in groups if len(rows := list(group)) > 1]
        is_long = len(panel) > 1 and sum(math.lgamma(len(rows) + 1) for rows in panel) > PROOF
        is_timed = any(2 * len(set(clock)) <= len(clock) and _rises(clock, panel) for clock in clocks[:4])
        order = list(chain.from_iterable(panel))
        if is_long and (is_timed or order != sorted(order)):
            yield panel, is_timed


def _rises(head: Sequence[float], panel: Sequence[Sequence[int]]) -> bool:
    """Returns whether the numbers of each thing only rise."""
    return bool(head) and all((part := [head[row] for row in rows]) == sorted(set(part)) for rows in panel)


def _is_in(column: ColumnSchema, money: ColumnSchema) -> bool:
    """Returns whether amounts are in the currencies of another column."""
    tags, (above, _, last) = named(column.name), column.name.rpartition(".")
    is_money = column.reading == "money" or ("money" in tags and not column.texts.unit)
    # Google counts money in units, as in `cost.units`.
    counted = tags & {"count", "counting", "bytes", "duration", "measured", "body"} or {"currency", "rate"} <= tags
    is_other = bool(column.texts.unit) or bool(counted and "money" not in named(above))
    may_be_money = not is_other and (column.role == "measure" or _nearness(column.name, money.name)[1] > 0)
    # What `actions.value` is, a currency elsewhere does not tell.
    is_apart = above != money.name.rpartition(".")[0] and "vague" in meanings_of(last.lower())
    # `€9.50` beside the currency of another amount is in euros in each row. So is `amount_eur`.
    own = {currency_of(unit) for unit in column.texts.units or (column.texts.unit,)}
    is_told = all(map(str.isupper, own)) and not own.issuperset(map(currency_of, money.codes))
    is_told = is_told and all(text.strip("0123456789.,' +-()") for text in column.texts.numbers)
    parts = *words(column.name), *column.name.strip(")").split("(")
    is_told = is_told or any(is_currency(part.upper()) for part in parts)
    return (is_money or may_be_money) and not (is_told or (is_apart and "money" not in named(above)))


def _told_apart(column: ColumnSchema, by: ColumnSchema) -> ColumnSchema:
    several = len(by.codes) + bool(by.missing) > 1
    is_named = not several and not by.codes[0].isdecimal()
    return replace(column, currency_column=by.name if several else "", currency=by.codes[0] if is_named else "")


def _nearness(amount: str, currency: str) -> tuple[int, int]:
    """Returns how near a column of currencies is to an amount: `fee_currency` to `fee`, `a.currency` to `a.value`."""
    one, other = amount.split("."), currency.split(".")
    shared = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return shared, len(set(words(amount)) & set(words(currency)))


def repeated_headers(columns: Sequence[Column]) -> tuple[int, ...]:
    """Returns the rows whose cells are the names of their columns."""
    if len(columns) < 2 or not all(str in column.types for column in columns):  # noqa: PLR2004 - one may be chance
        return ()
    rows = [row for row, value in enumerate(columns[0].values) if value == columns[0].name]
    return tuple(row for row in rows if all(each.values[row] == each.name for each in columns))


def total_rows(columns: Sequence[Column], known: Iterable[ColumnSchema]) -> tuple[int, ...]:
    """Returns the rows of a table that sum up others: the last ones, subtotals above them, or the first one."""
    both = list(zip(columns, known, strict=True))
    measures = [each.numbers(column.values) for column, each in both if each.role == "measure"]
    others = (column for column, each in both if each.role != "measure")
    named_by = [column.values for column in others if all(kind.__hash__ for kind in column.types)]
    count, said = len(columns[0].values) if columns else 0, lru_cache(maxsize=None)(total_label)
    texts = [column.values for column in columns if str in column.types]

    def label(row: int) -> str:
        return next((kind for cells in texts if isinstance(cells[row], str) and (kind := said(cells[row]))), "")

    def is_labelled(row: int) -> bool:
        cells = next((cells for cells in texts if isinstance(cells[row], str) and cells[row]), None)
        return cells is not None and count >= _FEW and bool(said(cells[row])) and countOf(cells, cells[row]) == 1

    is_told = count > _FEW and is_labelled(count - 1)
    end = next((row + 1 for row in range(count - 1, -1, -1) if not label(row)), count) if is_told else count
    # People are called Max, and few of them have the most of everything.
    floats = [as_floats(cells[:end]) for cells in measures]
    above = ([number for number in cells if number is not None] for cells in floats if end < count)
    ends = [(min(some), max(some)) for some in above if some]
    found = [
        row for row in range(end, count if measures else end)
        if label(row) == "total" or all(as_float(n[row]) in each for n, each in zip(measures, ends, strict=False))
    ]  # fmt: skip
    for some in (slice(None), slice(None, None, -1)) if measures and end > 1 else ():
        order = range(end)[some]
        lines = _Lines([cells[some] for cells in floats], [cells[:end][some] for cells in named_by])
        blanks = (each.values for each in columns if count > _FEW and is_missing(each.values[order[-1]]))
        is_told = is_labelled(order[-1]) or any(sum(map(is_missing, cells)) == 1 for cells in blanks)
        if inner := lines.sums(order, label, is_told=is_told):
            return tuple(sorted([*found, *(order[row] for row in inner)]))
    return tuple(found)


class _Lines:
    """Holds the figures of rows of which some may sum up those before them, and the other columns."""

    def __init__(self, figures: list[Sequence[Any]], named_by: list[Sequence[Any]]) -> None:
        self.figures, self.named_by = [cells for cells in figures if cells[-1] is not None] or figures, named_by
        self.floats = [[n or 0.0 for n in cells] if None in cells else cells for cells in self.figures]
        self.above = [list(accumulate(cells)) for cells in self.floats]
        # Of what only goes up, a few places can hold a sum.
        self.rises = [min(cells) >= 0 for cells in self.floats]

    def _until(self, at: int, most: float) -> int:
        """Returns how many of the sums of a column's rows may be up to `most`."""
        return bisect_right(self.above[at], most) if self.rises[at] else len(self.above[at])

    def _may_be(self, total: float) -> range:
        """Returns the rows whose sum with those above them may be a total, by the first column."""
        near = abs(self.above[0][-1]) * 1e-9
        return range(bisect_left(self.above[0], total - near) if self.rises[0] else 0, self._until(0, total + near))

    def sums(self, order: Sequence[int], label: Callable[[int], str], *, is_told: bool) -> Iterable[int]:
        """Returns the places in an order of the rows that sum up others before them."""
        # The first of them sums up all rows before it.
        ends = [self._until(at, max(cells) / 0.98) for at, cells in enumerate(self.floats)]
        both = zip(self.floats, self.above, ends, strict=True)
        pairs = (enumerate(zip(cells[1 : end + 1], above, strict=False), 1) for cells, above, end in both)
        first = [{row for row, (n, above) in each if n and math.isclose(n, above, rel_tol=0.01)} for each in pairs]
        some, last = set[int]().union(*first), len(self.floats[0]) - 1
        if found := self._grouping_sets() or (set.intersection(*first) and self._levels()):
            return found
        are_told = any(label(order[at]) == "total" for at in some)
        told = [at for at, row in enumerate(order if are_told else ()) if label(row) == "total"]
        sums = [(cells, _sums(cells, told, is_rounded=True)) for cells in self.figures if told]
        rows = [at for at in told if all(at in each or cells[at] is None for cells, each in sums)]
        rows = [at for at in rows if any(at in each for _, each in sums)]
        if rows and 2 * len(rows) >= len(told):
            return rows
        proofs = [last in at and _sums(n, [last]).get(last, 0) for n, at in zip(self.figures, first, strict=True)]
        # One match of small numbers may be chance.
        is_proven = is_told or (last >= _FEW and 2 * sum(proofs) > PROOF)
        return {last} if is_proven and all(proofs) else self._grouped(last + 1)

    def _levels(self) -> Collection[int]:
        """Returns rows that each sum up those since the one before, or such sums, if that is so of all rows."""
        near = [abs(above[-1]) * 1e-9 for above in self.above]

        def may_end(times: int) -> bool:
            # The last one sums up those above it, or their sums, or the sums of sums.
            left = [above[-1] - cells[-1] * times for cells, above in zip(self.floats, self.above, strict=True)]
            sums = chain([[0.0] * len(left)], ([above[row] for above in self.above] for row in self._may_be(left[0])))
            return any(all(abs(a - b) <= n for a, b, n in zip(some, left, near, strict=True)) for some in sums)

        if self.rises[0] and self.floats[0][-1] and not any(map(may_end, range(2, 6))):
            return ()
        lines = list(filter(any, zip(*self.floats, strict=True)))
        parts, is_rising = dict[int, Sequence[Sequence[float]]](), self.rises[0]

        def start_of(row: int, level: int) -> int | None:
            start: int | None = row
            sums = [0.0] * len(self.floats)
            while start and level and not (is_rising and sums[0] > 2 * lines[row][0]):
                sums = list(map(add, sums, lines[start - 1]))
                start = start_of(start - 1, level - 1)
                if start is not None and all(map(_is_same, sums, lines[row])):
                    parts[row] = lines[start:row]
                    return start
            return None if level else row

        for level in range(1, 5):
            parts.clear()
            start: int | None = len(lines)
            while start:
                start = start_of(start - 1, level)
            if start == 0 and sum(_proof([lines[row]], some) for row, some in parts.items()) > PROOF:
                places = [row for row, line in enumerate(zip(*self.floats, strict=True)) if any(line)]
                return [places[row] for row in parts]
        return ()

    def _grouping_sets(self) -> Collection[int]:
        """Returns the rows of `CUBE` or `ROLLUP`, in which a mark, such as None or `ALL`, stands for what they sum up.

        They are in any order, but the last row has the marks of all columns and sums up all others.
        """
        # The sums of each set make up the whole.
        times = [(cells, sum(cells) / cells[-1]) for cells in self.floats if cells[-1]]
        times = [each for each in times if each[1] > 1.5 and math.log2(each[1]) <= len(self.named_by)]  # noqa: PLR2004
        likely = [each for each in times if abs(each[1] - round(each[1])) < 1e-6]  # noqa: PLR2004
        some = (cells for cells in self.named_by if likely and not isinstance(cells[-1], (int, float)))
        keys = list(zip(*(cells for cells in some if countOf(cells, cells[-1]) < len(cells)), strict=True))
        sets = [tuple(map(ne, key, keys[-1])) for key in keys]
        for cells in (cells for cells, count in likely if round(count) == len(set(sets))):
            base, rows = ([row for row, some in enumerate(sets) if all(some) == is_part] for is_part in (True, False))
            parts = defaultdict[Any, list[float]](list)
            for row, some in product(base, set(sets)):
                parts[some, tuple(compress(keys[row], some))].append(cells[row])
            made = (float_sum(parts[sets[row], tuple(compress(keys[row], sets[row]))]) for row in rows)
            are_sums = base and all(map(_is_same, made, (cells[row] for row in rows)))
            if are_sums and 2 * _proof([(cells[row],) for row in rows], [(cells[row],) for row in base]) > PROOF:
                return rows
        return ()

    def _grouped(self, end: int) -> Iterable[int]:
        """Returns the last rows if they sum up all others, by runs in any order or in turn."""
        cells, totals = self.floats[0], self.above[0]
        rows = self._may_be(totals[-1] / 2)
        for at in range(max(2 * end // 3, rows.start + 1), min(rows.stop + 1, end - 1)):
            if not cells[at] or not _is_same(2 * totals[at - 1], totals[-1]):
                continue
            lines = list(zip(*self.floats, strict=True))
            sums, runs, total = Counter(map(_rounded, lines[at:])), Counter[tuple[float, ...]](), (0.0,) * len(lines[0])
            for line in lines[:at]:
                total = _rounded(map(add, total, line))
                if total in sums:
                    runs[total], total = runs[total] + 1, (0.0,) * len(line)
            in_turn = (zip(*lines[place : at : end - at], strict=True) for place in range(end - at))
            are_sums = sums == (Counter(_rounded(map(float_sum, each)) for each in in_turn) if any(total) else runs)
            if are_sums and _proof(lines[at:], lines[:at]) > PROOF:
                return range(at, end)
        return ()


def _proof(lines: Iterable[Sequence[float]], parts: Iterable[Sequence[float]]) -> float:
    """Returns how unlikely it is that lines are sums by chance. What one of the parts could be proves nothing."""
    proof = 0.0
    for numbers, cells in zip(zip(*lines, strict=True), zip(*parts, strict=True), strict=False):
        low, high = min(cells), max(cells)
        scale = 10 ** decimals_of(int(number) if number % 1 == 0 else number for number in cells)
        # Sums of multiples are multiples too.
        unit = math.gcd(*map(round, filter(math.isfinite, (number * scale for number in cells)))) / scale or 1
        proof += sum(math.log1p(abs(n) / unit) for n in numbers if not low <= n <= high)
    return proof


def _rounded(numbers: Iterable[float]) -> tuple[float, ...]:
    return tuple(round(number, 6) for number in numbers)


def _sums(cells: Sequence[float | None], told: Sequence[int], *, is_rounded: bool = False) -> dict[int, float]:
    """Returns those of some rows that sum up the other rows since one of them before, with how unlikely it is.

    Labels prove sums of numbers that are rounded as well.
    """
    found, starts, inner = dict[int, float](), [0], set(told)
    others = [0.0 if row in inner else number or 0.0 for row, number in enumerate(cells)]
    above = list(accumulate(others, initial=0.0))
    for row in told:
        for place in chain(range(len(starts) - 1, max(len(starts) - 65, 0), -1), (0,)):
            n, parts = cells[row], slice(starts[place], row)
            if n is None or not math.isclose(above[row] - above[parts.start], n, rel_tol=0.01):
                continue
            some = others[parts]
            numbers = (int(number) if number % 1 == 0 else number for number in (*some, n))
            lost = (len(some) + 1) / 2 / 10 ** decimals_of(numbers) if is_rounded else 0
            if some and math.isclose(float_sum(some), n, rel_tol=1e-12, abs_tol=lost):
                found[row] = _proof([(n,)], zip(some, strict=True))
                del starts[place + 1 :]
                break
        starts.append(row + 1)
    return found


def _sampled(values: Sequence[Any]) -> Sequence[Any]:
    """Returns the cells that decide the role of a column: the first ones, and some others of a long column."""
    count = len(values)
    if count <= _HEAD + _SAMPLE:
        return values
    positions = sample_positions(count)
    return [values[row] for row in sorted({*range(_HEAD), *positions[:: len(positions) // _SAMPLE]})]
