"""Computes facts about one column from all of its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any

from adk_context_pack.tables.columns import Kind
from adk_context_pack.tables.numbers import Number, plain, short_text, with_decimals
from adk_context_pack.tables.outliers import Outlier, rare_values
from adk_context_pack.tables.schema import ColumnSchema, Role

_MAX_COMMON = 8
_PERCENT = "%"
_MAX_DIGITS = 4000
_WITHOUT_NAN = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnFacts:
    """Holds what all values of a column say together.

    Attributes:
        name: the column, nested ones dotted.
        kind: number (added up), rate (of which the extremes are told), identifier, date, boolean, text or empty.
        role: what the column is for, see `ColumnSchema`.
        missing: rows without a value: no such key, None, NaN or an empty text. Among numbers and dates also a word for
            it, such as `N/A`.
        total: the exact sum of a measure, see `numbers.exact_sum`.
        minimum: the smallest number, or the earliest date as it was written.
        maximum: the largest number, or the latest date as it was written.
        mean: the sum divided by the count of numbers, as the nearest float.
        min_row: index of the first row that holds the minimum of a column of numbers.
        max_row: index of the first row that holds the maximum of a column of numbers.
        not_numbers: values of a column of numbers that are not numbers. They take no part in its figures.
        example: the first of the values that are not numbers.
        unit: what the numbers count, as written beside them: `$`, `EUR`, `%`, `km`. Percent are points: 12.5 is 12.5 %.
        note: what a reader has to know of how the column was read.
        parts: the facts of the amounts in each currency or unit, if there are several. They have no common figures.
        part_rows: how many rows a part has.
        decimals: how many decimals the numbers have at most, as far as some of them show.
        distinct: how many different values a column has that is not added up.
        commonest: its commonest values with their counts, the earlier one first where counts are equal.
        outliers: cells that stand apart, the farthest first.
        outlier_count: how many cells stand apart, also those beyond the listed ones.
        outlier_rule: the rule by which they do.
    """

    name: str
    kind: Kind
    role: Role
    missing: int = 0
    total: Number | None = None
    minimum: Any = None
    maximum: Any = None
    mean: float | None = None
    min_row: int | None = None
    max_row: int | None = None
    not_numbers: int = 0
    example: Any = None
    unit: str = ""
    note: str = ""
    parts: tuple[ColumnFacts, ...] = ()
    part_rows: int = 0
    decimals: int = 0
    distinct: int | None = None
    commonest: tuple[tuple[Any, int], ...] = ()
    outliers: tuple[Outlier, ...] = ()
    outlier_count: int = 0
    outlier_rule: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Returns the facts as small JSON: figures as they are, long texts shortened, what does not apply left out."""
        is_number = self.kind in {"number", "rate"}
        result: dict[str, Any] = {}
        if self.parts:
            figures = ("sum", "min", "max", "mean", "distinct")
            result["by_unit"] = {
                part.unit: {"rows": part.part_rows} | {key: said[key] for key in figures if key in said}
                for part in self.parts
                for said in (part.as_dict(),)
            }
        else:
            if self.kind == "number":
                result["sum"] = plain(self.total)
            if is_number or self.kind == "date" or self.minimum is not None:
                result |= {"min": plain(self.minimum), "max": plain(self.maximum)}
            if self.kind == "number":
                result["mean"] = with_decimals(self.mean, self.decimals)
            else:
                result["distinct"] = self.distinct
        # If each value stands alone, no value is the commonest.
        if self.commonest and self.commonest[0][1] > 1:
            shown = self.commonest if (self.distinct or 0) <= _MAX_COMMON else self.commonest[:1]
            result["commonest"] = dict(zip(_labels([value for value, _ in shown]), (n for _, n in shown), strict=True))
        if self.missing or is_number:
            result["missing"] = self.missing
        if is_number and not self.parts:
            result |= {"min_row": self.min_row, "max_row": self.max_row}
        if self.not_numbers:
            result |= {"not_numbers": self.not_numbers, "such_as": short_text(self.example)}
        if self.unit:
            result["unit"] = "% (points)" if self.unit == _PERCENT else self.unit
        return result | ({"note": self.note} if self.note else {})


def counted_facts(
    schema: ColumnSchema,
    counts: Counter[Any],
    values: Iterable[Any],
    *,
    max_outliers: int,
    types: Collection[type] | None = None,
) -> ColumnFacts:
    """Returns the facts of a column that is not added up, from how often each value occurs.

    Args:
        schema: the schema of the column.
        counts: all of its values, in order of appearance. Those that are missing are taken out.
        values: all values again, looked at only where a rare one has to be found.
        max_outliers: how many rare values are listed.
        types: the types of the values, if they are known.
    """
    rows = counts.total()
    missing = _take_out_missing(counts, schema, types or set(map(type, counts)))
    rare, rule = rare_values(counts, rows) if schema.kind in {"text", "boolean"} else ([], "")
    low, high = schema.earliest, schema.latest
    if schema.role == "identifier" or (schema.role == "time" and low is None and schema.reading != "date"):
        low, high = number_limits(counts)
    return ColumnFacts(
        name=schema.name,
        kind=schema.kind,
        role=schema.role,
        missing=missing,
        minimum=low,
        maximum=high,
        note=schema.texts.note if schema.texts.names else "",
        distinct=len(counts),
        commonest=_commonest(counts, rows - missing),
        outliers=_rare_outliers(schema.name, rare, values, max_outliers) if rare else (),
        outlier_count=sum(counts[value] for value in rare),
        outlier_rule=rule,
    )


def number_limits(values: Collection[Any]) -> tuple[Any, Any]:
    """Returns the smallest and the largest of numbers or texts of digits, or None twice for anything else."""
    first = next(iter(values), None)
    if isinstance(first, str):
        are_digits = first.isdecimal() and all(isinstance(value, str) for value in values)
        if not are_digits or not "".join(values).isdecimal() or max(map(len, values)) > _MAX_DIGITS:
            return None, None
        return min(values, key=int), max(values, key=int)
    if not values or not all(map(_is_number, set(map(type, values)))):
        return None, None
    return min(values), max(values)


def _is_number(kind: type) -> bool:
    return issubclass(kind, (int, float, Decimal)) and kind is not bool


def _take_out_missing(counts: Counter[Any], schema: ColumnSchema, types: Collection[type]) -> int:
    """Takes the values that are missing out of `counts`, and returns how many cells they were."""
    if _WITHOUT_NAN.issuperset(types):
        # Asking each of a hundred thousand identifiers would take longer than counting them.
        empty = [None, "", *(schema.texts.missing if schema.kind != "text" else ())]
    else:
        empty = list(filter(schema.is_empty, counts))
    return sum(counts.pop(value, 0) for value in dict.fromkeys(empty))


def _commonest(counts: Counter[Any], present: int) -> tuple[tuple[Any, int], ...]:
    if len(counts) == present:
        # Each value stands alone, as in most columns of identifiers; a search among them would cost 8 ms.
        return tuple(islice(counts.items(), 1))
    # The first of equals, as Counter keeps the order of appearance.
    return tuple(counts.most_common(_MAX_COMMON if len(counts) <= _MAX_COMMON else 1))


def _rare_outliers(name: str, rare: list[Any], values: Iterable[Any], most: int) -> tuple[Outlier, ...]:
    hits = (Outlier(row, name, value, 0.0) for row, value in enumerate(values) if hashable(value) in rare)
    return tuple(islice(hits, most))


def hashable(value: Any) -> Any:
    """Returns a value that can be counted in the place of one that cannot."""
    try:
        hash(value)
    except TypeError:
        # Lists, and what else cannot be counted, by how it looks.
        return repr(value)
    return value


def _labels(values: Sequence[Any]) -> list[str]:
    """Values as keys: long ones shortened in the middle, where what is cut does not make two of them one."""
    for spelled in (short_text, lambda value: str(plain(value)), repr):
        labels = list(map(spelled, values))
        if len(set(labels)) == len(labels):
            break
    return labels
