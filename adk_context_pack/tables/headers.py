"""Recognizes a line of column names by how it differs from the cells below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from adk_context_pack.tables.moments import is_date_text, is_month
from adk_context_pack.tables.number_notation import read_number
from adk_context_pack.tables.numbers import number_of

# A line above so many rows and columns of a type names them, whatever it says.
_MAX_NAME, _MIN_TYPED, _MIN_REPEATING = 80, 4, 6
_TIME = re.compile(r"\[?([0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{1,2}:[0-9]{2}")
_PERIOD = re.compile(r"(1[789]|20)[0-9]{2}([-/ ]?[0-9]{1,2}([-/][0-9]{1,2})?)?|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}")
_TYPE = re.compile(
    r"-+|<?((u?int(eger)?|float|double|bigint|hugeint|[iuf])[0-9]*|str(ing)?|varchar.*|text|bool(ean)?|date.*|time.*"
    r"|decimal.*|cat|object|chr|dbl|fct|lgl|ord|dttm|drtn)>?",
    re.IGNORECASE,
).fullmatch
_WORDS_OF_TYPE = frozenset(("true", "false", "yes", "no", "null", "none", "nan", "n/a", "na", "-", "--"))
_FIRST = re.compile(r"[^\W\d]|[_#%$@(€£¥\"'\u2018\u201c*]|[0-9]+[-_ ]?[^\W\d]")
_NEVER = re.compile(
    r"[{}\[\];=`\n]|://|: |->|\S@\S+\.\S|^\s|^[-*•] |[.!:,]$|^(//|#!|@@|--|<)|"
    r"(?i:^(import|from|def|class|return|for|while|if|elif|else|let|const|var|function|select|insert|update|delete|where"
    r"|with|use|using|package|public|private|static|print|export|echo|raise|throw|assert|and|or|but|the|dear|hi|hello)\s)"
)


def is_header(names: Sequence[str]) -> bool:
    """Returns whether the cells of a line can be the names of columns."""
    # A name is short, has a letter, and has nothing in it that code, sentences, dates and log lines have. The first
    # cell may be empty, as an index without a name is. Further cells may be years, months and dates.
    if len(names) < 2 or not all(names[1:]):  # noqa: PLR2004 - one column is a list of words
        return False
    named = [is_name(name) for name in names]
    are_names = (is_it or not name or is_period(name) for is_it, name in zip(named, names, strict=True))
    return (named[0] or not names[0]) and any(named) and all(are_names)


def is_name(text: str) -> bool:
    """Returns whether a text can be the name of a column."""
    if not text or len(text) > _MAX_NAME or len(text.split()) > 8 or (is_typed(text) and not is_month(text)):  # noqa: PLR2004 - words
        return False
    is_other = not _FIRST.match(text) or _NEVER.search(text) or _TIME.match(text)
    return not is_other and any(map(str.isalpha, text)) and text.count("(") == text.count(")")


def is_typed(cell: Any) -> bool:
    """Returns whether a cell is, or is written as, a number, a date, a truth value or a missing value."""
    if not isinstance(cell, str):
        return cell is None or isinstance(cell, (int, float)) or hasattr(cell, "isoformat")
    text = cell.strip()
    if len(text) > _MAX_NAME or text.lower() in _WORDS_OF_TYPE:
        return len(text) <= _MAX_NAME
    if (found := read_number(text)) is not None:
        # A longer word behind a number is a town rather than a unit.
        return found.is_currency or len(found.unit) <= 3  # noqa: PLR2004
    return is_date_text(text) or bool(_TIME.match(text) or _PERIOD.fullmatch(text))


def is_period(text: str) -> bool:
    """Returns whether a text is a year, a quarter, a month or a day in figures."""
    return _PERIOD.fullmatch(text) is not None or is_month(text)


def heads(names: Sequence[str], rows: Sequence[Sequence[Any]], *, spaced: bool = False) -> bool:
    """Returns whether a line names the columns of the rows below it, which have as many cells as the line.

    The rows decide. If the cells below a name are of a type that the name is not of, the name may be of any kind. If
    nothing has a type, names have to look like names. If `spaced`, a blank is behind each delimiter.
    """
    if _are_of_diff(names, *rows) or (names[2:] and is_date_text(", ".join(names[1:]))):
        return False
    if is_header(names):
        plain = all(len(name.split()) <= 4 for name in names)  # noqa: PLR2004 - words
        return bool(typed_places(names, rows)) or (plain and not spaced and not _recurs(names, rows))
    # A line with blanks behind its commas and a colon at its end is a sentence above a list.
    # One name alone is that of a list, or the title above a table.
    if not any(names[1:]) or not rows or (spaced and names[-1][-1:] == ":"):
        return False
    # What is cut within brackets is code, and no question is so long.
    if any(name.count("(") != name.count(")") or len(name) > 300 for name in names):  # noqa: PLR2004
        return False
    columns = list(zip(names, zip(*rows, strict=True), strict=True))
    # As pandas writes a frame whose columns have no names, and a test its questions.
    is_beside = not names[0] or (len(names) > _MIN_TYPED and not is_typed(names[0]))
    # A line of figures above a column of words names the columns.
    are_above_words = any(name and not any(map(is_typed, cells)) for name, cells in columns[is_beside:])
    starts = (0, 1) if (names[0] and is_beside) or are_above_words else (0,)
    are_numbered = any(list(names[is_beside:]) == [*map(str, range(at, at + len(names) - is_beside))] for at in starts)
    if are_numbered or (are_above_words and names[2:] and all(map(is_period, names))):
        return len(rows) > 1
    # The corner above the names of rows is empty, and what stands beside it goes up.
    limits = [number for name in names[1:] if (number := number_of(name)) is not None]
    goes_up = len(limits) == len(names) - 1 and limits == sorted(set(limits))
    if names[2:] and not names[0] and all(columns[0][1]) and (goes_up or all(map(is_period, names[1:]))):
        return True
    typed = [name for name, cells in columns if _is_typed_column(cells)]
    # NO may be a gas and nA the count in a group, but not above other words of this kind.
    below = {name: {str(cell).lower() for cell in cells} for name, cells in columns if name.lower() in _WORDS_OF_TYPE}
    words = [name for name, said in below.items() if _WORDS_OF_TYPE.isdisjoint(said)]
    named = [name for name in typed if name and not is_typed(name)]
    data = [name for name in typed if is_typed(name) and not is_period(name) and name not in words]
    is_data = data or len(words) > len(named) + 1
    if len(rows) > 1 and len(rows) + len(typed) >= _MIN_TYPED and named and not is_data:
        return True
    if spaced or len(rows) < _MIN_REPEATING or any(name and name in cells for name, cells in columns):
        return False
    # Answers repeat below a question, and sentences do not.
    asked = ([*filter(None, cells)] for name, cells in columns if name not in typed and any(map(str.isalpha, name)))
    return any(2 * len(set(cells)) <= len(cells) > 0 for cells in asked)


def are_types(cells: Iterable[str]) -> bool:
    """Returns whether cells name the types of columns, as polars and DuckDB print them below the names."""
    filled = list(filter(None, cells))
    return len(filled) > 1 and all(map(_TYPE, filled))


def names_of(lines: list[list[str]], levels: int = 0) -> list[str]:
    """Returns the names in the first lines, and takes out those below the first one.

    Below it may be types, the name of an index alone, or more names where the first are those of several columns. Of
    the lines so many are known to hold names as `levels` says, or none.
    """
    names, repeat = lines[0], len(set(lines[0])) < len(lines[0])
    typed = typed_places(names, lines[2:])
    are_names = typed[1:] and all(is_name(lines[1][at]) for at in typed)
    # The name of an index is in the first cells of a line of its own.
    ends = [any(line) and not line[-1] and (on := [*map(bool, line)]) == sorted(on)[::-1] for line in lines[:4]]
    index = next((at for at in range(1, len(ends)) if ends[at] and lines[at + 1 :]), 0)
    # Above it are blanks or the one name of all columns. A row may lack its last cells as well.
    above = max(1, next((at for at, name in enumerate(names) if name), 0))
    is_index = index > 0 and sum(map(bool, lines[index])) == above < len(names) - bool(names[0])
    if is_index and (repeat or (index == 1 and (not names[0] or all(map(all, lines[2:]))))):
        levels = index + 1
    elif repeat and not levels and lines[2:] and (are_names or not (names[0] or lines[1][0] or not all(lines[1][1:]))):
        # Of cells that are merged only the first has the name.
        lines[0], levels = [next(filter(None, names[at::-1]), "") for at in range(len(names))], 2
    elif not levels and lines[2:] and are_types(lines[1]):
        del lines[1]
    parts = list(zip(*lines[: max(levels, 1)], strict=True))
    del lines[1:levels]
    return [(levels == index + 1 and each[-1]) or " ".join(dict.fromkeys(filter(None, each))) for each in parts]


def is_row(cells: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    """Returns whether a line is a row itself, since two columns or more have a type in it as in the rows below it."""
    # So is a line of words of which one comes again below. A number with commas, a verse and a line of code are not.
    typed = typed_places(cells, rows)
    # Two may be the halves of a number, or a place.
    are_apart = len(rows) >= _MIN_REPEATING and all(read_number(",".join(row)) is None for row in rows)
    are_several = len(cells) > 2 or are_apart  # noqa: PLR2004
    least = 2 - (len(cells) > 2 and all(cells) and len(rows) >= _MIN_TYPED)  # noqa: PLR2004
    are_alike = are_several and len(typed) >= least and all(not cells[at] or is_typed(cells[at]) for at in typed)
    is_verse = " " in cells[0].strip() and all(map(str.isdecimal, (cells[0].split()[-1], *cells[1:])))
    is_cut = any(cell.count("(") != cell.count(")") for cell in cells)
    is_text = read_number(",".join(cells)) is None and not (is_verse or is_cut or _NEVER.search(cells[0]))
    are_alike = are_alike or (not typed and is_header(cells) and _recurs(cells, rows))
    return are_alike and is_text and not _are_of_diff(cells, *rows)


def _recurs(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    """Returns whether a line has a cell of a row below it, and is not a header that is written again."""
    columns = zip(names, zip(*rows, strict=False), strict=False)
    return any(name and name in cells for name, cells in columns) and list(names) not in rows


def typed_places(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[int]:
    """Returns the places of the names below which the cells of some rows are numbers, dates or truth values."""
    return [at for at in range(len(names)) if _is_typed_column([row[at] for row in rows if at < len(row)])]


def _are_of_diff(*lines: Sequence[Any]) -> bool:
    firsts = {line[0][:1] for line in lines}
    return not firsts.isdisjoint("+-") and firsts <= set("+-@ ")


def _is_typed_column(cells: Sequence[Any]) -> bool:
    filled = [cell for cell in cells if cell not in ("", None)]
    # A few of the cells may say something else.
    return bool(filled) and sum(map(is_typed, filled)) >= 0.7 * len(filled)
