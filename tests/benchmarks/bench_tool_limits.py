"""What the limits on tool results cost and show, on one session of 37 model calls run live.

    python -m tests.benchmarks.bench_tool_limits [--sizes [--peers FOLDER]] [--baseline none]

The first table is that of the default plugin. In the second one each line is one setting of `ContextPackPlugin`. The
cost is a share of that of the app without the pack, by o200k, with instruction and declarations, where a cached token
costs as much as another or a tenth of it. A bust is a request that does not begin with the one before. Totals and facts
are those that the model reads where they are returned, and the last cost is that of looking up the others once.
`--sizes` prints the plugin's cost for results of other sizes, sessions of other lengths and other prices instead, and
beside it that of the libraries whose environments `python -m tests.benchmarks.peers FOLDER` built.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

from adk_context_pack import ContextPackPlugin, default_passes
from tests.benchmarks.baseline import Row, parser_of, print_rows
from tests.benchmarks.limits_workload import Found, by_default, run, shares
from tests.benchmarks.peers import peer_scores
from tests.benchmarks.replay import Score, score
from tests.benchmarks.workload import Workload

GOALS = {
    "% of the cost without the pack": 5,
    "cache busts": 12,
    "totals that the model reads, of 6": 6,
    "other facts that it reads, of 18": 12,
}

OTHERS: dict[str, Callable[[], BasePlugin]] = {
    "ADK's ContextFilterPlugin(1)": lambda: ContextFilterPlugin(num_invocations_to_keep=1),
    "default_passes(2000)": lambda: ContextPackPlugin(passes=default_passes(max_tokens=2_000)),
    "default_passes(4000)": lambda: ContextPackPlugin(passes=default_passes(max_tokens=4_000)),
}
SIZES = (300, 900, 2_000, 5_300, 20_000)


SETTINGS: dict[str, dict[str, Any] | None] = {
    "without the pack": None,
    "ContextPackPlugin()": {},
    "tools declared early": {"read_back": "early"},
    "tools always declared": {"read_back": "always"},
}


async def line(name: str, whole: Score | None = None) -> tuple[str, Score]:
    """Returns one line of the table, and what was counted for it. `whole` is the app without the pack, if that ran."""
    found, looked = await live(name), await live(name, read_backs=True)
    now, then = score(name, found.requests, ()), score(name, looked.requests, ())
    whole = whole or now
    totals = found.visible.count("table")
    shares = [now.cost(1) / whole.cost(1), now.cost(0.1) / whole.cost(0.1), then.cost(0.1) / whole.cost(0.1)]
    seen = f"{totals:>7}/6{len(found.visible) - totals:>6}/18"
    return f"{name:28}{now.busts:>7}{shares[0]:>8.1%}{shares[1]:>8.1%}{seen}{shares[2]:>11.1%}", now


async def live(name: str, *, read_backs: bool = False) -> Found:
    """Runs the session with one setting. With `read_backs` the model looks up what it cannot read."""
    settings = SETTINGS[name]
    return await run([] if settings is None else [ContextPackPlugin(**settings)], read_backs=read_backs)


async def peer_shares(folder: Path, tokens: int) -> dict[str, float]:
    """What 37 calls cost with each of the field's libraries, as a percentage of sending all in its own form."""
    events = (await run([], tokens=tokens)).events
    answers = [n for n, event in enumerate(events) if event.author != "user" and not event.get_function_responses()]
    scores = peer_scores(folder, Workload([*events], answers, []))
    return {one.name: 100 * one.cost(0.1) / whole.cost(0.1) for one, whole in scores}


async def main() -> None:
    """Prints the tables."""
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", action="store_true", help="other sizes, lengths and prices")
    parser.add_argument("--peers", type=Path, help="the folder of the peers' environments")
    wanted = parser.parse_args()
    if wanted.sizes:
        print(f"{'% of the cost without the pack':32}" + "".join(f"{size:>8,}" for size in SIZES))
        for price, turns in product((0.1, 0.25, 1.0), (3, 12, 20)):
            ours = [(await shares(size, turns, price))[-1] for size in SIZES]
            print(f"{f'{3 * turns + 1} calls, cached at {price}':32}" + "".join(f"{each:8.1f}" for each in ours))
        for name, make in OTHERS.items():
            print(f"{name:32}" + "".join([f"{(await shares(size, 12, 0.1, make()))[-1]:8.1f}" for size in SIZES]))
        if wanted.peers:
            found = [await peer_shares(wanted.peers, size) for size in SIZES]
            for name in found[0]:
                print(f"{name:48}" + "".join(f"{each[name]:8.1f}" for each in found))
        return
    print_rows([Row("37 calls by default", by_default, goals=GOALS)], wanted.baseline)
    print()
    print(f"{'setting':28}{'busts':>7}{'1.0':>8}{'0.10':>8}{'totals':>9}{'facts':>9}{'looked up':>11}")
    whole: Score | None = None
    for name in SETTINGS:
        text, found = await line(name, whole)
        whole = whole or found
        print(text, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
