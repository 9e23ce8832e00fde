"""The reports of the newest model calls, and sums over them."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any, overload

from google.adk.agents.callback_context import CallbackContext

from adk_context_pack._adk.releases import invocation_of
from adk_context_pack.errors import Configured, at_least, counted, positive, printable
from adk_context_pack.reports.call_report import CATEGORIES, CallReport, Saving, category_rows, numbers, share, table
from adk_context_pack.reports.token_use import PACK_TOOLS, RESULTS, TokenUse, if_read_back
from adk_context_pack.stores.byte_cache import KEEPERS, Theirs


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportTotals(Saving):
    """The totals of some model calls. `print(totals)` shows it as a table.

    Attributes:
        calls: how many model calls.
        tokens_before: tokens of all requests before the passes, with smaller results and the plugin's tools.
        tokens_after: tokens of all requests as they were sent.
        categories: `tokens_after` by category.
        categories_before: `tokens_before` by category.
        passes: tokens that each pass took away, by its name, in the order in which they run.
        results: tokens that smaller results kept out of the requests, by tool. A result counts in each request that
            shows it, as ADK alone would have sent the full one in each.
        unknown_results: how often a request showed a smaller result whose saving nobody remembers.
        read_backs, tokens_read_back: as `TokenUse` has them.
        pack_tools: tokens of the declarations that the plugin added.
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
    results: dict[str, int] = field(default_factory=dict)
    unknown_results: int = 0
    read_backs: int = 0
    tokens_read_back: int = 0
    pack_tools: int = 0
    prefix_tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    errors: int = 0

    @classmethod
    def of(cls, reports: Iterable[CallReport]) -> ReportTotals:
        """Sums over `reports`."""
        use = TokenUse.of(found := list(reports))
        plain = ("tokens_before", "tokens_after", "pack_tools", "seconds")
        sums: dict[str, Any] = {name: sum(getattr(report, name) for report in found) for name in plain}
        for name, shown in {"categories": CATEGORIES, "categories_before": CATEGORIES, "results": ()}.items():
            added = Counter(dict.fromkeys(shown, 0))
            for report in found:
                added.update(getattr(report, name))
            sums[name] = dict(added)
        shared = "unknown_results", "read_backs", "tokens_read_back", "cached_tokens", "prefix_tokens"
        sums |= {name: getattr(use, name) for name in shared}
        return cls(
            **sums,
            calls=len(found),
            passes={name: each.saved for name, each in use.passes.items() if name not in (RESULTS, PACK_TOOLS)},
            prompt_tokens=use.total.prompt_tokens,
            errors=use.failed.total(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the sums as plain JSON values."""
        return {**asdict(self), "tokens_without_pack": self.tokens_without_pack}

    def __str__(self) -> str:
        whole = *numbers(self.tokens_without_pack, self.tokens_after), share(self.tokens_after, self.tokens_after)
        rows = [*category_rows(self), (counted(self.calls, "call"), *whole)]
        steps = [each for each in (*self.first_steps(), *self.passes.items()) if each[1]]
        lines = [f"{name}: {abs(saved):,} tokens {'taken away' if saved > 0 else 'added'}" for name, saved in steps]
        if self.unknown_results:
            unknown = f"{counted(self.unknown_results, 'time')} the saving of a result is not known"
            lines.append(f"{unknown}, since an earlier process made it")
        lines += if_read_back(self.read_backs, self.tokens_read_back, self.tokens_without_pack)
        return "\n".join(map(printable, (*table(rows), *lines)))


_MAX_WAITING = 1024


class ReportLog(Configured, Sequence[CallReport]):
    """The newest reports, oldest first, in bounded memory. Threads may share it.

    Args:
        max_reports: the number of reports to keep. The oldest is dropped first.
        max_requests: the number of newest reports that keep their recorded requests.
    """

    def __init__(self, *, max_reports: int = 1000, max_requests: int = 0) -> None:
        self._reports: deque[CallReport] = deque(maxlen=positive(self, "max_reports", max_reports))
        # A report that is forgotten may still wait for its answer, and holds no request then.
        self._max_requests = min(at_least(self, "max_requests", max_requests, 0), max_reports)
        self._waiting: OrderedDict[tuple[object, ...], CallReport] = OrderedDict()
        self._dropped = 0
        self._lock = Lock()
        KEEPERS.add(self)

    def drop(self, theirs: Theirs) -> None:
        """Forgets the reports of some sessions."""
        named = {(theirs.user_id, session_id) for session_id in theirs.sessions}
        with self._lock:
            left = [each for each in self if (each.user_id or theirs.user_id, each.session_id) not in named]
            self._reports.clear()
            self._reports.extend(left)
            for key in [key for key in self._waiting if key[0] in theirs.sessions]:
                del self._waiting[key]

    def add(self, report: CallReport, context: CallbackContext | None = None) -> None:
        """Keeps a report, and waits for the provider's answer to the call behind `context`."""
        key = None if context is None else _key(context)
        with self._lock:
            self._dropped += len(self._reports) == self._reports.maxlen
            if len(self._reports) >= self._max_requests:
                old = self._reports[-self._max_requests] if self._max_requests else report
                old.request_before = old.request_after = None
            self._reports.append(report)
            if key is None:
                return
            self._waiting.pop(key, None)
            self._waiting[key] = report
            # A call that a plugin answered in the model's stead, or that failed, is never heard of again.
            if len(self._waiting) > _MAX_WAITING:
                self._waiting.popitem(last=False)

    def waiting_for(self, context: CallbackContext) -> CallReport | None:
        """Returns the report of the call that an `after_model_callback` was given `context` for."""
        return self._waiting.get(_key(context))

    def answered(self, context: CallbackContext) -> None:
        """Makes the call behind `context` the first one to be forgotten. A model may answer it again until then."""
        with self._lock:
            if (key := _key(context)) in self._waiting:
                self._waiting.move_to_end(key, last=False)

    def totals(
        self, *, agent: str | None = None, session_id: str | None = None, invocation_id: str | None = None
    ) -> ReportTotals:
        """Sums over all kept reports, or over those of one agent, session or run."""
        wanted = {"agent": agent, "session_id": session_id, "invocation_id": invocation_id}
        return ReportTotals.of(
            report for report in self if all(value in (None, getattr(report, name)) for name, value in wanted.items())
        )

    def by_agent(self) -> dict[str, ReportTotals]:
        """Sums for each agent."""
        return self._grouped("agent")

    def by_session(self) -> dict[str, ReportTotals]:
        """Sums for each session, by its id."""
        return self._grouped("session_id")

    def by_run(self) -> dict[str, ReportTotals]:
        """Sums for each run, by its invocation id."""
        return self._grouped("invocation_id")

    def _grouped(self, name: str) -> dict[str, ReportTotals]:
        groups: dict[str, list[CallReport]] = {}
        for report in self:
            groups.setdefault(getattr(report, name), []).append(report)
        return {value: ReportTotals.of(group) for value, group in groups.items()}

    def clear(self) -> None:
        """Forgets all reports."""
        with self._lock:
            self._reports.clear()
            self._waiting.clear()
            self._dropped = 0

    @property
    def dropped(self) -> int:
        """The number of reports that were forgotten because newer ones took their place."""
        return self._dropped

    def __len__(self) -> int:
        return len(self._reports)

    def __iter__(self) -> Iterator[CallReport]:
        return iter(tuple(self._reports))

    @overload
    def __getitem__(self, index: int) -> CallReport: ...
    @overload
    def __getitem__(self, index: slice) -> list[CallReport]: ...
    def __getitem__(self, index: int | slice) -> CallReport | list[CallReport]:
        return list(self)[index] if isinstance(index, slice) else self._reports[index]

    def __str__(self) -> str:
        return str(self.totals())


def _key(context: CallbackContext) -> tuple[object, ...]:
    # Neither the callback context nor its actions are the same object before and after the model on every release, but
    # the agent's invocation context is. Its id is enough, and holding the object would hold the session.
    inner = invocation_of(context)
    return context.session.id, context.invocation_id, context.agent_name, getattr(inner, "branch", None), id(inner)
