"""Compares `replay` with live runs: what each agent of many small apps sends, without the pack and with it.

    python -m tests.benchmarks.bench_replay_live [NAME…]

Each app runs without the pack and with it. The run without it is replayed: from nothing but the recording, which holds
neither instructions nor tool declarations, so that contents are compared; from a recording with the provider's figures;
and with `--app`. Tokens are counted with o200k. The last column is the larger one of the two differences.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from tests.replay.live_apps import APPS
from tests.replay.live_runs import compare

LIMIT = 0.05
MODES = {
    "contents, from a recording without the provider's figures": {"given": False},
    "whole requests, from a recording with the provider's figures": {"given": False, "counted": True},
    "whole requests, with --app": {"given": True},
}


def main() -> None:
    """Prints a line for each agent, and how many agree."""
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    names = sys.argv[1:] or list(APPS)
    for title, mode in MODES.items():
        print(f"\n{title}")
        print(f"{'app':28} {'agent':10} {'live':>9} {'replayed':>9} {'live with':>9} {'replayed':>9}")
        agreed = compared = 0
        for name in names:
            app = APPS[name]
            if app.skipped:
                print(f"{name:28} {app.skipped}")
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    found = asyncio.run(compare(app, Path(folder), **mode))
                except Exception as error:
                    print(f"{name:28} {type(error).__name__}: {str(error)[:300]}")
                    traceback.print_exc(limit=-3)
                    continue
            compared += 1
            agreed += all(each.difference <= LIMIT for each in found.values())
            for agent, each in found.items():
                figures = " ".join(f"{live:9,} {told:9,}" for live, told in zip(each.live, each.replayed, strict=True))
                print(f"{name:28} {agent:10} {figures} {each.difference:8.1%}")
        print(f"{agreed} of {compared} apps agree within {LIMIT:.0%} for each agent")


if __name__ == "__main__":
    main()
