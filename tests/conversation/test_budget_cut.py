"""The cut through a history is the same whether it is followed at once or as it grows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.conversation.budget_cut import BudgetCut, CutWalk
from adk_context_pack.conversation.calibration import Calibration, Figure
from adk_context_pack.conversation.outline import Group, GroupKind

KINDS: tuple[GroupKind, ...] = ("user", "model", "exchange", "relay", "model", "exchange")


@st.composite
def histories(draw: st.DrawFn) -> BudgetCut:
    """A history of groups of one content each, with figures for some of its calls."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=40))
    calls = {index for index, kind in enumerate(kinds) if kind in ("model", "exchange")}
    figures = {}
    tokens = 100
    for number, index in enumerate(sorted(calls)):
        tokens += draw(st.integers(20, 300))
        if draw(st.booleans()):
            figures[index] = Figure(number, tokens)
    return BudgetCut(
        groups=[Group(index, index + 1, kind) for index, kind in enumerate(kinds)],
        sizes=draw(st.lists(st.integers(1, 200), min_size=len(kinds), max_size=len(kinds))),
        calls=calls,
        pinned=draw(st.sets(st.integers(0, len(kinds)), max_size=3)),
        fixed=50,
        budget=draw(st.integers(100, 600)),
        target=0.5,
        keep_turns=draw(st.integers(1, 3)),
        marker=10,
        calibration=Calibration(figures, draw(st.sampled_from([None, 1.3]))),
    )


def beginning(whole: BudgetCut, length: int, walk: CutWalk | None = None) -> BudgetCut:
    """The first groups of a history, the last of them still open."""
    groups = list(whole.groups[:length])
    if length < len(whole.groups):
        groups[-1] = groups[-1]._replace(open=True)
    return replace(whole, groups=groups, sizes=whole.sizes[:length], walk=walk)


def result(cut: BudgetCut) -> tuple[object, ...]:
    walk = cut.find()
    return walk.dropped, round(walk.total, 6), walk.turns, walk.stop


@given(whole=histories(), data=st.data())
def test_following_goes_on_where_it_stopped(whole: BudgetCut, data: st.DataObject) -> None:
    """A cut that goes on from an earlier one gives what it gives from the start, whatever is pinned meanwhile."""
    walk = None
    for length in sorted(data.draw(st.sets(st.integers(1, len(whole.groups)), min_size=1, max_size=6))):
        pinned = data.draw(st.sampled_from([whole.pinned, set(), {0}, {length - 1}]))
        cut = replace(beginning(whole, length, walk), pinned=pinned)
        assert result(cut) == result(replace(cut, walk=None))
        walk = cut.walk


@given(whole=histories(), figure=st.integers(100, 5_000))
def test_other_figures_are_another_history(whole: BudgetCut, figure: int) -> None:
    """Where the provider's figures for earlier calls are others, nothing of the earlier cut is used."""
    first = replace(whole)
    first.find()
    known = {index: Figure(number, figure) for number, index in enumerate(sorted(whole.calls))}
    other = replace(whole, calibration=Calibration(known), walk=first.walk)
    assert result(other) == result(replace(other, walk=None))


def test_what_was_followed_is_not_followed_again() -> None:
    """Only the groups that are new since the last call are looked at."""
    groups = [Group(index, index + 1, KINDS[index % len(KINDS)]) for index in range(30)]
    cut = BudgetCut(
        groups=groups,
        sizes=[10] * 30,
        calls=set(),
        pinned=set(),
        fixed=0,
        budget=10_000,
        target=0.5,
        keep_turns=1,
        marker=10,
        calibration=Calibration({}),
    )
    cut.find()
    longer = replace(cut, groups=[*groups, Group(30, 31, "user")], sizes=[*[10**9] * 30, 10])
    assert longer.find().total == 310


@pytest.mark.parametrize(
    ("kinds", "budget", "pinned", "dropped"),
    [
        (("exchange", "user"), 15, set(), {0}),
        (("exchange", "exchange", "exchange"), 25, set(), {0}),
        (("exchange", "fixed"), 15, set(), set()),
        (("exchange", "user", "fixed"), 25, set(), {0}),
        (("exchange", "exchange", "user"), 25, {0}, {1}),
        (("user", "exchange", "exchange", "exchange"), 35, set(), {1}),
        (("user", "exchange", "exchange", "exchange"), 30, set(), {1, 2}),
        (("user", "model", "user", "exchange", "user"), 50, set(), set()),
        (("user", "model", "user", "exchange", "user"), 49, set(), {0, 1}),
        (("user", "model", "user", "exchange", "user"), 25, set(), {0, 1, 2, 3}),
        (("user", "model", "user", "exchange", "user"), 25, {2}, {0, 1, 3}),
    ],
)
def test_what_leaves_first(kinds, budget, pinned, dropped) -> None:
    """Whole turns leave before parts of the newest one, the oldest first, as few as it takes, and never the newest."""
    cut = BudgetCut(
        groups=[Group(index, index + 1, kind) for index, kind in enumerate(kinds)],
        sizes=[10] * len(kinds),
        calls=set(),
        pinned=pinned,
        fixed=0,
        budget=budget,
        target=1.0,
        keep_turns=1,
        marker=5,
        calibration=Calibration({}),
    )
    assert cut.find().dropped == dropped
