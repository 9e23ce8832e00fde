"""Finds what fills the requests most, and says what to do about each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from adk_context_pack.reports.token_use import TokenUse

_MOST = 5
_MIN_SHARE = 0.03
"""Below this share of the tokens sent, nothing is worth a change."""

_MANY_DECLARED = 0.15
_LONG_INSTRUCTION = 2_000
_REPEATED = 0.15
_REPEATED_BREAKS = 2
_SMALL_RESULTS = 1_000
"""Below this many tokens in a request, capping a tool's results gives little."""

_CAPPED = 0.05
"""A tool whose results became smaller by less than this share counts as not capped."""

_ADVICE = {
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Offender:
    """One thing that takes many tokens.

    Attributes:
        what: its name, and how much it takes.
        tokens: its tokens in all requests as they were sent. For a broken prefix, those that were read again.
        share: `tokens` as a share of all tokens sent.
        advice: what to do about it.
    """

    what: str
    tokens: int
    share: float
    advice: str


def offenders(use: TokenUse) -> list[Offender]:
    """Returns at most five offenders, the worst first."""
    whole = use.total.sent
    if not whole:
        return []
    found = [*_tools(use), *_declarations(use), *_instructions(use), *_others(use), *_prefixes(use), *_failures(use)]
    named = (Offender(what=what, tokens=tokens, share=tokens / whole, advice=advice) for what, tokens, advice in found)
    worst = sorted((each for each in named if each.share >= _MIN_SHARE), key=lambda each: -each.tokens)
    return worst[:_MOST]


_Found = Iterator[tuple[str, int, str]]


def _tools(use: TokenUse) -> _Found:
    for name, part in use.tools.items():
        if part.without - part.sent >= _CAPPED * part.without:
            advice = "It is made smaller already. Lower max_rows or max_tokens of its pass, or add ClearToolResults."
        elif part.sent < _SMALL_RESULTS * part.calls:
            advice = "Its results are small, but old ones add up. Clear them with ClearToolResults."
        else:
            advice = "Wrap it with cap_rows if it returns rows, or with offload_payload if it returns text."
        yield f"tool {name}, in {_requests(part.calls)}", part.sent, advice


def _declarations(use: TokenUse) -> _Found:
    part = use.categories.get("tool_declarations")
    if part is not None and part.sent >= _MANY_DECLARED * use.total.sent:
        yield "tool declarations", part.sent, "Let models find tools when they need them: defer_tools."


def _instructions(use: TokenUse) -> _Found:
    for agent, each in use.details.items():
        if each.largest_instruction >= _LONG_INSTRUCTION:
            what = f"instruction of {agent or 'an agent without a name'}, up to {each.largest_instruction:,} tokens"
            yield what, each.instruction, "Show less of what it inserts from state: CompactState with {compact:KEY}."


def _others(use: TokenUse) -> _Found:
    for name, (what, advice) in _ADVICE.items():
        part = use.categories.get(name)
        if part is not None and part.sent >= _REPEATED * use.total.sent:
            yield what, part.sent, advice


def _prefixes(use: TokenUse) -> _Found:
    for agent, each in use.details.items():
        if each.breaks < _REPEATED_BREAKS:
            continue
        what = f"prefix of {agent or 'an agent without a name'} broken {each.breaks:,} times"
        if each.lost_in_fixed * 2 >= each.lost:
            advice = "Its instruction or its tools change from call to call. Keep them fixed with static_instruction."
        else:
            advice = "Its history is rewritten too often. Let passes cut in larger, rarer steps (FitTokenBudget)."
        yield what, each.lost, advice


def _failures(use: TokenUse) -> _Found:
    # A pass that fails costs what nobody knows, so it counts as one that costs everything.
    for name, each in use.passes.items():
        if each.failed:
            yield f"pass {name} failed {each.failed:,} times", use.total.sent, "The log has the traceback."


def _requests(calls: int) -> str:
    return f"{calls:,} requests" if calls != 1 else "one request"
