"""Finds the places of a statement where a number is meant, by the signs and functions around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.operands import ADDING, COUNTING, KEYWORDS, NUMBER_TYPES, NUMERIC

_EXTREMES = frozenset({"MAX", "MIN"})
_CHOICES = frozenset({"COALESCE", "IFNULL", "IIF", "NULLIF"})
_BEFORE_CONDITIONS = frozenset({"WHERE", "AND", "OR", "NOT", "WHEN", "ON", "HAVING"})
_BEHIND_CONDITIONS = frozenset(
    {*("", ")", ";", "AND", "OR", "THEN", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "WINDOW"), "UNION", "JOIN"}
)
_ARITHMETIC = frozenset("+-*/%&~")
_COMPARING = frozenset("=<>!")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextColumn:
    """A column of texts, and what to know before adding them up.

    Attributes:
        name: the column.
        numbers: the column with its numbers; empty where it has none.
        reason: why a sum of it would not be what a reader takes it for; empty where it would be.
        collation: the order of its texts as numbers or dates; empty where they have none.
    """

    name: str
    numbers: str = ""
    reason: str = ""
    collation: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A token that is not blank, or a dotted name, whose last part is `name`."""

    text: str
    word: str
    kind: str
    first: int
    last: int
    column: TextColumn | None = None
    name: str = ""


class NumberPlaces:
    """The items of a statement, with what encloses each of them."""

    def __init__(self, items: list[Item]) -> None:
        self._items = items
        self._opener = [-1] * len(items)
        self._closer: dict[int, int] = {}
        opened: list[int] = []
        for index, item in enumerate(items):
            if item.text == ")" and opened:
                self._closer[opened.pop()] = index
            self._opener[index] = opened[-1] if opened else -1
            if item.text == "(":
                opened.append(index)
        words = [item.word for item in items]
        self._is_simple = words.count("SELECT") <= 1 and "ORDER" not in words and "HAVING" not in words

    def as_numbers(self) -> Iterator[Item]:
        """Yields the columns that stand where a number is meant."""
        kept: dict[str, TextColumn] = {}
        for index, item in enumerate(self._items):
            if item.column is None or self._word(index + 1) == "(" or self._word(index - 1) == "AS":
                continue
            is_truth = item.column.collation == "truths" and self._is_condition(index)
            if is_truth or self._is_number(index, item.column):
                yield item
            elif alias := self._alias(index):
                kept[alias] = item.column
        self._refuse_aliases(kept)

    def collated(self) -> Iterator[tuple[Item, int, bool]]:
        """Yields the columns within an expression of texts, where each ends, and whether it is to be given its order.

        SQLite sorts the result of `lower(price)` by its letters, unless an operand says by what else. A COLLATE that
        the statement has itself would sort such a column by its letters too, and is left out.
        """
        for index, item in enumerate(self._items):
            if item.column is None or not item.column.collation or self._word(index + 1) == "(":
                continue
            has_own = self._word(index + 1) == "COLLATE"
            end = index + 2 if has_own else index
            function = self._word(self._opener[index] - 1)
            is_argument = self._kind(self._opener[index] - 1) == "name" and function not in KEYWORDS | _EXTREMES
            beside = {self._word(index - 1), self._word(end + 1)}
            is_within = bool(beside & {"THEN", "ELSE", "|"}) or (is_argument and beside <= {"(", ",", ")", "DISTINCT"})
            if has_own or is_within:
                yield item, self._items[min(end, len(self._items) - 1)].last, is_within

    def _refuse_aliases(self, kept: Mapping[str, TextColumn]) -> None:
        for index, item in enumerate(self._items):
            column = kept.get(item.name)
            if column is None or item.column is not None or self._word(index - 1) in {"AS", ")"}:
                continue
            if column.numbers and self._is_against_other(index):
                raise QueryError(
                    f"{item.name} is text here: write {_shown(column.numbers)} AS {item.name} for its numbers."
                )

    def _is_against_other(self, index: int) -> bool:
        """Returns whether an item is compared with a number that is not written out, which SQLite would not read."""
        others = [self._after(index + 1), self._before(index - 1)] if self._beside(index, index) == "compared" else []
        signs = [self._word(index + 1), self._word(index - 1)]
        return any(
            other is not None and other.kind != "number" and other.text not in {"-", "("}
            for other, sign in zip(others, signs, strict=False)
            if sign in _COMPARING or sign == "BETWEEN"
        )

    def _alias(self, index: int) -> str:
        after = self._item(index + 1)
        if after is not None and after.word == "AS":
            after = self._item(index + 2)
        if after is None or after.kind not in {"name", "quoted"} or after.word in KEYWORDS:
            return ""
        return after.text.strip('"`[]').lower()

    def _is_number(self, index: int, column: TextColumn) -> bool:
        """Tells whether the expression at `index` stands where a number is meant."""
        beside = self._beside(index, index)
        if beside:
            return self._is_calculated(column, beside)
        opener = self._opener[index]
        while opener >= 0 and not self._is_apart(opener, index):
            function = self._word(opener - 1)
            if function in ADDING or (function in _EXTREMES and column.reason):
                self._refuse(function.lower(), column)
                return True
            if function in NUMERIC:
                return self._is_calculated(column, "number")
            if function == "CAST":
                return self._casts_to_number(opener) and bool(column.numbers)
            if function in _CHOICES and self._has_number(opener):
                return bool(column.numbers)
            is_name = self._kind(opener - 1) == "name" and function not in KEYWORDS
            if is_name and function not in _EXTREMES | _CHOICES:
                return False
            beside = self._beside(opener - 1 if is_name else opener, self._closer.get(opener, len(self._items)))
            if beside:
                return self._is_calculated(column, beside)
            if function in _EXTREMES and not self._is_simple:
                return bool(column.numbers)
            opener = self._opener[opener]
        return False

    def _is_condition(self, index: int) -> bool:
        """Returns whether an item is a condition by itself, or is asked for a truth value or a number."""
        before, after = self._word(index - 1), self._word(index + 1)
        negated = index + 1 + (after == "NOT" or self._word(index + 2) == "NOT")
        if "IN" in {after, self._word(negated)}:
            return self._kind(negated + 2) == "number" or self._kind(index + 3) == "number"
        if after == "IS":
            return self._word(negated + 1) in {"TRUE", "FALSE", "1", "0"}
        is_first = before in _BEFORE_CONDITIONS or (before == "(" and (after in {"AND", "OR"}))
        is_argument = before == "(" and after == "," and self._word(index - 2) == "IIF"
        return is_argument or (is_first and after in _BEHIND_CONDITIONS)

    def _is_apart(self, opener: int, index: int) -> bool:
        """Tells whether an item is not in the value of the parentheses around it, but in its conditions or order."""
        if self._word(opener - 1) in {"OVER", "FILTER"}:
            return True
        between = range(opener + 1, index)
        return any(self._items[at].word == "FROM" and self._opener[at] == opener for at in between)

    def _is_calculated(self, column: TextColumn, beside: str) -> bool:
        if beside == "number" and not column.numbers:
            raise QueryError(f"{_shown(column.name)} holds texts, and texts are not calculated with.")
        return beside != "text" and bool(column.numbers)

    def _refuse(self, function: str, column: TextColumn) -> None:
        if not column.numbers:
            raise QueryError(f"{function} needs numbers, and {_shown(column.name)} holds texts.")
        if column.reason:
            numbers = _shown(column.numbers)
            raise QueryError(
                f"{_shown(column.name)} {column.reason}. Write {function}({numbers}) to use its numbers alone."
            )

    def _beside(self, first: int, last: int) -> str:
        """Says whether the signs beside an expression calculate with it, compare it with a number, or take its text."""
        while self._word(last + 1) == "COLLATE":
            last += 2
        sides = ((last + 1, self._after(last + 1)), (first - 1, self._before(first - 1)))
        for place, other in sides:
            if (sign := self._item(place)) is None:
                continue
            if sign.text == "-" and self._word(place + 1) == ">":
                return "text"
            if sign.text in _ARITHMETIC and not self._is_star(sign):
                return "number"
            if (sign.text in _COMPARING or sign.word == "BETWEEN") and other is not None:
                return "compared" if self._compares_numbers(other) else "text"
            if sign.word in {"LIKE", "GLOB", "IN", "IS"} or sign.text == "|":
                return "text"
        return ""

    def _compares_numbers(self, other: Item) -> bool:
        place = self._items.index(other)
        if other.text == ")":
            place = next((start for start, end in self._closer.items() if end == place), place)
            place -= self._kind(place - 1) == "name" and self._word(place - 1) not in KEYWORDS
        if self._word(place) == "(":
            return self._gives_number(place)
        if self._kind(place) == "name" and self._word(place + 1) == "(":
            is_cast = self._word(place) == "CAST" and self._casts_to_number(place + 1)
            return is_cast or self._word(place) in COUNTING
        return other.kind != "text" and other.text != ")"

    def _gives_number(self, opener: int) -> bool:
        """Tells whether parentheses hold a number, or an inner query for a count, sum, mean or extreme."""
        inner = opener + 1
        is_query = self._word(inner) == "SELECT"
        inner += is_query
        item = self._item(inner)
        has_numbers = item is not None and item.column is not None and bool(item.column.numbers)
        if has_numbers or self._kind(inner) == "number" or self._word(inner) in {"-", "+"}:
            return True
        return self._word(inner + 1) == "(" and self._word(inner) in (COUNTING | _EXTREMES if is_query else COUNTING)

    def _is_star(self, sign: Item) -> bool:
        return sign.text == "*" and self._word(self._items.index(sign) - 1) in {"SELECT", ",", "(", "."}

    def _after(self, index: int) -> Item | None:
        while (item := self._item(index)) is not None and (item.text in _COMPARING or item.word == "BETWEEN"):
            index += 1
        return item

    def _before(self, index: int) -> Item | None:
        while (item := self._item(index)) is not None and item.text in _COMPARING:
            index -= 1
        return item

    def _casts_to_number(self, opener: int) -> bool:
        closer = self._closer.get(opener, len(self._items))
        names = [item.word for item in self._items[opener:closer]]
        target = names[names.index("AS") + 1 : names.index("AS") + 2] if "AS" in names else []
        return bool(target) and target[0].startswith(NUMBER_TYPES)

    def _has_number(self, opener: int) -> bool:
        inside = range(opener + 1, self._closer.get(opener, len(self._items)))
        return any(self._items[place].kind == "number" and self._opener[place] == opener for place in inside)

    def _item(self, index: int) -> Item | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def _word(self, index: int) -> str:
        item = self._item(index)
        return item.word if item else ""

    def _kind(self, index: int) -> str:
        item = self._item(index)
        return item.kind if item else ""


def _shown(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
