"""Reads JSON in texts: documents, also between words, one object a line, event streams, and the text blocks of MCP."""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any
from xml.etree import ElementTree as ET

from adk_context_pack._json import IN_STEPS, read_json
from adk_context_pack.tables.text_scan import TextPart, lines

_DECODER: Any = json.JSONDecoder()
_ENDS = {"[": "]", "{": "}", '"': '"'}
# The places where a document may start between words: a line of its own, or behind the colon of the first sentence.
_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_PREFIX = re.compile(r"data:[ \t]?")
_STREAM = re.compile(r"(event|id|retry):|:|data:[ \t]*\[DONE\]")


def read_document(text: str) -> Any:
    """Returns the list or dict that a whole text is, as JSON or as Python prints it, or None for any other text."""
    start, end = text[:64].lstrip()[:1], text[-64:].rstrip()[-1:]
    if not start or _ENDS.get(start) != end:
        return None
    is_large, value = len(text) >= IN_STEPS, None
    for read in (read_json, lambda text: _plain(ast.parse(text, mode="eval").body)):
        try:
            value = read(text.strip())
            break
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            if is_large or not ("'" in text or "(" in text or text[:-1].rstrip()[-1:] == ","):
                return None
    if isinstance(value, str):
        return read_document(value)
    return value if isinstance(value, (dict, list)) else None


_CONSTANTS = {"true": True, "false": False, **dict.fromkeys(("null", "nan", "NaT", "NaN"))}


def _plain(node: Any) -> Any:
    """Reads what Python prints of plain values, decimals, moments and records, and JSON with a comma at an end."""
    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None):
            return node.value
        case ast.List() | ast.Tuple() | ast.Set():
            return list(map(_plain, node.elts))
        case ast.Dict():
            return {str(_plain(key)): _plain(value) for key, value in zip(node.keys, node.values, strict=True)}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return -_plain(node.operand)
        case ast.Name() if node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        case ast.Call(func=ast.Attribute(attr="date" | "datetime" as kind), args=[_, _, _, *_], keywords=[]):
            return getattr(dt, kind)(*map(_plain, node.args)).isoformat()
        case ast.Call(args=[inner], keywords=[]):
            # Decimal('1.5'), UUID('…'), OrderedDict({…}).
            return _plain(inner)
        case ast.Call(args=[], keywords=[_, *_]):
            return {str(each.arg): _plain(each.value) for each in node.keywords}
    raise ValueError


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
    """Finds lines of one JSON object each, as a log or an event stream has them. Few others may stand around them."""
    rows: list[Any] = []
    start = end = remarks = 0
    for place, stop in lines(text):
        line = text[place:stop].strip()
        row = _row_of(line)
        if row is not None:
            if rows and remarks:
                return None
            start, remarks = (start, 0) if rows else (place, 0)
            rows.append(row)
            end = stop
        elif line and not _STREAM.match(line):
            remarks += 1
            if remarks > 5:  # noqa: PLR2004 - lines
                return None
    return TextPart(start, end, rows, "lines") if len(rows) > 1 else None


def holds_rows(value: Any, depth: int = 0) -> bool:
    """Returns whether a document is a list of two or more objects or lists, or has one within."""
    if isinstance(value, list):
        return len(value) > 1 and all(isinstance(end, (dict, list)) for end in (value[0], value[-1]))
    if not isinstance(value, dict) or depth == 3:  # noqa: PLR2004 - levels
        return False
    return any(holds_rows(item, depth + 1) for item in value.values())


def _row_of(line: str) -> Any:
    line = line[len(hit[0]) :] if (hit := _PREFIX.match(line)) else line
    if line[:1] + line[-1:] not in {"{}", "()"}:
        return None
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        read = read_document(f"[{line}]") if "'" in line else None
        return read[0] if read else None


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
