"""Adds up tokens and cost without and with the pack, for each agent, pass and session, and prints them as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from adk_context_pack.errors import printable
from adk_context_pack.replay.replayer import Replayed
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.reports.call_report import share, table
from adk_context_pack.reports.token_use import Budget, Part, Prices, TokenUse, if_read_back, percent

_FIGURES = {
    "calls": "calls",
    "tokens_without": "without",
    "tokens_with": "sent",
    "cost_without": "cost_without",
    "cost_with": "cost_sent",
    "largest_without": "largest_without",
    "largest_with": "largest_sent",
    "prompt_tokens": "prompt_tokens",
}
"""The names of figures in JSON, and those of `Part`."""


def _figures(part: Part) -> dict[str, Any]:
    return {name: getattr(part, figure) for name, figure in _FIGURES.items()}


@dataclass(kw_only=True, slots=True)
class ReplaySums:
    """The results of a replay.

    Attributes:
        use: what is added up.
        budget: what requests and sessions may take.
        sessions: for each session, where it is from and its sum.
        over_budget: one line for each request and session that exceeded the budget.
        problems: one line for each file, session or call that could not be read.
        is_whole: whether requests were rebuilt with the app that was recorded, instructions and declarations included.
        packed_before: calls that the pack has reported on when they were recorded, and that show capped results.
        restored: results that were capped when they were recorded, and are back in full.
        capped_before: results that were capped when they were recorded and cannot be opened in full.
        uncounted: calls without the provider's figure.
    """

    use: TokenUse = field(default_factory=lambda: TokenUse(prices=Prices()))
    budget: Budget = field(default_factory=Budget)
    sessions: list[tuple[RecordedSession, Part]] = field(default_factory=list)
    over_budget: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_whole: bool = False
    packed_before: int = 0
    restored: int = 0
    capped_before: int = 0
    uncounted: int = 0

    def open_session(self, session: RecordedSession) -> Part:
        """Starts the sum of a session. Only the session's name is kept."""
        self.restored += session.restored
        self.capped_before += len(session.still_capped)
        found = Part()
        self.use.shown.clear()
        self.sessions.append((replace(session, state={}, events=[], capped_events=[]), found))
        return found

    def add(self, call: Replayed, of_session: Part) -> None:
        """Adds one call to all sums that it belongs to."""
        report = call.report
        self.use.add(report, call.prefix_without, of_session)
        self.packed_before += call.packed_before is not None
        self.uncounted += call.figure is None and call.packed_before is None
        self.over_budget += self.budget.broken_by(report, of_session)

    def notes(self) -> Iterator[str]:
        """Yields what the figures are made of, and what they leave out, one sentence or two each."""
        yield from if_read_back(self.use.read_backs, self.use.tokens_read_back, self.use.total.without)
        if self.restored:
            yield f"Results that the pack had capped when they were recorded, now back in full: {self.restored:,}."
        if self.capped_before:
            yield f"Results that were recorded capped and cannot be opened in full: {self.capped_before:,}."
            calls = counted({"call": self.packed_before}, "")
            yield f"--artifacts URI may open them. {calls} with one have the pack's own figures, others are too low."
        if self.uncounted < self.use.total.calls:
            yield "Where the provider counted a request, its figure is the one without the pack, and scales the other."
        if self.uncounted and not self.is_whole:
            yield "A session holds neither instructions nor tool declarations. --app MODULE:NAME adds them."
            yield "Where the provider did not count, each agent counts as if it were shown its whole history."

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as plain JSON values."""
        names = ("id", "app_name", "user_id", "source")
        sessions = [{name: getattr(of, name) for name in names} | _figures(entry) for of, entry in self.sessions]
        return {
            **_figures(self.use.total),
            "prices": asdict(self.use.prices or Prices()),
            "agents": {name: _figures(entry) for name, entry in self.use.agents.items()},
            "passes": {name: {"tokens_saved": each.saved} for name, each in self.use.passes.items()},
            "sessions": sessions,
            "results": {"restored": self.restored, "capped": self.capped_before},
            "read_back": {"calls": self.use.read_backs, "tokens": self.use.tokens_read_back},
            "over_budget": self.over_budget,
            "problems": self.problems,
            "notes": list(self.notes()),
        }


_MAX_SESSIONS = 10


def replay_text(sums: ReplaySums) -> str:
    """Returns the sums as tables. Without a model call it says so in place of empty tables."""
    total, prices = sums.use.total, sums.use.prices or Prices()
    if not total.calls:
        return "no model calls found"
    largest = sorted(sums.sessions, key=lambda entry: -entry[1].without)
    names = {f"{named.id} ({named.source})": entry for named, entry in largest[:_MAX_SESSIONS]}
    left = len(largest) - _MAX_SESSIONS
    passes = [(name, f"{each.saved:,}", share(each.saved, total.without)) for name, each in sums.use.passes.items()]
    lines = [
        *_table("session", names),
        *([f"… and {left:,} smaller sessions. --json has them all."] if left > 0 else ()),
        "",
        *table([("pass", "tokens saved", "of all"), *passes]),
        "",
        *_table("agent", sums.use.agents),
        "",
        f"Cost: {prices.input:g} for a million input tokens, {prices.cached:g} for a million cached ones.",
        "The estimate assumes that the provider caches everything that an agent's previous request began with.",
        *sums.notes(),
    ]
    if total.prompt_tokens:
        lines.append(f"When this was recorded, the providers counted {total.prompt_tokens:,} prompt tokens in all.")
    cost = f"{money(total.cost_without - total.cost_sent)} of {money(total.cost_without)}"
    tokens = f"{'saves' if total.saved >= 0 else 'adds'} {abs(total.saved):,} of {total.without:,} tokens"
    changes = percent(total.without, total.sent), percent(total.cost_without, total.cost_sent)
    headline = f"The pack {tokens} ({changes[0]}) and {cost} ({changes[1]})."
    return "\n".join((*map(printable, lines), "", _counts(sums), headline))


def brief_text(sums: ReplaySums) -> str:
    """Returns in a line what a budget is held against: the largest request and the dearest session."""
    dearest = max((part.cost_sent for _, part in sums.sessions), default=0.0)
    largest = f"the largest of {sums.use.total.largest_sent:,} tokens"
    return f"{_counts(sums)}, {largest}, the dearest session at {money(dearest)}"


def _counts(sums: ReplaySums) -> str:
    return counted({"model call": sums.use.total.calls, "session": len(sums.sessions)}, " in ")


def counted(counts: Mapping[str, int], between: str) -> str:
    """Returns numbers with what they count, in the plural where there are several."""
    return between.join(f"{count:,} {what}{'s' * (count != 1)}" for what, count in counts.items())


def money(amount: float) -> str:
    """Returns an amount with as many decimals as tell something."""
    return f"{amount:,.2f}" if abs(amount) >= 1 else f"{amount:.6f}"


def _table(kind: str, entries: Mapping[str, Part]) -> Iterable[str]:
    rows = [(kind, "calls", "without", "with", "change", "largest with", "cost without", "cost with")]
    for name, entry in entries.items():
        tokens = f"{entry.calls:,}", f"{entry.without:,}", f"{entry.sent:,}", percent(entry.without, entry.sent)
        costs = money(entry.cost_without), money(entry.cost_sent)
        rows.append((f"{name:.60}", *tokens, f"{entry.largest_sent:,}", *costs))
    return table(rows)
