"""The provider's figures in a recording: what a counted token is worth, and what the replay cannot see."""

from __future__ import annotations

import pytest

from adk_context_pack.replay.replayed import Counted, scale_of


def calls(factor, fixed, *sizes):
    return [Counted(size, size // 2, round(fixed + factor * size)) for size in sizes]


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.0, 1.6])
@pytest.mark.parametrize("fixed", [0, 900, 30_000])
def test_finds_factor_and_fixed_part(factor, fixed):
    """From calls that grow, the tokens of instructions and declarations and the worth of a token are told apart."""
    scale = scale_of(calls(factor, fixed, 500, 4_000, 9_000), whole=False)
    assert scale.factor == pytest.approx(factor, rel=0.01)
    assert scale.fixed == pytest.approx(fixed, abs=5)


def test_the_figure_is_the_request_without_the_pack():
    """What the provider counted is not estimated, and the saving is subtracted at the worth of a token."""
    found = calls(0.5, 1_000, 2_000, 10_000)
    assert scale_of(found, whole=False).of(found[1]) == (6_000, 3_500)


def test_a_call_without_a_figure_is_told_by_the_others():
    """A call that the provider did not count gets the fixed part and the factor of the agent's other calls."""
    scale = scale_of(calls(0.5, 1_000, 2_000, 10_000), whole=False)
    assert scale.of(Counted(4_000, 2_000, None)) == (3_000, 2_000)


def test_without_figures_the_count_stays():
    """Where nothing was counted, the replay's own figures stay as they are."""
    assert scale_of([Counted(400, 100, None)], whole=False).of(Counted(400, 100, None)) == (400, 100)


def test_a_saving_is_never_more_than_the_request():
    """A request with the pack is not told as negative."""
    assert scale_of([Counted(4_000, 10, 900)], whole=True).of(Counted(4_000, 10, 900)) == (900, 2)
    assert scale_of([Counted(400, 10, 90)], whole=True).of(Counted(4_000, 10, 90)) == (90, 0)
