"""Weighing groups of a history that grows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adk_context_pack.conversation.budget_cut import GroupWeights
from adk_context_pack.conversation.outline import Group

KINDS = ("user", "model", "exchange", "relay", "fixed")


@given(
    made=st.lists(st.tuples(st.integers(1, 3), st.sampled_from(KINDS), st.booleans()), max_size=20),
    split=st.integers(0, 20),
)
def test_weights_that_grow_say_what_new_ones_say(made: list[tuple[int, str, bool]], split: int) -> None:
    """Weights of a history that grew, and a copy of them, are those of the whole history, counted group by group."""
    groups, start = [], 0
    for length, kind, _ in made:
        groups.append(Group(start, start + length, kind))
        start += length
    sizes = [7 * index % 31 for index in range(start)]
    calls = [group.start for group, (_, _, called) in zip(groups, made, strict=True) if called]
    grown = GroupWeights().grow(groups[:split], sizes, calls)
    copied = grown.copied().grow(groups, sizes, calls)
    assert len(grown.sizes) == min(split, len(groups))
    for weights in (grown.grow(groups, sizes, calls), copied):
        assert weights.sizes == [sum(sizes[one.start : one.stop]) for one in groups]
        assert weights.fixed == {index for index, one in enumerate(groups) if one.kind == "fixed"}
        assert weights.calls == {index for index, (_, _, called) in enumerate(made) if called}
