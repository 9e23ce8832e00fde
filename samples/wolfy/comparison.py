"""The pipeline without the pack and with it, side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from google.adk.models.base_llm import BaseLlm

from .account import Account
from .measure import Call, Run, run_pipeline
from .offline.model import OFFLINE_MODEL
from .techniques import ADK_OPTIONS, TECHNIQUES


@dataclass(frozen=True, kw_only=True, slots=True)
class Saving:
    """What one technique saves, in input tokens of the whole run.

    Attributes:
        technique: its name.
        alone: the run with nothing of the pack, less the run with this technique only.
        in_place: the run with all techniques but this one, less the run with all.
        cacheable: how many more tokens of the full run begin as an earlier request did than without the technique.
    """

    technique: str
    alone: int
    in_place: int
    cacheable: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Some runs of one pipeline.

    Attributes:
        bare: without the pack, and without ADK's own options.
        lean: with all techniques.
        adk: with ADK's own options alone; None where it was not measured.
        savings: what each technique did; none where they were not measured.
    """

    bare: Run
    lean: Run
    adk: Run | None = None
    savings: tuple[Saving, ...] = ()

    def calls(self) -> list[dict[str, Any]]:
        """One entry for each agent and call; 0 tokens where a run did not make that call."""
        agents = dict.fromkeys(call.agent for call in (*self.bare.calls, *self.lean.calls))
        return [entry for agent in agents for entry in self._calls_of(agent)]

    def _calls_of(self, agent: str) -> list[dict[str, Any]]:
        pairs = zip_longest(_of(self.bare, agent), _of(self.lean, agent))
        return [
            {
                "agent": agent,
                "call": number,
                "tokens_without": without.tokens if without else 0,
                "tokens_with": within.tokens if within else 0,
            }
            for number, (without, within) in enumerate(pairs, start=1)
        ]

    def as_json(self) -> dict[str, Any]:
        """Everything for a machine."""
        return {
            "tokens_without": self.bare.tokens,
            "tokens_with": self.lean.tokens,
            "tokens_with_adk_options": self.adk and self.adk.tokens,
            "figures_without": self.bare.figures,
            "figures_with": self.lean.figures,
            "calls": self.calls(),
            "cacheable_without": self.bare.cacheable,
            "cacheable_with": self.lean.cacheable,
            "techniques": [
                {
                    "technique": saving.technique,
                    "tokens_saved_alone": saving.alone,
                    "tokens_saved_in_place": saving.in_place,
                    "cacheable_share_gained": saving.cacheable,
                }
                for saving in self.savings
            ],
            "report": self.lean.report,
        }


async def compare(
    account: Account,
    *,
    question: str,
    model: str | BaseLlm = OFFLINE_MODEL,
    savings: bool = True,
    on_run: Callable[[int, int], None] = lambda _done, _runs: None,
) -> Comparison:
    """Runs the pipeline without the pack and with it, with ADK's own options alone, and for each technique twice more.

    Args:
        account: what the queries run on.
        question: what the user asks.
        model: the name of a model, or the model.
        savings: whether to measure ADK's options and each technique, which takes fifteen more runs.
        on_run: called after each run with the number of runs that are done and of all runs.
    """

    async def without_all_but(kept: Collection[str]) -> Run:
        others = [name for name in TECHNIQUES if name not in kept]
        return await run_pipeline(account, without=others, model=model, question=question)

    runs = 3 + 2 * len(TECHNIQUES) if savings else 2
    on_run(0, runs)
    bare = await run_pipeline(account, without=TECHNIQUES, model=model, question=question)
    on_run(1, runs)
    lean = await run_pipeline(account, model=model, question=question)
    on_run(2, runs)
    if not savings:
        return Comparison(bare=bare, lean=lean)
    adk = await without_all_but(ADK_OPTIONS)
    on_run(3, runs)
    found: list[Saving] = []
    for technique in TECHNIQUES:
        alone = await without_all_but([technique])
        missing = await run_pipeline(account, without=[technique], model=model, question=question)
        on_run(5 + 2 * len(found), runs)
        found.append(
            Saving(
                technique=technique,
                alone=bare.tokens - alone.tokens,
                in_place=missing.tokens - lean.tokens,
                cacheable=round(_cacheable_share(lean) - _cacheable_share(missing), 3),
            )
        )
    return Comparison(bare=bare, lean=lean, adk=adk, savings=tuple(found))


def _of(run: Run, agent: str) -> list[Call]:
    return [call for call in run.calls if call.agent == agent]


def _cacheable_share(run: Run) -> float:
    return run.cacheable / run.tokens if run.tokens else 0.0
