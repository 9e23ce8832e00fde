"""Reads tables that are drawn in a text: with bars and rules, or with columns that stand below one another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import filterfalse, islice, pairwise, takewhile, zip_longest

from adk_context_pack._json import IN_STEPS
from adk_context_pack.tables.columns import unique_names
from adk_context_pack.tables.headers import are_types, heads, is_header, is_name, names_of, typed_places
from adk_context_pack.tables.text_scan import TextPart, lines, lines_with

# Bars, and what of Unicode's box drawing is in rules: all but the dashed bars that polars puts between cells.
_BARS = "|\u2502\u2503\u2506\u2507\u250a\u250b\u2551"
_BAR = re.compile(rf"(?<!\\)[{_BARS}]")
_JOINT = re.compile(r"[|+\u2502\u2503\u250c-\u254b\u2551-\u257f]")
_RULE = re.compile(r"[|+:=\-\u2500-\u2503\u250c-\u257f \t]+")
_DASHES = re.compile(r"[-=─━═]+")
_LEFT_OUT = frozenset(("...", "..", "…", "·", "⋮", "…"))
# Each kind of rule holds one of these, and a search for them is faster than a pattern over all lines.
_HINTS = ("||", "--", "|-", "| -", "|:", "==", "──", "━━", "══")
_PROBED, _MIN_GAP, _MIN_NARROW = 21, 2, 3


def find_ruled(text: str) -> TextPart | None:
    """Finds the first table with bars between its cells and a rule below its header: Markdown, psql, MySQL, frames."""
    # Jira doubles the bars of a header and has no rule.
    for start, end in islice(lines_with(text, _HINTS), 200):
        line = text[start:end].strip()
        is_rule = (_RULE.fullmatch(line) and _JOINT.search(line)) or (line[:2] == line[-2:] == "||" and line.strip("|"))
        if is_rule and (found := _below(text, start, min(end + 1, len(text)))):
            return found
    return None


_CELL = r"(?:[-*•] +)?(\**)([^\W\d][\w .()/%#-]{0,39}?)(?:\1[ \t]*[:|=]|:\1)(?:(?:[ \t]+|(?<==))(.*))?"
_MARK = r"-\[ RECORD \d+ \][-+]*|\*+ \d+\. row \*+"
_BETWEEN = rf"{_MARK}|[-=*_# \t]*|[-*# ]*(?:[^\W\d]{{3,12}} )?[#№]?\d+[.:)*]*|\(?\d+ rows?\b.*|Time: .*"
# Where a line starts and ends, what it says, and the name and the value of the cell that it is.
_Line = tuple[int, int, str, str, str]


def find_records(text: str) -> TextPart | None:
    """Finds rows that are written one cell a line, each behind its name, with the same names in each row."""
    # So do psql's expanded output, MySQL's vertical one, YAML, and many tools that write for a model. Headings above
    # all rows are cells as well. A name without a value above further ones is more than a cell.
    read = _read_cells(text, 60)
    marked = next((at for at, (_, _, line, *_) in enumerate(read) if re.fullmatch(_MARK, line)), None)
    begin = [each[3] for each in (read if marked is None else read[marked + 1 : marked + 2] * 2) if each[3]]
    first = next((name for name in begin if begin.count(name) > 1), None)
    is_titled = marked is None and len(text) < 5 * IN_STEPS and bool(_titles(read, first))
    least = 1 if marked is not None else _MIN_NARROW
    if first is None or len(set(begin)) + is_titled < least:
        return None
    read = _read_cells(text, None)
    if is_titled and (titles := _titles(read, first)):
        first = "heading"
        read = [(*each[:3], first, titles[each[0]]) if each[0] in titles else each for each in read]
    last = max(at for at, each in enumerate(read) if each[3] == first)
    rows, top, stop = list[dict[str, str]](), 0, 0
    for at, (start, end, line, name, value) in enumerate(read):
        is_between = re.fullmatch(_BETWEEN, line)
        if name == first:
            rows.append({})
        if not rows:
            top = top if is_between else end + 1
        elif name and name not in rows[-1] and (len(rows) == 1 or name in rows[0]):
            rows[-1][name], stop = value, end + 1
            # MySQL and psql align names to the right or left, and nothing stands within anything else.
            if marked is None and not value and re.match(r"([ \t]*)(- )?.*\n\1(?(2)   | )", text[start : end + 99]):
                return None
        elif not is_between:
            # Right below a cell it may be a part of it.
            if at < last or stop == start:
                return None
            break
    alike = sum(row.keys() == rows[0].keys() for row in rows)
    is_table = len(rows) >= least <= len(rows[0]) and 2 * alike > len(rows)
    return TextPart(top, min(stop, len(text)), rows) if is_table else None


def _read_cells(text: str, most: int | None) -> list[_Line]:
    return [
        (start, end, line, name, value.strip().strip('"'))
        for start, end in islice(lines(text), most)
        if (line := text[start:end].strip())
        for _, name, value in re.findall(rf"^(?:{_CELL}$|)", line)
    ]


def _titles(read: Sequence[_Line], first: str | None) -> dict[int, str]:
    """Returns by where it starts the heading that is above each of the rows, or nothing if one has none."""
    title = r"(?=[#*\d]|.*:\**$)(?:#{1,6} +|\d+[.)] +|[-*•] +)*\**(\S.*?)\**:?\**"
    above = ((each[0], re.fullmatch(title, each[2])) for each, row in pairwise(read) if row[3] == first and not each[4])
    found = {start: hit[1] for start, hit in above if hit and (hit.start(1) or is_name(hit[1]))}
    return found if len(found) == sum(each[3] == first for each in read) else {}


def find_aligned(text: str) -> TextPart | None:
    """Finds a table of columns that blanks keep apart in all lines, in the first lines of a text."""
    for start, end in islice(lines(text), 12):
        if "  " in text[start:end].rstrip() and (found := _aligned(text, start)):
            return found
    return None


def _below(text: str, start: int, end: int) -> TextPart | None:
    rule = text[start:end].strip()
    is_jira = _RULE.fullmatch(rule) is None
    top, head = (start, [rule.replace("||", "|")]) if is_jira else _head(text, start)
    is_framed = _DASHES.match(rule) is None or (head[:1] != [] and head[0][0] in _BARS)
    cells = [_cells(line, is_framed=is_framed) for line in head]
    # Below the names may be their types, or the rest of long names.
    has_types = len(cells) > 1 and (are_types(cells[1]) or cells[1] == ["---"])
    names = [" ".join(filter(None, parts)) for parts in zip_longest(*cells[: 1 if has_types else None], fillvalue="")]
    if not any(names) or not all(names[1:]) or not (is_jira or len(_DASHES.findall(rule)) == len(names)):
        return None
    below = ((text[place:stop].strip(), min(stop + 1, len(text))) for place, stop in lines(text, end))
    # The rows of a grid have rules between them.
    is_grid = "=" in rule and "+" in rule and text[end:].partition("+-")[2].partition("\n")[2].lstrip()[:1] == "|"
    rows, stop = _rows(below, unique_names(names), is_framed=is_framed, is_grid=is_grid, wraps=has_types)
    if not rows or (len(names) == 1 and len(rows) == 1) or not _LEFT_OUT.isdisjoint(names):
        return None
    return TextPart(top, stop, rows)


def _head(text: str, start: int) -> tuple[int, list[str]]:
    """Returns where the lines above a rule start that hold cells, and these lines."""
    lines: list[str] = []
    starts = [start]
    while starts[-1] > 0:
        above = text.rfind("\n", 0, starts[-1] - 1) + 1
        line = text[above : starts[-1] - 1].strip()
        if _is_rule(line):
            return (above if lines else start), lines
        if not _BAR.search(line) or len(lines) == 3:  # noqa: PLR2004 - names, dashes and types, as polars prints them
            break
        lines.insert(0, line)
        starts.append(above)
    # Without a rule above them there is one line of names.
    return starts[:2][-1], lines[-1:]


def _rows(
    below: Iterable[tuple[str, int]], names: Sequence[str], *, is_framed: bool, is_grid: bool, wraps: bool
) -> tuple[list[dict[str, str]], int]:
    """Returns the rows in the lines below a rule and where they end, or none if one has too many cells or is left out.

    A row of a grid ends with a rule. Elsewhere a line without a first cell belongs to the row above it, if a plus at
    the end of a cell says so, as psql writes it, or if `wraps`.
    """
    rows: list[dict[str, str]] = []
    end, goes_on = 0, False
    for line, stop in below:
        if _is_rule(line):
            end, goes_on = stop, False
            # Where columns end, so do rows. DuckDB says below how many there are.
            if not set("┴╧╩┻").isdisjoint(line):
                break
            continue
        if not _BAR.search(line):
            break
        cells = _cells(line, is_framed=is_framed)
        if len(cells) > len(names) or _LEFT_OUT.issuperset(cells):
            return [], end
        if goes_on and (is_grid or not cells[0]):
            above = (cell.removesuffix("+").rstrip() for cell in rows.pop().values())
            cells = ["\n".join(filter(None, part)) for part in zip_longest(above, cells, fillvalue="")]
        # Lists of cells that live on would have the collector walk through all of them, many times.
        rows.append(dict(zip_longest(names, cells, fillvalue="")))
        end, goes_on = stop, is_grid or wraps or any(cell[-1:] == "+" for cell in cells)
    return rows, end


def _is_rule(line: str) -> bool:
    return bool(line) and _RULE.fullmatch(line) is not None and _DASHES.search(line) is not None


def _cells(line: str, *, is_framed: bool) -> list[str]:
    inner = line[1:] if is_framed and line[0] in _BARS else line
    inner = inner[:-1] if is_framed and inner[-1:] in _BARS and inner[-2:-1] != "\\" else inner
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


def _aligned(text: str, start: int) -> TextPart | None:
    below = takewhile(str.strip, (text[place:stop] for place, stop in lines(text, start)))
    probed = list(islice(below, _PROBED))
    if len(probed) <= _MIN_GAP or any("\t" in line or len(line) > 1_000 for line in probed):  # noqa: PLR2004 - characters
        return None
    if not _split(probed) or not (found := _split(block := [*probed, *below])):
        return None
    labels = unique_names(names_of(found))
    rows = [dict(zip(labels, cells, strict=True)) for cells in found[1:]]
    # What a program printed of a longer table is not the table.
    if not _LEFT_OUT.isdisjoint(labels) or any(_LEFT_OUT.issuperset(row.values()) for row in rows):
        return None
    return TextPart(start, min(len(text), start + sum(len(line) + 1 for line in block)), rows)


def _split(block: Sequence[str]) -> list[list[str]]:
    """Returns the cells of the lines of a table, of which the first has the names, or none for other lines."""
    ways = _by_ends(block), _by_gaps(block, _MIN_GAP), _by_gaps(block), _by_words(block)
    return max(ways, key=lambda cells: sum(map(any, zip(*cells[1:], strict=True))))


def _by_ends(block: Sequence[str]) -> list[list[str]]:
    """Returns the cells of lines of one length that end below their names, as pandas writes, or none for others."""
    ends = [word.end() for word in re.finditer(r"\S+", block[0])]
    # pandas writes the index at the left, without a name.
    if block[0][:1] == " " and all(line[:1].strip() for line in block[1:]):
        ends.insert(0, max(len(line.split(None, 1)[0]) for line in block[1:]))
    is_even = set(map(len, block)) == {ends[-1]}
    if not is_even or any(line[end] != " " for line in block for end in ends[:-1]):
        return []
    names, *rows = cells = [[line[one:other].strip() for one, other in pairwise((0, *ends))] for line in block]
    return cells if all(map(all, rows)) and is_header(names) and typed_places(names, rows[:_PROBED]) else []


def _by_gaps(block: Sequence[str], gap: int = 1) -> list[list[str]]:
    """Returns the cells of lines whose columns are so many blanks apart in all of them, or none for other lines."""
    plain = list(filterfalse(_is_rule, block))
    rules = [line for line in block[:2] if len(line.split()) > 1 and set(line) <= set("-= ")]
    edges = _edges(rules[:1] * 2, 1) if rules else _edges(plain, gap)
    ends = (pairwise((*edges, len(line) + edges[-1])) for line in plain)
    names, *rows = ([line[one:other].strip() for one, other in each] for line, each in zip(plain, ends, strict=True))
    # A word above nothing begins the name beside it.
    for at in () if rules or gap > 1 else range(len(names) - 2, -1, -1):
        if not any(row[at] for row in rows):
            names[at : at + 2] = [f"{names[at]} {names[at + 1]}"]
            rows = [row[:at] + row[at + 1 :] for row in rows]
    typed = typed_places(names, rows[:_PROBED])
    are_upper = all(name.isupper() for name in names if name)
    whole = [names] if rules else [names, *rows]
    if not heads(names, rows[:_PROBED]) or any("  " in cell for cells in whole for cell in cells):
        return []
    is_table = bool(rules or typed) or are_upper
    if gap < _MIN_GAP and not rules:
        # One blank is also between words, so that more has to tell a table from them.
        is_table = is_header(names) and len(names) >= _MIN_NARROW + (not are_upper) and (are_upper or len(typed) > 1)
    return [names, *rows] if is_table else []


def _by_words(block: Sequence[str]) -> list[list[str]]:
    """Returns the cells of lines that have as many words as their header, of which the last may have more."""
    count = len(block[0].split())
    names, *rows = (line.split(None, count - 1) for line in block)
    if count <= _MIN_NARROW or any(len(row) != count for row in rows) or not is_header(names):
        return []
    # The first of two numbers in the last cell belongs in the one before it, unless a blank divides thousands.
    if any(re.fullmatch(r"(?!\d{1,3}(?: \d{3})+\b)[-+\d.,%]+(?: +[-+\d.,%]+)+", row[-1].strip()) for row in rows):
        return []
    return [names, *rows] if 2 * len(typed_places(names, rows[:_PROBED])) >= count else []


def _edges(block: Sequence[str], gap: int) -> list[int]:
    """Returns where columns start that so many blanks keep apart in all lines."""
    mask = "".join(" " if set(letters) == {" "} else "x" for letters in zip_longest(*block, fillvalue=" "))
    return [0, *(hit.end() for hit in re.finditer(" " * gap + r"+(?=\S)", mask) if mask[: hit.start()].strip())]
