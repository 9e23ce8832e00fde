"""What the limits on tool results cost and show, on one session of 37 model calls run live.

    python -m tests.benchmarks.bench_tool_limits [--recorded] [--baseline none]

The first table is that of the default plugin. In the second one each line is one setting of `ContextPackPlugin`. The
cost is a share of that of the app without the pack, by o200k, with instruction and declarations, where a cached token
costs as much as another or a tenth of it. A bust is a request that does not begin with the one before. Totals and facts
are those that the model reads where they are returned, and the last cost is that of looking up the others once.
`--recorded` adds what the same limits cost and show over tau-bench and BFCL: values of the next calls that are visible,
and characters sent.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from typing import Any, NamedTuple

from adk_context_pack import CapRows, ContextPackPlugin, OffloadPayload
from adk_context_pack.replay.answering import packed
from adk_context_pack.replay.tool_caps import ToolCaps
from adk_context_pack.testing.answers import answerability
from adk_context_pack.tools.shadow import UnkeptStore
from tests.benchmarks.baseline import Row, parser_of, print_rows
from tests.benchmarks.bench_answerability import bfcl, tau_bench
from tests.benchmarks.limits_workload import Found, by_default, run
from tests.benchmarks.replay import Score, score

GOALS = {
    "% of the cost without the pack": 6.5,
    "cache busts": 0,
    "totals that the model reads, of 6": 6,
    "other facts that it reads, of 18": 12,
}


class Limits(NamedTuple):
    """The limits of tables and texts, in rows and tokens."""

    max_tokens: int
    stub_rows: int
    stub_tokens: int
    preview_tokens: int

    def passes(self, **store: Any) -> tuple[CapRows, OffloadPayload]:
        """Returns the passes with these limits."""
        rows = CapRows(max_tokens=self.max_tokens, stub_rows=self.stub_rows, stub_tokens=self.stub_tokens, **store)
        return rows, OffloadPayload(max_tokens=self.max_tokens, preview_tokens=self.preview_tokens, **store)


SETTINGS: dict[str, dict[str, Any] | None] = {
    "without the pack": None,
    "ContextPackPlugin()": {},
    "tools declared early": {"read_back": "early"},
    "tools always declared": {"read_back": "always"},
    **{
        f"{limits.max_tokens:,}: {limits.stub_rows} rows, {limits.stub_tokens:,}; {limits.preview_tokens}": {
            "result_passes": limits.passes()
        }
        for limits in (
            Limits(4000, 100, 4000, 400),
            Limits(2000, 100, 2000, 400),
            Limits(1000, 100, 1000, 400),
            Limits(1000, 5, 600, 400),
            Limits(1000, 5, 600, 200),
            Limits(1000, 3, 600, 200),
            Limits(1000, 3, 400, 100),
            Limits(600, 3, 400, 100),
        )
    },
}


async def line(name: str, whole: Score | None = None) -> tuple[str, Score]:
    """Returns one line of the table, and what was counted for it.

    Args:
        name: a setting.
        whole: the app without the pack, or None for that app itself.
    """
    found, looked = await live(name), await live(name, read_backs=True)
    now, then = score(name, found.requests, ()), score(name, looked.requests, ())
    whole = whole or now
    totals = found.visible.count("table")
    shares = [now.cost(1) / whole.cost(1), now.cost(0.1) / whole.cost(0.1), then.cost(0.1) / whole.cost(0.1)]
    seen = f"{totals:>7}/6{len(found.visible) - totals:>6}/18"
    return f"{name:28}{now.busts:>7}{shares[0]:>8.1%}{shares[1]:>8.1%}{seen}{shares[2]:>11.1%}", now


async def live(name: str, *, read_backs: bool = False) -> Found:
    """Runs the session with one setting.

    Args:
        name: a setting.
        read_backs: whether the model looks up what it cannot read.
    """
    settings = SETTINGS[name]
    return await run([] if settings is None else [ContextPackPlugin(**settings)], read_backs=read_backs)


async def main() -> None:
    """Prints the tables."""
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    parser = parser_of(__doc__)
    parser.add_argument("--recorded", action="store_true", help="add recorded conversations")
    wanted = parser.parse_args()
    print_rows([Row("37 calls by default", by_default, goals=GOALS)], wanted.baseline)
    print()
    print(f"{'limit: stub; preview':28}{'busts':>7}{'1.0':>8}{'0.10':>8}{'totals':>9}{'facts':>9}{'looked up':>11}")
    whole: Score | None = None
    for name in SETTINGS:
        text, found = await line(name, whole)
        whole = whole or found
        print(text, flush=True)
    if wanted.recorded:
        _recorded()


def _recorded() -> None:
    named = {name: settings or {} for name, settings in SETTINGS.items()}
    limits = {name: settings["result_passes"] for name, settings in named.items() if "result_passes" in settings}
    stored = {name: tuple(_replayed(one) for one in passes) for name, passes in limits.items()}
    strategies = {name: packed([], ToolCaps(passes=passes)) for name, passes in stored.items()}
    for title, sessions in {"tau-bench": tau_bench, "BFCL": bfcl}.items():
        print(f"\n{title:28}{'visible':>9}{'reachable':>11}{'sent':>8}")
        for one in answerability(list(sessions()), strategies):
            shares = f"{one.visible_share:>9.1%}{one.reachable_share:>11.1%}{one.characters_share:>8.1%}"
            print(f"{one.strategy:28}{shares}", flush=True)


def _replayed(entry: CapRows | OffloadPayload) -> CapRows | OffloadPayload:
    settings = {name: value for name, value in vars(entry).items() if not name.startswith("_")}
    return type(entry)(**{**settings, "store": UnkeptStore()})


if __name__ == "__main__":
    asyncio.run(main())
