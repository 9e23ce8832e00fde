"""What leaves a history that is over its budget, and what a request says of it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from google.genai import types

from adk_context_pack.conversation.outline import Group, Outline, Voices
from adk_context_pack.conversation.token_estimate import Calibration
from adk_context_pack.passes.fit_token_budget import BudgetCut, marker_text, without
from tests.support.events import call_part, result_part


def cut_of(groups: list[Group], budget: int, pinned: frozenset[int] = frozenset(), cut_to: float = 1.0) -> BudgetCut:
    """A cut through groups of ten tokens each."""
    return BudgetCut(
        groups=groups, sizes=[10] * len(groups), calls=set(), pinned=pinned, fixed=0, marker=5, again={},
        calibration=Calibration({}), rules=SimpleNamespace(max_tokens=budget, cut_to=cut_to, keep_turns=1),
    )  # fmt: skip


@pytest.mark.parametrize(("kinds", "budget", "pinned", "dropped"), [
    (("exchange", "user"), 15, set(), {0}), (("exchange", "exchange", "exchange"), 25, set(), {0}),
    (("exchange", "fixed"), 15, set(), set()), (("exchange", "user", "fixed"), 25, set(), {0}),
    (("exchange", "exchange", "user"), 25, {0}, {1}), (("user", "exchange", "exchange", "exchange"), 35, set(), {1}),
    (("user", "exchange", "exchange", "exchange"), 30, set(), {1, 2}),
    (("user", "model", "user", "exchange", "user"), 50, set(), set()),
    (("user", "model", "user", "exchange", "user"), 49, set(), {0, 1}),
    (("user", "model", "user", "exchange", "user"), 25, set(), {0, 1, 2, 3}),
    (("user", "model", "user", "exchange", "user"), 25, {2}, {0, 1, 3}),
])  # fmt: skip
def test_what_leaves_first(kinds, budget, pinned, dropped) -> None:
    """Whole turns leave before parts of the newest one, the oldest first, as few as it takes, and never the newest."""
    groups = [Group(index, index + 1, kind) for index, kind in enumerate(kinds)]
    assert cut_of(groups, budget, pinned).find().dropped == dropped


@pytest.mark.parametrize(("stop", "marker", "total"), [(6, 600, 2_600), (9, 100, 5_100), (10, 600, 1_600)])
def test_names_give_way_in_a_turn_that_is_read_again(stop, marker, total) -> None:
    """The marker names nothing at a cut in a turn that reads again what had left it, and names again in the next."""
    kinds = ["user", *["exchange"] * 8, "user", *["exchange"] * 6]
    groups = [Group(index, index + 1, kind) for index, kind in enumerate(kinds)][:stop]
    calls, again = {at for at, one in enumerate(groups) if one.kind == "exchange"}, {6: 1, 7: 2}
    cut = replace(cut_of(groups, 5_500, cut_to=0.5), sizes=[1_000] * stop, calls=calls, marker=600, again=again).find()
    assert (cut.marker, cut.total) == (marker, total)


def content(role, *parts):
    return types.Content(role=role, parts=[types.Part(text=part) if isinstance(part, str) else part for part in parts])


@pytest.mark.parametrize(("roles", "dropped", "left"), [
    ("um", {}, "u0 m1"), ("umum", {0, 1}, "mark u2 m3"), ("umum", {0}, "mark m1 u2 m3"),
    ("umum", {1}, "u0 mark u2 m3"), ("umum", {2}, "u0 m1 mark m3"), ("umumum", {0, 2}, "mark m1 again m3 u4 m5"),
    ("umumum", {0, 3}, "mark m1 u2 u4 m5"), ("umumum", {1, 4}, "u0 mark u2 m3 again m5"),
    ("umumum", {1, 3}, "u0 mark u2 u4 m5"), ("umrmum", {0, 2, 4}, "mark m1 again m3 again m5"),
    ("umuu", {0, 2}, "mark m1 u3"), ("um", {1}, "u0"),
])  # fmt: skip
def test_gaps(roles, dropped, left):
    """The first gap has the marker, and a later one a short text where two turns of the model would meet."""
    contents = [content("model" if role == "m" else "user", f"{role}{n}") for n, role in enumerate(roles)]
    kinds = {"u": "user", "m": "model", "r": "relay"}
    groups = [Group(index, index + 1, kinds[role]) for index, role in enumerate(roles)]
    found = without(contents, groups, dropped, "mark")
    shown = ["again" if "Something else" in each.parts[0].text else each.parts[0].text for each in found]
    assert shown == left.split()
    assert all(each.role == "user" for each in found if each not in contents)


def history(*names, turns=1):
    """One turn for each call, with its result, then `turns` turns without one."""
    contents, groups = [], []
    for number, name in enumerate(names):
        start = len(contents)
        contents += [
            content("model", call_part(name, {}, f"c{number}")),
            content("user", result_part(name, {}, f"c{number}")),
        ]
        groups.append(Group(start, start + 2, "exchange"))
    for _ in range(turns):
        groups.append(Group(len(contents), len(contents) + 1, "user"))
        contents.append(content("user", "hi"))
    return contents, groups


def said(contents, groups, dropped, **more):
    return marker_text(groups, dropped, Outline(Voices(None, ())).grow(contents), **{"opener": "", **more})


LEFT = "[Earlier conversation left out to save space: "


@pytest.mark.parametrize(("names", "turns", "dropped", "what"), [
    (["a"], 1, {0}, "1 tool call (a)."), (["a"], 1, {0, 1}, "1 user turn, 1 tool call (a)."),
    (["a"], 2, {1}, "1 user turn."), (["a"], 2, {1, 2}, "2 user turns."),
    (["b", "a", "b"], 1, {0, 1, 2}, "3 tool calls (a, b)."), (["b", "a", "b"], 1, {0, 2}, "2 tool calls (b)."),
    (["d", "c", "b", "a"], 1, {0, 1, 2, 3}, "4 tool calls (a, b, c, d)."),
    (["e", "d", "c", "b", "a"], 1, {0, 1, 2, 3, 4}, "5 tool calls (a, b, c, d, …)."),
    (["x\ny", "n" * 30], 1, {0, 1}, f"2 tool calls ({'n' * 30}, x y)."),
    (["n" * 31], 1, {0}, f"1 tool call ({'n' * 29}…)."),
])  # fmt: skip
def test_what_a_marker_counts(names, turns, dropped, what):
    """A marker counts the turns and the calls that left, and names up to four tools in order, each cut at 30."""
    contents, groups = history(*names, turns=turns)
    assert said(contents, groups, dropped) == f"{LEFT}{what}]"


def test_messages_where_neither_turns_nor_calls_left():
    """Other messages are counted."""
    contents = [content("model", "one"), content("model", "two"), content("user", "three")]
    groups = [Group(0, 1, "model"), Group(1, 2, "model"), Group(2, 3, "user")]
    assert said(contents, groups, {0, 1}) == f"{LEFT}2 messages.]"
    assert said(contents, groups, {1}) == f"{LEFT}1 messages.]"
