"""Reads tables that are drawn in a text: with bars and rules, or with columns that stand below one another."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import filterfalse, islice, pairwise, takewhile

from adk_context_pack.tables.columns import unique_names
from adk_context_pack.tables.headers import has_typed_column, heads
from adk_context_pack.tables.long_text import line_end, lines, lines_with

_BARS = "|│┆║┃"
_BAR = re.compile(r"(?<!\\)[|│┆║┃]")
_JOINT = re.compile(r"[|+│┼╪╬┬┴╤╧├┤╞╡┌┐└┘╒╕╘╛╭╮╰╯╠╣╔╗╚╝┏┳┓┡╇┩┗┻┛━┃]")
_RULE = re.compile(r"[|+│┼╪╬┬┴╤╧├┤╞╡┌┐└┘╒╕╘╛╭╮╰╯╠╣╔╗╚╝┏┳┓┡╇┩┗┻┛━┃:=\-─═ \t]+")
_DASHES = re.compile(r"[-=─━═]+")
_UNDERLINE = re.compile(r"[-=]+(  ?[-=]+)+\s*")
_TYPE = re.compile(
    r"-+|(u?int(eger)?|float|double|bigint|hugeint|[iuf])[0-9]*|str(ing)?|varchar.*|text|bool(ean)?|date.*|time.*"
    r"|decimal.*|cat|object",
    re.IGNORECASE,
)
_LEFT_OUT = frozenset(("...", "..", "…", "·", "⋮", "…"))
# Each kind of rule holds one of these, and a search for them is faster than a pattern over all lines.
_HINTS = ("--", "|-", "| -", "|:", "==", "──", "━━", "══")
_MAX_RULES = 200
_MAX_LINES_ABOVE = 12
_PROBED = 21
_MIN_GAP = 2
_MAX_LINE = 1_000


@dataclass(frozen=True, slots=True)
class DrawnTable:
    """A table that is drawn in a text.

    Attributes:
        start: where its first line starts.
        end: where the line behind its last one starts.
        rows: one dict for each row, cells without the blanks around them.
        is_markdown: whether it is written in Markdown.
    """

    start: int
    end: int
    rows: list[dict[str, str]]
    is_markdown: bool = False


def find_ruled(text: str) -> DrawnTable | None:
    """Finds the first table with bars between its cells and a rule below its header: Markdown, psql, MySQL, frames."""
    for start, end in islice(lines_with(text, _HINTS), _MAX_RULES):
        line = text[start:end].strip()
        if _RULE.fullmatch(line) and _JOINT.search(line) and (found := _below(text, start, min(end + 1, len(text)))):
            return found
    return None


def find_aligned(text: str) -> DrawnTable | None:
    """Finds a table of columns that two blanks or more keep apart in all lines, in the first lines of a text."""
    for start, end in islice(lines(text), _MAX_LINES_ABOVE):
        if "  " in text[start:end].rstrip() and (found := _aligned(text, start)):
            return found
    return None


def to_markdown(rows: Sequence[Sequence[str]]) -> str:
    """Returns lines of cells as a Markdown table, of which the first has the names of the columns."""
    lines = [
        f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in row)} |" for row in rows
    ]
    return "\n".join([lines[0], f"|{'---|' * len(rows[0])}", *lines[1:]]) + "\n"


def _below(text: str, start: int, end: int) -> DrawnTable | None:
    top, head = _head(text, start)
    rule = text[start:end].strip()
    names = _cells(head[0]) if head else []
    if not any(names) or not all(names[1:]) or len(_DASHES.findall(rule)) != len(names):
        return None
    if len(head) > 1 and not all(_TYPE.fullmatch(cell) for line in head[1:] for cell in _cells(line) if cell):
        return None
    rows, stop = _rows(text, end, unique_names(names))
    if not rows or (len(names) == 1 and len(rows) == 1) or not _LEFT_OUT.isdisjoint(names):
        return None
    return DrawnTable(top, stop, rows, "|" in rule and "+" not in rule and len(head) == 1)


def _head(text: str, start: int) -> tuple[int, list[str]]:
    """Returns where the lines above a rule start that hold cells, and these lines."""
    lines: list[str] = []
    while start > 0:
        above = text.rfind("\n", 0, start - 1) + 1
        line = text[above : start - 1].strip()
        if _is_rule(line):
            return (above if lines else start), lines
        if not _BAR.search(line) or len(lines) == 3:  # noqa: PLR2004 - names, dashes and types, as polars prints them
            break
        lines.insert(0, line)
        start = above
    # Without a rule above them there is one line of names.
    for _ in lines[1:]:
        start = line_end(text, start)
    return start, lines[-1:]


def _rows(text: str, start: int, names: Sequence[str]) -> tuple[list[dict[str, str]], int]:
    """Returns the rows below a rule and where they end; none where one has too many cells or stands for others."""
    rows: list[dict[str, str]] = []
    end = start
    while start < len(text):
        stop = line_end(text, start)
        line = text[start:stop].strip()
        if not _is_rule(line):
            if not _BAR.search(line):
                break
            cells = _cells(line)
            if len(cells) > len(names) or _LEFT_OUT.issuperset(cells):
                return [], start
            # Lists of cells that live on would have the collector walk through all of them, many times.
            rows.append(dict(zip(names, [*cells, *[""] * (len(names) - len(cells))], strict=True)))
        start = end = stop
    return rows, end


def _is_rule(line: str) -> bool:
    return bool(line) and _RULE.fullmatch(line) is not None and _DASHES.search(line) is not None


def _cells(line: str) -> list[str]:
    line = line.strip()
    inner = line[1:] if line[0] in _BARS else line
    inner = inner[:-1] if inner[-1:] in _BARS and inner[-2:-1] != "\\" else inner
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


def _aligned(text: str, start: int) -> DrawnTable | None:
    lines = list(_block(text, start, _PROBED))
    if len(lines) <= _MIN_GAP or any("\t" in line or len(line) > _MAX_LINE for line in lines):
        return None
    underlined = _UNDERLINE.fullmatch(lines[1]) is not None
    plain = list(filterfalse(_is_rule, lines))
    edges = [hit.start() for hit in re.finditer(r"\S+", lines[1])] if underlined else _edges(plain)
    names, *probed = (_slices(line, edges) for line in plain)
    if not heads(names, probed) or any("  " in name for name in names):
        return None
    if not (underlined or has_typed_column(names, probed) or all(name.isupper() for name in names if name)):
        return None
    block = list(_block(text, start, None))
    body = list(filterfalse(_is_rule, block))[1:]
    if any(line[edge - 1 : edge].strip() for line in body for edge in edges[1:]):
        return None
    labels = unique_names(names)
    rows = [dict(zip(labels, _slices(line, edges), strict=True)) for line in body]
    # What a program printed of a longer table is not the table.
    if not _LEFT_OUT.isdisjoint(names) or any(_LEFT_OUT.issuperset(row.values()) for row in rows):
        return None
    return DrawnTable(start, min(len(text), start + sum(len(line) + 1 for line in block)), rows)


def _block(text: str, start: int, most: int | None) -> Iterator[str]:
    following = (text[place:stop] for place, stop in lines(text, start))
    return islice(takewhile(str.strip, following), most)


def _edges(lines: Sequence[str]) -> list[int]:
    """Returns where columns start that blanks keep apart in all lines."""
    used = [False] * max(map(len, lines))
    for line in lines:
        for place, letter in enumerate(line):
            used[place] = used[place] or letter != " "
    gaps: list[int] = []
    blank = 0
    for place, is_used in enumerate(used):
        if is_used and blank >= _MIN_GAP and any(used[:place]):
            gaps.append(place)
        blank = 0 if is_used else blank + 1
    return [0, *gaps]


def _slices(line: str, edges: Sequence[int]) -> list[str]:
    return [line[one:other].strip() for one, other in pairwise((*edges, len(line) + edges[-1]))]
