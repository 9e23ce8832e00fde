"""Sums over the reports of a run, a session, an agent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from adk_context_pack.reports.call_report import CallReport
from adk_context_pack.reports.categories import CATEGORIES
from adk_context_pack.reports.text_table import share, table


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportTotals:
    """What some model calls sent in all. `print(totals)` shows it as a table.

    Attributes:
        calls: how many model calls.
        tokens_before: tokens of all requests before the passes.
        tokens_after: tokens of all requests as they were sent.
        categories: `tokens_after` by category.
        categories_before: `tokens_before` by category.
        passes: tokens that each pass took away, by its name, in the order in which they run.
        prefix_tokens: tokens that stood at the beginning of the previous request as well.
        prompt_tokens: what the provider counted, over the calls for which it said so.
        cached_tokens: how many of them it read from its cache.
        seconds: the time of all passes.
        errors: how often a pass failed and was skipped.
    """

    calls: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    categories: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CATEGORIES, 0))
    categories_before: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CATEGORIES, 0))
    passes: dict[str, int] = field(default_factory=dict)
    prefix_tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    errors: int = 0

    @classmethod
    def of(cls, reports: Iterable[CallReport]) -> ReportTotals:
        """The sums over `reports`."""
        found = list(reports)
        passes: Counter[str] = Counter()
        for report in found:
            for each in report.passes:
                passes[each.name] += each.tokens_saved
        return cls(
            calls=len(found),
            tokens_before=sum(report.tokens_before for report in found),
            tokens_after=sum(report.tokens_after for report in found),
            categories={name: sum(report.categories.get(name, 0) for report in found) for name in CATEGORIES},
            categories_before={
                name: sum(report.categories_before.get(name, 0) for report in found) for name in CATEGORIES
            },
            passes=dict(passes),
            prefix_tokens=sum(report.prefix.tokens for report in found),
            prompt_tokens=sum(report.prompt_tokens or 0 for report in found),
            cached_tokens=sum(report.cached_tokens or 0 for report in found),
            seconds=sum(report.seconds for report in found),
            errors=sum(each.error is not None for report in found for each in report.passes),
        )

    @property
    def tokens_saved(self) -> int:
        """`tokens_before` less `tokens_after`."""
        return self.tokens_before - self.tokens_after

    def to_dict(self) -> dict[str, Any]:
        """The sums as plain JSON values."""
        return {name: getattr(self, name) for name in type(self).__dataclass_fields__}

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("category", "before", "after", "saved", "share")]
        for name in CATEGORIES:
            before, after = self.categories_before[name], self.categories[name]
            if before or after:
                rows.append(_row(name, before, after, self.tokens_after))
        rows.append(_row(f"{self.calls:,} calls", self.tokens_before, self.tokens_after, self.tokens_after))
        lines = [f"{name}: {saved:,} tokens taken away" for name, saved in self.passes.items()]
        return "\n".join((*table(rows), *lines))


def _row(name: str, before: int, after: int, whole: int) -> tuple[str, ...]:
    return name, f"{before:,}", f"{after:,}", f"{before - after:,}", share(after, whole)
