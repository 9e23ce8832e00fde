"""Plans what a model sees of one tool result: a pure value, made once from the whole.

The tables and the long texts of a result compete for one budget. Whatever leaves is named where it was, or beside it,
with its size and the handle that opens it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain, islice
from operator import getitem
from typing import Any, Literal, NamedTuple

from google.genai import types
from pydantic import BaseModel

from adk_context_pack._json import json_text, json_value, opened
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.stores.codec import dumps
from adk_context_pack.stores.handles import NO_HANDLE
from adk_context_pack.tables.column_names import words
from adk_context_pack.tables.columns import without_frames
from adk_context_pack.tables.failure import MESSAGE_KEYS
from adk_context_pack.tables.find_tables import ReadMemo, Table, find_tables, replace_rows, tables_within
from adk_context_pack.tables.outliers import Odd
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, NOTE, PREVIEW, not_kept, preview_mark, rows_note
from adk_context_pack.tools import shown_rows
from adk_context_pack.tools.payload_preview import is_read, text_preview
from adk_context_pack.tools.result_limits import Part, ResultLimits, as_response
from adk_context_pack.tools.shown_rows import AS_THEY_ARE, CellLimits, Picked, RowForm, RowForms, beside_rows

Path = tuple[Any, ...]

# The least that a token limit alone has to save before anything is moved. A handle and a note are about as much.
_MIN_GAIN = 100
_FEWEST_ROWS, _LISTED, _NAMED = 2, 10, 400
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
    """Says what is shown of a result and what has to be kept for it.

    Attributes:
        parts: what has to be kept, each under a handle of its own.
        body: what is shown, without handles and notes.
        previews: the texts in it that stand for longer ones.
        limits: what it was made for.
    """

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
        held = {} if handles[0] is None else {HANDLE: handles[0]}
        return {**shown, **held, NOTE: self._note(handles[0], reason)}

    def _note(self, handle: str | None, reason: str) -> str:
        limits = self.limits
        has_facts = any(said.keys() - {"names", "more_columns"} for said in self.body.get(FACTS, {}).values())
        said = self.body[LIMITS].values()
        some = "some" if any("rows" in each for each in said) else "first"
        is_sample = any(each["shown"] < each["total"] for each in said)
        shown = ("none" if not any(each["shown"] for each in said) else some) if is_sample else "all"
        note = partial(rows_note, shown=shown, has_facts=has_facts, paged=has_facts and is_page(self.body))
        if handle is not None:
            return note(opener=limits.openers.rows, refer_in=limits.refer_in)
        return f"{note(opener='').removesuffix(' All rows are stored.')} {not_kept(reason, limits.tool)}"


_NEXT = frozenset(("next", "more", "continue", "continuation", "evaluated", "truncated", "incomplete"))
_BESIDE = "has is page pages token link url uri marker key offset start cursor last result results records available"


def is_page(shown: Mapping[str, Any]) -> bool:
    """Returns whether the result that a stub is of names a next page, as `nextPageToken` and `has_more` do."""
    inner = [each for key, each in shown.items() if isinstance(each, Mapping) and key not in {LIMITS, FACTS}]
    said = ((set(words(str(key))), value) for each in (shown, *inner) for key, value in each.items())
    return any(value and names & _NEXT and names - _NEXT <= {*_BESIDE.split()} for names, value in said)


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
        self._odd: dict[str, Mapping[int, Sequence[Odd]]] = {}
        self._picked: dict[str, Picked] = {}
        self._ways: dict[str, RowForms] = {}
        self._forms: dict[str, RowForm] = {}

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
            self.whole = as_plain(self.whole)
            if not is_long and self._is_document(size):
                return None
            self._choose(size, budget)
        if not self.tables and not self.branches:
            return None
        plan = self._capped(total) if self.tables else self._previewed(self.whole, (), {})
        gain = _MIN_GAIN if self.tables and not is_long else 1
        return plan if plan.parts and self._weight(plan) + gain <= total else None

    def _find(self, value: Any = None) -> list[Table]:
        return find_tables(self.whole if value is None else value, min_rows=self._min_rows, memo=self._memo)

    def _is_document(self, size: int) -> bool:
        """Returns whether the result is texts that will be read to their end, of at most four times the limit."""
        if size > 4 * (self.limits.text_tokens or 0):
            return False
        # A body of text beside at most one figure is read. Other rows with more than a text and its kind are asked,
        # unless hardly anything else is in them.
        listed, asked, is_list = find_tables(self.whole, min_rows=_LISTED, memo=self._memo), False, False
        for rows in (each.rows for each in listed):
            kinds = list(map(type, scalars(rows[0])))
            names = rows[0] if isinstance(rows[0], Mapping) else ()
            is_body = not {"text", "body", "content"}.isdisjoint(names) and kinds.count(int) + kinds.count(float) <= 1
            asked |= bool(kinds[1:]) and not is_body
            is_list |= bool(kinds[2:]) and not is_body and self.limits.tokens(rows) > 0.7 * size
        # A table in a text is read by its cells.
        held = [each.rows for each in listed] if is_list else self.whole
        leaves = chain.from_iterable(scalars(opened(leaf)) for leaf in scalars(held))
        # By its bytes, since a character of Chinese, Japanese or Korean says as much as three letters.
        least = _SHORT // 2 if asked else _SHORT // 5
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
        facts = shown_rows.facts_of(self.tables) if limits.facts else {}
        for table in self.tables:
            self._pick(table, facts[table.key][1] if facts else {})
        inner = islice(chain.from_iterable(map(tables_within, self.tables)), _MAX_INNER * bool(facts))
        within = [table for table in inner if table.key not in facts]
        for key, told in shown_rows.facts_of(within).items():
            if any(each.kind in {"number", "rate"} for each in told[0].columns):
                facts[key], self._odd[key], self._picked[key] = told, {}, {}
                self._ways[key] = RowForms([AS_THEY_ARE], by_row=False)
        self.tables += [table for table in within if table.key in facts]
        by_row = any(ways.by_row for ways in self._ways.values())
        if target is not None:
            target = max(target, self._weight(self._body({}, {})) + target // 2)
            target = max(target, limits.max_tokens or 0) if by_row else target
        least = self._fitted({}, target)
        forms = [
            shown_rows.forms_of_facts(table, facts[table.key][0], self._beside(table)) for table in self.tables if facts
        ]
        tried = []
        for each in zip(*forms, strict=True):
            tried.append(said := {FACTS: dict(zip(self._picked, each, strict=True))})
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
                room = max(most, min(max(2 * most, _NAMED), self._weight(self._body(said, {})) + _MIN_GAIN))
            elif not any("numbers" in facts for facts in said[FACTS].values()):
                continue
            plan = self._fitted(said, room)
            if self._weight(plan) <= min(room, total - 1):
                yield plan

    def _pick(self, table: Table, odd: Mapping[int, Sequence[Odd]]) -> None:
        """Picks the rows that are shown first: those unlike the others, then the first ones."""
        self._odd[table.key] = odd
        self._ways[table.key] = ways = shown_rows.forms_of(table, chain(*odd.values()), titles=self.limits.titles)
        most = len(table.rows) if ways.by_row else min(_STUB_ROWS, self.limits.max_rows or _STUB_ROWS)
        most = min(most if self.limits.stub_rows is None else self.limits.stub_rows, len(table.rows))
        words = {row: next((cell.word for cell in cells if cell.word), "") for row, cells in odd.items()}
        rows = islice(chain(words, (row for row in range(most) if row not in words)), most)
        self._picked[table.key] = {row: words.get(row, "") for row in rows}

    def _beside(self, table: Table) -> dict[str, list[Any]]:
        """Returns what stands out in columns of which the rows of a table that is read show no more than titles."""
        ways = self._ways[table.key]
        if not ways.by_row:
            return {}
        titles, picked, rows = ways.forms[-1].columns, self._picked[table.key], []
        for row, cells in islice(self._odd[table.key].items(), _STUB_ROWS):
            if cell := next((cell for cell in cells if cell.column not in titles), None):
                (values,) = RowForm(CellLimits(160, 3), (titles[0], cell.column)).rows(
                    table, {row: picked.get(row, "")}
                )
                rows.append({"row": row, **values})
        return {"notable_rows": rows} if rows else {}

    def _fitted(self, extras: Mapping[str, Any], target: int | None) -> ResultPlan:
        self._forms = {}
        if target is None:
            return self._body(extras, {key: len(picked) for key, picked in self._picked.items()})
        # To say which rows are shown takes about a quarter of a handle and a note.
        left = target - self._weight(self._body(extras, {})) - _MIN_GAIN // 4 * any(self._odd.values())
        shown: dict[str, int] = {}
        tables = [table for table in self.tables if table.around is None]
        for position, table in enumerate(tables):
            form, count, used = self._rows_for(table, left // (len(tables) - position))
            self._forms[table.key], shown[table.key] = form, count
            left -= used
        plan = self._body(extras, shown)
        while any(shown.values()) and self._weight(plan) > target:
            shown = {key: count - (count + 7) // 8 for key, count in shown.items()}
            plan = self._body(extras, shown)
        return plan

    def _rows_for(self, table: Table, budget: int) -> tuple[RowForm, int, int]:
        """Returns the fullest form in which enough rows fit, how many fit, and their tokens."""
        ways, picked = self._ways[table.key], self._picked[table.key]
        enough, best = len(picked) if ways.by_row else min(_STUB_ROWS, len(picked)), (ways.forms[0], -1, 0)
        for form in ways.forms:
            # A table that is asked shows few columns only if no row fits whole.
            if form.columns and not ways.by_row and best[1] > 0:
                break
            count = used = 0
            for cost in form.costs(table, picked, self.limits.encoding, self.limits.tokens):
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
        for table in self.tables:
            count, form = shown.get(table.key, 0), self._forms.get(table.key, AS_THEY_ARE)
            # The first are the most worth showing. They are shown in the order of the table.
            picked = dict(sorted(islice(self._picked[table.key].items(), count)))
            if table.key in facts:
                # Without rows the rest is weighed, and some rows will be seen beside it.
                ways = self._ways[table.key]
                hoped = self._picked[table.key], ways.forms[-1] if ways.by_row else form
                facts[table.key] = beside_rows(facts[table.key], table, *((picked, form) if shown else hoped))
            missing = form.said(table, picked, self._odd[table.key])
            said[table.key] = {"shown": count, "total": len(table.rows), **missing}
            is_csv = self.limits.encoding == "csv" or table.key in self._inner
            rows[table.key] = form.shown(table, picked, "csv" if is_csv else "json")
        count, total = sum(shown.values()), sum(len(table.rows) for table in self.tables if table.around is None)
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
        # A tool may have written the keys of a stub itself.
        body = {key: value for key, value in body.items() if key not in (FACTS, HANDLE, NOTE)}
        facts = {key: each for key, each in facts.items() if each}
        body = {**body, LIMITS: said, **({FACTS: facts} if facts else {})}
        return dataclasses.replace(plan, body=body, previews=previews)

    def _previewed(self, smaller: Any, kept: tuple[Part, ...], inner: Mapping[Path, str]) -> ResultPlan:
        """Returns a plan with previews in the place of the branches that get smaller by it."""
        parts, previews = list(kept), []
        for branch in self.branches:
            value, preview = self._preview_of(branch)
            path = branch.path
            if not path and isinstance(smaller, Mapping):
                smaller, path = {**_short_fields(smaller), PREVIEW: ""}, (PREVIEW,)
            # A whole that is kept for its tables needs no second handle.
            number = 0 if kept and not branch.path else len(parts)
            parts += [Part(value=value, kind="payload")] * (number == len(parts))
            previews.append(preview._replace(path=path, part=number, text=preview.text + inner.get(branch.path, "")))
            smaller = put_at(smaller, path, "")
        return ResultPlan(parts=tuple(parts), body=smaller, previews=tuple(previews), limits=self.limits)

    def _preview_of(self, branch: Branch) -> tuple[Any, Preview]:
        if branch.path not in self._texts:
            value = reduce(getitem, branch.path, self.whole)
            text = value if isinstance(value, str) else dumps(value, json_text)
            shown = text_preview(text, max_tokens=self.limits.preview_tokens, counter=self.limits.counter)
            kind: Literal["text", "JSON"] = "text" if isinstance(value, str) else "JSON"
            self._texts[branch.path] = value, Preview(branch.path, 0, kind, len(text), shown)
        return self._texts[branch.path]


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


def as_plain(result: Any) -> Any:
    """Returns a pydantic model or dataclass as a dict, and anything else unchanged."""
    if isinstance(result, types.Part | type):
        return result
    return json_value(result) if isinstance(result, BaseModel) or dataclasses.is_dataclass(result) else result


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
