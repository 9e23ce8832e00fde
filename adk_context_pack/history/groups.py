"""A request's contents as groups: what must leave it together, or stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from adk_context_pack.history.pairing import Pairing
from adk_context_pack.history.voices import Voice

_STRONGEST: tuple[Voice, ...] = ("fixed", "user")
"""What makes a group of its own kind, wherever in the group it stands."""


GroupKind = Literal["user", "relay", "model", "fixed", "exchange"]


class Group(NamedTuple):
    """The smallest run of contents that may leave a request together.

    Attributes:
        start: index of the first content.
        stop: index after the last one.
        kind: who speaks; "exchange" for calls with their results and for orphaned results. An exchange with a user's
            message or a fixed content within (a result that came late) counts as that one.
        open: whether a call in it has no result here.
    """

    start: int
    stop: int
    kind: GroupKind
    open: bool = False


def grow_groups(groups: list[Group], pairing: Pairing, voices: Sequence[Voice]) -> None:
    """Makes `groups` cover all contents of `pairing`, in order.

    Args:
        groups: the groups of the same contents when there were fewer of them, or none; changed in place.
        pairing: the contents' calls and results.
        voices: who speaks in each content; not asked for those with calls or results.
    """
    # Only an open group can still get a result, and so become longer.
    settled = next((number for number, one in enumerate(groups) if one.open), len(groups))
    del groups[settled:]
    start = groups[-1].stop if groups else 0
    waiting = {place.content for place in pairing.unanswered}
    reach = pairing.reach
    while start < len(reach):
        stop, last = start + 1, reach[start]
        while stop <= last:
            last = max(last, reach[stop])
            stop += 1
        is_open = bool(waiting) and not waiting.isdisjoint(range(start, stop))
        groups.append(Group(start, stop, _kind(range(start, stop), pairing, voices), is_open))
        start = stop


def _kind(inside: range, pairing: Pairing, voices: Sequence[Voice]) -> GroupKind:
    if len(inside) == 1:
        return "exchange" if inside[0] in pairing.tooling else voices[inside[0]]
    spoken = {voices[index] for index in inside if index not in pairing.tooling}
    return next((voice for voice in _STRONGEST if voice in spoken), "exchange")


def sizes_of(groups: Sequence[Group], sums: Sequence[int]) -> list[int]:
    """The tokens of each group, from the sums of the contents' tokens up to each of them."""
    return [sums[one.stop] - sums[one.start] for one in groups]
