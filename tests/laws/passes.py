"""Every pass that the laws are tried on, and what is made of them: every pair, and whole orders.

A new pass is added to `PASSES`; the pairs follow from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from google.adk.models.llm_request import LlmRequest

import adk_context_pack as p
from tests.support.all_passes import every_pass


@dataclass(frozen=True, kw_only=True)
class Case:
    """Passes that run one after the other, and which laws are not theirs.

    Attributes:
        name: as it stands in the test's id.
        passes: in their order; they keep nothing between two calls.
        except_for: laws that the pass is declared to be an exception of.
    """

    name: str
    passes: tuple[p.ContextPass, ...]
    except_for: frozenset[str] = frozenset()

    def __call__(self, request: LlmRequest, call: p.ModelCall) -> LlmRequest:
        """The request after the passes."""
        for entry in self.passes:
            request = entry.apply(request, call)
        return request

    def leaves_history(self, request: LlmRequest, call: p.ModelCall) -> bool:
        """Whether one of the passes needs `search_history`, as the plugin asks them."""
        return any(entry.leaves_history(request, call) for entry in self.passes)

    @property
    def kinds(self) -> tuple[type[p.ContextPass], ...]:
        """The classes of the passes."""
        return tuple(map(type, self.passes))


EXCEPTIONS: dict[type[p.ContextPass], frozenset[str]] = {
    # Whoever chooses it wants other agents' logs gone, without a way back.
    p.StripForContext: frozenset({"reachable"}),
    # Fills in what an instruction asks for, which is longer than the placeholder.
    p.CompactState: frozenset({"never_grows"}),
    # Puts what memory knows before the newest message. Here, where nobody asks a memory service, it only slims results.
    p.RecallMemory: frozenset({"never_grows"}),
    # These change what was sent at declared points; how seldom is measured in their own tests.
    p.ClearToolResults: frozenset({"steady"}),
    # The words in the place of a small blob or of an address may be longer. The tokens of the file go with it.
    p.DropOldMedia: frozenset({"steady", "never_grows", "keeps_what_users_typed"}),
    p.DropOldThoughts: frozenset({"steady"}),
    p.KeepNewestResult: frozenset({"steady"}),
    # So does this one, and there it drops whole turns.
    p.FitTokenBudget: frozenset({"steady", "keeps_what_users_typed"}),
}
"""The laws that a pass is an exception of, and with it everything that it is a part of."""
_SETTLED = frozenset({"settled"})
TOGETHER: dict[tuple[type[p.ContextPass], ...], frozenset[str]] = {
    # A small block that waits for its result is left to strip by cast, and retold with its result once that is there.
    # And which of a block and a user's copy of it is whose, the blocks around tell: asked again, cast's are gone.
    (p.CastNarrative, p.StripForContext): frozenset({"steady", "settled"}),
    # The first of these decides by what everything weighs, and the second then changes the weight of what stays: asked
    # again, the first would decide on something else. This is why they come last in the default order.
    (p.ClearToolResults, p.CastNarrative): _SETTLED,
    (p.ClearToolResults, p.StripForContext): _SETTLED,
    (p.FitTokenBudget, p.CastNarrative): _SETTLED,
    (p.FitTokenBudget, p.CompactState): _SETTLED,
}
"""The laws that only the two together are an exception of, in this order."""


def case(name: str, *passes: p.ContextPass) -> Case:
    """A case of passes, with the exceptions that they are declared to be."""
    kinds = tuple(map(type, passes))
    spared = [EXCEPTIONS.get(kind, frozenset()) for kind in kinds] + [TOGETHER.get(kinds, frozenset())]
    # A block may stay because it keeps two turns of the model apart. Where a budget then takes one of these away, strip
    # finds no reason for it if both are asked again.
    if {p.StripForContext, p.FitTokenBudget} <= set(kinds):
        spared.append(_SETTLED)
    # A batch is cleared where it weighs as much as what must be sent anew behind it. Where a budget then takes some of
    # that away, the next batch pays off if both are asked again.
    if {p.ClearToolResults, p.FitTokenBudget} <= set(kinds) and kinds.index(p.ClearToolResults) < kinds.index(
        p.FitTokenBudget
    ):
        spared.append(_SETTLED)
    return Case(name=name, passes=passes, except_for=frozenset().union(*spared))


def pairs_of(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """Every ordered pair of different passes, each in all its settings."""
    return tuple(
        case(f"{one.name}, {other.name}", *one.passes, *other.passes)
        for one, other in product(cases, repeat=2)
        if one.kinds != other.kinds
    )


_COMPACT = p.CompactState(key="gaql_queries", select=("id", "status"))
PASSES = (
    case("strip", p.StripForContext()), case("strip all", p.StripForContext(keep_said=False)),
    case("strip some", p.StripForContext(keep_agents=["агент"], keep_tools=["get-issue", "run_query"])),
    case("cast", p.CastNarrative()),
    case(
        "cast short", p.CastNarrative(max_said_chars=20, max_args_chars=20, max_result_chars=20, max_quoted_tokens=99)
    ),
    case("compact", _COMPACT), case("media", p.DropOldMedia(min_bytes=0)), case("thoughts", p.DropOldThoughts()),
    case("newest", p.KeepNewestResult(min_tokens=1)), case("columns", p.CompactResults(min_tokens=1)),
    case("recall", p.RecallMemory()), case("clear", p.ClearToolResults()),
    case("clear all", p.ClearToolResults(keep_results=0, min_tokens=1, clear_args=True)),
    case("fit", p.FitTokenBudget(max_tokens=1500)), case("fit some", p.FitTokenBudget(max_tokens=500)),
    case("fit small", p.FitTokenBudget(max_tokens=1, cut_to=0.01)),
    case("fit turns", p.FitTokenBudget(max_tokens=400, keep_turns=2, cut_to=0.9)),
)  # fmt: skip
"""The one list: every built-in pass, in settings that bite on small conversations."""
PAIRS = pairs_of(PASSES)
ORDERS = (
    case("default", *p.default_passes(max_tokens=2000)),
    case("default, small", *p.default_passes(max_tokens=300)),
    case("default, strip", *p.default_passes(max_tokens=300, relays="strip")),
    case("default, all of the window", *p.default_passes(max_tokens=838_860)),
    case("every pass", _COMPACT, *every_pass(500, p.CastNarrative())),
    case("every pass, strip", _COMPACT, *every_pass(500, p.StripForContext())),
)
"""The default order and the one with every pass, as the plugin runs them, under several budgets."""
CASES = PASSES + PAIRS + ORDERS


def _groups() -> dict[str, tuple[Case, ...]]:
    begun = {made.kinds[0]: made.passes[0].name for made in PASSES}
    pairs = {name: tuple(pair for pair in PAIRS if pair.kinds[0] is kind) for kind, name in begun.items()}
    return {"alone": PASSES} | {f"{name} first": made for name, made in pairs.items()} | {"orders": ORDERS}


GROUPS = _groups()
"""All cases: each pass alone, the pairs by the pass that comes first, and the orders."""
