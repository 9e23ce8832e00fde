"""Reads JSON in texts: documents, also between words, one object a line, event streams, and the text blocks of MCP."""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any
from xml.etree import ElementTree as ET

from adk_context_pack._json import DECODER, IN_STEPS, read_json
from adk_context_pack.tables.headers import is_header, is_typed
from adk_context_pack.tables.text_scan import TextPart, lines
from adk_context_pack.tables.trouble import LEVEL

_ENDS = {"[": "]", "{": "}", "(": ")", "<": ">", '"': '"'}


def read_document(text: str) -> Any:
    """Returns the list or dict that a whole text is, as JSON or as programs print it, or None for any other text."""
    begin, end = text[:64].lstrip(), text[-64:].rstrip()[-1:]
    # What has a type begins with its name.
    if end not in _ENDS.values() or not re.match(f'"|{_OPEN}', begin):
        return None
    loose = list[str]()
    value = _read_printed(text.strip(), loose)
    if isinstance(value, str):
        return read_document(value)
    if loose and not (isinstance(value, list) and len({tuple(row) for row in value if isinstance(row, dict)}) == 1):
        return None
    return value if holds_rows(value) or (isinstance(value, (dict, list)) and begin[0] in "[{") else None


_CONSTANTS: dict[str, Any] = {
    "true": True, "True": True, "false": False, "False": False, "datetime.timezone.utc": "+00:00",
    **dict.fromkeys(("None", "null", "nil", "undefined", "nan", "NaN", "NaT", "<NA>")),
}  # fmt: skip
# Other escapes differ between languages.
_QUOTED = r""""(?:[^"\\\n]|\\[\\'"abfnrtvxuU])*"|'(?:[^'\\\n]|\\[\\'"abfnrtvxuU])*'"""
_OPEN = r"(?:new +)?(?:#?(<)(?:[A-Z][\w.]*:?\s+|(?=\w+\())|[#%&]?(?P<type>[\w.]*(?:\[\w+\](?=[({]))?)(?:([\[(])| ?({)))"
_VALUE = re.compile(rf"(?P<quoted>{_QUOTED})|(?P<open>{_OPEN})|<NA>|[^\s,\[\](){{}}<>\"']+")
_NEXT = re.compile(
    rf"\s*(?P<comma>,?)\s*(?::?(?P<key>{_QUOTED}|[^\W\d][\w.$-]*|-?\d+(?=: |\s*=>))\s*(?:=>|[:=](?!//))\s*)?"
)


def _read_printed(text: str, loose: list[str]) -> Any:
    """Returns a value as JSON, Python, JavaScript, Java, Kotlin, C#, Go, Ruby or Rust have it, or None.

    `loose` gets the names of texts that have no quotes, and so may hold the next name.
    """
    for read in (read_json, lambda _: _items(text, 0, "", "", loose)[0]):
        with suppress(ValueError, KeyError, TypeError, OverflowError, SyntaxError, RecursionError):
            return read(text)
        if len(text) >= IN_STEPS:
            break
    return None


def _items(text: str, at: int, closer: str, kind: str, loose: list[str]) -> tuple[Any, int]:
    """Returns the dict or list up to a closing bracket, or the one value in a call, and where the rest starts."""
    pairs, values, commas, known = dict[str, Any](), list[Any](), set[bool](), len(loose)
    while (hit := _NEXT.match(text, at)) and text[(end := hit.end()) : end + 1] != closer:
        commas |= {bool(hit["comma"])} if pairs or values else set()
        key = hit["key"] and _unquoted(hit["key"])
        if key in pairs or len(commas) > 1 or (end == at and commas) or (hit := _VALUE.match(text, end)) is None:
            raise ValueError
        item, at = hit[0], hit.end()
        if hit["open"]:
            item, at = _items(text, at, _ENDS[hit[3] or hit[5] or hit[6]], hit["type"] or "", loose)
        elif hit["quoted"]:
            item = _unquoted(item)
        else:
            item, at = _bare(text, item, end, key, loose)
        if key is None:
            values.append(item)
        else:
            pairs[key] = item
    end += len(closer)
    dated = kind.rpartition(".")[2]
    if dated in {"date", "time", "datetime"} and values[2:] and pairs.keys() <= {"tzinfo"}:
        return getattr(dt, dated)(*values).isoformat() + "".join(pairs.values()), end
    is_call = closer in {"", ">"} or (closer == ")" and kind != "")
    # Names of variables in code are all without quotes.
    is_code = 0 < len(pairs) <= len(loose) - known
    if is_code or (values and (pairs or (is_call and values[1:]))):
        raise ValueError
    found = pairs if pairs or (closer == "}" and not values) else values
    return values[0] if is_call and values else found, end


def _bare(text: str, word: str, at: int, key: str | None, loose: list[str]) -> tuple[Any, int]:
    """Returns what begins with a word and has no quotes, and where the rest starts."""
    # A version such as 1.10 stays as it is written.
    if re.fullmatch(r"-?(?:0|[1-9]\d*)(?:\.(?:0|\d*[1-9]))?(?:e[+-]\d+)?", word):
        return json.loads(word), at + len(word)
    if word in _CONSTANTS or is_typed(word):
        return _CONSTANTS.get(word, word), at + len(word)
    # A text ends in front of the next name or with the object. Without a name it may end anywhere.
    end = r"(?=,? +[\w.]+ ?[=:]|,? *[\])}>])"
    whole = re.match(rf"[^\n\"'{{}}\[\]()<>=;]{{1,300}}?{end}", text[at : at + 400]) if key else None
    if whole is None:
        raise ValueError
    loose.append(str(key))
    return whole[0], at + whole.end()


def _unquoted(text: str) -> str:
    return text if text[:1] not in {'"', "'"} else str(ast.literal_eval(text)) if "\\" in text else text[1:-1]


def read_xml(text: str) -> Any:
    """Returns what an XML document holds as dicts and lists, or None for pages, drawings, prose and any other text."""
    is_xml = text[:64].lstrip()[:1] == "<" and text[-64:].rstrip()[-1:] == ">" and len(text) < 10 * IN_STEPS
    # Without entities of its own no document grows. A column may be called `P` or `table`.
    if not is_xml or re.search(r"(?i)<(?:(?:html|body|svg|!doctype|!entity)\b|(?:div|p|table)(?:\s|>\s*<[^/]))", text):
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
    # A document may start behind the colon of the first sentence, or in a line of its own.
    starts = islice(re.finditer(r"(?m)^[ \t]*(?=[\[{])", text[:2_000]), 10)
    for hit in filter(None, (re.match(r"[^\W\d][^\n{\[]{0,200}: ?(?=[\[{])", text), *starts)):
        start = hit.end()
        try:
            value, end = DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = read_document(text[start:]), len(text)
        if holds_rows(value) and not text[end : end + 1].strip():
            return TextPart(start, end, value, "json")
    return None


def find_lines(text: str) -> TextPart | None:
    """Finds lines of one object each, as a log or an event stream has them. Few others may stand around them."""
    # An object is JSON, what a program prints, or names with values, behind a moment, a level or a label. `loose` has
    # the names of rows that may be read in more than one way.
    rows, loose = list[Any](), list[str]()
    start = end = remarks = 0
    for place, stop in lines(text):
        line = text[place:stop].strip().removeprefix("data:").lstrip()
        # In a text so long only JSON is read in no time.
        row = _row_of(line, loose) if line and (len(text) < 5 * IN_STEPS or line[0] in "{(") else None
        if row is not None:
            if rows and remarks:
                return None
            start, remarks = (start, 0) if rows else (place, 0)
            rows.append(row)
            end = stop
        elif line and not re.match(r"(event|id|retry):|:|\[DONE\]", line):
            remarks += 1
            if remarks > 5:  # noqa: PLR2004 - lines
                return None
    # What seems a name within words is seldom there in all rows.
    names = list(max(rows, key=len, default=()))
    alike = sum(list(row) == names for row in rows) if not loose or is_header([*map(str, names)]) else 0
    are_alike = 2 * alike > len(rows) > 2 and all(name in names for row in rows for name in row)  # noqa: PLR2004 - rows
    return TextPart(start, end, rows, "lines") if len(rows) > 1 and (are_alike or not loose) else None


def holds_rows(value: Any, depth: int = 0) -> bool:
    """Returns whether a document is a list of two or more objects or lists, or has one within."""
    if isinstance(value, list):
        return len(value) > 1 and all(isinstance(end, (dict, list)) for end in (value[0], value[-1]))
    if not isinstance(value, dict) or depth == 3:  # noqa: PLR2004 - levels
        return False
    return any(holds_rows(item, depth + 1) for item in value.values())


_PAIR = r'([\w.@/-]{1,60})=("(?:[^"\\]|\\.)*"|[^\s"\x27\[{(][^\s"]*(?<!,)|)(?:\s+|$)'


def _row_of(line: str, loose: list[Any]) -> Any:
    """Returns the object in a line, with the moment, level and message or the number or label in front of it."""
    if (row := _object_in(line, loose)) is not None or len(line) >= IN_STEPS or not ("=" in line or ":" in line):
        return row
    moment = r"(?:[A-Z][a-z]{2} +\d+ |\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d(?::\d\d[\d.,:+-]*)?Z?(?=[\s\]|])"
    [(time, rest)] = re.findall(rf"^[\[(<]*({moment})?[\s\[\]()<>|:-]*(.*)", line)
    if (level := LEVEL.match(rest)) or time:
        body = r"^[\s\])>|:-]{0,9}(?:(.{0,300}?)[\s|:-]{0,9}(?<![^\s|:\]])(?=\{|[\w.]+=))?(.*)"
        [(message, line)] = re.findall(body, rest[level.end() :] if level else rest)
        head = {"log_time": time, "log_level": level[0] if level else "", "log_message": message.rstrip()}
    else:
        label = r"^(?:[-*•] +)?(?:\d+[.)] +)?(?:[#\[](\d+)[\]:]* +|([^\W\d][^(:=]*?) (?=\(.*\)$))?(.*)"
        [(number, label, line)] = re.findall(label, line)
        head, line = {"number": number, "label": label}, line[1:-1] if label else line
    row = _object_in(line, loose)
    is_row = isinstance(row, dict) and row.keys().isdisjoint(head)
    return {**{name: said for name, said in head.items() if said}, **row} if is_row else None


def _object_in(text: str, loose: list[Any]) -> Any:
    row = _read_printed(text, loose) if text[-1:] in _ENDS.values() or ("'" in text and text[-1:] != ",") else None
    if isinstance(row, (dict, list)) and row and (text[0] in "{(" or (isinstance(row, dict) and len(row) > 1)):
        return row
    if len(text) >= IN_STEPS:
        return None
    pairs = re.findall(_PAIR, text)
    if len(dict(pairs)) == len(pairs) > 1 and not re.sub(_PAIR, "", text):
        return {name: _unquoted(said) for name, said in pairs}
    field = r"(^|, |; | \| |\t|(?<! ) {2,})\**([^\W\d][\w ./%#-]{0,39}?)(?:\**:\**(?=\s|$)|(?<=\w)=(?=\S))"
    first, *parts = re.split(field, text)
    signs, names, values = parts[::3], parts[1::3], parts[2::3]
    are_values = not any(" " in said.strip() and "=" in said for said in values)
    if first or len(set(names)) < max(len(names), 2) or len(set(signs[1:])) > 1 or not are_values:
        return None
    loose += names
    return {name.rstrip(): said.strip().strip('"') for name, said in zip(names, values, strict=True)}


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
    kinds = {"text", "image", "audio", "resource", "resource_link"}
    return (marked or bool(blocks)) and all(block.get("type") in kinds for block in blocks)
