"""Reads JSON in texts: documents, also between words, one object a line, event streams, and the text blocks of MCP."""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from xml.etree import ElementTree as ET

from adk_context_pack._json import IN_STEPS, read_json
from adk_context_pack.tables.headers import is_header, is_typed
from adk_context_pack.tables.text_scan import TextPart, lines
from adk_context_pack.tables.trouble import LEVEL

_DECODER: Any = json.JSONDecoder()
_ENDS = {"[": "]", "{": "}", "(": ")", "<": ">", '"': '"'}
# The places where a document may start between words: a line of its own, or behind the colon of the first sentence.
_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_PREFIX = re.compile(r"data:[ \t]?")
_NOTHING: Mapping[str, str | None] = {}
_STREAM = re.compile(r"(event|id|retry):|:|data:[ \t]*\[DONE\]")


def read_document(text: str) -> Any:
    """Returns the list or dict that a whole text is, as JSON or as programs print it, or None for any other text."""
    begin, end, is_loose = text[:64].lstrip(), text[-64:].rstrip()[-1:], False
    is_plain = _ENDS.get(begin[:1]) == end and begin[0] in '[{"'
    # What has a type begins with its name.
    if not is_plain and (end not in _ENDS.values() or begin[:1] in '[{("' or not re.match(_OPEN, begin)):
        return None
    try:
        value = read_json(text.strip())
    except (ValueError, TypeError, RecursionError):
        value, is_loose = _read_printed(text.strip())
    if isinstance(value, str):
        return read_document(value)
    is_sure = isinstance(value, (dict, list)) and is_plain and not is_loose
    return value if is_sure or holds_rows(value) else None


_CONSTANTS = {"True": True, "False": False, **dict.fromkeys(("None", "nil", "undefined", "nan", "NaN", "NaT", "<NA>"))}
# Other escapes differ between languages.
_QUOTED = r""""(?:[^"\\\n]|\\[\\'"abfnrtvxuU])*"|'(?:[^'\\\n]|\\[\\'"abfnrtvxuU])*'"""
_OPEN = r"(?:new +)?(?:(<)[A-Z][\w.]*:?\s+|[#%&]?(?P<type>[\w.]*(?:\[[\w.]+\](?=[({]))?)(?:([\[(])| ?({)))"
# What has no quotes goes up to a comma, a bracket or the next name.
_VALUE = re.compile(
    rf"(?P<quoted>{_QUOTED})|(?P<open>{_OPEN})"
    r"""|(?P<bare><NA>|(?!')(?:(?!\s{0,9}(?:[,\])}>]|$|\s[\w.]+(?:=|:\S)))[^\n\[\](){}<>"])+)"""
)
# Protocol buffers have no sign between a name and a block.
_NEXT = re.compile(
    rf"\s*(?P<comma>,?)\s*(?::?(?P<key>{_QUOTED}|[^\W\d][\w.$-]*|-?\d+(?=: |\s*=>))\s*(?:=>|[:=](?!//))\s*"
    r"|(?P<block>[a-z_]\w*)\s+(?={))?"
)


def _read_printed(text: str) -> tuple[Any, bool]:
    """Returns the value that a program printed, or None, and whether it has words without quotes."""
    reader = _Reader(text)
    try:
        value, _ = reader.items(0, "") if len(text) < IN_STEPS else (None, 0)
    except (ValueError, TypeError, OverflowError, SyntaxError, RecursionError):
        return None, False
    return value[0] if isinstance(value, list) and len(value) == 1 else value, reader.loose > 0


class _Reader:
    """Reads values as Python, JavaScript, Ruby, Rust, Go, Java and protocol buffers print them."""

    def __init__(self, text: str) -> None:
        self._text = text
        # How many words have no quotes and may go on behind a comma.
        self.loose = 0

    def items(self, at: int, closer: str, kind: str = "") -> tuple[Any, int]:
        """Returns the dict or list up to a closing bracket, or the one value in a call, and where the rest starts."""
        text, loose = self._text, self.loose
        pairs, values, commas = dict[str, list[Any]](), list[Any](), set[bool]()
        while (hit := _NEXT.match(text, at)) and text[(end := hit.end()) : end + 1] != closer:
            if pairs or values:
                commas.add(bool(hit["comma"]))
            key = hit["key"] or (hit["block"] if closer in {"", "}"} else None)
            start = end if key or not hit["block"] else hit.start("block")
            if len(commas) > 1 or (start == at and commas):
                raise ValueError
            item, at = self._value(start)
            (values if key is None else pairs.setdefault(_unquoted(key), [])).append(item)
        end += len(closer)
        kind, is_call = kind.rpartition(".")[2], closer == ">" or bool(closer == ")" and kind)
        if kind in {"date", "datetime"} and values[2:] and pairs in ({}, {"tzinfo": ["datetime.timezone.utc"]}):
            self.loose = loose
            return getattr(dt, kind)(*values).isoformat() + "+00:00" * len(pairs), end
        forms = {tuple(value) if isinstance(value, dict) else () for value in values}
        is_odd = len(forms) > 1 or (is_call and values and isinstance(values[0], str))
        many = any(len(items) > 1 for items in pairs.values())
        if (
            (pairs and values)
            or (many and True in commas)
            or (is_call and values[1:])
            or (is_odd and self.loose > loose)
        ):
            raise ValueError
        if not closer and values[1:] and True not in commas:
            raise ValueError
        if pairs or (closer == "}" and not values):
            return {key: items if items[1:] else items[0] for key, items in pairs.items()}, end
        return values[0] if is_call and values else values, end

    def _value(self, at: int) -> tuple[Any, int]:
        text = self._text
        if (hit := _VALUE.match(text, at)) is None:
            raise ValueError
        word, end = hit[0], hit.end()
        if hit["open"]:
            return self.items(end, _ENDS[hit[3] or hit[5] or hit[6]], hit["type"] or "")
        if hit["quoted"]:
            return _unquoted(word), end
        # What a program leaves out.
        if "..." in word or "…" in word or word in {"Object", "Array"}:
            raise ValueError
        if word in _CONSTANTS:
            return _CONSTANTS[word], end
        try:
            return json.loads(word), end
        except ValueError:
            is_open = " " in word or text[end : end + 9].lstrip(" ")[:1] in {",", *_ENDS.values()}
            self.loose += is_open and not is_typed(word)
            return word, end


def _unquoted(text: str) -> str:
    if text[0] not in "\"'":
        return text
    return str(ast.literal_eval(text)) if "\\" in text else text[1:-1]


def read_xml(text: str) -> Any:
    """Returns what an XML document holds as dicts and lists, or None for pages, drawings, prose and any other text."""
    is_xml = text[:64].lstrip()[:1] == "<" and text[-64:].rstrip()[-1:] == ">" and len(text) < 10 * IN_STEPS
    # Without entities of its own no document grows.
    if not is_xml or re.search(r"(?i)<(?:html|body|div|p|table|svg|!doctype|!entity)\b", text):
        return None
    try:
        return _of_element(ET.fromstring(text))  # noqa: S314 - without entities
    except (ET.ParseError, ValueError, RecursionError):
        return None


def _of_element(element: ET.Element) -> Any:
    found: dict[str, Any] = dict(element.attrib)
    for child in element:
        if (child.tail or "").strip():
            raise ValueError("words between elements")
        name, value = child.tag.rpartition("}")[2], _of_element(child)
        if isinstance(there := found.get(name), list):
            there.append(value)
        else:
            found[name] = [there, value] if name in found else value
    text = (element.text or "").strip()
    return {**found, **({"value": text} if text else {})} if found else text


def find_json(text: str) -> TextPart | None:
    """Finds a JSON document with rows in it that stands between words."""
    sentence = re.match(r"[^\W\d][^\n{\[]{0,200}: ?(?=[\[{])", text)
    starts = (hit.end() for hit in islice(_START.finditer(text, 0, 2_000), 10))
    for start in (*((sentence.end(),) if sentence else ()), *starts):
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = read_document(text[start:]), len(text)
        if holds_rows(value) and not text[end : end + 1].strip():
            return TextPart(start, end, value, "json")
    return None


def find_lines(text: str) -> TextPart | None:
    """Finds lines of one object each, as a log or an event stream has them. Few others may stand around them.

    An object is JSON, what a program printed, or names with values. In front of it there may be a moment and a level.
    """
    found: list[_Line] = []
    start = end = remarks = 0
    for place, stop in lines(text):
        line = text[place:stop].strip()
        row = _row_of(line) if line else None
        if row is not None:
            if found and remarks:
                return None
            start, remarks = (start, 0) if found else (place, 0)
            found.append(row)
            end = stop
        elif line and not _STREAM.match(line):
            remarks += 1
            if remarks > 5:  # noqa: PLR2004 - lines
                return None
    return TextPart(start, end, _joined(found), "lines") if _are_alike(found) else None


@dataclass(frozen=True, slots=True)
class _Line:
    """A row in a line, what is in front of it, and whether it is JSON or may be read in more than one way."""

    row: Any
    head: Mapping[str, str | None]
    is_json: bool = False
    is_loose: bool = False


def _are_alike(found: Sequence[_Line]) -> bool:
    rows = [line.row for line in found if not line.is_json]
    if len(found) < 2 or not all(isinstance(row, dict) for row in rows):  # noqa: PLR2004 - rows
        return len(found) > 1
    if rows and not set(rows[0]).intersection(*rows):
        return False
    if not any(line.is_loose for line in found):
        return True
    # What seems a name within words is seldom there in all rows.
    names = max(map(list, rows), key=len)
    whole = sum(len(row) == len(names) for row in rows)
    are_names = is_header(names) and max(map(len, map(str.split, names))) <= _MAX_WORDS
    return len(rows) > 2 and 2 * whole > len(rows) and are_names and all(  # noqa: PLR2004 - rows
        list(row) == [name for name in names if name in row] for row in rows
    )  # fmt: skip


def _joined(found: Sequence[_Line]) -> list[Any]:
    heads = {name for line in found for name, said in line.head.items() if said}
    mark = "line_" if any(not heads.isdisjoint(line.row) for line in found if heads) else ""
    said = [{mark + name: each for name, each in line.head.items() if each} for line in found]
    return [{**head, **line.row} if head else line.row for head, line in zip(said, found, strict=True)]


def holds_rows(value: Any, depth: int = 0) -> bool:
    """Returns whether a document is a list of two or more objects or lists, or has one within."""
    if isinstance(value, list):
        return len(value) > 1 and all(isinstance(end, (dict, list)) for end in (value[0], value[-1]))
    if not isinstance(value, dict) or depth == 3:  # noqa: PLR2004 - levels
        return False
    return any(holds_rows(item, depth + 1) for item in value.values())


_TIME = (
    r"[\[(<]*((?:[A-Z][a-z]{2} +\d+ |\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d(?::\d\d[\d.,:+-]*)?Z?(?=[\s\]|]))?"
    r"[\s\[\]()<>|:-]*"
)
_BODY = r"[\s\])>|:-]{0,9}(.{0,300}?)[\s|:-]{0,9}(?<![^\s|:\]])(?=\{|[\w.]+=|$)"
_LABEL = r"(?:[-*•] +)?(?:\d+[.)] +)?(?:#(\d+):? +|([^\W\d][^(:=]*?) ?(?=\(.*\)$))?"
_PAIR = re.compile(r'([\w.@/-]{1,60})=("(?:[^"\\]|\\.)*"|[^\s"\x27\[{(][^\s"]*(?<!,)|)(?:\s+|$)')
_FIELD = re.compile(r"(^|, |; | \| |\t|(?<! ) {2,})\**([^\W\d][\w ./%#-]{0,39}?)(?:\**:\**(?=\s|$)|(?<=\w)=(?=\S))")
_MAX_WORDS = 3


def _row_of(line: str) -> _Line | None:
    """Returns the object in a line, which may have a moment, a level and a message or a label in front."""
    line = line[len(hit[0]) :] if (hit := _PREFIX.match(line)) else line
    if (found := _object_in(line)) or len(line) >= IN_STEPS:
        return found
    if time := re.match(_TIME, line):
        level = LEVEL.match(line, time.end())
        rest = line[level.end() if level else time.end() :]
        if (time[1] or level) and (body := re.match(_BODY, rest)):
            head = {"time": time[1], "level": level and level[0], "message": body[1].rstrip()}
            body_of = rest[body.end() :]
            return _object_in(body_of, head) if body_of else _object_in(body[1], {**head, "message": ""})
    if (label := re.match(_LABEL, line)) and label.end():
        rest = line[label.end() :]
        return _object_in(rest[1:-1] if label[2] else rest, {"number": label[1], "name": label[2]})
    return None


def _object_in(text: str, head: Mapping[str, str | None] = _NOTHING) -> _Line | None:
    if text[:1] + text[-1:] == "{}":
        try:
            return _Line(json.loads(text), head, is_json=True)
        except (ValueError, RecursionError):
            pass
    if len(text) >= IN_STEPS:
        return None
    pairs = dict(_PAIR.findall(text))
    if len(pairs) > 1 and not _PAIR.sub("", text, len(pairs)):
        return _Line({name: _unquoted(said or "''") for name, said in pairs.items()}, head)
    if text[-1:] in _ENDS.values() or ("'" in text and text[-1:] != ","):
        row, is_loose = _read_printed(text)
        if isinstance(row, dict) or (isinstance(row, list) and text[0] == "(" and not any(head.values())):
            return _Line(row, head, is_loose=is_loose)
    first, *parts = _FIELD.split(text)
    signs, names, values = parts[::3], parts[1::3], parts[2::3]
    are_values = not any(" " in said.strip() and "=" in said for said in values)
    if first or len(set(names)) < max(len(names), 2) or len(set(signs[1:])) > 1 or not are_values:
        return None
    row = {name: said.strip().strip('"') for name, said in zip(names, values, strict=True)}
    return _Line(row, head, is_loose=True)


_MCP_TYPES = frozenset(("text", "image", "audio", "resource", "resource_link"))


def rows_of_blocks(texts: Sequence[str], structured: Any) -> Sequence[Any] | None:
    """Returns the rows that text blocks hold, one in each, or None if they do not."""
    # Python's MCP server writes a list as one text block for each of its entries.
    if len(texts) <= 1:
        return None
    if isinstance(structured, Mapping):
        rows = structured.get("result")
        return rows if isinstance(rows, list) and len(rows) == len(texts) else None
    read = [read_document(text) for text in texts]
    return read if all(isinstance(row, dict) for row in read) else None


def is_mcp(value: Mapping[Any, Any]) -> bool:
    """Returns whether a dict is the result of an MCP tool."""
    blocks = value.get("content")
    if not isinstance(blocks, (list, tuple)) or not all(isinstance(block, Mapping) for block in blocks):
        return False
    marked = "structuredContent" in value or "isError" in value
    return (marked or bool(blocks)) and all(block.get("type") in _MCP_TYPES for block in blocks)


def is_text(block: Any) -> bool:
    """Returns whether a content block is text."""
    return block.get("type") == "text" and isinstance(block.get("text"), str)
