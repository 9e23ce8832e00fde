"""What a replay adds up: tokens and cost without and with the pack, for each agent, pass and session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from adk_context_pack.replay.replayer import Replayed
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.reports.text_table import share, table


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """What input tokens cost, for a million of them, in any currency.

    Args:
        input: a token that the provider has to read.
        cached: a token that it finds in its prompt cache. Output tokens are the same with and without the pack.
    """

    input: float = 1.0
    cached: float = 0.1

    def of(self, tokens: int, cached: int) -> float:
        """Returns the price of a request that shares `cached` tokens with the beginning of the previous one."""
        return ((tokens - cached) * self.input + cached * self.cached) / 1e6


@dataclass(kw_only=True, slots=True)
class Sum:
    """Some calls added up.

    Attributes:
        calls: how many model calls.
        tokens_without: tokens of their requests as ADK had built them.
        tokens_with: tokens of their requests with the pack.
        cost_without: what the former cost, cached prefixes considered.
        cost_with: what the latter cost.
        largest_without: the largest of the former.
        largest_with: the largest of the latter.
        prompt_tokens: what the provider counted when the sessions were recorded.
    """

    calls: int = 0
    tokens_without: int = 0
    tokens_with: int = 0
    cost_without: float = 0.0
    cost_with: float = 0.0
    largest_without: int = 0
    largest_with: int = 0
    prompt_tokens: int = 0

    def add(self, call: Replayed, prices: Prices) -> None:
        """Adds one call."""
        report = call.report
        before, after = report.tokens_before, report.tokens_after
        self.calls += 1
        self.tokens_without += before
        self.tokens_with += after
        self.cost_without += prices.of(before, min(call.prefix_without.tokens, before))
        self.cost_with += prices.of(after, min(report.prefix.tokens, after))
        self.largest_without = max(self.largest_without, before)
        self.largest_with = max(self.largest_with, after)
        self.prompt_tokens += report.prompt_tokens or 0

    def to_dict(self) -> dict[str, Any]:
        """Returns the sum as plain JSON values."""
        return {name: getattr(self, name) for name in type(self).__slots__}


@dataclass(kw_only=True, slots=True)
class ReplaySums:
    """The results of a replay.

    Attributes:
        prices: the prices of tokens.
        budgets: for each agent, the most tokens that one of its requests may have. "*" means all other agents.
        total: all calls.
        agents: the calls of each agent.
        sessions: for each session, where it is from and its sum.
        passes: the tokens that each pass saved, by its name.
        over_budget: one line for each request that exceeded its agent's budget.
        problems: one line for each file, session or call that could not be read.
    """

    prices: Prices = field(default_factory=Prices)
    budgets: dict[str, int] = field(default_factory=dict)
    total: Sum = field(default_factory=Sum)
    agents: dict[str, Sum] = field(default_factory=dict)
    sessions: list[tuple[RecordedSession, Sum]] = field(default_factory=list)
    passes: dict[str, int] = field(default_factory=dict)
    over_budget: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def open_session(self, session: RecordedSession) -> Sum:
        """Starts the sum of a session. Only the session's name is kept."""
        named = RecordedSession(
            id=session.id, app_name=session.app_name, user_id=session.user_id, source=session.source, events=[]
        )
        self.sessions.append((named, Sum()))
        return self.sessions[-1][1]

    def add(self, call: Replayed, of_session: Sum) -> None:
        """Adds one call to all sums that it belongs to."""
        report = call.report
        for entry in (self.total, of_session, self.agents.setdefault(report.agent, Sum())):
            entry.add(call, self.prices)
        for each in report.passes:
            self.passes[each.name] = self.passes.get(each.name, 0) + each.tokens_saved
        budget = self.budgets.get(report.agent, self.budgets.get("*"))
        if budget is not None and report.tokens_after > budget:
            self.over_budget.append(
                f"{report.agent}: {report.tokens_after:,} tokens, over its budget of {budget:,}, in call"
                f" {of_session.calls} of session {report.session_id}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        sessions = [
            {"id": named.id, "app_name": named.app_name, "user_id": named.user_id, "source": named.source}
            | entry.to_dict()
            for named, entry in self.sessions
        ]
        return {
            **self.total.to_dict(),
            "prices": {"input": self.prices.input, "cached": self.prices.cached},
            "agents": {name: entry.to_dict() for name, entry in self.agents.items()},
            "passes": {name: {"tokens_saved": saved} for name, saved in self.passes.items()},
            "sessions": sessions,
            "over_budget": self.over_budget,
            "problems": self.problems,
        }


_MAX_SESSIONS = 30


def replay_text(sums: ReplaySums) -> str:
    """Returns the sums as tables: each agent, the savings of each pass, each session."""
    total = sums.total
    change = _change(total.tokens_without, total.tokens_with)
    lines = [
        f"{total.calls:,} model calls in {len(sums.sessions):,} sessions",
        f"{total.tokens_without:,} tokens without the pack, {total.tokens_with:,} with it ({change})",
        "",
        *_sums("agent", sums.agents),
        "",
        *_passes(sums),
        "",
        *_sessions(sums),
        "",
        f"Cost: {sums.prices.input:g} for a million input tokens, {sums.prices.cached:g} for a million cached ones;",
        "cached, at best, is what stands at the beginning of the agent's previous request as well.",
        "Instructions and tool declarations are not in a session: they come on top, the same without and with.",
    ]
    if total.prompt_tokens:
        lines.append(f"When this was recorded the providers counted {total.prompt_tokens:,} prompt tokens in all.")
    return "\n".join(lines)


def _sums(kind: str, entries: Mapping[str, Sum]) -> Iterable[str]:
    rows: list[tuple[str, ...]] = [
        (kind, "calls", "without", "with", "change", "", "largest with", "cost without", "cost with")
    ]
    rows += [_row(name, entry) for name, entry in entries.items()]
    return table(rows)


def _row(name: str, entry: Sum) -> tuple[str, ...]:
    return (
        name,
        f"{entry.calls:,}",
        f"{entry.tokens_without:,}",
        f"{entry.tokens_with:,}",
        _change(entry.tokens_without, entry.tokens_with),
        "",
        f"{entry.largest_with:,}",
        f"{entry.cost_without:.6f}",
        f"{entry.cost_with:.6f}",
    )


def _passes(sums: ReplaySums) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("pass", "tokens taken away", "of all")]
    whole = sums.total.tokens_without
    rows += [(name, f"{saved:,}", share(saved, whole)) for name, saved in sums.passes.items()]
    yield from table(rows)


def _sessions(sums: ReplaySums) -> Iterator[str]:
    largest = sorted(sums.sessions, key=lambda entry: -entry[1].tokens_without)
    names = {f"{named.id} ({named.source})": entry for named, entry in largest[:_MAX_SESSIONS]}
    yield from _sums("session", names)
    if len(largest) > _MAX_SESSIONS:
        yield f"… and {len(largest) - _MAX_SESSIONS:,} smaller sessions; --json has them all"


def _change(before: int, after: int) -> str:
    change = round(100 * (after - before) / before) if before else 0
    return f"{change:+d} %" if change else "0 %"
