"""Compares reports and replays with the provider's figures, with and without a tokenizer.

    python -m tests.benchmarks.bench_calibration

The scripted models report what o200k counts in the whole request. Printed is the median error of a report's
`tokens_after` for calls after an agent's first one, before the provider has answered and after it, and that of what a
replay without `--app` tells for each agent with the pack.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import warnings
from pathlib import Path
from statistics import median

from adk_context_pack import ContextPackPlugin
from adk_context_pack.conversation.token_estimate import Counter
from adk_context_pack.replay.replayer import Replayer
from adk_context_pack.reports.call_report import CallReport
from tests.replay.live_apps import APPS, LiveApp
from tests.replay.live_runs import run_live, usage_of, weigh, written
from tests.support.histories import o200k


class Sent:
    """Keeps what each report tells before the provider has answered."""

    def __init__(self) -> None:
        self.tokens: list[int] = []

    def sent(self, report: CallReport) -> None:
        """Takes the tokens of a request."""
        self.tokens.append(report.tokens_after)

    def heard(self, report: CallReport) -> None:
        """Keeps nothing."""


async def of_reports(app: LiveApp, counter: Counter | None) -> list[tuple[float, float]]:
    """Returns the errors of a run's reports before and after the answer, for each agent's calls after the first."""
    sent = Sent()
    plugin = ContextPackPlugin(counter=counter, telemetry=sent, **app.plugin)
    await run_live(app, plugins=[plugin], usage=usage_of)
    seen: set[str] = set()
    errors = []
    for tokens, report in zip(sent.tokens, plugin.reports, strict=True):
        if report.agent in seen and report.prompt_tokens:
            found = (abs(each - report.prompt_tokens) / report.prompt_tokens for each in (tokens, report.tokens_after))
            errors.append((next(found), next(found)))
        seen.add(report.agent)
    return errors


async def of_replay(app: LiveApp, counter: Counter | None, folder: Path) -> list[float]:
    """Returns the errors of a replay, for each agent with the pack."""
    _, session = await run_live(app, usage=usage_of)
    packed, _ = await run_live(app, plugins=[ContextPackPlugin(counter=counter, **app.plugin)])
    told: dict[str, int] = {}
    for call in Replayer(ContextPackPlugin(**app.plugin).settings_for, counter=counter).replay(
        written(session, folder)
    ):
        if not isinstance(call, Exception):
            told[call.report.agent] = told.get(call.report.agent, 0) + call.report.tokens_after
    sent: dict[str, int] = {}
    for request in packed:
        sent[request.agent] = sent.get(request.agent, 0) + weigh(request, whole=True)
    return [abs(told[agent] - tokens) / tokens for agent, tokens in sent.items() if agent in told]


def main() -> None:
    """Prints the medians."""
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    apps = [app for app in APPS.values() if not app.skipped]
    for name, counter in (("estimated", None), ("counted with o200k", o200k())):
        reports = [error for app in apps for error in asyncio.run(of_reports(app, counter))]
        with tempfile.TemporaryDirectory() as folder:
            replays = [error for app in apps for error in asyncio.run(of_replay(app, counter, Path(folder)))]
        print(
            f"{name}: reports {median(before for before, _ in reports):.1%} before the answer and"
            f" {median(after for _, after in reports):.1%} after it, in the median of {len(reports)} calls;"
            f" replays {median(replays):.1%} of {len(replays)} agents"
        )


if __name__ == "__main__":
    main()
