"""Rewrites the few places of a statement where values of the right type are not enough.

A text that is compared with a column takes the column's type, functions of texts read what was written, a text is
calculated with only if it is a number, and a sum of amounts in several currencies counts these. One walk over the
expressions does all of it. A name means what any part of the statement makes of it, so that an alias has the columns of
its expression wherever it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from adk_context_pack.errors import QueryError
from adk_context_pack.sql.exact_sum import DATED, LENIENT, MEANT, STRICT
from adk_context_pack.sql.sql_names import WORDS, Token, quote, tokens_of
from adk_context_pack.sql.typed_columns import TYPED, UNIT, TypedColumn, literal, shown
from adk_context_pack.tables.column_names import named
from adk_context_pack.tables.moments import is_date_text, is_month
from adk_context_pack.tables.number_notation import is_missing_text, read_number
from adk_context_pack.tables.numbers import FLOAT_DIGITS, INT64, number_of, short_text

_LEVELS = {operator: int(level) for level, words in WORDS.items() if level.isdecimal() for operator in words}
_DAY = TypedColumn(name="", kind="date")


@dataclass(slots=True)
class _Node:
    """An expression: its first and last tokens, and what its values are.

    Attributes:
        number: whether its values are numbers or NULL.
        stored: whether it is a column of a table, whose type SQLite knows.
        columns: the columns that its values come from.
        only: whether its values come from typed columns alone.
        leaf: the name of a column that it is, of which what was written can take the place.
        stripped: the name of the column of which its functions change the spelling alone.
        text: its text, if it is a text in quotes.
        parts: the expressions in it, if it is a row of several.
        level: how tightly the comparison binds that it is.
        whole: whether its values are integers.
    """

    first: int = 0
    last: int = 0
    number: bool = False
    stored: bool = False
    columns: Sequence[TypedColumn] = ()
    only: bool = False
    leaf: _Node | None = field(default=None, compare=False)
    stripped: _Node | None = None
    text: str | None = None
    parts: Sequence[_Node] = ()
    level: int = 0
    whole: bool = False

    @property
    def is_open(self) -> bool:
        """Tells whether its values are known only when the statement runs."""
        return self.text is None and bool(self.columns or not self.number)


class TypedStatement:
    """A statement, in which dotted names of columns are quoted, and what has to be written in other words.

    Attributes:
        added: the columns that are added up as they are.
        sorted: the columns of what is put in order or is less than something, and amounts that equal something.
        kept: the columns whose rows all have one text, as far as that is plain to see.
        remarks: what its author may not have meant.
        readers: the columns that texts are compared with that are known when it runs.
        said: its tokens, with a blank between them.
    """

    def __init__(self, sql: str, tables: Mapping[str, Sequence[TypedColumn]], *, can_run: bool = False) -> None:
        self._can_run, self._all = can_run, tokens_of(sql)
        self._places = [place for place, token in enumerate(self._all) if token.kind not in {"space", "comment"}]
        self._tokens = [self._all[place] for place in self._places]
        self.said = " ".join(token.text for token in self._tokens)
        self._listed = set(re.findall(r"'([^']+)' , \.?[0-9]", self.said))
        self._base: dict[str, list[TypedColumn]] = {}
        different = list({id(columns): columns for columns in tables.values()}.values())
        for column in chain(*different):
            self._base.setdefault(column.name.lower(), []).append(column)
        # From each SELECT to the names in its FROM, which stand behind those of its columns.
        self._tables, self._froms = dict(tables), dict[int, dict[str, Sequence[TypedColumn]]]()
        self._known: dict[str, _Node] = {}
        self._equal = set[frozenset[str]]()
        self._within: Sequence[TypedColumn] = ()
        for number in range(4):
            self._at, self._problem = 0, ""
            self.added, self.sorted, self.readers = list[TypedColumn](), list[TypedColumn](), list[TypedColumn]()
            self.kept, self.remarks = set[str](), dict[str, None]()
            self._parts = [token.text for token in self._tokens]
            self._named, self._aliases = dict[str, _Node](), dict[int, str]()
            self._sums: list[tuple[int, int, list[str], str]] = []
            self._clause, self._scopes = "", list[dict[str, Sequence[TypedColumn]]]()
            while self._at < len(self._tokens):
                self._query()
                self._at += 1
            former, self._known = self._known, self._named
            if former == self._named and (number or not different[1:]):
                break
        words = [token.word for token in self._tokens]
        if words.count("SELECT") > 1 or not {"OR", "NOT", "CASE", "UNION", "FILTER"}.isdisjoint(words):
            self.kept.clear()

    def written(self, can_run: Callable[[str], bool]) -> str:
        """Returns the statement as it is to be run, if SQLite takes it, that is, knows its names where they are.

        Raises:
            QueryError: SQLite would answer it with nonsense. The message says what to write.
        """
        woven = self._woven([candidates[0] for _, _, candidates, _ in self._sums])
        if not self._problem and can_run(woven):
            return woven
        if not self._can_run:
            # SQLite says what is wrong with it as it was written.
            return "".join(token.text for token in self._all)
        if self._problem:
            raise QueryError(self._problem)
        choices = [""] * len(self._sums)
        for place, (_, _, candidates, refusal) in enumerate(self._sums):
            for candidate in candidates:
                choices[place] = candidate
                if can_run(self._woven(choices)):
                    break
            else:
                raise QueryError(refusal)
        return self._woven(choices)

    def _woven(self, choices: Sequence[str]) -> str:
        parts = [part + self._aliases.get(place, "") for place, part in enumerate(self._parts)]
        for (first, last, _, refusal), choice in zip(self._sums, choices, strict=True):
            name = self._tokens[first].text
            if choice:
                parts[first] = f"{parts[first].removesuffix(name)}{name}_within"
                parts[last] = f", {choice}, {literal(refusal)}{parts[last]}"
        there = dict(zip(self._places, parts, strict=True))
        return "".join(there.get(place, token.text) for place, token in enumerate(self._all))

    @property
    def _last(self) -> int:
        """The token before the next one."""
        return min(self._at, len(self._tokens)) - 1

    def _query(self) -> list[_Node]:
        """Walks over clauses or expressions up to a closing parenthesis, and returns these or what is selected."""
        items: list[tuple[str, _Node]] = []
        outer, clause, column, depth = self._clause, "", 0, len(self._scopes)
        while (word := self._word()) not in {"", ")"}:
            is_name = self._word(1) == "." or (clause, word) == ("FROM", "ROWS")
            if word in WORDS["clauses"] and not is_name:
                clause, column = self._clause, _ = word, 0
                self._scopes += [self._froms.setdefault(self._at, {})] * (word == "SELECT")
                self._at += 1
            elif word == "," or (word in WORDS["keywords"] - {"NOT", "CASE", "NULL"} and not is_name):
                column += word == ","
                self._at += 1
            elif clause in {"", "VALUES"}:
                row, is_row = self._expression(0), clause == "VALUES"
                items.append(("", replace(row, first=row.first + is_row, last=row.last - is_row)))
            elif clause == "SELECT":
                self._item(self._expression(0), column, items)
            elif clause in {"WHERE", "HAVING"}:
                self._decide(self._expression(0))
            else:
                self._arrange(self._expression(0), clause)
        self._clause = outer
        self._within = list(chain(*(columns for scope in self._scopes[depth:] for columns in scope.values())))
        del self._scopes[depth:]
        return [node for _, node in items]

    def _arrange(self, node: _Node, clause: str) -> None:
        names = [(token.name or "").lower() for token in self._tokens[node.first : node.last + 1 : 2]]
        if clause == "WITH":
            while self._word() in {"AS", "NOT", "MATERIALIZED"}:
                self._at += 1
            named = [token.name for token in self._tokens[node.first + 1 : node.last] if token.name]
            for name, item in zip(named, self._inside() if self._word() == "(" else (), strict=False):
                self._define(name, item)
            self._tables[names[0]] = self._within
        elif clause == "FROM":
            columns = self._within if self._tokens[node.first].text == "(" else self._tables.get(".".join(names))
            if columns and self._scopes:
                self._scopes[-1][(self._alias() or names[-1]).lower()] = columns
        elif node.text is not None and clause in {"ORDER", "GROUP"}:
            self._refuse(f"{node.text!r} is a text. Write {shown(node.text)} for the column.")
        elif clause == "ORDER":
            self._sort(node)

    def _item(self, node: _Node, column: int, items: list[tuple[str, _Node]]) -> None:
        own = self._tokens[node.last].name if node.leaf is node else ""
        alias = self._alias()
        written = [token.text for token in self._tokens[node.first : node.last + 1]]
        is_sum = any(node.first <= first <= node.last for first, *_ in self._sums)
        if not alias and (is_sum or self._parts[node.first : node.last + 1] != written):
            self._aliases[node.last] = f" AS {quote(self._text(node))}"
        self._define(alias, node)
        # The parts of a UNION give the columns of the first of them.
        if column < len(items):
            self._define(items[column][0], node)
            items[column] = (items[column][0], _merged(items[column][1], node))
        else:
            items.append((alias or own or "", node))

    def _alias(self) -> str:
        named = self._word() == "AS"
        token = self._token(int(named))
        if token.text[:1] == "[" and token.text[1:-1].strip("'\"").isdecimal():
            self._refuse(f"Write json_extract(x, '${token.text}') for an item of a list.")
        if token.name is None or (token.word in WORDS["keywords"] and not named):
            return ""
        self._at += 1 + named
        return token.name

    def _define(self, name: str, node: _Node) -> None:
        if name:
            known = self._named.get(name.lower())
            self._named[name.lower()] = _merged(known, node) if known else node

    def _expression(self, floor: int) -> _Node:
        node = self._unary()
        while _LEVELS.get(self._word(), -1) >= floor:
            node = self._binary(node)
        return node

    def _unary(self) -> _Node:
        first = self._at
        if self._word() == "NOT":
            self._at += 1
            return _Node(first, self._decide(self._expression(_LEVELS["="])).last, number=True)
        while self._word() in {"-", "+", "~"}:
            self._at += 1
        node = self._primary()
        if any(token.text in "-~" for token in self._tokens[first : node.first]):
            self._calculate(node)
            return _Node(first, node.last, number=True, columns=node.columns, only=node.only)
        return node

    def _operator(self) -> str:
        """Returns the next operator, without the NOT that may belong to it."""
        first, second = self._word(), self._word(1)
        self._at += 1 + (first == "NOT" or (first, second) == ("IS", "NOT"))
        return first if first != "NOT" else second if second in _LEVELS else "NOTNULL"

    def _binary(self, left: _Node) -> _Node:
        is_negated, level = self._word() == "NOT", _LEVELS[self._word()]
        operator = self._operator()
        if operator in {"ISNULL", "NOTNULL"}:
            self._miss(left)
            return _Node(left.first, self._last, number=True)
        if operator == "COLLATE":
            self._at += 1
            return replace(left, last=self._last, leaf=None)
        if operator == "IN" and self._word() == "(":
            items = [item for item in self._inside() if is_negated or self._text(item).upper() != "NULL"]
            rows = [_Node(parts=items)] if left.parts and not any(item.parts for item in items) else items
            for row in rows:
                self._compare(left, row, "<>" if is_negated else "=")
            return _Node(left.first, self._last, number=True)
        right = self._expression(level + 1)
        if operator == "BETWEEN":
            self._compare(left, right, operator)
            self._at += self._word() == "AND"
            right = self._expression(_LEVELS["<"])
        is_comparison = operator in WORDS["compare"]
        node = _Node(left.first, right.last, level != _LEVELS["||"], level=level * is_comparison, whole=is_comparison)
        if level <= _LEVELS["AND"]:
            self._decide(left)
            self._decide(right)
        elif operator in {"LIKE", "GLOB", "REGEXP"}:
            self._match(left, right, operator, is_negated=is_negated)
        elif level in {_LEVELS["="], _LEVELS["<"]}:
            self.kept |= {c.name for c in left.columns if operator in {"=", "=="} and right.text is not None}
            self._compare(left, right, operator)
        elif _LEVELS["&"] <= level < _LEVELS["||"]:
            self._arithmetic(node, left, right, operator)
        return node

    def _match(self, left: _Node, right: _Node, operator: str, *, is_negated: bool) -> None:
        right = self._text_in(right)
        start = (right.text or "").rstrip("%")
        day = _DAY.meaning(start.strip("%")) if re.fullmatch("%*[0-9]{8}", start) else None
        if day and any(column.clock or column.kind == "date" for column in left.columns):
            right = replace(right, text=f"%{day}%")
            self._put(right, literal(right.text))
        value = left.stripped or left
        if all(column.kind == "flag" for column in value.columns) and self._meaning(value, start):
            # Of truth values 'y%' is as good as 'yes'.
            right = replace(right, text=start)
        text, is_ordered = right.text, any(column.order for column in left.columns)
        is_value = text and operator != "REGEXP" and {*"%_*?["}.isdisjoint(text)
        if is_value and (is_ordered or self._meaning(value, text or "")):
            # Without wildcards it is a value.
            self._put(_Node(left.last + 1, right.first - 1), "<>" if is_negated else "=")
            self._compare(left, right, "=")
            return
        self._read_written(left, text)
        # SQLite knows the case of ASCII letters alone.
        for node in (left, right) if operator == "LIKE" and not (right.text or "").isascii() else ():
            self._surround(node, "lower(", ")")

    def _arithmetic(self, node: _Node, left: _Node, right: _Node, operator: str) -> None:
        dates = [n for n in (left, right) if _are_dates(n) or is_date_text(n.text or "")]
        if operator == "-" and dates[1:]:
            for each in dates:
                self._date(each, ())
                self._surround(each, "julianday(", ")")
            self.remarks[f"{short_text(self._text(node))} is a number of days"] = None
            return
        for one, other in ((left, right), (right, left)):
            if one.text is not None and (meaning := self._meaning(other, one.text)):
                self._put(one, meaning)
            else:
                self._calculate(one)
        node.columns, node.only = _together((left, right)), left.only or right.only
        if operator == "/" and {c.currency for c in left.columns} & {c.currency for c in right.columns} - {""}:
            # Of two amounts of one row it is a share.
            node.columns, node.only = (), False
        node.whole = left.whole and right.whole
        is_step = self._text(right).isdecimal() and self._tokens[left.first].word != "SUM"
        if operator == "/" and node.whole and not is_step:
            self.remarks[f"{short_text(self._text(node))} drops the rest: write 1.0 * a / b for a ratio"] = None

    def _inside(self) -> list[_Node]:
        """Returns what parentheses hold that begin here: expressions, or what a query selects."""
        self._at += 1
        nodes = self._query()
        self._at += 1
        return nodes

    def _primary(self) -> _Node:
        first, token = self._at, self._token()
        if token.text in {"", ")"}:
            return _Node(last := max(self._last, 0), last, number=True)
        if token.text == "(":
            nodes = self._inside()
            node = nodes[0] if len(nodes) == 1 else _Node(parts=nodes)
            node = replace(node, first=first, last=self._last, level=0)
            if self._tokens[first - 1].word == "USING" and any(c.order and c.kind == "text" for c in _together(nodes)):
                # The filters of SQLite 3.38 to 3.40 take equal texts for as long.
                self._refuse(f"Write ON a.x = b.x, since USING {self._text(node)} misses what is written in two ways.")
            return node if self._clause == "FROM" or node.stored else self._in_order(node, [node])
        if token.word == "CASE":
            return self._case()
        is_today = token.word in {"CURRENT_DATE", "CURRENT_TIMESTAMP"}
        is_name = token.name and not is_today and (token.word not in WORDS["keywords"] or self._word(1) == ".")
        if is_name and self._word(1) == "(" and token.kind == "name":
            return self._call()
        if is_name and token.word not in WORDS["truths"]:
            return self._name()
        self._at += 1
        if token.kind == "text":
            return _Node(first, first, text=token.text[1:-1].replace("''", "'"))
        return _Node(first, first, number=not is_today, columns=[_DAY] * is_today, whole=token.text.isdecimal())

    def _name(self) -> _Node:
        first = self._at
        self._at += 1
        while self._word() == ".":
            self._at += 2
        last = self._last
        name = (self._tokens[last].name or "").lower()
        # The columns of the table in front of it, or of the nearest FROM.
        table = (self._tokens[last - 2].name or "").lower() if last > first else ""
        scopes = ([scope.get(table, ())] if table else scope.values() for scope in reversed(self._scopes))
        found = ([column for column in chain(*tables) if column.name.lower() == name] for tables in scopes)
        base, node = next(filter(None, found), self._base.get(name, [])), self._known.get(name)
        if not base:
            return replace(node or _Node(), first=first, last=last, leaf=None, stripped=None, text=None)
        own = _Node(first, last, stored=True, columns=base, whole=all(column.whole for column in base))
        own.number = all(column.kind in {"number", "flag"} for column in base)
        own.only = all(column.kind in TYPED for column in base)
        own.leaf = own
        return _merged(own, node) if node else own

    def _case(self) -> _Node:
        first, tested, after = self._at, None, "CASE"
        self._at += 1
        results: list[_Node] = []
        while (word := self._word()) not in {"", ")", "END"}:
            if word in {"WHEN", "THEN", "ELSE"}:
                after = word
                self._at += 1
                continue
            node = self._expression(0)
            if after == "CASE":
                tested = node
            elif after != "WHEN":
                results.append(node)
            elif tested:
                self._compare(tested, node, "=")
            else:
                self._decide(node, known="")
        self._at += 1
        return self._chosen(_Node(first, self._last), results)

    def _call(self) -> _Node:
        first, function = self._at, self._word()
        self._at += 1
        function, args = self._cast() if function == "CAST" else (function, self._inside())
        close = self._last
        while self._word() in {"FILTER", "OVER"}:
            self._at += 1
            self._primary()
        is_whole = function == "COUNT" or (function == "SUM" and all(arg.whole for arg in args))
        node, is_extreme = _Node(first, self._last, whole=is_whole), function in {"MAX", "MIN"}
        are_numbers = len(args) > 1 and any(arg.number for arg in args) and not any(map(_are_dates, args))
        is_numeric = function in WORDS["numeric"] or (is_extreme and are_numbers)
        if function in WORDS["adding"]:
            self._add(first, close, args)
            self.added += args[0].columns if function in {"SUM", "TOTAL"} and args and args[0].stored else ()
        for arg in args if is_numeric else ():
            self._calculate(arg)
        self._sort(*args[: None if is_extreme else function in {"LAG", "LEAD"}], is_equality=not is_extreme)
        self._miss(*args if function in WORDS["missing"] else ())
        if function == "TOTAL":
            # Aggregates written in Python return NULL without rows.
            self._surround(node, "ifnull(", ", 0.0)")
        if function == "COUNT" and args and args[0].level:
            self.remarks["count(condition) counts what does not meet it as well: write sum(condition)"] = None
        if function in WORDS["same"]:
            return self._chosen(node, args)
        return self._result(node, function, args)

    def _result(self, node: _Node, function: str, args: Sequence[_Node]) -> _Node:
        if function in WORDS["forms"] and args[1:] and "%" not in (args[0].text or "%" * (not args[0].columns)):
            self._refuse("Write strftime('%Y-%m', day) or printf('%.2f', x): the form comes first.")
        is_calculated = function in WORDS["numeric"] or function == "CAST"
        node.number = is_calculated or function in WORDS["counting"]
        if is_calculated:
            node.columns, node.only = _together(args), bool(args) and args[0].only
        elif function in WORDS["of_texts"] and args:
            self._spell(node, function, args)
        elif function in WORDS["dates"] and args[function == "STRFTIME" :]:
            form, args = args[0].text, args[function == "STRFTIME" :]
            self._date(args[0], args[1:])
            node.whole = form in {"%Y", "%m", "%d", "%H", "%M", "%S", "%j", "%W", "%w"}
            if function in {"DATE", "DATETIME"} or (form or "").startswith("%Y-%m-%d"):
                about: dict[str, Any] = {"kind": "date", "has_time": function == "DATETIME", "clock": 0}
                node.columns = [replace(each, **about) for each in args[0].columns or [_DAY]]
        elif function in WORDS["forms"] and args:
            wanted = re.findall(r"%[-+ 0-9.,#!*]*l*([A-Za-z%])", args[0].text or "")
            for arg, sign in zip(args[1:], filter("%".__ne__, wanted), strict=False):
                if sign in "dieEfgGu":
                    self._calculate(arg)
        return node

    def _spell(self, node: _Node, function: str, args: Sequence[_Node]) -> None:
        """Walks over a function that changes or measures a text."""
        read, cut = args[0], ",".join(map(self._text, args[1:]))
        value = read.stripped or read.leaf
        if strips := function in WORDS["strips"]:
            node.text = None if cut else read.text
            node.leaf = read.leaf if function == "TRIM" and not cut else None
            self._in_order(node, [read])
        # The sign in front of an amount is in no number.
        if value and value.only and (strips or (cut == "2" and any(any(c.factors) for c in value.columns))):
            node.stripped = value
        is_cut, is_of_iso = function.startswith("SUBSTR"), cut in WORDS["of_iso"]
        # The first ten digits of a number are those of seconds.
        is_day = cut[:2] != "1," or cut in {"1,4", "1,7"} or is_date_text(self._token(1).text.strip("'"))
        pattern = ("-" if is_day else None) if is_of_iso else ""
        if not is_cut:
            pattern = args[1].text if function in {"INSTR", "REPLACE", "SPLIT_PART"} and args[1:] else None
        elif not is_of_iso and re.fullmatch("-?[0-9]+(?:,[0-9]+)?", cut):
            for day in (each for each in read.columns if each.kind == "date" and not (each.written or each.is_period)):
                self._refuse(f"{shown(day.name)} holds ISO dates. Write strftime('%m', x) for a part of one.")
        self._read_written(read, pattern)

    def _cast(self) -> tuple[str, list[_Node]]:
        """Returns the function that a cast amounts to, and what is made a number by it."""
        self._at += 1
        node = self._expression(0)
        kind = self._word(1)
        while self._word() not in {"", ")"}:
            self._primary()
        self._at += 1
        if any(part in kind for part in ("CHAR", "TEXT", "CLOB", "BLOB")):
            return "TRIM", [node]
        self._calculate(node := replace(node, stored=False))
        return "CAST", [node]

    def _chosen(self, node: _Node, values: Sequence[_Node]) -> _Node:
        """Returns an expression whose values are those of some others."""
        are_mixed = any(map(_are_dates, values)) or len({*map(self._moment, values)} - {0}) > 1
        for value in (value for value in values if are_mixed and self._moment(value) > 0):
            self._date(value, ())
        node.columns = _together(values)
        for value in values:
            if value.text is not None and (meaning := self._meaning(node, value.text)):
                self._put(value, meaning)
        node.number, node.whole = (all(getattr(value, what) for value in values) for what in ("number", "whole"))
        node.only = bool(node.columns) and all(value.only for value in values if value.columns)
        return self._in_order(node, values)

    def _in_order(self, node: _Node, values: Iterable[_Node]) -> _Node:
        """Gives an expression the type and the order that texts among some values have."""
        orders = {column.order for column in _together(values)} - {""}
        if len(orders) == 1:
            self._surround(node, "CAST(", f" COLLATE {orders.pop()} AS TEXT)")
        return node

    def _decide(self, node: _Node, known: str = "01") -> _Node:
        """Refuses a text or a number where a truth value is needed, other than those `known`."""
        is_number = self._text(node).strip("()- ").replace(".", "", 1).isdecimal() and self._text(node) not in {*known}
        if node.text is not None or is_number:
            self._refuse(f"{self._text(node)} is not a condition. Write x = {self._text(node)}.")
        elif node.stored and all(column.kind == "text" for column in node.columns):
            name = shown(node.columns[0].name)
            self._refuse(f"{name} holds texts. Write {name} = 'the text', or {name} <> '' for all that have one.")
        return node

    def _calculate(self, node: _Node, check: str = STRICT) -> None:
        """Has an expression checked that may be a text where a number is needed."""
        if node.number and not node.text:
            return
        if node.stripped and node.stripped.number:
            self._put(node, self._text(node.stripped))
            return
        if _are_dates(node) and all(column.written.startswith("CAST") for column in node.columns):
            # A statement that calculates with days such as 20260131 means numbers, and gets a number.
            self._surround(node, "CAST(replace(", ", '-', '') AS INTEGER)")
            node.columns, node.only = (), False
            return
        if node.stored and all(column.kind == "text" and not column.has_time for column in node.columns):
            name = shown(node.columns[0].name)
            self._refuse(f"{name} holds texts. Compare it with a text in quotes, or write CAST({name} AS REAL).")
        self._check(node, check)

    def _check(self, node: _Node, check: str) -> None:
        label = literal(short_text(" ".join(self._text(node).replace("`", '"').split())))
        # Once, however many values a list has.
        if not self._parts[node.first].startswith(f"{check}("):
            self._surround(node, f"{check}(", f", {label})")

    def _compare(self, left: _Node, right: _Node, operator: str) -> None:
        is_equality = _LEVELS[operator] == _LEVELS["="] and operator != "BETWEEN"
        self._equal |= {frozenset((a.name, b.name)) for a in left.columns for b in right.columns if operator == "="}
        right = self._text_in(right)
        left, right = (self._value(node, other) for node, other in ((left, right), (right, left)))
        self._sort(left, right, is_equality=is_equality)
        moments = [self._moment(left), self._moment(right)]
        for each in (left, right) if operator != "BETWEEN" and 0 not in moments and moments[1:] != moments[:1] else ():
            self._date(each, ())
        if operator in WORDS["compare"] and (left.level == _LEVELS[operator] or self._text(right).upper() == "NULL"):
            self._refuse("Write a < b AND b < c for two comparisons, OR for ||, and IS NULL for = NULL.")
        if any(each.number and is_date_text(self._text(each)) for each in (left, right)):
            self._refuse("Dates go in single quotes: '2026-01-31'.")
        self._miss(*(left,) if operator == "IS" and self._text(right).upper() == "NULL" else ())
        for one, other in zip(left.parts, right.parts, strict=False):
            self._compare(one, other, operator)
        pairs = ((left, right), (right, left))
        for node, other in pairs:
            # SQLite loses the order on the way out of inner queries, and its indexes take equal texts for as long.
            if node.is_open and (other.is_open or not node.stored):
                self._in_order(node, (left, right))
        if any(self._compare_dates(node, other, is_equality=is_equality) for node, other in pairs):
            return
        for node, other in pairs:
            self._compare_values(node, other, operator, is_equality=is_equality)

    def _text_in(self, node: _Node) -> _Node:
        """Returns an unknown name in double quotes as the text that other databases take it for."""
        name = self._tokens[node.first].name or ""
        is_known = self._can_run or node.columns or name.lower() in self._known
        if is_known or self._tokens[node.first].kind != "quoted" or node.first < node.last:
            return node
        self._put(node, literal(name))
        self.remarks[f"{shown(name)} is the name of no column: it was taken for the text {literal(name)}"] = None
        return replace(node, text=name)

    def _value(self, node: _Node, other: _Node) -> _Node:
        """Returns what is compared with a value: not how a function spells it."""
        is_value = other.text is not None or other.stripped or any(column.kind != "text" for column in other.columns)
        if not (node.stripped and is_value):
            return node
        self._put(node, self._text(node.stripped))
        return replace(node.stripped, first=node.first, last=node.last, leaf=None)

    def _compare_values(self, node: _Node, other: _Node, operator: str, *, is_equality: bool) -> None:
        """Makes one side of a comparison what it means beside the other."""
        text = self._text(other)
        # A number may be meant as a date, or SQLite may round it.
        digits = text.removeprefix("-")
        if digits.replace(".", "", 1).isdecimal():
            is_date = digits.isdecimal() and any(column.kind == "date" for column in node.columns)
            is_rounded = int(digits[:21]) not in INT64 if digits.isdecimal() else len(digits) > FLOAT_DIGITS + 1
            other = replace(other, text=text) if is_date or is_rounded else other
        # The code '0003' is also written as 3.
        is_mixed = any(column.kind == "any" for column in node.columns)
        is_exact = any(column.order for column in other.columns)
        # A name may equal a number, and times never do.
        is_loose = is_equality and not any(column.has_time for column in node.columns)
        is_checked = is_mixed or not (is_exact or (node.stored and is_loose))
        if other.text is not None:
            self._compare_text(node, other, operator)
            if not (is_equality or self._meaning(node, other.text)) and getattr(read_number(other.text), "unit", None):
                self._calculate(node)
        elif is_checked and other.number and not (node.number or node.text or operator == "IS"):
            self._calculate(node, LENIENT if is_loose or is_mixed else STRICT)
        elif is_equality and text.upper() in {"1", "0", *WORDS["truths"]}:
            self._decide(node)
        elif node.only and other.is_open and not (other.columns or other.parts):
            self._surround(other, f"{MEANT}(", f", {len(self.readers)})")
            self.readers += node.columns[:1]

    def _compare_dates(self, node: _Node, other: _Node, *, is_equality: bool) -> bool:
        """Returns whether a column is compared with a date, which a number or a text has to become first."""
        is_date = _are_dates(other)
        text = "" if is_equality else other.text or ""
        is_full = len(text) >= len("2026-01-31") or (is_date and not all(column.is_period for column in other.columns))
        if not node.stored or not (is_date or is_date_text(text)):
            return False
        one_has_time, two_has_time = ({column.has_time for column in each.columns} for each in (node, other))
        has_times = is_date and not node.number and one_has_time | two_has_time == {True, False}
        if (is_date and node.number and (other.stored or is_equality)) or (has_times and is_equality):
            one, two = self._text(node), self._text(other)
            self._refuse(f"{one} and {two} are not both dates. Compare date({one}) with date({two}).")
        elif is_date and not other.number and (clock := next((c.clock for c in node.columns if c.clock), 0)):
            # The other end of a BETWEEN may be a text, which becomes such a number as well.
            self._surround(other, "strftime('%s', ", f") * {clock}")
        elif all(column.kind == "text" or (column.is_period and is_full) for column in node.columns):
            self._check(node, DATED)
        elif has_times and two_has_time == {True}:
            self._put(node, f"datetime({self._text(node)})")
        else:
            return False
        return True

    def _compare_text(self, node: _Node, other: _Node, operator: str) -> None:
        text = other.text or ""
        if node.text is not None and node.text.lower() in self._base:
            self._refuse(f"{node.text!r} is a text. Write {shown(node.text)} for the column.")
        is_order = operator in {"<", "<=", ">", ">=", "BETWEEN"}
        codes = [column for column in node.columns if column.kind == "any"]
        is_code = any(is_order if column.digits else text[:1] != "0" for column in codes)
        if text.isdecimal() and (is_code or (node.whole and not node.number)):
            # The month '03' is also written as 3, and the code '0003'.
            self._calculate(node, LENIENT)
            self._put(other, str(int(text)))
            return
        meaning = self._meaning(node, text)
        if meaning is None and node.number and node.text is None and number_of(text) is not None:
            meaning = text
        if meaning and self._parts[other.first] not in {self._tokens[other.first].text, literal(text), meaning}:
            self._refuse(f"{short_text(text)!r} is compared with two kinds of columns. Compare it with one at a time.")
        elif meaning:
            self._put(other, meaning)
            is_moment = any(column.clock or column.has_time for column in node.columns)
            is_day = any(column.clock or column.kind == "date" for column in node.columns)
            is_rough = is_day and ":" not in text and (is_moment or is_month(text) or len(text) < len("2026-"))
            if is_rough and operator not in {">=", "<"}:
                self.remarks[f"{text!r} is its first moment here: date(x) and strftime('%Y-%m', x) are whole"] = None
            unit = read if (read := read_number(text)) and read.unit else None
            if unit and not (is_day or any(column.scaled or any(column.factors) for column in node.columns)):
                if not unit.is_currency:
                    self._refuse(f"{text!r} has a unit, and {self._text(node)} has none. Write the number alone.")
                self.remarks[f"{text!r} counts as {meaning} here, where no unit is written"] = None
        elif meaning is not None:
            self._compare_written(node, text, operator)

    def _compare_written(self, node: _Node, text: str, operator: str) -> None:
        """Compares with a text that is not a value of a column, but may be what was written."""
        column = next(column for column in node.columns if column.kind in TYPED)
        kind = {"number": "numbers", "flag": "1 and 0"}.get(column.kind, "ISO dates")
        said = f"{shown(column.name)} holds {kind}, not {short_text(text)!r}."
        is_equality = operator in {"=", "==", "IS"}
        # The amount alone does not tell `$5` from `€5`.
        is_apart = column.currency.endswith(UNIT)
        if node.leaf and column.written and (is_equality or (is_apart and operator in {"<>", "!="})):
            written = self._written(node.leaf)
            self._put(node.leaf, written if is_apart else f"coalesce({self._text(node.leaf)}, {written})")
        elif operator not in {"<>", "!="} and node.only and (text.strip() or not is_equality):
            form = "a date such as '2026-01-31'" if column.kind == "date" else "a number"
            self._refuse(f"{said} {'Write IS NULL' if is_missing_text(text) else f'Compare it with {form}'}.")
        if node.only and text.strip() and not is_missing_text(text):
            self.remarks[column.note or said] = None

    def _meaning(self, node: _Node, text: str) -> str | None:
        """Returns SQL for what a text means beside an expression, "" for nothing, or None if nothing is known of it."""
        typed = [column for column in node.columns if column.kind in TYPED]
        means = {"" if (value := column.meaning(text)) is None else literal(value) for column in typed}
        return None if not means else means.pop() if len(means) == 1 else ""

    def _read_written(self, node: _Node, pattern: str | None) -> None:
        """Puts what was written in the place of numbers and truth values, and of dates that have another notation."""
        node, year = node.leaf or node, (pattern or "").strip("%")
        is_of_day = "-" in year or (len(year) == len("2026") and year[:2] in {"19", "20"})
        clocks = [column for column in node.columns if column.clock]
        if is_of_day and clocks:
            self._date(node, ())
        elif clocks and (year.isalpha() or "/" in year):
            self._refuse(f"{shown(clocks[0].name)} holds numbers. Write strftime('%Y-%m', x) = '2026-01' for a month.")
        is_iso = pattern is None or _is_like_iso(pattern)
        typed = [c for c in node.columns if c.written and not (c.kind == "date" and is_iso)]
        if not typed:
            return
        if node.leaf:
            self._put(node.leaf, self._written(node.leaf))
            self.remarks[typed[0].note] = None
        elif node.only:
            name, column = self._text(node), typed[0]
            what = column.written.replace("{q}", "").replace("`", '"')
            self._refuse(f"{name} is a {column.kind} here. Select {what} for what was written, and use that.")

    def _written(self, leaf: _Node) -> str:
        qualifier = "".join(token.text for token in self._tokens[leaf.first : leaf.last])
        return next(column.written for column in leaf.columns if column.written).replace("{q}", qualifier)

    def _moment(self, node: _Node) -> int:
        """Returns how many of its numbers make a second, -1 for dates with a time, or 0 for anything else."""
        is_bare = not any(token.text in {*"+-*/%"} for token in self._tokens[node.first : node.last + 1])
        found = {column.clock or -(column.kind == "date" and column.has_time) for column in node.columns}
        return found.pop() if is_bare and len(found) == 1 else 0

    def _date(self, node: _Node, modifiers: Sequence[_Node]) -> None:
        text, is_plain = self._text(node), node.stored and node.number
        is_told = any((each.text or "").lower() in {"unixepoch", "auto", "julianday"} for each in modifiers)
        if (clock := self._moment(node)) > 0:
            self._surround(node, "datetime(" * (not is_told), f"/{clock}" + ", 'unixepoch')" * (not is_told))
            node.columns, node.number = [replace(c, kind="date", has_time=True, clock=0) for c in node.columns], False
            return
        if f"{short_text(text.strip('()'))} is a number of days" in self.remarks or (is_plain and not is_told):
            self._refuse(f"{text} is a number. Write 24 * x for hours of days x, and date(x, 'unixepoch') for seconds.")
        if node.columns and all(column.kind == "text" or column.is_period for column in node.columns):
            self._check(node, DATED)
        dates = [column for columns in self._base.values() for column in columns if column.kind == "date"]
        if node.text is not None and not _is_like_iso(node.text):
            means = sorted(literal(day) for day in {column.meaning(node.text) for column in dates} if day)
            if len({mean[: len("'2026-01-31")] for mean in means}) == 1:
                self._put(node, means[-1])
            elif means or (node.text.isalpha() and node.text.lower() != "now"):
                what = "may be two days" if means else "is not a date"
                self._refuse(f"{short_text(node.text)!r} {what}. Write it as '2026-01-31'.")

    def _add(self, first: int, close: int, args: Sequence[_Node]) -> None:
        column = next((column for column in _together(args) if column.currency), None)
        if column is None:
            return
        places = range(first, close)
        names = [(self._tokens[place].name or "").lower() for place in places]
        nodes = [self._known.get(name, _Node()) for name in names]
        meant = {*places, *(place for node in nodes for place in range(node.first, node.last + 1))}
        said = [self._tokens[place : place + 2] for place in meant]
        told = {each[0].text.strip("'") for each in said if each[-1].word == "THEN"}
        is_scaled = any(self._tokens[place].text in {"*", "/"} for place in meant)
        # In another table that is joined by the currency, `rate` alone says enough.
        keys = {name for pair in self._equal if column.currency in pair for name in pair}
        joined = (each for each in self._tables.values() if column not in each and any(c.name in keys for c in each))
        rates = [each for each in chain(*joined) if each.name.lower() in WORDS["rates"]]
        factors = (c for c in _together(args) if c in rates or named(c.name) & {"exchange", "iso4217"})
        is_told = any(factor.role == "rate" for factor in factors)
        # A statement converts by a rate, or by what it says of all currencies but one, or gives debits a sign.
        is_signed = column.has_sides and any(column.currency == each[0].name for each in said)
        if is_signed or (is_scaled and (is_told or len({*column.codes} - told - self._listed) <= 1)):
            return
        is_it = [column in (*self._base.get(name, ()), *node.columns) for name, node in zip(names, nodes, strict=True)]
        start = place = first + is_it.index(True) if any(is_it) else first
        while self._tokens[start - 1].text == ".":
            start -= 2
        qualifier = "".join(token.text for token in self._tokens[start:place])
        apart = (column.currency, column.table)
        others = [name for name, node in self._known.items() if any((c.name, c.table) == apart for c in node.columns)]
        refusal = column.refusal(self._tokens[first].text.lower())
        self._sums.append((first, close, [qualifier + quote(name) for name in (column.currency, *others)], refusal))

    def _miss(self, *nodes: _Node) -> None:
        for node in nodes:
            # Who leaves empty texts out tells them from what is missing.
            is_told = any(f"{self._tokens[node.last].text} {sign} ''" in self.said for sign in ("<>", "!="))
            for text in dict.fromkeys(text for column in node.columns for text in column.blanks if text or not is_told):
                self._surround(node, "nullif(", f", {literal(text)})")
                self.remarks |= {f"{text!r} counts as NULL in {self._text(node)}": None} if text.strip() else {}

    def _sort(self, *nodes: _Node, is_equality: bool = False) -> None:
        for node in nodes:
            self.sorted += [c for c in node.columns if c.currency or not (node.number or is_equality)]
            if node.stripped and node.stripped.number and not is_equality:
                self._calculate(node)

    def _put(self, node: _Node, text: str) -> None:
        self._parts[node.first : node.last + 1] = [text] + [""] * (node.last - node.first)

    def _surround(self, node: _Node, before: str, after: str) -> None:
        self._parts[node.first] = before + self._parts[node.first]
        self._parts[node.last] += after

    def _refuse(self, problem: str) -> None:
        self._problem = self._problem or problem

    def _text(self, node: _Node) -> str:
        return "".join(token.text for token in self._all[self._places[node.first] : self._places[node.last] + 1])

    def _token(self, ahead: int = 0) -> Token:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else Token("end", "")

    def _word(self, ahead: int = 0) -> str:
        return self._token(ahead).word


def _together(nodes: Iterable[_Node]) -> Sequence[TypedColumn]:
    return list({id(column): column for node in nodes for column in node.columns}.values())


def _merged(one: _Node, other: _Node) -> _Node:
    """Returns what a name is that means one of two expressions."""
    about = {what: getattr(one, what) and getattr(other, what) for what in ("number", "stored", "only", "whole")}
    return _Node(one.first, one.last, columns=_together((one, other)), **about)


def _are_dates(node: _Node) -> bool:
    return bool(node.columns) and all(column.kind == "date" for column in node.columns)


def _is_like_iso(pattern: str) -> bool:
    return bool(re.match(r"%*[0-9_]{4}(?:[-%]|$)|[%_]*-", pattern)) and "T" not in pattern
