"""Reports as text tables, for `print`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from adk_context_pack.reports.pass_report import PassReport, PrefixReport


class Saved(Protocol):
    """The attributes of a report or of totals that say what was saved where results are made."""

    @property
    def results(self) -> Mapping[str, int]:
        """Tokens that smaller results kept out, by tool."""

    @property
    def unknown_results(self) -> int:
        """The number of smaller results whose saving is not known."""

    @property
    def pack_tools(self) -> int:
        """Tokens of the declarations that the plugin added."""


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
    results: Mapping[str, int]
    unknown_results: int
    pack_tools: int
    shadow: bool
    prefix: PrefixReport
    prompt_tokens: int | None
    cached_tokens: int | None

    @property
    def tokens_without_pack(self) -> int:
        """Tokens of the request that ADK alone would have sent."""


def report_table(report: Reported) -> str:
    """Returns a report as a table: its passes, its categories, the prefix kept, the provider's figures."""
    head = " · ".join(
        text
        for text in (report.agent, report.model, f"run {report.invocation_id}", f"session {report.session_id}")
        if text
    )
    rows: list[tuple[str, ...]] = [("pass", "before", "after", "saved", "ms", "what it did")]
    rows += _boundary_rows(report)
    rows += [_pass_row(each) for each in report.passes]
    seconds = sum(each.seconds for each in report.passes)
    whole = _numbers(report.tokens_without_pack, report.tokens_after)
    rows.append(("whole request", *whole, f"{seconds * 1e3:.1f}", ""))
    if report.shadow:
        head += " · shadow: ADK's own request was sent"
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


def result_lines(saved: Saved) -> Iterable[str]:
    """Says what was saved where results are made, one line for each tool."""
    for tool, tokens in saved.results.items():
        yield f"results of {tool}: {tokens:,} tokens kept out"
    if saved.unknown_results:
        yield f"{saved.unknown_results:,} times the saving of a result is not known, since an earlier process made it"
    if saved.pack_tools:
        yield f"tools that the plugin declared: {saved.pack_tools:,} tokens added"


def _boundary_rows(report: Reported) -> Iterable[tuple[str, ...]]:
    """Yields one row for each step from the request of ADK alone to the one that the first pass received."""
    tokens = report.tokens_without_pack
    for tool, saved in report.results.items():
        yield f"results of {tool}", *_numbers(tokens, tokens - saved), "", "made smaller where they were made"
        tokens -= saved
    if report.pack_tools:
        yield "read-back tools", *_numbers(tokens, tokens + report.pack_tools), "", "declared by the plugin"


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
    if report.unknown_results:
        yield f"savings not known: {report.unknown_results:,} smaller results, which an earlier process made"
    prefix = report.prefix
    if prefix.previous_tokens:
        of_it = f"{prefix.tokens:,} of {prefix.previous_tokens:,} tokens ({prefix.share:.0%})"
        yield f"prefix kept: {of_it} of this agent's previous request"
    else:
        yield "prefix kept: none, this is the agent's first request"
    if report.prompt_tokens is not None:
        cached = report.cached_tokens or 0
        yield f"the provider counted: {report.prompt_tokens:,} prompt tokens, {cached:,} of them from its cache"
