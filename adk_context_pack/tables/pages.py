"""Takes the pages in which a service sends rows for one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adk_context_pack.tables.names import words

# Words in the names of what a service says of a page: where it starts and ends, how to get the next one, how it went.
_OF_PAGES = frozenset(
    """page pages pagination paging next prev previous cursor cursors token offset limit total count more start first
    last has marker continuation scroll link links self kind etag meta metadata mask request took done
    summary consumption schema""".split()  # noqa: SIM905 - one word a line would take a page
)
_MAX_PAGES = 10_000
_MAX_DEPTH = 3


def rows_path(pages: Sequence[Any]) -> tuple[Any, ...] | None:
    """Returns the keys that lead to the rows in each page of a list of pages, or None for any other list.

    A page has one list of rows and else only what is the same on all pages, or what its name says of a page: cursors,
    totals, masks. Google Ads' searchStream answers with such a list. Pages that are lists have an empty path.
    """
    if not 0 < len(pages) <= _MAX_PAGES or not (_is_paged(pages[0], 0) or _is_paged(pages[-1], 0)):
        return None
    return None if _path((pages[0], pages[-1])[: len(pages)], 0) is None else _path(pages, 0)


def joined(pages: Sequence[Any], path: Sequence[Any], rows: Any) -> Any:
    """Returns one page in place of many, with `rows` in the place to which `path` leads."""
    if not path:
        return rows
    return {
        **pages[0],
        **pages[-1],
        path[0]: joined([page[path[0]] for page in pages if path[0] in page], path[1:], rows),
    }


def _path(pages: Sequence[Any], depth: int) -> tuple[Any, ...] | None:
    if all(isinstance(page, list) and (not page or isinstance(page[0], (Mapping, list))) for page in pages):
        are_records = all(isinstance(row, Mapping) and len(row) > 2 for page in pages for row in page)  # noqa: PLR2004 - a cell has a name and a value
        return () if depth or are_records else None
    if depth > _MAX_DEPTH or not all(isinstance(page, Mapping) for page in pages):
        return None
    found: list[tuple[Any, ...]] = []
    for key in dict.fromkeys(key for page in pages for key in page):
        values = [page[key] for page in pages if key in page]
        inner = _path(values, depth + 1) if any(_is_paged(value, depth) for value in values) else None
        if inner is not None:
            found.append((key, *inner))
        elif _OF_PAGES.isdisjoint(words(str(key))) and (len(pages) == 1 or values.count(values[0]) < len(pages)):
            return None
    return found[0] if len(found) == 1 and (depth or len(pages) > 1 or len(pages[0]) > 1) else None


def _is_paged(value: Any, depth: int) -> bool:
    if isinstance(value, Mapping):
        return depth <= _MAX_DEPTH and any(_is_paged(item, depth + 1) for item in value.values())
    return isinstance(value, list) and bool(value) and isinstance(value[0], (Mapping, list))
