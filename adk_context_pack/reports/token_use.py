"""Prices, sums of where tokens and money go without the pack and with it, budgets, and advice about the worst."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any, NamedTuple, overload

from adk_context_pack._adk import CallbackContext
from adk_context_pack._adk.releases import invocation_of
from adk_context_pack.conversation.token_estimate import DEFAULT_WINDOW, cached_from, window_of
from adk_context_pack.errors import Configured, a_number, at_least, counted, positive, printable
from adk_context_pack.reports import call_report
from adk_context_pack.reports.call_report import CATEGORIES, CallReport, PrefixReport, Saving
from adk_context_pack.stores.byte_cache import KEEPERS, Theirs


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices(Configured):
    """The prices of a million input tokens, in any currency.

    Output tokens are the same with and without the pack, so they have no price here.

    Args:
        input: a token that the provider has to read, and to write to its cache where that costs more.
        cached: a token that it finds in its prompt cache.

    Raises:
        SettingError: a price that is negative or not a finite number, or a cached token that costs more than another.
    """

    input: float = 1.0
    cached: float = 0.1

    def __post_init__(self) -> None:
        a_number(self, "input", self.input, lambda price: 0 <= price < math.inf, "a number from 0 up")
        a_number(self, "cached", self.cached, lambda price: 0 <= price <= self.input, "from 0 to that of input")

    @property
    def cached_share(self) -> float:
        """The price of a cached token as a share of that of another one."""
        return self.cached / self.input if self.input else 1.0

    def micros(self, tokens: float, cached: float) -> float:
        """Returns the same as `of`, in millionths of the currency."""
        return tokens * self.input - min(cached, tokens) * (self.input - self.cached)

    def of(self, tokens: float, cached: float) -> float:
        """Returns the price of a request of which the provider finds `cached` tokens in its cache."""
        return self.micros(tokens, cached) / 1e6


@dataclass(kw_only=True, slots=True)
class Use:
    """The model calls, tokens and cost of one agent, session, tool, category or pass, without the pack and with it.

    The largest are of one request. `prompt_tokens` is the provider's count, `shown` the results shown in part.
    """

    calls: int = 0
    tokens_without: int = 0
    tokens_with: int = 0
    cost_without: float = 0.0
    cost_with: float = 0.0
    largest_without: int = 0
    largest_with: int = 0
    prompt_tokens: int = 0
    shown: int = 0

    @property
    def saved(self) -> int:
        """The tokens that the pack saves. Negative if it adds more than it takes away."""
        return self.tokens_without - self.tokens_with

    def add(self, tokens: tuple[int, int], costs: tuple[float, float], prompt_tokens: int = 0) -> None:
        """Adds its tokens in one request, and what they cost, without the pack and with it."""
        self.calls += 1
        self.tokens_without += tokens[0]
        self.tokens_with += tokens[1]
        self.cost_without += costs[0]
        self.cost_with += costs[1]
        self.largest_without = max(self.largest_without, tokens[0])
        self.largest_with = max(self.largest_with, tokens[1])
        self.prompt_tokens += prompt_tokens


@dataclass(kw_only=True, slots=True)
class AgentUse(Use):
    """The requests of one agent, with the model of the largest one, and the tokens of instructions and state views.

    `breaks` counts requests that did not begin with the whole of the previous one, and `lost` the tokens of that one
    that were not reused. Those of breaks within the system instruction or the tool declarations are `lost_in_fixed`.
    """

    model: str = ""
    instruction: int = 0
    largest_instruction: int = 0
    breaks: int = 0
    lost: int = 0
    lost_in_fixed: int = 0

    def see(self, report: CallReport, *, adds_tools: bool) -> None:
        """Looks at one call, before its tokens are added. `adds_tools` tells that read-back tools came or went."""
        if report.tokens_after >= self.largest_with:
            self.model = report.model
        instruction = sum(report.categories.get(name, 0) for name in ("system_instruction", "state_views"))
        self.instruction += instruction
        self.largest_instruction = max(self.largest_instruction, instruction)
        prefix = report.prefix
        # The rest is for rounding.
        if prefix.previous_tokens and prefix.share < 0.995:  # noqa: PLR2004 - a share
            # What the pack's own tools break, no advice can mend.
            lost = 0 if adds_tools else prefix.previous_tokens - prefix.tokens
            self.breaks += 1
            self.lost += lost
            self.lost_in_fixed += lost * broke_in_fixed(report)

    def candidates(self, name: str) -> Iterator[tuple[str, int, str]]:
        """Yields what takes many tokens in the requests of the agent called `name`, how many, and advice."""
        if self.largest_instruction >= 2_000:  # noqa: PLR2004 - tokens
            what = f"instruction of {name}, up to {self.largest_instruction:,} tokens"
            yield what, self.instruction, "If it inserts state, show less of it: CompactState with {compact:KEY}."
        if self.breaks > 1:
            advice = "Its history is rewritten too often. Let passes cut in larger, rarer steps (FitTokenBudget)."
            if self.lost_in_fixed * 2 >= self.lost:
                fixed = "Keep them fixed with static_instruction."
                advice = f"Its instruction or its tools change from call to call. {fixed}"
            yield f"prefix of {name} broken {counted(self.breaks, 'time')}", self.lost, advice


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Limits the tokens of one request, by agent and under "*" for all others, and the cost of a session."""

    tokens: Mapping[str, int] = field(default_factory=dict)
    cost: float | None = None

    def __post_init__(self) -> None:
        """Refuses limits that nothing can exceed."""
        for most in self.tokens.values():
            positive("check", "max_tokens", most)
        if self.cost is not None:
            a_number("check", "max_cost", self.cost, lambda cost: 0 <= cost < math.inf, "a number from 0 up")

    def broken_by(self, report: CallReport, session: Use, cost: float) -> Iterator[str]:
        """Yields a line if a request is too large, and one if its session costs too much from this call on."""
        most = self.tokens.get(report.agent, self.tokens.get("*"))
        place = f"in call {session.calls} of session {report.session_id}"
        if most is not None and report.tokens_after > most:
            yield f"{report.agent}: {report.tokens_after:,} tokens, over its budget of {most:,}, {place}"
        if self.cost is not None and session.cost_with > self.cost >= session.cost_with - cost:
            spent, most_cost = map(call_report.money, (session.cost_with, self.cost))
            yield f"{report.agent}: {spent} spent, over the budget of {most_cost}, {place}"


def broke_in_fixed(report: CallReport) -> bool:
    """Tells whether the prefix of a request ends within the instruction or the tool declarations."""
    fixed = sum(report.categories.get(name, 0) for name in ("system_instruction", "tool_declarations", "state_views"))
    return bool(report.prefix.previous_tokens) and report.prefix.tokens < fixed


RESULTS = "smaller tool results"
PACK_TOOLS = "read-back tools"
"""The names, beside those of the passes, of what a request saves or costs before the first pass, live and replayed."""


def if_read_back(calls: int, tokens: int, without: int) -> Iterator[str]:
    """Yields what requests take if each result that they show in part is read back whole, or nothing without any."""
    most = f"{counted(calls, 'call')} more, at most {tokens:,} tokens ({percent(without, tokens)})"
    yield from [f"If each shortened result is read back whole, once: {most}."] if calls else ()


def percent(before: float, after: float) -> str:
    """Returns the change from `before` to `after` in percent, with a decimal only where rounding would hide it."""
    if not before or after == before:
        return "0 %"
    change = 100 * (after - before) / before
    rounded = round(change)
    return f"{change:+.1f} %" if rounded in (0, -100) and change != rounded else f"{rounded:+d} %"


@dataclass(kw_only=True, slots=True)
class TokenUse:
    """The table of tokens and cost that the page shows first. Calls are added one by one, and none of them is kept.

    The cost of a part of a request is its share of the tokens times the cost of the request. A request costs what
    `prices` say for its tokens, with those of its kept prefix at the cached price if its model's provider caches so
    few. ADK alone is taken to keep all of its previous request, unless the prefix broke within the instruction or the
    tool declarations, and not because the pack's own tools came or went. There it is taken to break as well. What the
    provider said it read and found in its cache counts, and ADK alone is taken to find as much of what it would keep.

    `passes` has what each pass took away as tokens without the pack. `read_backs` are calls that would read back each
    result that is shown in part, and `tokens_read_back` the most tokens of all requests with these calls.
    """

    prices: Prices | None = None
    budget: Budget = field(default_factory=Budget)
    over_budget: list[str] = field(default_factory=list)
    total: Use = field(default_factory=Use)
    agents: dict[str, AgentUse] = field(default_factory=dict)
    sessions: dict[str, Use] = field(default_factory=dict)
    tools: dict[str, Use] = field(default_factory=dict)
    categories: dict[str, Use] = field(default_factory=dict)
    passes: dict[str, Use] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)
    prefix_tokens: int = 0
    previous_tokens: int = 0
    cached_tokens: int = 0
    unknown_results: int = 0
    shadow: bool = False
    read_backs: int = 0
    tokens_read_back: int = 0
    _previous: dict[tuple[str, str], tuple[int, bool]] = field(default_factory=dict)

    @classmethod
    def of(cls, reports: Iterable[CallReport], prices: Prices | None = None, budget: Budget | None = None) -> TokenUse:
        """Returns the sums over `reports`."""
        use = cls(prices=prices, budget=budget or Budget())
        for report in reports:
            use.add(report)
        return use

    def add(self, report: CallReport, prefix_without: PrefixReport | None = None) -> None:
        """Adds one call, and the prefix that it would have kept without the pack, if that is known."""
        whole = report.tokens_without_pack, report.tokens_after
        key = report.session_id, report.agent
        previous, had_tools = self._previous.get(key, (0, False))
        has_tools = report.pack_tools > 0 or any(each.name == PACK_TOOLS for each in report.passes)
        self._previous[key] = whole[0], has_tools
        self.cached_tokens += report.cached_tokens or 0
        is_own = broke_in_fixed(report) and had_tools == has_tools
        kept = prefix_without or (report.prefix if is_own else PrefixReport(tokens=previous))
        costs = self.costs(report, kept.tokens, is_billed=prefix_without is None and not report.shadow)
        rates = costs[0] / max(whole[0], 1), costs[1] / max(whole[1], 1)
        agent = self.agents.setdefault(report.agent, AgentUse())
        agent.see(report, adds_tools=had_tools != has_tools)
        session = self.sessions.setdefault(report.session_id, Use())
        for part in (self.total, agent, session):
            part.add(whole, costs, report.prompt_tokens or 0)
        self.over_budget += self.budget.broken_by(report, session, costs[1])
        rows = [*_rows_of(report)]
        self.keep_order([name for group, name, *_ in rows if group == "passes"])
        for group, name, without, sent in rows:
            entry: Use = getattr(self, group).setdefault(name, Use())
            entry.add((without, sent), (without * rates[0], sent * rates[1]))
        self.failed.update(each.name for each in report.passes if each.error is not None)
        self.prefix_tokens += min(report.prefix.tokens, report.prefix.previous_tokens)
        self.previous_tokens += report.prefix.previous_tokens
        self.unknown_results += report.unknown_results
        self.shadow |= report.shadow
        # A provider that keeps the history is sent each result once.
        new = max(report.shortened - (session.shown if report.kept_by_provider is None else 0), 0)
        session.shown += new
        capped = sum(each.tokens_saved for each in report.passes if each.name == RESULTS)
        self.read_backs += new
        self.tokens_read_back += (report.tokens_after + sum(report.results.values()) + capped) * (1 + new)

    def keep_order(self, ran: Sequence[str]) -> None:
        """Puts passes that are new before the one that ran next, since a pass may have nothing to do at first."""
        order = [*self.passes]
        place = len(order)
        for name in reversed(ran):
            if name not in order:
                order.insert(place, name)
            place = order.index(name)
        order.sort(key=lambda name: name not in (RESULTS, PACK_TOOLS))
        self.passes = {name: self.passes.get(name, Use()) for name in order}

    def costs(self, report: CallReport, kept: int, *, is_billed: bool) -> tuple[float, float]:
        """Returns what a request costs without the pack, with `kept` tokens of the previous one, and with the pack."""
        prices = self.prices or Prices(input=0, cached=0)
        without, sent, least = report.tokens_without_pack, report.tokens_after, cached_from(report.model)
        cached, found = (float(tokens * (tokens >= least)) for tokens in (kept, report.prefix.tokens))
        if is_billed and report.prompt_tokens:
            without, sent = max(without + report.prompt_tokens - sent, 0), report.prompt_tokens
            # A provider that finds nothing in its cache says it as does one that never says what it finds.
            if self.cached_tokens:
                # No provider caches fewer tokens, so that finding none of them says nothing about larger requests.
                hits = min((report.cached_tokens or 0) / found, 1) if found >= 1024 else 1  # noqa: PLR2004
                found = report.cached_tokens or 0
                cached = max(cached * hits, found)
        return prices.of(without, cached), prices.of(sent, found)

    def unseen(self) -> Iterator[str]:
        """Yields a line for each agent of the budget that made no call."""
        known = ", ".join(self.agents) or "none"
        for agent in self.budget.tokens:
            if agent not in {"*", *self.agents}:
                yield f"{agent}: no call of this agent (agents: {known})"

    def offenders(self) -> list[Offender]:
        """Returns at most five offenders, the worst first."""
        whole = self.total.tokens_with
        if not whole:
            return []
        named = (Offender(what, tokens, tokens / whole, advice) for what, tokens, advice in self._candidates())
        # Less than that is not worth a change.
        return sorted((each for each in named if each.tokens >= 0.03 * whole), key=lambda each: -each.tokens)[:5]

    def _candidates(self) -> Iterator[tuple[str, int, str]]:
        for name, part in self.tools.items():
            if part.saved >= 0.05 * part.tokens_without:
                how = "Lower max_rows or max_tokens of its pass, or add ClearToolResults."
                advice = f"It is made smaller already. {how}"
            elif part.tokens_with < 1_000 * part.calls:
                # Capping what has fewer tokens in a request gives little.
                advice = "Its results are small, but old ones add up. Clear them with ClearToolResults."
            else:
                advice = "Wrap it with cap_rows if it returns rows, or with offload_payload if it returns text."
            yield f"tool {name}, in {counted(part.calls, 'request')}", part.tokens_with, advice
        for name, (what, advice) in _ADVICE.items():
            found = self.categories.get(name, Use())
            # What the pack adds is not the app's.
            if (tokens := min(found.tokens_with, found.tokens_without)) and tokens >= 0.15 * self.total.tokens_with:
                yield what, tokens, advice
        for agent, each in self.agents.items():
            yield from each.candidates(agent or "an agent without a name")
        # A pass that fails costs what nobody knows, so it counts as one that costs everything.
        for name, count in self.failed.items():
            yield f"pass {name} failed {counted(count, 'time')}", self.total.tokens_with, "The log has the traceback."

    def to_dict(self) -> dict[str, Any]:
        """Returns the sums as plain JSON values. Each list begins with its largest entry, passes keep their order."""
        found = []
        for agent, use in self.agents.items():
            sizes = {"largest": use.largest_with, "window": (window := window_of(use.model))}
            found.append({"agent": agent, "model": use.model, **sizes, "known": window != DEFAULT_WINDOW})
        groups = "agents", "tools", "categories"
        rows = {group: [_row(name, each) for name, each in getattr(self, group).items()] for group in groups}
        return {
            "total": _row("", self.total),
            "priced": self.prices is not None,
            "sessions": sum(each.calls > 0 for each in self.sessions.values()),
            "prefix": {"tokens": self.prefix_tokens, "previous": self.previous_tokens},
            "provider": {"prompt": self.total.prompt_tokens, "cached": self.cached_tokens},
            "unknown_results": self.unknown_results,
            "shadow": self.shadow,
            "read_back": [*if_read_back(self.read_backs, self.tokens_read_back, self.total.tokens_without)],
            **{group: sorted(each, key=lambda row: -max(row["without"], row["sent"])) for group, each in rows.items()},
            "passes": [{**_row(name, each), "failed": self.failed[name]} for name, each in self.passes.items()],
            "windows": sorted(found, key=lambda each: each["largest"] / each["window"], reverse=True),
        }


def _rows_of(report: CallReport) -> Iterator[tuple[str, str, int, int]]:
    """Yields the table and the name of each category, tool and pass, and its tokens without the pack and with it."""
    without, sent = call_report.categories_without(report), report.categories
    for name in {**without, **sent}:
        if without.get(name) or sent.get(name):
            yield "categories", name, without.get(name, 0), sent.get(name, 0)
    before, results = report.tools_before, report.results
    for name in {**before, **report.tools, **results}:
        yield "tools", name, before.get(name, 0) + results.get(name, 0), report.tools.get(name, 0)
    for name, saved in ((RESULTS, sum(results.values())), (PACK_TOOLS, -report.pack_tools)):
        if saved:
            yield "passes", name, saved, 0
    for each in report.passes:
        yield "passes", each.name, each.tokens_saved, 0


def _row(name: str, part: Use) -> dict[str, Any]:
    # Costs in millionths of the currency.
    costs = {"cost_without": round(1e6 * part.cost_without, 3), "cost_sent": round(1e6 * part.cost_with, 3)}
    return {"name": name, "calls": part.calls, "without": part.tokens_without, "sent": part.tokens_with, **costs}


_ADVICE = {
    "tool_declarations": ("tool declarations", "Let models find tools when they need them: defer_tools."),
    "relayed": (
        "what other agents did",
        "Retell it with CastNarrative, drop it with StripForContext, or give agents less of it with scoped.",
    ),
    "own_words": (
        "what agents said before",
        "FitTokenBudget holds the history within a budget, DropOldThoughts removes old thoughts.",
    ),
    "user": (
        "what users said",
        "FitTokenBudget holds the history within a budget. Long pasted texts are better kept as artifacts.",
    ),
    "media": ("images, audio and files", "DropOldMedia keeps the newest ones."),
    "state_views": ("state that is filled into instructions", "Give CompactState a select that shows fewer items."),
    "other": ("summaries and contents of unknown origin", "Summarize more with HistorySummarizer."),
}


class Offender(NamedTuple):
    """One thing that takes many tokens."""

    what: str
    tokens: int
    share: float
    advice: str


@dataclass(kw_only=True, slots=True)
class ReportTotals(Saving):
    """The totals of some model calls. `print(totals)` shows it as a table.

    Attributes:
        calls: how many model calls.
        tokens_before, tokens_after, categories, categories_before, unknown_results, pack_tools: the sums of what each
            `CallReport` has.
        passes: tokens that each pass took away, by its name, in the order in which they run.
        results: tokens that smaller results kept out of the requests, by tool. A result counts in each request that
            shows it, as ADK alone would have sent the full one in each.
        read_backs, tokens_read_back: as `TokenUse` has them.
        prefix_tokens: tokens that stood at the beginning of the previous request as well.
        prompt_tokens: what the provider counted, over the calls for which it said so.
        cached_tokens: how many of them it read from its cache.
        seconds: the time of all passes.
        errors: how often a pass failed and was skipped.
    """

    calls: int = 0
    passes: dict[str, int] = field(default_factory=dict)
    read_backs: int = 0
    tokens_read_back: int = 0
    prefix_tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    errors: int = 0

    @classmethod
    def of(cls, reports: Iterable[CallReport]) -> ReportTotals:
        """Sums over `reports`."""
        use = TokenUse.of(found := list(reports))
        shared = "unknown_results", "read_backs", "tokens_read_back", "cached_tokens", "prefix_tokens"
        sums: dict[str, Any] = {name: getattr(use, name) for name in shared}
        sums |= {name: getattr(use.total, name) for name in ("calls", "prompt_tokens")}
        sums |= {name: sum(getattr(one, name) for one in found) for name in ("tokens_before", "pack_tools", "seconds")}
        for name, shown in {"categories": CATEGORIES, "categories_before": CATEGORIES, "results": ()}.items():
            added = Counter(dict.fromkeys(shown, 0))
            for report in found:
                added.update(getattr(report, name))
            sums[name] = dict(added)
        sums["passes"] = {name: each.saved for name, each in use.passes.items() if name not in (RESULTS, PACK_TOOLS)}
        return cls(**sums, tokens_after=use.total.tokens_with, errors=use.failed.total())

    def to_dict(self) -> dict[str, Any]:
        """Returns the sums as plain JSON values."""
        return {**asdict(self), "tokens_without_pack": self.tokens_without_pack}

    def __str__(self) -> str:
        without, sent = self.tokens_without_pack, self.tokens_after
        whole = counted(self.calls, "call"), *call_report.numbers(without, sent), call_report.share(sent, sent)
        steps = [each for each in (*self.first_steps(), *self.passes.items()) if each[1]]
        lines = [f"{name}: {abs(saved):,} tokens {'taken away' if saved > 0 else 'added'}" for name, saved in steps]
        if self.unknown_results:
            unknown = f"{counted(self.unknown_results, 'time')} the saving of a result is not known"
            lines.append(f"{unknown}, since an earlier process made it")
        lines += if_read_back(self.read_backs, self.tokens_read_back, without)
        return "\n".join(map(printable, (*call_report.table([*call_report.category_rows(self), whole]), *lines)))


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
        with self._lock:
            self._dropped += len(self._reports) == self._reports.maxlen
            if len(self._reports) >= self._max_requests:
                old = self._reports[-self._max_requests] if self._max_requests else report
                old.request_before = old.request_after = None
            self._reports.append(report)
            if context is None:
                return
            self._waiting.pop(key := _key(context), None)
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
        own = (each for each in self if all(value in (None, getattr(each, name)) for name, value in wanted.items()))
        return ReportTotals.of(own)

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
