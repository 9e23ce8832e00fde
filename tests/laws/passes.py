"""Every pass that the laws are tried on: the one list to add a new pass to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from google.adk.models.llm_request import LlmRequest

from adk_context_pack.context_pass import ContextPass
from adk_context_pack.model_call import ModelCall
from adk_context_pack.passes.cast_narrative import CastNarrative
from adk_context_pack.passes.clear_tool_results import ClearToolResults
from adk_context_pack.passes.compact_state import CompactState
from adk_context_pack.passes.drop_old_thoughts import DropOldThoughts
from adk_context_pack.passes.fit_token_budget import FitTokenBudget
from adk_context_pack.passes.keep_newest_result import KeepNewestResult
from adk_context_pack.passes.strip_for_context import StripForContext


@dataclass(frozen=True, kw_only=True)
class Case:
    """Passes that run one after the other, and which laws are not theirs.

    Attributes:
        name: as it stands in the test's id.
        make: builds the passes anew.
        except_for: laws that the pass is declared to be an exception of.
    """

    name: str
    make: Callable[[], tuple[ContextPass, ...]]
    except_for: frozenset[str] = frozenset()

    def __call__(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """The request after the passes."""
        for entry in self.make():
            request = entry.apply(request, call)
        return request


def case(name: str, *make: Callable[[], ContextPass], except_for: set[str] | None = None) -> Case:
    """A case of the passes that `make` builds."""
    return Case(name=name, make=lambda: tuple(build() for build in make), except_for=frozenset(except_for or ()))


def _compact() -> CompactState:
    return CompactState(key="gaql_queries", select=("id", "status"))


GROWS = {"never_grows"}  # filling in what an instruction asks for is the one exception of that law

PASSES = (
    case("strip", StripForContext),
    case("strip all", lambda: StripForContext(keep_said=False)),
    case("strip some", lambda: StripForContext(keep_agents=["агент"], keep_tools=["get-issue", "run_query"])),
    case("cast", CastNarrative),
    case("cast short", lambda: CastNarrative(max_said_chars=20, max_args_chars=20, max_result_chars=20)),
    case("compact", _compact, except_for=GROWS),
)
PAIRS = (
    case("strip, cast", StripForContext, CastNarrative),
    # A small block that waits for its result is left to strip by cast, and retold with its result once that is there.
    case("cast, strip", CastNarrative, StripForContext, except_for={"steady"}),
    case("compact, cast", _compact, CastNarrative, except_for=GROWS),
    case("strip, compact", StripForContext, _compact, except_for=GROWS),
)
STEPS = {"steady", "keeps_what_users_typed"}  # these cut at declared points; how seldom is measured in their own tests
HISTORY = (
    case("clear", ClearToolResults, except_for=STEPS),
    case("clear all", lambda: ClearToolResults(keep_results=0, min_tokens=1, clear_args=True), except_for=STEPS),
    case("fit", lambda: FitTokenBudget(max_tokens=1500), except_for=STEPS),
    case("fit small", lambda: FitTokenBudget(max_tokens=1, cut_to=0.01), except_for=STEPS),
    case("fit turns", lambda: FitTokenBudget(max_tokens=400, keep_turns=2, cut_to=0.9), except_for=STEPS),
    case("thoughts", DropOldThoughts, except_for=STEPS),
    case("newest", lambda: KeepNewestResult(min_tokens=1), except_for=STEPS),
    case("newest, clear", KeepNewestResult, ClearToolResults, except_for=STEPS),
    case("clear, fit", ClearToolResults, lambda: FitTokenBudget(max_tokens=800), except_for=STEPS),
    case("strip, fit", StripForContext, lambda: FitTokenBudget(max_tokens=500), except_for=STEPS),
    case("cast, fit", CastNarrative, lambda: FitTokenBudget(max_tokens=500), except_for=STEPS),
)
CASES = PASSES + PAIRS + HISTORY
