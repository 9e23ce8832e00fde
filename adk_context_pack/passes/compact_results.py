"""Writes the names of a table's columns once, in place of in each row of a tool result. Nothing is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_not, itemgetter
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import kind_in, takes_references
from adk_context_pack._json import json_text, opened_exactly
from adk_context_pack.conversation.clearing import is_shortened
from adk_context_pack.conversation.contents import changed
from adk_context_pack.conversation.known_contents import known_contents
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import meter_of
from adk_context_pack.errors import at_least, names
from adk_context_pack.passes.context_pass import ContextPass

_MIN_ROWS = 2
_WORTH = 0.95
"""A result stays as it is if it would keep more than this share of its characters."""


@dataclass(frozen=True, kw_only=True)
class CompactResults(ContextPass):
    """Shows tables in tool results as columns and rows, and JSON in texts as what it holds.

        {"orders": [{"id": 1, "at": {"city": "Oslo"}, "paid": true}, {"id": 2, "at": {"city": "Bergen"}, "paid": …
        {"orders": {"columns": ["id", "at.city"], "rows": [[1, "Oslo"], [2, "Bergen"], …], "every_row": {"paid": true}}}

    A table is a list or a mapping of three or more objects with the same keys. `every_row` has what is the same in all
    of them, `key` the column whose cells are the keys of a mapping. Each value stays as it was, down to the digits of
    its numbers, and a text that does not read back alike stays a text. So do results that would become less than a
    tenth shorter, results of ADK's and the pack's own tools, and all where an agent writes references into results. The
    session keeps what the tool returned.

    Args:
        min_tokens: smaller results stay.
        exclude_tools: tools whose results stay.

    Cost to the prompt cache: none. What a result becomes depends on the result alone.
    """

    needs_results = True
    min_tokens: int = 100
    exclude_tools: Collection[str] = field(default=())

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        at_least(self, "min_tokens", self.min_tokens, 1)
        object.__setattr__(self, "exclude_tools", names(self, "exclude_tools", self.exclude_tools))

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with shorter results, or the same object if there are none."""
        contents = request.contents or []
        sizes = meter_of(call).sizes(contents)
        if max(sizes, default=0) < self.min_tokens or takes_references(call.context):
            return request
        with known_contents(call, contents).growing(("compacted", self), _Made) as (made, new):
            for size, content in zip(sizes[len(made) :], new, strict=True):
                made.append(self._made(content, request.tools_dict) if size >= self.min_tokens else None)
        if not any(made):
            return request
        call.note(f"wrote the results of {sum(map(bool, made))} contents as columns and rows")
        shown = [short or content for short, content in zip(made, contents, strict=True)]
        return request.model_copy(update={"contents": shown})

    def _made(self, content: types.Content, tools: Mapping[str, Any]) -> types.Content | None:
        parts = [self._part(part, tools) for part in content.parts or ()]
        return changed(content, "parts", parts) if any(map(is_not, parts, content.parts or ())) else None

    def _part(self, part: types.Part, tools: Mapping[str, Any]) -> types.Part:
        result = part.function_response
        if result is None or result.name in self.exclude_tools or kind_in(tools, result.name) is not None:
            return part
        response = result.response
        if not response or part.thought_signature or is_shortened(response):
            return part
        short = compacted(response)
        if short is response or len(json_text(short)) > _WORTH * len(json_text(response)):
            return part
        return changed(part, "function_response", changed(result, "response", short))


class _Made(list[types.Content | None]):
    """Holds the shorter contents of a session, and None for each that stays."""

    @property
    def bytes(self) -> int:
        """About how many bytes of memory they take."""
        return 8 * len(self) + 2_000 * sum(map(bool, self))


def compacted(value: Any) -> Any:
    """Returns a JSON value with its tables as columns and rows, and with what its texts hold as JSON.

    The same object is returned where there is nothing to do, and where a value is nested too deep to be read.
    """
    try:
        return _compacted(value)
    except RecursionError:
        return value


def _compacted(value: Any) -> Any:
    if isinstance(value, str):
        return value if (held := opened_exactly(value)) is value else _compacted(held)
    if type(value) is dict:
        if (table := _table([*value.values()], [*value])) is not None:
            return table
        items = {key: _compacted(item) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in items) else value
    if type(value) is list:
        if (table := _table(value)) is not None:
            return table
        cells = [_compacted(item) for item in value]
        return cells if any(map(is_not, cells, value)) else value
    return value


def _table(items: Sequence[Any], keys: Sequence[Any] = ()) -> dict[str, Any] | None:
    rows = items if keys else list(_rows(items))
    kinds = Counter(tuple(sorted(row, key=str)) for row in rows if type(row) is dict)
    names, count = max(kinds.items(), key=itemgetter(1), default=((), 0))
    alike = [row for row in rows if type(row) is dict and len(row) == len(names) and all(name in row for name in names)]
    if not names or count < max(_MIN_ROWS, len(rows) / 2) or (columns := _columns(alike)) is None:
        return None
    table = dict[str, Any]()
    if keys and (name := next((name for name, cells in columns.items() if cells == keys), None)):
        table["key"] = name
        del columns[name]
    # A row that has other names stays an object, and says all of itself.
    same = [name for name, cells in columns.items() if count == len(rows) and _are_same(cells)]
    every = {name: columns.pop(name)[0] for name in same if len(columns) > 1}
    lines = (list(map(_compacted, cells)) for cells in zip(*columns.values(), strict=True))
    shown = _placed(items, lines, set(map(id, alike)), deep=not keys)
    table |= {"columns": list(columns), "rows": dict(zip(keys, shown, strict=True)) if keys else shown}
    return table | ({"every_row": every} if every else {})


def _rows(items: Sequence[Any]) -> Iterator[Any]:
    """Yields the rows of a list, or of lists within it."""
    for item in items:
        yield from _rows(item) if type(item) is list else (item,)


def _placed(items: Sequence[Any], lines: Iterator[Any], alike: Collection[int], *, deep: bool) -> list[Any]:
    """Returns the items with the next line in the place of each row that is among `alike`."""
    return [
        next(lines)
        if id(item) in alike
        else _placed(item, lines, alike, deep=True)
        if deep and type(item) is list
        else _compacted(item)
        for item in items
    ]


def _columns(rows: Sequence[Any]) -> dict[str, list[Any]] | None:
    """Returns the cells of rows by column, with those of objects within them by dotted names; None if keys differ."""
    first = rows[0]
    if not (type(first) is dict and first and all(type(row) is dict and row.keys() == first.keys() for row in rows)):
        return None
    found = dict[str, list[Any]]()
    for name in first:
        cells = [row[name] for row in rows]
        within = _columns(cells) if "." not in name else None
        if within is None or any("." in inner for inner in first[name]):
            found[name] = cells
        else:
            found |= {f"{name}.{inner}": each for inner, each in within.items()}
    return found


def _are_same(cells: Sequence[Any]) -> bool:
    first, *others = cells
    # True and 1.0 equal 1, and are written otherwise.
    return all(cell == first for cell in others) and len(set(map(json_text, cells))) == 1
