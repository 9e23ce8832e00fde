"""Recognizes a line of column names by how it differs from the cells below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

_MAX_NAME = 80
_MAX_WORDS = 8
_MAX_PLAIN_WORDS = 4
# Of the cells of a column, this share has to be of one type for the column to count as typed.
_TYPED_SHARE = 0.7
_NUMBER = re.compile(
    r"[(+-]*\s?([$€£¥₹]|[A-Z]{3}\s)?\s?[+-]?[0-9][0-9.,'\u00a0\u202f]*([eE][+-]?[0-9]+)?\s?[%€$£)kKMB]*"
)
_DURATION = re.compile(r"[0-9][0-9.]*\s?(ms|s|m|h|d|[KMGT]i?B?)")
_DATE = re.compile(r"[0-9]{4}[-/.][0-9]{1,2}([-/.][0-9]{1,2})?([T ].*)?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}")
_TIME = re.compile(r"\[?([0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?.*", re.DOTALL)
_PERIOD = re.compile(r"(19|20)[0-9]{2}([-/ ]?(Q[1-4]|[0-9]{1,2}([-/][0-9]{1,2})?))?|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}")
_WORDS_OF_TYPE = frozenset(("true", "false", "yes", "no", "null", "none", "nan", "n/a", "na", "-", "--"))
_FIRST = re.compile(r"[^\W\d]|[_#%$@(€£¥\"'\u2018\u201c*]|[0-9]+[-_ ]?[^\W\d]")
_NEVER = re.compile(r"[{}\[\];=`\n]|://|: |->|\S@\S+\.\S|^\s|^[-*•] |[.!:,]$|^(//|#!|@@|--|<)")
_KEYWORD = re.compile(
    r"(import|from|def|class|return|for|while|if|elif|else|let|const|var|function|select|insert|update|delete|where"
    r"|with|use|using|package|public|private|static|print|export|echo|raise|throw|assert|and|or|but|the|dear|hi|hello)\s",
    re.IGNORECASE,
)


def is_header(names: Sequence[str]) -> bool:
    """Returns whether the cells of a line can be the names of columns.

    A name is short, has a letter, and has nothing in it that code, sentences, dates and log lines have. The first cell
    may be empty, as an index without a name is. Further cells may be years, months and dates.
    """
    if len(names) < 2 or not all(names[1:]):  # noqa: PLR2004 - one column is a list of words
        return False
    named = [is_name(name) for name in names]
    if not (named[0] or not names[0]) or not any(named):
        return False
    return all(is_it or not name or _PERIOD.fullmatch(name) for is_it, name in zip(named, names, strict=True))


def is_name(text: str) -> bool:
    """Returns whether a text can be the name of a column."""
    if not text or len(text) > _MAX_NAME or len(text.split()) > _MAX_WORDS or is_typed(text):
        return False
    if not _FIRST.match(text) or _NEVER.search(text) or _TIME.fullmatch(text) or _KEYWORD.match(text):
        return False
    return any(map(str.isalpha, text)) and text.count("(") == text.count(")")


def is_plain(names: Iterable[str]) -> bool:
    """Returns whether all names are a few words, as names of columns without any number below them should be."""
    return all(len(name.split()) <= _MAX_PLAIN_WORDS for name in names)


def is_typed(cell: Any) -> bool:
    """Returns whether a cell is, or is written as, a number, a date, a truth value or a missing value."""
    if not isinstance(cell, str):
        return cell is None or isinstance(cell, (int, float)) or hasattr(cell, "isoformat")
    text = cell.strip()
    if not text[:1].isalpha():
        return len(text) <= _MAX_NAME and any(
            kind.fullmatch(text) for kind in (_NUMBER, _DURATION, _DATE, _TIME) if text
        )
    return text.lower() in _WORDS_OF_TYPE or (text[0].isupper() and _NUMBER.fullmatch(text) is not None)


def has_typed_column(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bool:
    """Returns whether the cells below some name are numbers, dates or truth values.

    Args:
        names: the cells of the first line.
        rows: some of the lines below it. Shorter ones count as far as they have cells.
    """
    return any(_is_typed_column([row[place] for row in rows if place < len(row)]) for place in range(len(names)))


def _is_typed_column(cells: Sequence[Any]) -> bool:
    filled = [cell for cell in cells if cell not in ("", None)]
    return bool(filled) and sum(map(is_typed, filled)) >= _TYPED_SHARE * len(filled)
