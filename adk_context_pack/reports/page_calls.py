"""Turns reports into the data of the page's timeline. Texts and runs of unchanged parts are written once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.request_diff import DiffRow, Segments, compare, marked
from adk_context_pack.reports.request_view import ViewPart
from adk_context_pack.reports.token_use import categories_without

SAME, REMOVED, ADDED, CHANGED = range(4)
"""The first entry of a row, which says what became of its parts."""


class PageCalls:
    """Collects calls for the page.

    Most parts of a request are in the next one too, and in the same order. So the page holds each part once, and a run
    of unchanged parts is its first number and its length.

    Attributes:
        calls: the calls as JSON values.
        changes: both sides of each pair of parts of which one was rewritten into the other, in pieces.
    """

    def __init__(self, reports: Iterable[CallReport]) -> None:
        self._texts: dict[str, int] = {}
        self._parts: dict[ViewPart, int] = {}
        self._changes: dict[tuple[int, int], int] = {}
        self.changes: list[list[Any]] = []
        self.calls = [self._call(report) for report in reports]

    @property
    def parts(self) -> list[list[Any]]:
        """Returns the label of each part and the number of its text."""
        return [[part.label, self._text(part.text)] for part in self._parts]

    @property
    def texts(self) -> list[str]:
        """Returns all texts. Read it after `parts`."""
        return list(self._texts)

    def _call(self, report: CallReport) -> dict[str, Any]:
        call = report.to_dict()
        call["without"] = {name: tokens for name, tokens in categories_without(report).items() if tokens}
        call["prefix"] = {**call["prefix"], "previous": report.prefix.previous_tokens}
        if report.request_before is not None and report.request_after is not None:
            call["rows"] = list(self._rows(compare(report.request_before, report.request_after)))
        return call

    def _rows(self, rows: Iterable[DiffRow]) -> Iterator[list[Any]]:
        run: list[Any] = []
        for row in rows:
            if row.status == "same" and row.before is not None:
                run = _longer(run or [SAME], self._part(row.before))
                continue
            if run:
                yield run
                run = []
            yield self._row(row)
        if run:
            yield run

    def _row(self, row: DiffRow) -> list[Any]:
        if row.before is not None and row.after is not None:
            before, after = self._part(row.before), self._part(row.after)
            change = self._changes.get((before, after))
            if change is None:
                change = self._changes[before, after] = len(self.changes)
                self.changes.append(list(map(self._side, marked(row.before.text, row.after.text))))
            return [CHANGED, before, after, change]
        if row.before is not None:
            return [REMOVED, self._part(row.before)]
        return [ADDED, self._part(row.after) if row.after is not None else 0]

    def _side(self, side: Segments) -> list[list[int]]:
        return [[self._text(text), int(different)] for text, different in side]

    def _part(self, part: ViewPart) -> int:
        return self._parts.setdefault(part, len(self._parts))

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))


def _longer(run: list[Any], part: int) -> list[Any]:
    """Adds a part to a run: `[SAME, first, length, first, length, …]`."""
    if len(run) > 1 and run[-2] + run[-1] == part:
        run[-1] += 1
    else:
        run += [part, 1]
    return run
