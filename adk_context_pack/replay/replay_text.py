"""What a replay found, as text tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from adk_context_pack.replay.replay_sums import ReplaySums, Sum
from adk_context_pack.reports.text_table import share, table

_MAX_SESSIONS = 30


def replay_text(sums: ReplaySums) -> str:
    """The sums as tables: each agent, what each pass took away, each session."""
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
