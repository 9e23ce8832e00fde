"""Reports as text tables, for `print`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from adk_context_pack.reports.pass_report import PassReport, PrefixReport


class Reported(Protocol):
    """The attributes of a `CallReport` that its table shows."""

    agent: str
    model: str
    invocation_id: str
    session_id: str
    passes: tuple[PassReport, ...]
    tokens_before: int
    tokens_after: int
    categories: Mapping[str, int]
    categories_before: Mapping[str, int]
    prefix: PrefixReport
    prompt_tokens: int | None
    cached_tokens: int | None


def report_table(report: Reported) -> str:
    """Returns a report as a table: its passes, its categories, the prefix kept, the provider's figures."""
    head = " · ".join(
        text
        for text in (report.agent, report.model, f"run {report.invocation_id}", f"session {report.session_id}")
        if text
    )
    rows: list[tuple[str, ...]] = [("pass", "before", "after", "saved", "ms", "what it did")]
    rows += [_pass_row(each) for each in report.passes]
    seconds = sum(each.seconds for each in report.passes)
    rows.append(("whole request", *_numbers(report.tokens_before, report.tokens_after), f"{seconds * 1e3:.1f}", ""))
    return "\n".join((head, *table(rows), "", *table(_category_rows(report)), "", *_last_lines(report)))


def share(part: float, whole: float) -> str:
    """Returns `part` of `whole` in percent. Nothing of nothing is 0."""
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Rows of text in columns: numbers to the right, the first and the sixth column to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if place in (0, 5) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def _pass_row(each: PassReport) -> tuple[str, ...]:
    did = f"failed, skipped: {each.error}" if each.error else each.note
    return (each.name, *_numbers(each.tokens_before, each.tokens_after), f"{each.seconds * 1e3:.1f}", did)


def _numbers(before: int, after: int) -> tuple[str, str, str]:
    return f"{before:,}", f"{after:,}", f"{before - after:,}"


def _category_rows(report: Reported) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("category", "before", "after", "saved", "share")]
    for name, after in report.categories.items():
        before = report.categories_before.get(name, 0)
        if before or after:
            rows.append((name, *_numbers(before, after), share(after, report.tokens_after)))
    return rows


def _last_lines(report: Reported) -> Iterable[str]:
    prefix = report.prefix
    if prefix.previous_tokens:
        of_it = f"{prefix.tokens:,} of {prefix.previous_tokens:,} tokens ({prefix.share:.0%})"
        yield f"prefix kept: {of_it} of this agent's previous request"
    else:
        yield "prefix kept: none, this is the agent's first request"
    if report.prompt_tokens is not None:
        cached = report.cached_tokens or 0
        yield f"the provider counted: {report.prompt_tokens:,} prompt tokens, {cached:,} of them from its cache"
