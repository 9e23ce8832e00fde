"""Runs `adk-context-pack tune`: the settings with which recorded sessions cost least and lose nothing that was needed.

First settings for tool results are tried, then those for history beside the best of them, then each agent's own best.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from adk_context_pack.errors import counted, must
from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.plugin import PackSettings
from adk_context_pack.replay.recordings import Exit, RecordedSession, Sessions, load_app
from adk_context_pack.replay.replayer import Replayer, answers_of
from adk_context_pack.reports.call_report import money, table
from adk_context_pack.reports.token_use import RESULTS, TokenUse, Use, percent
from adk_context_pack.testing.answers import Answerability
from adk_context_pack.tools.cap_rows import CapRows
from adk_context_pack.tools.offload_payload import OffloadPayload

_RESULTS = (
    "",
    *map("rows=CapRows(max_tokens={0}), payloads=OffloadPayload(max_tokens={0})".format, (300, 500, 2000, 4000)),
    "result_passes=[]",
)
_HISTORY = (
    "",
    *map("max_tokens={:_}".format, (64_000, 32_000, 16_000, 8_000, 4_000)),
    "passes=[CastNarrative()]",
    "passes=[]",
)
"""The settings that are tried, as the source that is printed. The first of each are the defaults."""

_NO_PACK = "result_passes=[], passes=[]"
_ENOUGH = 20
"""With fewer values that later calls needed, the defaults are recommended."""


@cache
def _settings(source: str) -> PackSettings:
    names = {each.__name__: each for each in (CapRows, CastNarrative, OffloadPayload)}
    # The source is one of those above, so that what is printed is what was tried.
    return PackSettings(**eval(f"dict({source})", names))  # noqa: S307


@dataclass(kw_only=True)
class Trial:
    """The cost of recorded sessions with some settings, and the share of values that later calls still see.

    Attributes:
        source: the settings of all agents that `agents` does not name, as arguments of a `ContextPackPlugin`.
        agents: those of single agents.
        use: the tokens and cost.
        seen: the values that later calls needed, by agent.
        turns: the tokens of the requests of each turn before passes over history, by agent, session and turn.
    """

    source: str
    agents: Mapping[str, str]
    use: TokenUse
    seen: dict[str, Answerability] = field(default_factory=dict)
    turns: dict[tuple[str, ...], list[int]] = field(default_factory=dict)

    def __str__(self) -> str:
        own = ", ".join(f'"{name}": PackSettings({source})' for name, source in sorted(self.agents.items()))
        return ", ".join(filter(None, (self.source, own and f"agents={{{own}}}")))

    def settings_for(self, agent: str) -> PackSettings:
        """Returns the settings of an agent."""
        return _settings(self.agents.get(agent, self.source))

    def cost(self, agent: str | None = None) -> float:
        """Returns the cost of all agents or one, if each value that is not visible is read back."""
        use, seen = self.use.total if agent is None else self.use.agents.get(agent, Use()), self.answers(agent)
        # It takes a call, and what it adds to later ones costs about as much.
        return use.cost_with * (1 + 2 * (seen.values - seen.visible) / max(use.calls, 1))

    def rank(self, visible: float, agent: str | None = None) -> tuple[bool, bool, float]:
        """Returns the place of the trial among others, for all agents or one: the less the better."""
        # Other settings must save at least 2 % of what the defaults cost.
        cost = self.cost(agent) / (0.98 if str(self) else 1)
        return bool(self.needed(agent)), self.answers(agent).visible_share < visible, cost

    def needed(self, agent: str | None = None) -> int:
        """Returns twice the largest turn that is over half of a `max_tokens` of the trial, or 0 if none is."""
        return max(
            (
                2 * size
                for (name, *_), sizes in self.turns.items()
                if agent in (None, name)
                and (size := sizes[-1] - sizes[0]) * 2 > (self.settings_for(name).max_tokens or math.inf)
            ),
            default=0,
        )

    def answers(self, agent: str | None = None) -> Answerability:
        """Returns what all agents see, or one."""
        total = Answerability(strategy=str(self))
        for name, each in self.seen.items():
            if agent in (None, name):
                total.add(each)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Returns the figures as plain JSON values."""
        total, seen = self.use.total, self.answers()
        misses = sum(each.breaks for each in self.use.agents.values())
        figures = {"tokens": total.tokens_with, "cost": self.cost(), "misses": misses, "values": seen.values}
        shares = {"visible": seen.visible_share, "reachable": seen.reachable_share}
        return {"settings": f"ContextPackPlugin({self})", **figures, **shares}


class Tuning:
    """The trials over the sessions that the options of the command line name."""

    def __init__(self, options: argparse.Namespace) -> None:
        is_right = options.visible == 0 or 1 < options.visible <= 100  # noqa: PLR2004
        must(is_right, "tune", "--visible", options.visible, "a percentage such as 99.5")
        self.visible = options.visible / 100
        self.app, self.counter, self.prices = load_app(options)
        self.sessions = Sessions(options)
        self.trials: list[Trial] = []

    def run(self) -> Trial:
        """Runs all rounds and returns the trial that is recommended."""
        self._round([*_RESULTS, _NO_PACK])
        results = next(each for each in reversed(_RESULTS) if self._best().source.startswith(each))
        self._round([", ".join(filter(None, (results, history))) for history in _HISTORY])
        best = self._best()
        own = {name: self._best(name, first=best).source for name in best.use.agents}
        if own := {name: source for name, source in own.items() if source != best.source}:
            self._round([best.source], own)
        return self._best()

    def worth_knowing(self) -> Iterator[Trial]:
        """Yields the trials that no cheaper one equals in what stays visible, and the defaults and no pack."""
        most = -1.0
        for each in sorted(self.trials, key=lambda each: (each.cost(), len(str(each)))):
            share = each.answers().visible_share
            if share > most or str(each) in ("", _NO_PACK):
                yield each
            most = max(most, share)

    def _best(self, agent: str | None = None, first: Trial | None = None) -> Trial:
        defaults = self.trials[0]
        # A few may be seen or hidden by chance.
        if defaults.answers(agent).values < _ENOUGH:
            return defaults
        return min([first or defaults, *self.trials], key=lambda each: each.rank(self.visible, agent))

    def _round(self, sources: Iterable[str], agents: Mapping[str, str] | None = None) -> None:
        known = {str(each) for each in self.trials}
        setting: dict[str, Any] = {"counter": self.counter, "app": self.app, "prices": self.prices}
        made = [Trial(source=each, agents=agents or {}, use=TokenUse(prices=self.prices)) for each in sources]
        new = [each for each in made if str(each) not in known]
        runs = {str(each): (each, Replayer(each.settings_for, **setting)) for each in new}
        packs = {name: each.settings_for for name, (each, _) in runs.items()}

        def see(session: RecordedSession) -> int:
            for trial, replayer in runs.values():
                for call in replayer.replay(session):
                    if not isinstance(call, Exception):
                        trial.use.add(report := call.report, call.prefix_without)
                        sent = [each.tokens_after for each in report.passes if each.name == RESULTS]
                        turn = report.agent, report.session_id, report.invocation_id
                        trial.turns.setdefault(turn, []).extend(sent[:1] or [report.tokens_before])
            for agent, answers in answers_of(session, packs, self.prices.cached_share):
                for found in answers:
                    trial, _ = runs[found.strategy]
                    trial.seen.setdefault(agent, Answerability(strategy=agent)).add(found)
            return new[0].use.total.calls

        self.sessions.each(see)
        self.trials += new


def run_tune(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit code."""
    tuning = Tuning(options)
    best = tuning.run()
    if options.json:
        found = {"recommended": best.to_dict(), "trials": [each.to_dict() for each in tuning.trials]}
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(tuning, best))
    return Exit.OK if best.use.total.calls and not tuning.sessions.problems else Exit.UNREADABLE


def _lines(tuning: Tuning, best: Trial) -> Iterator[str]:
    whole, seen = best.use.total, best.answers()
    if not whole.calls:
        yield "no model calls found"
        return
    rows = [("tokens", "cost", "change", "misses", "visible", "reachable", "ContextPackPlugin(…)")]
    for each in tuning.worth_knowing():
        found = each.to_dict()
        name = {"": "the defaults", _NO_PACK: "no pack"}.get(str(each), str(each))
        change = percent(whole.cost_without, found["cost"])
        shares = (f"{found['visible']:.1%}", f"{found['reachable']:.1%}") if found["values"] else ("?", "?")
        rows.append((f"{found['tokens']:,}", money(found["cost"]), change, f"{found['misses']:,}", *shares, name))
    yield from table(rows, words=[6])
    yield "A value that later calls need and do not see is taken to cost two calls more, since it is read back.\n"
    yield f"Recommended: it costs {money(best.cost())} in place of {money(whole.cost_without)} without the pack."
    if seen.values:
        left = f"{seen.visible_share:.1%} stay visible and {seen.reachable_share:.1%} can be read back"
        needed = f"{counted(seen.values, 'value')} that later tool calls needed"
        yield f"Of {needed}, {left}. {tuning.visible:.1%} had to stay."
    else:
        yield "No recorded tool call needs a value that its request shows, so what is lost could not be measured."
    if most := max(each.needed() for each in tuning.trials):
        yield f"No max_tokens below {most:,} is recommended, since a turn would lose what it has just read."
    if seen.values < _ENOUGH:
        yield f"Fewer than {_ENOUGH} such values say too little, so these are the defaults."
    source = f"ContextPackPlugin({best})"
    names = sorted({*re.findall(r"([A-Z]\w+)\(", source)})
    yield f"\nfrom adk_context_pack import {', '.join(names)}\n\nplugin = {source}"
