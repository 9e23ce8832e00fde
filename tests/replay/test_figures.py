"""The provider's figures in a recording: what a counted token is worth, and what the replay cannot see."""

from __future__ import annotations

from adk_context_pack.replay.replayed import Counted, scale_of


def calls(factor, fixed, *sizes):
    return [Counted(size, size // 2, round(fixed + factor * size)) for size in sizes]


def test_the_figure_is_the_request_without_the_pack():
    """What the provider counted is not estimated, and the saving is subtracted at the worth of a token."""
    found = calls(0.5, 1_000, 2_000, 10_000)
    assert scale_of(found, whole=False).of(found[1]) == (6_000, 3_500)


def test_a_saving_is_never_more_than_the_request():
    """A request with the pack is not told as negative."""
    assert scale_of([Counted(4_000, 10, 900)], whole=True).of(Counted(4_000, 10, 900)) == (900, 2)
    assert scale_of([Counted(400, 10, 90)], whole=True).of(Counted(4_000, 10, 90)) == (90, 0)
