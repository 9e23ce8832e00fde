"""A request's contents, and what earlier calls in the same session found out about them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from google.genai import types

from adk_context_pack.conversation.content_marks import ContentMarks
from adk_context_pack.conversation.model_call import ModelCall

_CONTENT_BYTES = 700
Value = TypeVar("Value")
Item = TypeVar("Item")
State = TypeVar("State")


class Grower(Protocol):
    """What is found out about contents one after another, oldest first, and never has to look back at one."""

    def grow(self, contents: Sequence[types.Content]) -> object:
        """Takes in what `contents` has more than when this was last asked."""


G = TypeVar("G", bound=Grower)


class Memory:
    """What was found out about the contents of earlier calls, one after another; nothing of what they say.

    Attributes:
        marks: a hash of each content.
        growers: by name.
        columns: by name.
        folds: by name.
        age: how often everything was forgotten.
    """

    def __init__(self) -> None:
        self.marks: list[int] = []
        self.age = 0
        self.growers: dict[Hashable, Grower] = {}
        self.columns: dict[Hashable, list[Any]] = {}
        self.folds: dict[Hashable, _Fold] = {}

    @property
    def bytes(self) -> int:
        """About what it holds in memory."""
        return len(self.marks) * _CONTENT_BYTES

    def meet(self, marks: list[int]) -> None:
        """Takes in the contents of a call, and forgets everything if they do not begin with those of the one before."""
        if marks[: len(self.marks)] != self.marks:
            self.age += 1
            self.growers.clear()
            self.columns.clear()
            self.folds.clear()
        self.marks = marks


class KnownContents:
    """A request's contents, with what was found out about those of them that earlier calls had.

    ADK builds a request's contents anew for each call, and loads a session anew for each run, but as a rule there is
    only more of them. Knowing them again by their hashes takes a fraction of finding out again what they are, which is
    what the passes and their report spend most of their time with. Where the contents are not those of the call before
    with more behind them, everything is forgotten.

    Args:
        contents: the contents.
        marks: a hash of each.
        memory: what earlier calls found out; it takes in these contents.
        drawers: places for what holds texts or payloads, which go with the run.
    """

    def __init__(
        self,
        contents: Sequence[types.Content],
        marks: list[int],
        memory: Memory,
        drawers: dict[Hashable, dict[Any, Any]],
    ) -> None:
        self.contents = contents
        self.marks = marks
        self._memory = memory
        self._drawers = drawers
        memory.meet(marks)

    def is_of(self, contents: Sequence[types.Content]) -> bool:
        """Whether `contents` is this list, and nobody has added to it since."""
        return contents is self.contents and len(contents) == len(self.marks)

    def grower(self, name: Hashable, make: Callable[[], G], fits: Callable[[G], bool]) -> G:
        """What is known under `name`, up to the newest content.

        Args:
            name: the same name always goes with the same `make`.
            make: makes it, where it is asked for the first time.
            fits: whether what is known still holds; made anew where it does not.
        """
        found: Any = self._memory.growers.get(name)
        if found is None or not fits(found):
            self._memory.growers[name] = found = make()
        try:
            found.grow(self.contents)
        except Exception:
            # Half of a content taken in would be taken for all of it at the next call.
            del self._memory.growers[name]
            raise
        return found  # type: ignore[no-any-return]

    def column(self, name: Hashable, find: Callable[[types.Content], Value]) -> list[Value]:
        """What `find` finds for each content; asked once for each. The list is not the caller's to change."""
        return self.column_of(self.contents, name, find)

    def column_of(self, items: Sequence[Item], name: Hashable, find: Callable[[Item], Value]) -> list[Value]:
        """The same for `items`, which depend on the contents alone, and only become more where those do."""
        values = self._memory.columns.setdefault(name, [])
        if len(values) < len(items):
            values.extend(map(find, items[len(values) :]))
        return values

    def drawer(self, name: Hashable) -> dict[Any, Any]:
        """A place for what is made of single contents, emptied when the contents are others, and at the run's end."""
        return self._drawers.setdefault((self._memory.age, name), {})

    def folded(
        self, name: Hashable, make: Callable[[], State], take: Callable[[State, types.Content], object]
    ) -> State:
        """What `take` made of the contents, taken in one after another and each once; not the caller's to change.

        Args:
            name: the same name always goes with the same `make` and `take`.
            make: what there is before the first content.
            take: takes one content in.
        """
        fold = self._memory.folds.get(name)
        if fold is None:
            self._memory.folds[name] = fold = _Fold(make())
        try:
            for content in self.contents[fold.count :]:
                take(fold.state, content)
                fold.count += 1
        except Exception:
            # As above: a counter of the user's own may fail on a content.
            del self._memory.folds[name]
            raise
        return fold.state  # type: ignore[no-any-return]


@dataclass(slots=True)
class _Fold:
    state: Any
    count: int = 0


def known_contents(call: ModelCall, contents: Sequence[types.Content]) -> KnownContents:
    """What is known about `contents`, one of the lists that the passes of `call` come across.

    Args:
        call: the model call; what is found out is kept in its `session_memo`, and what holds texts in its `run_memo`.
        contents: a request's contents.
    """
    met: list[KnownContents] = call.memo.setdefault("contents", [])
    for one in met:
        if one.is_of(contents):
            return one
    hashes: ContentMarks = call.run_memo.setdefault("marks", ContentMarks())
    if not met:
        hashes.next_call()
    # The passes of an agent are the same at each call, and so is the order in which their lists are met.
    slot = ("contents", call.agent_name, len(met))
    memory: Memory = call.session_memo.setdefault(slot, Memory())
    drawers: dict[Hashable, dict[Any, Any]] = call.run_memo.setdefault(slot, {})
    met.append(KnownContents(contents, _marks(contents, hashes, met), memory, drawers))
    return met[-1]


def _marks(contents: Sequence[types.Content], hashes: ContentMarks, met: Sequence[KnownContents]) -> list[int]:
    if not met or len(met[-1].marks) != len(contents) or len(met[-1].contents) != len(contents):
        return hashes.of(contents)
    # A pass has made these of the list before, and left most of them as they were.
    marks = list(met[-1].marks)
    changed = [index for index, (one, old) in enumerate(zip(contents, met[-1].contents, strict=True)) if one is not old]
    for index, mark in zip(changed, hashes.of([contents[index] for index in changed]), strict=True):
        marks[index] = mark
    return marks
