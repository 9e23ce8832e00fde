"""Plans what a model sees of one tool result: a pure value, made once from the whole.

The tables and the long texts of a result compete for one budget. Whatever leaves is named where it was, or beside it,
with its size and the handle that opens it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, islice
from math import log2
from operator import getitem
from typing import Any, Literal, NamedTuple

from google.genai import types
from pydantic import BaseModel

from adk_context_pack._json import json_text, json_value, opened
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.errors import counted, logged
from adk_context_pack.stores.codec import dumps
from adk_context_pack.stores.handles import NO_HANDLE
from adk_context_pack.tables.column_names import words
from adk_context_pack.tables.columns import Column, as_record, is_missing, is_record, iter_columns, without_frames
from adk_context_pack.tables.csv_tables import csv_text
from adk_context_pack.tables.failure import MESSAGE_KEYS
from adk_context_pack.tables.find_tables import ReadMemo, Table, find_tables, replace_rows, tables_within
from adk_context_pack.tables.numbers import as_float, plain, short_text, with_decimals, without_noise
from adk_context_pack.tables.outliers import Odd, odd_rows
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE, PREVIEW, not_kept, preview_mark, rows_note
from adk_context_pack.tables.table_facts import ColumnFacts, TableFacts, has_few, sums_by_value, table_facts
from adk_context_pack.tables.trouble import alarming_rows, level_counts
from adk_context_pack.tools.payload_preview import is_read, text_preview
from adk_context_pack.tools.result_limits import Encoding, Part, ResultLimits, as_response

Path = tuple[Any, ...]

# The least that a token limit alone has to save before anything is moved. A handle and a note are about as much.
_MIN_GAIN = 100
_FEWEST_ROWS = 2
# Measured by `tests.benchmarks.bench_tool_limits`: with more rows each later call costs more and answers no more.
_STUB_ROWS = 3
_MAX_DEPTH, _MAX_OPENED, _MAX_INNER = 5, 100, 3
_MAX_FIELDS, _SHORT, _SHORT_MESSAGE = 12, 200, 2_000
_TELLING = frozenset({"status", "status_code", "code", "error", "error_code", "isError", *MESSAGE_KEYS})


class Preview(NamedTuple):
    """A text in the place of a longer one, with its path in the body, the number of its part, and what the whole is."""

    path: Path
    part: int
    kind: Literal["text", "JSON"]
    characters: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultPlan:
    """Says what is shown of a result, without handles and notes, and the parts to keep, each under its own handle."""

    parts: tuple[Part, ...]
    body: Any
    previews: tuple[Preview, ...]
    limits: ResultLimits

    def shown(self, handles: Sequence[str | None], reason: str = "") -> Any:
        """Returns what the model gets, with a handle for each part, or None and the reason why it was not kept."""
        shown, limits = self.body, self.limits
        for path, part, kind, characters, text in self.previews:
            if (handle := handles[part]) is None:
                mark = f"[{kind} of {characters} characters, shown in part. {not_kept(reason, limits.tool)}]"
            else:
                mark = preview_mark(kind, characters, handle, opener=limits.openers.payload, refer_in=limits.refer_in)
            shown = put_at(shown, path, f"{mark}\n{text}")
        if not self.parts or self.parts[0].kind != "rows":
            return shown
        # A body with capped tables is a dict.
        has_facts = any(said.keys() - {"names", "more_columns"} for said in self.body.get(FACTS, {}).values())
        said = self.body[LIMITS].values()
        some = "some" if any("rows" in each for each in said) else "first"
        is_sample = any(each["shown"] < each["total"] for each in said)
        seen = ("none" if not any(each["shown"] for each in said) else some) if is_sample else "all"
        note = partial(rows_note, shown=seen, has_facts=has_facts, paged=has_facts and is_page(self.body))
        if handles[0] is not None:
            return {**shown, HANDLE: handles[0], NOTE: note(opener=limits.openers.rows, refer_in=limits.refer_in)}
        lost = note(opener="").removesuffix(" All rows are stored.")
        return {**shown, NOTE: f"{lost} {not_kept(reason, limits.tool)}"}


def is_page(shown: Mapping[str, Any]) -> bool:
    """Returns whether the result that a stub is of names a next page, as `nextPageToken` and `has_more` do."""
    inner = [each for key, each in shown.items() if isinstance(each, Mapping) and key not in {LIMITS, FACTS}]
    following = {"next", "more", "continue", "continuation", "evaluated", "truncated", "incomplete"}
    beside = "has is page pages token link url uri marker key offset start cursor last result results records available"
    said = ((set(words(str(key))), value) for each in (shown, *inner) for key, value in each.items())
    return any(value and names & following and names - following <= {*beside.split()} for names, value in said)


def make_plan(result: Any, limits: ResultLimits) -> ResultPlan | None:
    """Returns the plan of a result, which is not changed, or None if it stays as it is."""
    # ADK has no JSON for a frame, so that one becomes rows in any case.
    whole = without_frames(result)
    plan = _Draft(whole, limits).plan()
    if plan is None and whole is not result:
        return ResultPlan(parts=(), body=whole, previews=(), limits=limits)
    return plan


class _Draft:
    """One result on its way to a plan."""

    def __init__(self, result: Any, limits: ResultLimits) -> None:
        self.result, self.limits = result, limits
        self.whole: Any = result
        self.tables: list[Table] = []
        self.branches: list[Branch] = []
        self._memo: ReadMemo = {}
        self._min_rows = _FEWEST_ROWS if limits.max_rows is None else limits.max_rows + 1
        self._inner: dict[str, Path] = {}
        self._texts: dict[Path, tuple[Any, Preview]] = {}
        self._stubs: list[_Stub] = []
        self._reads = False

    def plan(self) -> ResultPlan | None:
        """Returns the plan, or None if the result stays as it is."""
        limits, budget = self.limits, self.limits.budget
        total = limits.tokens(self.whole)
        if total <= limits.read_tokens:
            return None
        # A row has more than half a token, so that a shorter result has no long table.
        if limits.max_rows is not None and 2 * total > limits.max_rows:
            self.tables = self._find()
        is_long = bool(self.tables)
        size = total - sum(map(limits.tokens, _media(self.whole)))
        if budget is not None and size > budget:
            is_model = isinstance(self.whole, BaseModel) or dataclasses.is_dataclass(self.whole)
            if is_model and not isinstance(self.whole, types.Part | type):
                self.whole = json_value(self.whole)
            self._reads = size <= 32 * (limits.text_tokens or 0) and self._is_read(size)
            if self._reads and size <= 4 * (limits.text_tokens or 0):
                return None
            self._choose(size, budget)
            self._reads &= all(map(_is_read_on, self.tables))
            if self._reads:
                # Lines, numbered or not, are read to their end: a stub shows no more of them than of a long text.
                self.limits = replace(limits, stub_tokens=min(limits.stub_tokens or budget, limits.preview_tokens))
        if not self.tables and not self.branches:
            return None
        plan = self._capped(total) if self.tables else self._previewed(self.whole, (), {})
        gain = _MIN_GAIN if self.tables and not is_long else 1
        return plan if plan.parts and self._weight(plan) + gain <= total else None

    def _find(self, value: Any = None) -> list[Table]:
        return find_tables(self.whole if value is None else value, min_rows=self._min_rows, memo=self._memo)

    def _is_read(self, size: int) -> bool:
        """Returns whether the result is texts that will be read to their end."""
        # A body of text beside at most one figure is read. Other rows with more than a text and its kind are asked,
        # unless hardly anything else is in them.
        fewest = min(10, (self.limits.max_rows or 10) + 1)
        listed, asked, is_list = find_tables(self.whole, min_rows=fewest, memo=self._memo), False, False
        for rows in (each.rows for each in listed):
            kinds = list(map(type, scalars(rows[0])))
            names = rows[0] if isinstance(rows[0], Mapping) else ()
            is_body = not {"text", "body", "content"}.isdisjoint(names) and kinds.count(int) + kinds.count(float) <= 1
            # Of messages with their senders and times, many are a table.
            asked |= bool(kinds[1:]) and not (is_body and not (self.tables and kinds[2:]))
            is_list |= bool(kinds[2:]) and not is_body and self.limits.tokens(rows) > 0.7 * size
        if asked and self.tables:
            return False
        # A table in a text is read by its cells.
        held = [each.rows for each in listed] if is_list else self.whole
        leaves = chain.from_iterable(scalars(opened(leaf)) for leaf in scalars(held))
        # By its bytes, since a character of Chinese, Japanese or Korean says as much as three letters.
        least = _SHORT // 2 if asked else 0 if listed else _SHORT // 5
        text = "\n".join(x for x in leaves if isinstance(x, str) and len(x.encode(errors="replace")) >= least)
        return self.limits.text(text) > (0.7 if is_list else 0.35) * size and is_read(text)

    def _choose(self, size: int, budget: int) -> None:
        """Chooses the tables and branches that have to go for the result to fit: the largest, as few as possible."""
        limits, found, tables = self.limits, [], []
        reserve = (limits.stub_tokens or limits.max_tokens or budget) // 2
        if limits.max_rows is not None:
            self._min_rows = _FEWEST_ROWS
            found = self._find()
            weighed = [(limits.tokens(table.rows), table) for table in found]
            # A table gives way to a token limit if it takes more than a quarter of it.
            tables = [(w, t) for w, t in weighed if len(t.rows) > limits.max_rows or w > max(budget // 4, reserve)]
        self.tables = [table for _, table in tables if len(table.rows) > (limits.max_rows or 0)]
        beside = size - sum(weight for weight, table in tables if table in self.tables)
        skeleton = self._with_rows({table.key: [] for _, table in tables})
        rest: list[tuple[int, Table | Branch]] = [(w, table) for w, table in tables if table not in self.tables]
        if limits.text_tokens is not None:
            rest += [(each.tokens, each) for each in _branches(Branch((), skeleton, 0), limits)]
        for weight, part in sorted(rest, key=lambda each: -each[0]):
            if beside + (reserve if self.tables else 0) <= budget:
                return self._look_inside(found)
            beside -= weight
            if isinstance(part, Table):
                self.tables.append(part)
            else:
                self.branches.append(part)
                beside += limits.preview_tokens
        if limits.text_tokens is not None and not holds_media(self.whole) and not _media(self.whole):
            # A long text costs more within JSON than by itself, because of its escapes. What is left can be measured.
            for branch in self.branches:
                skeleton = put_at(skeleton, branch.path, "")
            left = limits.tokens(skeleton) + limits.preview_tokens * len(self.branches)
            if left > budget or not (self.branches or self.tables):
                self.branches = [Branch((), self.whole, size)]
        return self._look_inside(found)

    def _look_inside(self, found: Sequence[Table]) -> None:
        """Takes note of the tables within texts and branches of which a preview is shown."""
        for branch in self.branches if found else ():
            inside = {id(table.rows) for table in self._find(reduce(getitem, branch.path, self.whole))}
            inner = sorted((t for t in found if id(t.rows) in inside), key=lambda table: -len(table.rows))
            # All that are long, or of those that are short, of which there may be hundreds, the longest ones.
            named = [t for t in inner if len(t.rows) > (self.limits.max_rows or 0)] or inner[:_MAX_INNER]
            self.tables = [t for t in found if t in named or (t in self.tables and t not in inner)]
            self._inner |= {table.key: branch.path for table in named}

    def _with_rows(self, rows: Mapping[str, Any]) -> Any:
        return replace_rows(self.whole, rows, min_rows=self._min_rows, memo=self._memo) if rows else self.whole

    def _weight(self, plan: ResultPlan) -> int:
        return self.limits.tokens(plan.shown([NO_HANDLE] * len(plan.parts)))

    def _capped(self, total: int) -> ResultPlan:
        """Returns the plan of a result with capped tables: the fullest facts that leave room for rows."""
        limits, target = self.limits, self.limits.stub_tokens
        facts = facts_of(self.tables) if limits.facts else {}
        self._stubs = [self._stub(table, *facts.get(table.key, (None, {}))) for table in self.tables]
        # Lists of one row each are seen in the rows around them.
        inner = (each for table in self.tables for each in tables_within(table) if len(each.rows) > len(table.rows))
        within = {table.key: table for table in islice(inner, _MAX_INNER * bool(facts)) if table.key not in facts}
        for key, (told, _) in facts_of([*within.values()]).items():
            if any(each.kind in {"number", "rate"} for each in told.columns):
                self._stubs.append(_Stub(within[key], told, {}, RowForms([AS_THEY_ARE], by_row=False), {}))
        by_row = any(stub.ways.by_row for stub in self._stubs)
        if target is not None:
            target = max(target, self._weight(self._body({}, {})) + target // 2)
            target = max(target, limits.max_tokens or 0) if by_row and not self._reads else target
        least = self._fitted({}, target)
        forms = [forms_of_facts(stub, stub.facts) for stub in self._stubs if stub.facts]
        tried = []
        for each in zip(*forms, strict=True):
            said = {FACTS: {stub.table.key: facts for stub, facts in zip(self._stubs, each, strict=True)}}
            tried.append(said)
            plan = self._fitted(said, target)
            weight = self._weight(plan)
            if weight < total and (target is None or weight <= target) and _shows_as_much(plan, least):
                return plan
        if not target:
            return least
        return next(self._with_names(tried[-3:], max(limits.max_tokens or 0, target), total), least)

    def _with_names(self, tried: Sequence[Mapping[str, Any]], most: int, total: int) -> Iterator[ResultPlan]:
        """Yields plans with totals or names of columns, which come before rows and may take the whole limit."""
        for said in tried:
            room = most
            if all("names" in facts for facts in said[FACTS].values()):
                # Without its columns nobody can ask for a row, so that a tiny limit gives way, for an odd row as well.
                room = max(most, min(max(2 * most, 400), self._weight(self._body(said, {})) + _MIN_GAIN))
            elif not any("numbers" in facts for facts in said[FACTS].values()):
                continue
            plan = self._fitted(said, room)
            if self._weight(plan) <= min(room, total - 1):
                yield plan

    def _stub(self, table: Table, facts: TableFacts | None, odd: Mapping[int, Sequence[Odd]]) -> _Stub:
        """Picks the rows that are shown first: those unlike the others, then the first ones."""
        ways = forms_of(table, chain(*odd.values()), titles=self.limits.titles)
        most = len(table.rows) if ways.by_row else min(_STUB_ROWS, self.limits.max_rows or _STUB_ROWS)
        most = min(most if self.limits.stub_rows is None else self.limits.stub_rows, len(table.rows))
        words = {row: next((cell.word for cell in cells if cell.word), "") for row, cells in odd.items()}
        rows = islice(chain(words, (row for row in range(most) if row not in words)), most)
        return _Stub(table, facts, odd, ways, {row: words.get(row, "") for row in rows})

    def _fitted(self, extras: Mapping[str, Any], target: int | None) -> ResultPlan:
        for stub in self._stubs:
            stub.form = AS_THEY_ARE
        if target is None:
            return self._body(extras, {stub.table.key: len(stub.picked) for stub in self._stubs})
        # To say which rows are shown takes about a quarter of a handle and a note.
        left = target - self._weight(self._body(extras, {})) - _MIN_GAIN // 4 * any(stub.odd for stub in self._stubs)
        shown: dict[str, int] = {}
        stubs = [stub for stub in self._stubs if stub.table.around is None]
        for position, stub in enumerate(stubs):
            stub.form, shown[stub.table.key], used = self._rows_for(stub, left // (len(stubs) - position))
            left -= used
        plan = self._body(extras, shown)
        while any(shown.values()) and self._weight(plan) > target:
            shown = {key: count - (count + 7) // 8 for key, count in shown.items()}
            plan = self._body(extras, shown)
        return plan

    def _rows_for(self, stub: _Stub, budget: int) -> tuple[RowForm, int, int]:
        """Returns the fullest form in which enough rows fit, how many fit, and their tokens."""
        ways, picked = stub.ways, stub.picked
        enough, best = len(picked) if ways.by_row else min(_STUB_ROWS, len(picked)), (ways.forms[0], -1, 0)
        for form in ways.forms:
            # A table that is asked shows few columns only if no row fits whole.
            if form.columns and not ways.by_row and best[1] > 0:
                break
            count = used = 0
            for cost in form.costs(stub.table, picked, self.limits.encoding, self.limits.tokens):
                if used + cost > budget:
                    break
                count, used = count + 1, used + cost
            if count > best[1]:
                best = form, count, used
            if count >= enough:
                break
        return best

    def _body(self, extras: Mapping[str, Any], shown: Mapping[str, int]) -> ResultPlan:
        rows, said, facts = {}, {}, dict(extras.get(FACTS, {}))
        for stub in self._stubs:
            table, key, form = stub.table, stub.table.key, stub.form
            count = shown.get(key, 0)
            # The first are the most worth showing. They are shown in the order of the table.
            picked = dict(sorted(islice(stub.picked.items(), count)))
            if key in facts:
                # Without rows the rest is weighed, and some rows will be seen beside it.
                hoped = stub.picked, stub.ways.forms[-1] if stub.ways.by_row else form
                facts[key] = beside_rows(facts[key], table, *((picked, form) if shown else hoped))
            said[key] = {"shown": count, "total": len(table.rows), **form.said(table, picked, stub.odd)}
            is_csv = self.limits.encoding == "csv" or key in self._inner
            rows[key] = form.shown(table, picked, "csv" if is_csv else "json")
        count, total = sum(shown.values()), sum(len(table.rows) for table in self.tables)
        # ADK takes parts out of a result and shows them beside it, so they stay with the model.
        whole = as_response(self.result) if isinstance(self.result, dict) else self.result
        kept = Part(value=whole, kind="rows", rows_shown=count, rows_total=total)
        smaller = self._with_rows({key: value for key, value in rows.items() if key not in self._inner})
        inner = dict.fromkeys(self._inner.values(), "")
        for key, path in self._inner.items():
            inner[path] += f"\n[{key}: {said[key]['shown']} of {said[key]['total']} rows]\n{rows[key]}"
        plan = self._previewed(smaller, (kept,), inner)
        body, previews = plan.body, plan.previews
        if not isinstance(body, Mapping):
            # ADK hands what is not a dict to the model under this key.
            body, previews = {"result": body}, tuple(each._replace(path=("result", *each.path)) for each in previews)
        # A tool may have written the keys of a stub itself. They are in the whole.
        body = {key: value for key, value in body.items() if key not in (FACTS, HANDLE, LIMITS, NOTE)}
        previews = tuple(each for each in previews if each.path[0] in body)
        facts = {key: each for key, each in facts.items() if each}
        body = {**body, LIMITS: said, **({FACTS: facts} if facts else {})}
        return replace(plan, body=body, previews=previews)

    def _previewed(self, smaller: Any, kept: tuple[Part, ...], inner: Mapping[Path, str]) -> ResultPlan:
        """Returns a plan with previews in the place of the branches that get smaller by it."""
        parts, previews = list(kept), []
        for branch in self.branches:
            path = branch.path
            if path not in self._texts:
                value = reduce(getitem, path, self.whole)
                text = value if isinstance(value, str) else dumps(value, json_text)
                shown = text_preview(text, max_tokens=self.limits.preview_tokens, counter=self.limits.counter)
                self._texts[path] = value, Preview(path, 0, "text" if text is value else "JSON", len(text), shown)
            value, preview = self._texts[path]
            if not path and isinstance(smaller, Mapping):
                smaller, path = {**_short_fields(smaller), PREVIEW: ""}, (PREVIEW,)
            # A whole that is kept for its tables needs no second handle.
            number = 0 if kept and not branch.path else len(parts)
            parts += [Part(value=value, kind="payload")] * (number == len(parts))
            previews.append(preview._replace(path=path, part=number, text=preview.text + inner.get(branch.path, "")))
            smaller = put_at(smaller, path, "")
        return ResultPlan(parts=tuple(parts), body=smaller, previews=tuple(previews), limits=self.limits)


def _is_read_on(table: Table) -> bool:
    """Returns whether rows are lines, numbered or not, or sections of a heading and a long text."""
    rows = [[*scalars(row)] for row in table.rows]
    texts = [[cell for cell in row if isinstance(cell, str)] for row in rows]
    are_lines = all(len(row) < 2 for row in texts)  # noqa: PLR2004
    are_long = len("".join(chain.from_iterable(texts))) >= _SHORT * len(rows)
    return all(len(row) <= 2 for row in rows) and (are_lines or are_long)  # noqa: PLR2004


def _shows_as_much(plan: ResultPlan, least: ResultPlan) -> bool:
    rows, most = plan.body[LIMITS], least.body[LIMITS]
    # A narrow row beside counts is not worth a whole one, but totals are.
    are_counts = any("others" in facts for facts in plan.body.get(FACTS, {}).values())
    return all(
        (said["shown"] or not most[key]["shown"])
        and (not are_counts or said.get("columns") == most[key].get("columns"))
        for key, said in rows.items()
    )


class Branch(NamedTuple):
    """A text, dict or list in a result that a preview may replace, with its path, empty for the whole result."""

    path: Path
    value: Any
    tokens: int


def _branches(branch: Branch, limits: ResultLimits) -> Iterator[Branch]:
    if isinstance(branch.value, str) or len(branch.path) > _MAX_DEPTH:
        yield branch
        return
    value, inner = branch.value, list[Branch]()
    is_opened = isinstance(value, list | tuple) and len(value) <= _MAX_OPENED
    for key, item in value.items() if isinstance(value, Mapping) else enumerate(value if is_opened else ()):
        if isinstance(item, str | Mapping | list | tuple) and not _is_media(item):
            tokens = limits.text(item) if isinstance(item, str) else limits.tokens(item)
            # Replacing a branch that is hardly larger than its preview and the line above it would save nothing.
            if tokens > max(2 * limits.preview_tokens, limits.preview_tokens + _MIN_GAIN):
                inner += _branches(Branch((*branch.path, key), item, tokens), limits)
    # A branch is opened if most of it is in large texts. Otherwise it is replaced as a whole.
    if branch.path and 2 * sum(found.tokens for found in inner) < branch.tokens:
        yield branch
    else:
        yield from inner


def put_at(value: Any, path: Path, new: Any) -> Any:
    """Returns `value` with `new` at `path`. Containers on the way are copied, and everything else is shared."""
    if not path:
        return new
    key, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        return {**value, key: put_at(value[key], rest, new)}
    return [put_at(item, rest, new) if index == key else item for index, item in enumerate(value)]


def _short_fields(result: Mapping[str, Any]) -> dict[str, Any]:
    # Short fields such as status and error say what the result is. They stay beside the preview of the whole.
    short = {
        key: value if _is_short(key, value) else f"{value[:_SHORT]}…"
        for key, value in result.items()
        if _is_short(key, value) or (key in _TELLING and isinstance(value, str))
    }
    return short if len(short) <= _MAX_FIELDS else {key: value for key, value in short.items() if key in _TELLING}


def _is_short(key: object, value: Any) -> bool:
    if key in _TELLING and isinstance(value, str | Mapping):
        return len(value if isinstance(value, str) else json_text(value)) <= _SHORT_MESSAGE
    return value is None or isinstance(value, bool | float | int) or (isinstance(value, str) and len(value) <= _SHORT)


def holds_media(value: Any) -> bool:
    """Tells whether a result is, or holds directly, a part (a picture, a file), which ADK shows beside it."""
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else [value]
    return any(isinstance(item, types.Part) for item in items)


def _media(result: Any) -> list[Any]:
    content = result.get("content") if isinstance(result, Mapping) else None
    return [item for item in content if _is_media(item)] if isinstance(content, list | tuple) else []


def _is_media(item: Any) -> bool:
    # A picture in base64 is a text to a store and media to a model: MCP says which by its type.
    return isinstance(item, Mapping) and item.get("type") in ("image", "audio") and "data" in item


_ADDRESS = re.compile(r"\w+://|www\.|/\w")
_WORDS = re.compile(r"[^\W\d_]{2}\s+\w|\w\s+[^\W\d_]{2}|[^\W\d_a-zA-Z\u00c0-\u024f]{8}")


class CellLimits(NamedTuple):
    """The most characters of a text, and entries of a list, that a cell shows. A dict shows four times as many keys."""

    characters: int
    entries: int


Picked = Mapping[int, str]
"""The indexes of rows in the order in which they are shown, each with a word around which its long texts are cut."""

STEPS = (CellLimits(1_000, 20), CellLimits(300, 8), CellLimits(100, 3), CellLimits(40, 1))
"""The limits that are tried one after the other until some rows fit."""


class RowForm(NamedTuple):
    """A form in which rows are shown: with cells cut to limits, or with some of their columns, as one CSV text."""

    limits: CellLimits | None = None
    columns: tuple[str, ...] = ()
    of: int = 0

    def said(self, table: Table, picked: Picked, odd: Mapping[int, Sequence[Odd]]) -> dict[str, str]:
        """Says what is missing in the shown rows, and which these are, for `_row_limits`."""
        said = {}
        first = next((place for place, row in enumerate(picked) if place != row), len(picked))
        if first < len(picked):
            begin = [f"0-{first - 1}" if first > 1 else "0"] if first else []
            rest = (f"{row} ({odd[row][0].column})" if row in odd else str(row) for row in list(picked)[first:])
            said["rows"] = ", ".join([*begin, *rest])
        whole = RowForm(columns=self.columns).rows(table, picked)
        if (limits := self.limits) is not None and any(shortened(row, limits) is not row for row in whole):
            said["cells"] = "cut, see the marks"
        if picked and 0 < len(self.columns) < self.of:
            said["columns"] = f"{len(self.columns)} of {self.of}"
        return said

    def shown(self, table: Table, picked: Picked, encoding: Encoding) -> Any:
        """Returns some rows of a table. A table is never shown as an empty one."""
        if not picked:
            return f"({counted(len(table.rows), 'row')}, none shown)" if table.rows else []
        rows, is_csv = self.rows(table, picked), bool(self.columns) or encoding == "csv"
        return rows_as_csv(rows, None if self.columns else table.columns) if is_csv else rows

    def costs(self, table: Table, picked: Picked, encoding: Encoding, tokens: Callable[[Any], int]) -> Iterator[int]:
        """Yields the tokens of some rows, one after the other."""
        is_csv = bool(self.columns) or encoding == "csv"
        for number, (row, word) in enumerate(picked.items()):
            shown = self._row(table.rows[row], table, word)
            if is_csv:
                text = rows_as_csv([shown], None if self.columns else table.columns)
                shown = text if number == 0 else text.partition("\n")[2]
            yield tokens(shown) + 1

    def rows(self, table: Table, picked: Picked) -> list[Any]:
        """Returns some rows in this form."""
        return [self._row(table.rows[row], table, word) for row, word in picked.items()]

    def _row(self, row: Any, table: Table, word: str) -> Any:
        if self.columns:
            cells = as_record(row, table.columns, scalars=True)
            if not cells.keys() >= set(self.columns):
                cells = {each.name: each.values[0] for each in iter_columns([row], table.columns)} | dict(cells)
            row = {name: cells.get(name) for name in self.columns}
        if self.limits is None:
            return row
        # A model or a dataclass is shown as its fields.
        return shortened(dict(as_record(row)) if is_record(type(row)) else row, self.limits, word)


class RowForms(NamedTuple):
    """The forms of a table's rows, the fullest first.

    If they are read `by_row`, each is to be seen, in the first form that has room for all, rather than some rows whole.
    """

    forms: Sequence[RowForm]
    by_row: bool


AS_THEY_ARE = RowForm()


@dataclass(slots=True)
class _Stub:
    """One table on its way into a stub, with the rows that are shown first and the form in which they are."""

    table: Table
    facts: TableFacts | None
    odd: Mapping[int, Sequence[Odd]]
    ways: RowForms
    picked: Picked
    form: RowForm = AS_THEY_ARE


def forms_of(table: Table, odd: Iterable[Odd] = (), *, titles: bool = False) -> RowForms:
    """Returns the forms in which the rows of a table may be shown."""
    # Search results, tickets and passages are read one by one. If room is short, each is shown by a number, a title, a
    # source and what divides them, and with `titles` so is any table. Other tables are queried, and a few rows show
    # what they look like. A row that does not fit whole is shown with the columns of its odd cells.
    forms = [AS_THEY_ARE, *map(RowForm, STEPS)]
    # A table with more rows is asked rather than read.
    looked_at = table.rows[:200] if titles or len(table.rows) <= 300 else []  # noqa: PLR2004 - rows
    columns = [_Look(column) for column in iter_columns(looked_at, table.columns)]
    title = next((each for each in sorted(columns, key=lambda each: -each.title) if each.title), None)
    total = sum(each.characters for each in columns if not each.is_address)
    read = sum(each.different for each in columns if each.has_words and each.mean >= 20)  # noqa: PLR2004 - characters
    # Where a third of the characters is in texts of several words, rows are read one by one.
    if title is None or not (titles or read > 0.35 * total):
        names = [column.name for column in iter_columns(table.rows[:3], table.columns)]
        first = list(dict.fromkeys([*names[:1], *(cell.column for cell in odd if cell.column in names), *names]))
        narrow = [RowForm(STEPS[2], tuple(first[:most]), len(names)) for most in (8, 4) if len(names) > most]
        return RowForms([*forms, *narrow], by_row=False)
    key = next((each for each in columns if each.is_key and each is not title), None)
    addresses = (each for each in columns if each.is_address and each.tells_apart)
    source = min(addresses, key=lambda each: each.mean, default=None)
    # What divides the rows comes before dates, names of people and other short cells.
    others = [each for each in columns if each.is_short and each not in (key, title, source)]
    kinds = sorted(others, key=lambda each: (not each.divides, each.distinct if each.divides else 0))[:4]
    texts = sorted((each for each in columns if each.has_words and each is not title), key=lambda each: -each.mean)[:1]
    short = list(dict.fromkeys(each.name for each in (key, title, source, *kinds) if each is not None))
    least = list(dict.fromkeys(each.name for each in (title, source or key) if each is not None))
    shown = [(length, [*short, *(each.name for each in texts)]) for length in (300, 120)]
    shown += [(160, short), (120, least), (80, [(key or title).name, title.name])]
    narrow = [RowForm(CellLimits(length, 3), tuple(dict.fromkeys(each)), len(columns)) for length, each in shown]
    return RowForms([*forms[:3], *narrow], by_row=True)


class _Look:
    """Looks once at the cells of a column, and keeps what they say."""

    def __init__(self, column: Column) -> None:
        cells = [value for value in column.values if not is_missing(value)]
        texts = [value for value in cells if isinstance(value, str)]
        self.is_text = 2 * len(texts) > len(cells)
        written = texts if self.is_text else [str(value) for value in cells]
        values = set(written)
        self.name, self.rows, self.distinct = column.name, len(column.values), len(values)
        # A text that rows repeat is read once.
        self.different = sum(map(len, values))
        self.characters = sum(map(len, written))
        self.mean = self.characters / max(len(written), 1)
        self.has_words = 2 * sum(_WORDS.search(text) is not None for text in texts) > len(cells)
        self.is_address = 2 * sum(_ADDRESS.match(text) is not None for text in texts) > len(cells)
        is_measure = any(type(value) is float for value in cells)
        self.tells_apart = 10 * self.distinct >= 8 * self.rows
        # The words of a short text that are others in each row are a good title.
        said = {"".join(filter(str.isalpha, text)) for text in texts}
        may_be_title = self.has_words and not self.is_address and self.tells_apart and 5 * len(said) > len(texts)
        self.title = may_be_title / (1 + max(0.0, self.mean - 160))
        self.is_key = self.tells_apart and self.mean <= 16 and not (self.has_words or self.is_address or is_measure)  # noqa: PLR2004
        self.is_short = self.distinct > 1 and self.mean <= 24 and not self.is_address  # noqa: PLR2004
        self.divides = self.is_text and self.is_short and self.distinct <= max(2, self.rows // 3)


def shortened(cell: Any, limits: CellLimits, word: str = "", depth: int = 0) -> Any:
    """Returns a row, or at a greater depth a cell, with its long texts and lists cut, each with a mark that says so.

    The very same object if nothing is long. All columns of the row stay. A text is cut around `word` if it has it.
    """
    if isinstance(cell, str):
        return _text(cell, limits.characters, word)
    if not isinstance(cell, (Mapping, list, tuple)):
        return cell
    what, most = ("key", 4 * limits.entries) if isinstance(cell, Mapping) else ("item", limits.entries)
    if depth >= 6:  # noqa: PLR2004 - levels
        return f"… {counted(len(cell), what)}"
    most = most if depth else len(cell)
    left = len(cell) - most
    if isinstance(cell, Mapping):
        new = {key: shortened(item, limits, word, depth + 1) for key, item in islice(cell.items(), most)}
        if left > 0:
            return {**new, "…": counted(left, "more key")}
        return new if any(new[key] is not item for key, item in cell.items()) else cell
    entries = [shortened(item, limits, word, depth + 1) for item in cell[:most]]
    if left > 0:
        return [*entries, f"… {left} more"]
    return entries if any(one is not other for one, other in zip(entries, cell, strict=True)) else cell


def _text(text: str, most: int, word: str) -> str:
    start = max(0, text.find(word) + len(word) // 2 - most // 2) if word and text.find(word) > most // 2 else 0
    before, left_out = f"… {start} characters before …" if start else "", len(text) - start - most
    after = f"… {left_out} more characters" if left_out > 0 else ""
    short = f"{before}{text[start : start + most]}{after}"
    return short if len(short) < len(text) else text


Facts = tuple[TableFacts, Mapping[int, Sequence[Odd]]]
"""The facts of a table, and its rows that are unlike the others, the oddest first."""


def facts_of(tables: Sequence[Table]) -> dict[str, Facts]:
    """Returns the facts of each table by its key, or nothing if they cannot be computed."""
    # The rows are capped all the same.
    with logged("facts could not be computed", type_only=True):
        return {table.key: _facts(table) for table in tables}
    return {}


def _facts(table: Table) -> Facts:
    rows = table.rows
    facts = table_facts(rows, columns=table.columns)
    if table.around is not None:
        return facts, {}
    # If more than a tenth of the lines report trouble, trouble is not what is unusual.
    if 0 < 10 * len(alarms := alarming_rows(rows, most=len(rows) // 10 + 1)) <= len(rows):
        return facts, {row: [Odd(row, "alarm", log2(len(rows) / len(alarms)))] for row in alarms}
    numbers = {column.name for column in facts.columns if column.kind == "number"}
    odd = odd_rows(rows, table.columns, facts.outliers, numbers)
    apart = {*facts.total_rows, *facts.repeated_headers}
    return facts, {row: cells for row, cells in odd.items() if row not in apart}


def forms_of_facts(stub: _Stub, facts: TableFacts) -> Iterator[dict[str, Any]]:
    """Yields the forms in which the facts of a table may join its rows, the fullest first and always as many."""
    table, titles, notable = stub.table, stub.ways.forms[-1].columns, list[dict[str, Any]]()
    # What stands out in columns of which the rows of a table that is read show no more than titles.
    for row, cells in islice(stub.odd.items(), _STUB_ROWS * stub.ways.by_row):
        if cell := next((cell for cell in cells if cell.column not in titles), None):
            form = RowForm(CellLimits(160, 3), (titles[0], cell.column))
            notable += [{"row": row, **values} for values in form.rows(table, {row: stub.picked.get(row, "")})]
    more = {"levels": level_counts(table.rows), "unread_rows": table.unread, "notable_rows": notable}
    more = {name: value for name, value in more.items() if value}
    sums = [
        f"{name}: " + ", ".join(f"{listed_value(value)} = {without_noise(plain(total))}" for value, total in by.items())
        for name, by in sums_by_value(facts).items()
    ]
    # What is around it has facts of its own.
    facts = replace(facts, columns=tuple(each for each in facts.columns if each.name not in (table.around or ())))
    said = facts_as_text(facts) | more
    for count in (len(sums), 2, 1):
        yield said | ({"sums": "\n".join(sums[:count])} if sums else {})
    yield said
    yield facts_as_text(facts, others="few") | more
    first = {"notable_rows": notable[:1]} if notable else {}
    for most in (None, 12, 6, 3, 1):
        yield facts_as_text(facts, others=False, most=most) | more | (first if most else {})
    yield {"names": ", ".join(column.name for column in facts.columns), **first}


def beside_rows(said: Mapping[str, Any], table: Table, picked: Picked, form: RowForm) -> dict[str, Any]:
    """Returns facts without what rows say that are shown beside them: names of columns, and values if all rows are."""
    some = form.rows(table, dict(islice(picked.items(), 3)))
    seen = set(form.columns if picked else ())
    if some and (isinstance(some[0], Mapping) or is_record(type(some[0]))):
        seen |= {column.name for column in iter_columns(some)}
    names, notable = said.get("more_columns", "").split(", "), said.get("notable_rows", ())
    left = {
        "more_columns": ", ".join(name for name in names if name not in seen),
        "notable_rows": [cell for cell in notable if cell["row"] not in picked or cell.keys() - seen - {"row"}],
    }
    if "others" in said and len(picked) == len(table.rows):
        lines = said["others"].split("\n")
        left["others"] = "\n".join(line for line in lines if not any(line.startswith(f"{name}: ") for name in seen))
    return {name: value for name, value in ((name, left.get(name, said[name])) for name in said) if value}


_NUMBERS = ("column", "sum", "min", "max", "mean", "min_row", "max_row", "missing", "remark")


def rows_as_csv(rows: Sequence[Any], columns: Sequence[str] | None = None) -> str:
    """Returns rows as RFC 4180 CSV with a header. Lines end in a line feed, nested columns are dotted.

    About half the tokens of the same rows as JSON. Missing cells are empty, lists within a row are Python's text.
    """
    found = list(iter_columns(rows, columns))
    cells = zip(*(column.values for column in found), strict=True)
    return csv_text([[column.name for column in found], *(map(plain, row) for row in cells)]).rstrip("\n")


def facts_as_text(facts: TableFacts, *, others: bool | str = True, most: int | None = None) -> dict[str, Any]:
    """Returns facts in the fewest tokens: numbers as CSV, a line for each other column, and the names of the rest.

    At most `most` columns of numbers get their facts: those with outliers, then those of the largest sums. `others`
    says whether the others do, "few" those of few values.
    """
    numbers = [column for column in facts.columns if column.kind == "number"]
    if most is not None and len(numbers) > most:
        sums = {each.name: [abs(as_float(part.total or 0) or 0) for part in each.parts or (each,)] for each in numbers}
        ranked = sorted(numbers, key=lambda column: (not column.outliers, -max(sums[column.name])))
        numbers = [column for column in numbers if column in ranked[:most]]
    result: dict[str, Any] = {}
    # Amounts of several currencies have a line for each of them.
    if parts := [part for column in numbers for part in column.parts or (column,)]:
        # Each form of a figure, however short, states what limits it.
        lines: list[list[Any]] = [list(_NUMBERS)]
        for part in parts:
            total, low, high = map(plain, (part.total, part.minimum, part.maximum))
            mean = without_noise(with_decimals(part.mean, part.decimals))
            figures = without_noise(total), low, high, mean, part.min_row, part.max_row, part.missing
            lines.append([part.name, *figures, _remark(part)])
        # What no column has to say is not said of any.
        columns = [each for each in zip(*lines, strict=True) if each[0] not in _NUMBERS[-2:] or any(each[1:])]
        result["numbers"] = csv_text(zip(*columns, strict=True)).rstrip("\n")
    if facts.rows_apart:
        result["rows_apart"] = facts.rows_apart
    shown = [each for each in facts.columns if others is True or each.parts or (others and has_few(each))]
    said = [(each.name, _said_of(each, facts.rows)) for each in shown if each.kind != "number" or each.parts]
    if any(line for _, line in said):
        result["others"] = "\n".join(f"{name}: {line}" for name, line in said if line)
    told = {column.name for column in numbers} | {name for name, line in said if line}
    if names := ", ".join(column.name for column in facts.columns if column.name not in told):
        result["more_columns"] = names
    return result


def _remark(column: ColumnFacts) -> str:
    parts = [f"in {column.unit}"] if column.unit else []
    if column.part_rows:
        parts.append(counted(column.part_rows, "row"))
    if column.not_numbers:
        parts.append(f"without {counted(column.not_numbers, 'non-number')}, such as {short_text(column.example)}")
    return "; ".join([*parts, *filter(None, [column.note])])


def _said_of(column: ColumnFacts, rows: int) -> str:
    """Returns what the values of a column say, or nothing if nearly each row has another one."""
    said = column.as_dict()
    parts = [" to ".join(map(str, dict.fromkeys((said["min"], said["max"]))))] if "min" in said else []
    counts = list(said.get("commonest", {}).items())
    if column.parts:
        # Amounts have figures of their own. Cells that are not amounts are told beside them.
        parts = [f"{part.minimum} to {part.maximum} {part.unit}" for part in column.parts if column.kind != "number"]
    elif counts and len(counts) == said["distinct"]:
        parts = [", ".join(f"{listed_value(value)} x{count}" for value, count in counts)]
    elif parts or 2 * said["distinct"] <= rows:
        parts[:0] = [f"{said['distinct']} distinct"]
        # A value that fewer rows have says nothing about a column.
        if counts and counts[0][1] >= 0.05 * rows:
            parts.append(f"most often {listed_value(counts[0][0])} x{counts[0][1]}")
    if column.missing:
        parts.append(f"{column.missing} missing")
    return ", ".join(filter(None, [*parts, _remark(column)]))


def listed_value(value: str) -> str:
    """Returns a value as it is listed among others: in quotes if its end is not plain, or if it has figures."""
    is_plain = value.strip() == value != "" and not any(sign in ',=\n"' or sign.isdigit() for sign in value)
    return value if is_plain else json_text(value)
