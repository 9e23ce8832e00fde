"""A request's contents, and what was found out about them at earlier calls in the same session."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from google.genai import types

from adk_context_pack.model_call import ModelCall

_CONTENT_BYTES = 1000
_TOKEN_BYTES = 4
Value = TypeVar("Value")
Item = TypeVar("Item")


class Grower(Protocol):
    """What is found out about contents one after another, oldest first, and never has to look back at one."""

    def grow(self, contents: Sequence[types.Content]) -> object:
        """Takes in what `contents` has more than when this was last asked."""


G = TypeVar("G", bound=Grower)


class KnownContents:
    """Contents that become more from call to call, with what was found out about the ones that were there before.

    ADK builds a request's contents anew for each call, and loads a session anew for each run, but as a rule there is
    only more of them. Comparing their texts and payloads takes a fraction of finding out again what the contents are,
    which is what the passes and their report spend most of their time with. Where the contents are not those of the
    call before with more behind them, everything is forgotten.

    Attributes:
        contents: the contents of the newest call.
        marks: what a copy of each content would share with it.
        tokens: those of all contents, where they were counted.
    """

    def __init__(self) -> None:
        self.tokens = 0
        self.contents: Sequence[types.Content] = ()
        self.marks: list[tuple[object, ...]] = []
        self._growers: dict[Hashable, Grower] = {}
        self._columns: dict[Hashable, list[Any]] = {}
        self._tallies: dict[Hashable, _Tally] = {}
        self._drawers: dict[Hashable, dict[Any, Any]] = {}

    @property
    def bytes(self) -> int:
        """About what it holds in memory."""
        return len(self.marks) * _CONTENT_BYTES + self.tokens * _TOKEN_BYTES

    def is_of(self, contents: Sequence[types.Content]) -> bool:
        """Whether `contents` is the list that was met, and nobody has added to it since."""
        return contents is self.contents and len(contents) == len(self.marks)

    def meet(self, contents: Sequence[types.Content], like: KnownContents | None = None) -> KnownContents:
        """Takes `contents` as the newest call's, and gives itself back.

        Args:
            contents: the contents.
            like: what is known of the list that they were made from, which has most of them.
        """
        if like is not None and len(like.marks) == len(contents) == len(like.contents):
            whole = zip(contents, like.contents, like.marks, strict=True)
            marks = [mark if content is other else _mark(content) for content, other, mark in whole]
        else:
            marks = list(map(_mark, contents))
        if not _same(marks[: len(self.marks)], self.marks):
            self._growers.clear()
            self._columns.clear()
            self._tallies.clear()
            self._drawers.clear()
        self.marks = marks
        self.contents = contents
        return self

    def grower(self, name: Hashable, make: Callable[[], G]) -> G:
        """What is known under `name`, up to the newest content.

        Args:
            name: the same name always goes with the same `make`.
            make: makes it, where it is asked for the first time.
        """
        found: Any = self._growers.get(name)
        if found is None:
            self._growers[name] = found = make()
        found.grow(self.contents)
        return found  # type: ignore[no-any-return]

    def column(self, name: Hashable, find: Callable[[types.Content], Value]) -> list[Value]:
        """What `find` finds for each content; asked once for each. The list is not the caller's to change."""
        return self.column_of(self.contents, name, find)

    def column_of(self, items: Sequence[Item], name: Hashable, find: Callable[[Item], Value]) -> list[Value]:
        """The same for `items`, which depend on the contents alone, and only become more where those do."""
        values = self._columns.setdefault(name, [])
        if len(values) < len(items):
            values.extend(map(find, items[len(values) :]))
        return values

    def drawer(self, name: Hashable) -> dict[Any, Any]:
        """A place for what is found out about single contents, emptied when the contents are others."""
        return self._drawers.setdefault(name, {})

    def tally(self, name: Hashable, find: Callable[[types.Content], Iterable[tuple[str, int]]]) -> Mapping[str, int]:
        """The sums of what `find` finds for each content, by name; asked once for each content."""
        tally = self._tallies.setdefault(name, _Tally())
        for content in self.contents[tally.count :]:
            for key, amount in find(content):
                tally.sums[key] = tally.sums.get(key, 0) + amount
        tally.count = len(self.contents)
        return tally.sums


@dataclass(slots=True)
class _Tally:
    count: int = 0
    sums: dict[str, int] = field(default_factory=dict)


def known_contents(call: ModelCall, contents: Sequence[types.Content]) -> KnownContents:
    """What is known about `contents`, one of the lists that the passes of `call` come across.

    Args:
        call: the model call; what is found out is kept in its `session_memo`.
        contents: a request's contents.
    """
    met: list[KnownContents] = call.memo.setdefault("contents", [])
    for one in met:
        if one.is_of(contents):
            return one
    # The passes of an agent are the same at each call, and so is the order in which their lists are met.
    known: KnownContents = call.session_memo.setdefault(("contents", call.agent_name, len(met)), KnownContents())
    met.append(known.meet(contents, met[-1] if met else None))
    return known


def _mark(content: types.Content) -> tuple[object, ...]:
    """What a copy of a content shares with it, by which one is told from another."""
    parts = content.parts or ()
    if len(parts) == 1:
        text = parts[0].text
        return (content.role, text) if text is not None else (content.role, *_used(parts[0]))
    return (content.role, *[part.text if part.text is not None else _used(part) for part in parts])


def _used(part: types.Part) -> tuple[object, ...]:
    if (result := part.function_response) is not None:
        return result.name, result.id, result.response
    if (call := part.function_call) is not None:
        return call.name, call.id, call.args
    return part.inline_data, part.file_data, part.executable_code, part.code_execution_result


def _same(marks: list[Any], others: list[Any]) -> bool:
    # Lists are compared by identity first: within a run payloads are only gone through on releases that copy them.
    try:
        return marks == others
    except Exception:
        # A payload nested too deep, or one whose own comparison fails.
        return False
