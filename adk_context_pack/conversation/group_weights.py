"""Weighs the groups of a history as it grows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Self

from adk_context_pack.conversation.outline import Group


@dataclass(kw_only=True, slots=True)
class GroupWeights:
    """Holds what a budget has to know of each group.

    Attributes:
        sizes: the tokens of each group.
        fixed: the groups whose kind is "fixed".
        calls: the groups that one of the agent's own turns begins.
    """

    sizes: list[int] = field(default_factory=list)
    fixed: set[int] = field(default_factory=set)
    calls: set[int] = field(default_factory=set)

    @property
    def bytes(self) -> int:
        """The memory that they take, in bytes."""
        # Most groups are one content, whose size is the number in the list of contents.
        return 200 + getsizeof(self.sizes) + 2 * (getsizeof(self.fixed) + getsizeof(self.calls))

    def grow(self, groups: Sequence[Group], sizes: Sequence[int], calls: Sequence[int]) -> Self:
        """Takes in the groups that follow those it knows, and returns itself.

        Args:
            groups: all groups.
            sizes: the tokens of each content.
            calls: the indexes of the agent's own turns among the contents, in order.
        """
        known = len(self.sizes)
        if known == len(groups):
            return self
        # The turns of groups that are known already are not looked at again.
        started = set(calls[bisect_left(calls, groups[known].start) :])
        for index in range(known, len(groups)):
            start, stop, kind, _ = groups[index]
            self.sizes.append(sizes[start] if stop - start == 1 else sum(sizes[start:stop]))
            if kind == "fixed":
                self.fixed.add(index)
            if start in started:
                self.calls.add(index)
        return self

    def copied(self) -> Self:
        """Returns weights that say the same, and grow by themselves."""
        return type(self)(sizes=self.sizes.copy(), fixed=self.fixed.copy(), calls=self.calls.copy())
