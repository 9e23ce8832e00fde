"""Describes results in a few words, and puts short notes, or forms that say all in fewer words, in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, starmap
from json.encoder import encode_basestring as _quote
from operator import is_not
from sys import maxsize
from typing import Any

from google.genai import types

from adk_context_pack._json import json_text, opened, opened_exactly, shorten_counted
from adk_context_pack.conversation.contents import KEY, MAX_HEAD, KnownContents, changed, is_note, said_in
from adk_context_pack.conversation.ledger import LEAVES, MAX_OF_TEXT, NAMED, result_names
from adk_context_pack.conversation.model_call import Weighed
from adk_context_pack.conversation.outline import Place, part_at
from adk_context_pack.conversation.token_estimate import TokenMeter, estimate_tokens, payload_bytes, payload_text
from adk_context_pack.tables.csv_tables import exact_lines
from adk_context_pack.tables.failure import error_of, is_text
from adk_context_pack.tables.json_in_text import is_mcp, rows_of_blocks
from adk_context_pack.tables.stub_form import FACTS, HANDLE, LIMITS, PREVIEW, lines_of_facts, stored_text

_SHORT = 60

_MAX_PARSED = 200_000


def outcome_of(response: Any, *, max_chars: int, max_error_chars: int) -> str:
    """Returns what came of a call, in a few words.

    A capped or offloaded result is described by its true size and its handle, and an MCP result by what it holds.
    """
    if (error := error_of(response)) is not None:
        stored, said = stored_text(error), error.partition("\n")[2]
        told = f"{said[:max_error_chars]}… [{stored}]" if stored else shorten_counted(error, max_error_chars)
        return f"error: {told}{_rows_beside(response, max_chars)}"
    return shorten_counted(_described(response), max_chars)


def _rows_beside(response: Any, max_chars: int) -> str:
    # A partial result has rows although something failed.
    if not isinstance(response, Mapping):
        return ""
    told = _true_sizes(response)
    rows = {key: told[key] for key, value in response.items() if isinstance(value, list) and value and key in _ROWS}
    rows |= {HANDLE: told[HANDLE]} if HANDLE in told and rows else {}
    return shorten_counted(f", beside {_entries(rows)}", max_chars) if rows else ""


_ROWS = frozenset({"rows", "results", "result", "data", "items", "records", "values"})


def _described(response: Any) -> str:
    if not isinstance(response, Mapping):
        return _shape(response)
    told = _true_sizes(response)
    if len(told) == 1:
        # ADK wraps what is not a dict as {"result": …}; the key says nothing.
        ((key, value),) = told.items()
        return _shape(value) if key in ("result", "output") else f"{{{_entry(key, value)}}}"
    return _entries(told)


def _entries(told: Mapping[Any, Any]) -> str:
    return _braced(starmap(_entry, told.items()), len(told), 20)


def _braced(entries: Iterable[str], count: int, most: int) -> str:
    more = f", +{count - most}" if count > most else ""
    return f"{{{', '.join(islice(entries, most))}{more}}}"


def _true_sizes(response: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Returns a result as what it stands for: true numbers of rows, and the contents of MCP blocks."""
    limits = response.get(LIMITS)
    told = dict(response)
    if isinstance(limits, Mapping):
        told = {key: value for key, value in told.items() if not str(key).startswith("_") or key in (HANDLE, PREVIEW)}
    if is_mcp(told):
        told = _mcp(told)
    for path, limit in limits.items() if isinstance(limits, Mapping) else ():
        total = limit.get("total") if isinstance(limit, Mapping) else None
        # A list within another field is named by its whole path, beside that field.
        if isinstance(total, int) and total < maxsize and (path in told or str(path).partition(".")[0] in told):
            # It is told as a list of that length.
            told[path] = range(total)
    return told


def _mcp(response: Mapping[Any, Any]) -> dict[Any, Any]:
    told = {key: value for key, value in response.items() if key not in ("content", "structuredContent", "isError")}
    blocks, structured = response["content"], response.get("structuredContent")
    texts = [block["text"] for block in blocks if is_text(block)]
    others = [str(block.get("type")) for block in blocks if not is_text(block)]
    if isinstance(structured, Mapping) and structured:
        told = {**structured, **told}
    elif (rows := rows_of_blocks(texts, structured)) is not None:
        told = {"result": rows, **told}
    elif texts:
        only = texts[0] if len(texts) == 1 else texts
        told = {"result": opened(only) if len(only) <= _MAX_PARSED else only, **told}
    if others:
        told["attached"] = ", ".join(others)
    return told


def _entry(key: object, value: Any) -> str:
    is_short = isinstance(value, str) and isinstance(key, str) and len(value) <= _SHORT and len(key) <= _SHORT
    return f"{key}: {_quote(value)}" if is_short else f"{shorten_counted(str(key), _SHORT)}: {_shape(value)}"


def _shape(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return json_text(value) if value is None or isinstance(value, bool) else str(value)
    if isinstance(value, str):
        if (stored := stored_text(value)) is not None:
            return str(stored)
        return _quote(value) if len(value) <= _SHORT else f"text of {len(value)} characters"
    if isinstance(value, Mapping):
        return _keys(value)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        first = value[0] if value else None
        return f"list of {len(value)}" + (f" {_keys(first)}" if isinstance(first, Mapping) else "")
    return shorten_counted(str(value), _SHORT)


def _keys(value: Mapping[Any, Any]) -> str:
    return _braced((shorten_counted(str(key), _SHORT) for key in value), len(value), 8)


_MAX_CHARS = 300
_TIGHT = 10_000


def is_shortened(response: Mapping[str, Any] | None) -> bool:
    """Tells whether a result was made smaller when the tool returned it."""
    there = response or {}
    return HANDLE in there or LIMITS in there or any(map(stored_text, there.values()))


def result_note(response: Any, tokens: int) -> dict[str, str]:
    """Returns the note for one tool result: its size, and its outcome with the handle if it has one."""
    outcome = outcome_of(response, max_chars=min(_MAX_CHARS, max(tokens // 4, 40)), max_error_chars=_MAX_CHARS)
    note = {KEY: f"{tokens} tokens: {outcome}"}
    values = response.values() if isinstance(response, dict) else (response,)
    # The shape of a text says nothing about it, and how it began does.
    heads = (value[:MAX_HEAD] for value in values if isinstance(value, str) and len(value) > MAX_HEAD)
    if isinstance(response, Mapping) and is_shortened(response):
        facts, room = list[str](), min(50, tokens // 4)
        for line in lines_of_facts(response):
            # The whole line or nothing of it, since a part of a figure is another figure.
            if (cost := estimate_tokens(f"{line}\n")) <= room:
                facts.append(line)
                room -= cost
        if facts:
            note["facts"] = "\n".join(facts)
    elif head := next(heads, ""):
        note["began"] = head[: max(tokens // 10, 20)]
    return note


class ClearingEditor:
    """Builds new contents with notes in place of bodies, and counts the results and the tokens that it saved.

    Args:
        known: the contents, which stay as they are.
        meter: counts the tokens.
        limits: the most tokens for the identifiers in one note, and the budget of the request or None.
        whole: the contents with their results as tools returned them, which notes tell of. By default the same ones.
        taken: the arguments that tools take, as `arguments_in` gives them.
    """

    def __init__(
        self,
        known: KnownContents,
        meter: TokenMeter,
        *,
        limits: tuple[int, int | None] = (0, None),
        whole: Sequence[types.Content] | None = None,
        taken: tuple[str, ...] = (),
    ) -> None:
        self.count = self.saved = 0
        self.meter = meter
        self._limits, self.taken = limits, taken
        self.given = known.contents
        self._whole = known.contents if whole is None else whole
        # Each call clears the same results again.
        self._notes = known.cache.kept(("notes", meter.name, limits, taken), Weighed)
        self._parts: dict[int, list[types.Part]] = {}

    def result(self, place: Place) -> types.FunctionResponse:
        """Returns the result at a place."""
        return part_at(self.given, place).function_response or types.FunctionResponse()

    def size(self, place: Place, min_tokens: int, excluded: Collection[str | None]) -> int:
        """Returns the tokens of a result, or 0 for one that stays: small, excluded, a note already, or with media."""
        result = self.result(place)
        size = self.meter.payload(result.response)
        stays = size < min_tokens or result.name in excluded or getattr(result, "parts", None)
        return 0 if stays or is_note(result.response) else size

    def gain(self, place: Place, size: int) -> int:
        """Returns the tokens that a note saves, or 0 if the result carries a signature or its note is not smaller."""
        part = part_at(self.given, place)
        result = part.function_response
        if part.thought_signature or result is None:
            return 0
        response = said_in(part_at(self._whole, place))[3]
        note = result_note(response, self.meter.payload(response))
        (most, budget), tokens = self._limits, self.meter.payload(note)
        # What a small budget makes leave early is worth a longer note.
        most, of_text = (2 * most, 2 * most) if budget and budget <= _TIGHT else (most, MAX_OF_TEXT)
        # Never so many names that the result would have to stay because of them.
        room = min(most, (size - tokens) // 2)
        # The words of facts name nothing.
        shown = {key: value for key, value in response.items() if key != FACTS} if response else response
        said = " ".join(note.values())
        if room > 0 and (names := result_names(shown, max_tokens=room, said=said, taken=self.taken, most=of_text)):
            count = self.meter.payload(named := note | {NAMED: names})
            note, tokens = (named, count) if _is_smaller(named, count, response, size) else (note, tokens)
        self._notes[place] = changed(part, "function_response", changed(result, "response", note))
        self._notes.bytes += 3_000 + 4 * tokens
        return size - tokens if _is_smaller(note, tokens, result.response, size) else 0

    def clear_result(self, place: Place, gain: int, shown: types.Part | None = None) -> None:
        """Puts a note in place of the body of a result: `shown`, or the one for which `gain` gave so many tokens."""
        self.count += 1
        self.saved += gain
        self._parts_at(place)[place.part] = shown or self._notes[place]

    def put_result(self, place: Place, size: int, note: dict[str, str]) -> None:
        """Puts `note` in place of a result's body, if it is smaller."""
        tokens = self.meter.payload(note)
        if _is_smaller(note, tokens, self.result(place).response, size):
            shown = changed(self.result(place), "response", note)
            self.clear_result(place, size - tokens, changed(part_at(self.given, place), "function_response", shown))

    def clear_args(self, place: Place, min_tokens: int) -> None:
        """Puts a note in place of a call's arguments, if they are large and not signed."""
        part = part_at(self.given, place)
        call = part.function_call
        if call is None or not call.args or part.thought_signature or is_note(call.args):
            return
        size = self.meter.payload(call.args)
        short = {key: value for key, value in call.args.items() if len(str(value)) <= MAX_HEAD}
        told = f"arguments of about {size} tokens: {', '.join(map(str, call.args))}"
        note = {KEY: told[:_MAX_CHARS], **short}
        tokens = self.meter.payload(note)
        if size >= min_tokens and _is_smaller(note, tokens, call.args, size):
            self.saved += size - tokens
            self._parts_at(place)[place.part] = changed(part, "function_call", changed(call, "args", note))

    def contents(self) -> list[types.Content]:
        """Returns the contents with all notes in place."""
        rebuilt = list(self.given)
        for index, parts in self._parts.items():
            rebuilt[index] = changed(rebuilt[index], "parts", parts)
        return rebuilt

    def _parts_at(self, place: Place) -> list[types.Part]:
        return self._parts.setdefault(place.content, list(self.given[place.content].parts or ()))


def _is_smaller(note: Mapping[str, Any], tokens: int, payload: Any, size: int) -> bool:
    """Tells whether a note has fewer tokens than what it replaces, and no more characters."""
    # A body is written out only if it has to be, since none of this many tokens has fewer characters: the densest text
    # for the estimate has four bytes a character and three bytes a token.
    length = len(payload_text(note))
    return tokens < size and (length <= 0.7 * size or length <= len(payload_text(payload)))


def compacted(value: Any) -> Any:
    """Returns a JSON value with tables as CSV and JSON in texts opened, or the same one if that is little shorter."""
    try:
        short = _compacted(value)
    except RecursionError:
        return value  # It is nested too deep to be read.
    return short if short is value or len(payload_bytes(short)) <= 0.95 * len(payload_bytes(value)) else value


def _compacted(value: Any) -> Any:
    if isinstance(value, str):
        return value if (held := opened_exactly(value)) is value else _compacted(held)
    if type(value) not in (dict, list):
        return value
    keys, held = ([*value], [*value.values()]) if type(value) is dict else ((), value)
    if (table := _table(held, keys)) is not None:
        return table
    cells = [*map(_compacted, held)]
    made = dict(zip(keys, cells, strict=True)) if keys else cells
    return made if any(map(is_not, cells, held)) else value


def _table(items: Sequence[Any], keys: Sequence[Any] = ()) -> dict[str, Any] | None:
    is_deep = list in map(type, items)
    # What holds a list would look like a row, and what holds none like a group.
    rows = ([] if keys else list(_rows(items))) if is_deep else items
    found = [row for row in rows if type(row) is dict]
    if len(found) < (enough := max(2, len(rows) / 2)):
        return None
    # Mostly all rows are alike.
    columns, alike = _columns(found), found
    if columns is None:
        [(names, count)] = Counter(map(frozenset, found)).most_common(1)
        alike = [row for row in found if row.keys() == names]
        if count < enough or (columns := _columns(alike)) is None:
            return None
    usual = alike[0].keys()
    odd = [row for row in rows if type(row) is not dict or row.keys() != usual] if len(alike) < len(rows) else []
    table, first = dict[str, Any](), dict[str, Any]()
    if keys and (name := next((name for name, cells in columns.items() if cells == keys), None)) and len(columns) > 1:
        table["key"], first[name] = name, columns.pop(name)
    others = [_columns([row]) or {} for row in odd]
    same = [name for name, cells in columns.items() if _are_same([*cells, *(o.get(name, [...])[0] for o in others)])]
    every = {name: columns.pop(name)[0] for name in same if len(columns) > 1}
    plain = {name for name, cells in columns.items() if {dict, list, str}.isdisjoint(map(type, cells))}
    short = {name: cells if name in plain else [*map(_compacted, cells)] for name, cells in columns.items()}
    # Among lines an odd text would look like one.
    is_flat = str not in map(type, odd) and all(LEAVES.issuperset(map(type, cells)) for cells in short.values())
    if is_deep and (odd or not is_flat):
        return None
    if is_flat and rows is items and not odd and len(table) == bool(keys):
        table["csv"] = "\n".join([*exact_lines(zip(first | short)), *exact_lines((first | short).values())])
    else:
        lines = exact_lines(short.values()) if is_flat else map(list, zip(*short.values(), strict=True))
        placed = list(lines) if rows is items and not odd else _placed(items, lines, set(map(id, alike)), every)
        shown = dict(zip(keys, placed, strict=True)) if keys else placed
        table |= {"columns": list(short), "groups" if is_deep else "rows": shown}
    return table | ({"every_row": every} if every else {})


def _rows(items: Sequence[Any]) -> Iterator[Any]:
    """Yields the rows of a list, or of lists within it."""
    for item in items:
        yield from _rows(item) if type(item) is list else (item,)


def _placed(items: Sequence[Any], lines: Iterator[Any], alike: Collection[int], every: Collection[str]) -> list[Any]:
    """Returns the items with the next line for each row that is among `alike`, and others without names in `every`."""
    return [
        next(lines)
        if id(item) in alike
        else _placed(item, lines, alike, every)
        if type(item) is list
        else _compacted({name: cell for name, cell in item.items() if name not in every})
        if every and type(item) is dict
        else _compacted(item)
        for item in items
    ]


def _columns(rows: Sequence[Any]) -> dict[str, list[Any]] | None:
    """Returns the cells of rows by column, those of objects within them by dotted names, or None if keys differ."""
    first = rows[0]
    if not (type(first) is dict and first and set(map(type, rows)) == {dict} and set(map(type, first)) == {str}):
        return None
    if not all(map(first.keys().__eq__, map(dict.keys, rows))):
        return None
    found, is_plain = dict[str, list[Any]](), not any("." in name for name in first)
    for name in first:
        cells = [row[name] for row in rows]
        within = _columns(cells) if is_plain else None
        if within is None or any("." in inner for inner in first[name]):
            found[name] = cells
        else:
            found |= {f"{name}.{inner}": each for inner, each in within.items()}
    return found


def _are_same(cells: Sequence[Any]) -> bool:
    # By what is written, since -0.0 equals 0.0 and True equals 1.
    written = repr if LEAVES.issuperset(map(type, cells)) else json_text
    return all(map(written(cells[0]).__eq__, map(written, cells)))
