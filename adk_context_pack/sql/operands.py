"""Finds what a statement calculates with: the operands of signs, and the arguments of numeric functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from adk_context_pack.sql.sql_names import Token

ADDING = frozenset({"SUM", "AVG", "TOTAL"})
"""Functions that add up."""

NUMERIC = ADDING | {
    *("ABS", "ACOS", "ASIN", "ATAN", "CEIL", "CEILING", "COS", "DEGREES", "EXP", "FLOOR", "LN", "LOG", "LOG10", "LOG2"),
    *("MOD", "POW", "POWER", "RADIANS", "ROUND", "SIGN", "SIN", "SQRT", "TAN", "TRUNC"),
}
"""Functions that take numbers and give a number."""

COUNTING = NUMERIC | {
    *("COUNT", "LENGTH", "INSTR", "JULIANDAY", "UNIXEPOCH", "ROW_NUMBER", "RANK", "DENSE_RANK", "NTILE", "CUME_DIST"),
    *("PERCENT_RANK", "RANDOM", "UNICODE", "JSON_ARRAY_LENGTH", "PI", "ATAN2"),
}
"""Functions that give a number."""

_WORDS = """
    ALL AND AS ASC BETWEEN BY CASE COLLATE CROSS DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FILTER FROM GLOB GROUP
    HAVING IN INNER INTERSECT IS ISNULL JOIN LEFT LIKE LIMIT NATURAL NOT NOTNULL NULL NULLS OFFSET ON OR ORDER OUTER
    OVER PARTITION RIGHT ROWS SELECT THEN UNION USING VALUES WHEN WHERE WINDOW WITH
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words of SQLite's that are never the name of a column."""

NUMBER_TYPES = ("INT", "REAL", "NUM", "DEC", "FLOA", "DOUB", "BIGI")
"""How the names of types begin to which a CAST gives a number."""

# What follows a percent sign in the format of `printf`.
_CONVERSION = re.compile(r"%[-+ 0-9.,#!*]*l*([A-Za-z%])")
_ARITHMETIC = frozenset("+-*/%&~")
_EXTREMES = frozenset({"MAX", "MIN"})
# What makes a star mean "all columns".
_BEFORE_STAR = frozenset({"SELECT", "DISTINCT", ",", "(", "."})

Span = tuple[int, int, bool]


class Operands:
    """Finds the operands of a statement that may be texts.

    Args:
        tokens: the statement.
        numeric: the names of columns of numbers, in lower case.
    """

    def __init__(self, tokens: Sequence[Token], numeric: Collection[str]) -> None:
        self._places = [place for place, token in enumerate(tokens) if token.kind not in {"space", "comment"}]
        self._tokens = [tokens[place] for place in self._places]
        self._words = [token.word for token in self._tokens]
        self._opener: dict[int, int] = {}
        self._closer: dict[int, int] = {}
        self._pair()
        self._numeric = frozenset(numeric) - set(self._aliases())
        self._computed = set(self._results())

    def found(self) -> set[Span]:
        """Returns the first and last token of each operand, and whether it has to be a number."""
        spans: dict[tuple[int, int], bool] = {}
        for first, last, strict in self._all():
            if not self._is_number(first, last):
                span = (self._places[first], self._places[last])
                spans[span] = spans.get(span, False) or strict
        return {(first, last, strict) for (first, last), strict in spans.items()}

    def _pair(self) -> None:
        opened: list[int] = []
        cases: list[int] = []
        for index, word in enumerate(self._words):
            if word in {"(", "CASE"}:
                (opened if word == "(" else cases).append(index)
            elif word in {")", "END"} and (stack := opened if word == ")" else cases):
                start = stack.pop()
                self._opener[index], self._closer[start] = start, index

    def _aliases(self) -> Iterator[str]:
        """Yields the names that the statement gives by itself: after AS, behind an expression, and in WITH."""
        for index, token in enumerate(self._tokens):
            if token.name is None or token.word in KEYWORDS:
                continue
            before = self._token(index - 1)
            ends = before is not None and (before.name is not None or before.kind in {"number", "text"})
            if before is not None and (before.word in {"AS", ")", "END"} or (ends and before.word not in KEYWORDS)):
                yield token.name.lower()
            # The list of names in `WITH t(a, b) AS (`.
            if self._word(index + 1) == "(" and self._word(self._closer.get(index + 1, -2) + 1) == "AS":
                inside = self._tokens[index + 2 : self._closer[index + 1]]
                yield from (inner.name.lower() for inner in inside if inner.name is not None)

    def _all(self) -> Iterator[Span]:
        for index, word in enumerate(self._words):
            if word in _ARITHMETIC and not self._is_other(index):
                yield from self._beside(index, index, strict=True)
            elif word in {"<", ">", "=", "!", "BETWEEN"} and not self._is_arrow(index):
                yield from self._compared(index)
            elif self._word(index + 1) == "(" and self._tokens[index].kind == "name":
                yield from self._arguments(word, index + 1)

    def _beside(self, first: int, last: int, *, strict: bool) -> Iterator[Span]:
        start = self._start(first - 1)
        if start is not None and self._end(start) == first - 1:
            yield start, first - 1, strict
        if (end := self._end(last + 1)) is not None:
            yield last + 1, end, strict

    def _compared(self, index: int) -> Iterator[Span]:
        """Yields what is compared with a number and has no type of its own, as the result of a function."""
        first = last = index
        while self._word(last + 1) in {"<", ">", "="}:
            last += 1
        if self._word(first - 1) in {"<", ">", "=", "!"}:
            return
        strict = self._words[first] in {"<", ">", "BETWEEN"}
        for start, end, _ in self._beside(first, last, strict=strict):
            other = last + 1 if end < index else first - 1
            other += self._word(other) == "-"
            is_plain = self._tokens[end].name is not None and self._tokens[end].name not in self._computed
            if self._kind(other) == "number" and not is_plain:
                yield start, end, strict

    def _results(self) -> Iterator[str]:
        """Yields the names that the statement gives to the results of expressions."""
        for index, token in enumerate(self._tokens):
            before = self._word(index - 2) if self._word(index - 1) == "AS" else self._word(index - 1)
            if token.name is not None and before in {")", "END"}:
                yield token.name

    def _cast(self, opener: int) -> Iterator[Span]:
        """Yields what a CAST makes a number of, whatever it is."""
        inside = range(opener + 1, self._closer.get(opener, opener))
        last = max((index for index in inside if self._words[index] == "AS"), default=0)
        if last > opener + 1 and self._word(last + 1).startswith(NUMBER_TYPES):
            yield opener + 1, last - 1, True

    def _printed(self, opener: int) -> Iterator[Span]:
        """Yields what `printf` writes as a number."""
        wanted = [sign for sign in _CONVERSION.findall(self._word(opener + 1)) if sign != "%"]
        depth, place = 0, -1
        for index in range(opener, self._closer.get(opener, opener)):
            depth += (self._words[index] in {"(", "CASE"}) - (self._words[index] in {")", "END"})
            if depth == 1 and self._words[index] in {"(", ","}:
                end = self._end(index + 1)
                is_number = 0 <= place < len(wanted) and wanted[place] in "dieEfgGu"
                if is_number and end is not None and self._word(end + 1) in {",", ")"}:
                    yield index + 1, end, True
                place += 1

    def _arguments(self, function: str, opener: int) -> Iterator[Span]:
        if function in {"PRINTF", "FORMAT", "CAST"}:
            yield from self._cast(opener) if function == "CAST" else self._printed(opener)
            return
        first = opener + 1 + (self._word(opener + 1) == "DISTINCT")
        end = self._end(first)
        if end is None:
            return
        behind = self._word(end + 1)
        is_compared = function in _EXTREMES and behind == "," and self._kind(end + 2) == "number"
        if is_compared or (function in NUMERIC and behind in {",", ")"}):
            yield first, end, True

    def _is_number(self, first: int, last: int) -> bool:
        token = self._tokens[first]
        if first == last and (token.kind in {"number", "text"} or token.word in {"NULL", "TRUE", "FALSE"}):
            return True
        if self._word(first + 1) == "(":
            return token.word in COUNTING
        names = [(token.name or "").lower() for token in self._tokens[first : last + 1] if token.text != "."]
        # A table's alias may stand before the name, and the name may have dots itself.
        return any(".".join(names[start:]) in self._numeric for start in (0, 1))

    def _start(self, index: int) -> int | None:
        """Returns where the operand begins that ends at `index`; None where there is none."""
        token = self._token(index)
        if token is None or (token.name is None and token.kind not in {"number", "text"} and token.text != ")"):
            return None
        if token.text == ")" or token.word == "END":
            opener = self._opener.get(index)
            if opener is None or token.word == "END":
                return opener
            if self._word(opener - 1) in {"OVER", "FILTER"}:
                return self._start(opener - 2)
            before = self._token(opener - 1)
            named = before is not None and before.kind == "name" and before.word not in KEYWORDS
            return None if self._word(opener - 1) in {"IN", "EXISTS", "AS"} else opener - named
        if token.word in KEYWORDS - {"NULL"}:
            return None
        if self._word(index - 1) in {"OVER", "COLLATE"}:
            return self._start(index - 2)
        while self._word(index - 1) == "." and self._token(index - 2) is not None:
            index -= 2
        arrow = index - 1
        while self._word(arrow) == ">":
            arrow -= 1
        return self._start(arrow - 1) if arrow < index - 1 and self._word(arrow) == "-" else index

    def _end(self, index: int) -> int | None:
        """Returns where the operand ends that begins at `index`; None where there is none."""
        end = self._end_of_one(index)
        # `data -> '$.a' ->> 'b'`
        while end is not None and self._word(end + 1) == "-" and self._word(end + 2) == ">":
            end = self._end_of_one(end + 3 + (self._word(end + 3) == ">"))
        return end + 2 if end is not None and self._word(end + 1) == "COLLATE" else end

    def _end_of_one(self, index: int) -> int | None:
        token = self._token(index)
        if token is None:
            return None
        if token.word in {"(", "CASE"}:
            return self._closer.get(index)
        if token.kind in {"number", "text"}:
            return index
        if token.name is None or token.word in KEYWORDS - {"NULL"}:
            return None
        if self._word(index + 1) == "(" and token.kind == "name":
            return self._end_of_call(self._closer.get(index + 1))
        while self._word(index + 1) == "." and self._token(index + 2) is not None:
            index += 2
        return index

    def _end_of_call(self, end: int | None) -> int | None:
        while end is not None and self._word(end + 1) in {"FILTER", "OVER"}:
            end = self._closer.get(end + 2) if self._word(end + 2) == "(" else end + 2
        return end

    def _is_other(self, index: int) -> bool:
        """Tells whether a sign is a star for all columns, or half of the arrow of JSON."""
        return (self._words[index] == "*" and self._word(index - 1) in _BEFORE_STAR) or self._is_arrow(index)

    def _is_arrow(self, index: int) -> bool:
        word = self._words[index]
        near = {"-": 1, ">": -1}.get(word, 0)
        while near == -1 and self._word(index + near) == ">":
            index -= 1
        return bool(near) and self._word(index + near) == {"-": ">", ">": "-"}[word]

    def _token(self, index: int) -> Token | None:
        return self._tokens[index] if 0 <= index < len(self._tokens) else None

    def _word(self, index: int) -> str:
        return token.word if (token := self._token(index)) else ""

    def _kind(self, index: int) -> str:
        return token.kind if (token := self._token(index)) else ""
