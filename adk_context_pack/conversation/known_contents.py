"""Recognises the contents of a request that an earlier call of the session had."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from google.genai import types

from adk_context_pack.conversation.content_hashes import ContentHashes
from adk_context_pack.conversation.growing_cache import GrowingCache
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.session_events import reading_events

Value = TypeVar("Value")
_Cache = GrowingCache[Any]
_FEW = 64
"""So many contents are hashed again sooner than looked up among those of a long list."""


class KnownContents:
    """A list of contents, with the values that earlier calls made of those they had as well.

    ADK builds the contents again for each call. Hashes tell whether they begin with those of the call before. Where
    they do not, all values are forgotten.

    Args:
        contents: the contents.
        hashes: a hash of each.
        cache: what earlier calls of the session made of such contents.
        run_cache: the same for values that hold texts or payloads, which must not outlive the run.
        before: the list that a pass of the same call made these of, or None.

    Attributes:
        contents: the contents.
        hashes: a hash of each.
        before: the list before, or None.
    """

    def __init__(
        self,
        contents: Sequence[types.Content],
        hashes: list[int],
        cache: _Cache,
        run_cache: _Cache,
        before: KnownContents | None = None,
    ) -> None:
        self.contents = contents
        self.hashes = hashes
        self.before = before
        self._cache = cache
        self._run_cache = run_cache
        before_run = run_cache.keys
        begins = hashes[: len(cache.keys)] == cache.keys
        if not begins:
            cache.forget()
        # As a rule both were last used for the same call.
        if not (begins if before_run is cache.keys else hashes[: len(before_run)] == before_run):
            run_cache.forget()
        cache.keys = run_cache.keys = hashes

    def is_of(self, contents: Sequence[types.Content]) -> bool:
        """Tells whether `contents` is this list, and nobody has added to it since."""
        return contents is self.contents and len(contents) == len(self.hashes)

    def growing(
        self, name: Hashable, make: Callable[[], Value], *, items: Sequence[Any] | None = None
    ) -> AbstractContextManager[tuple[Value, Sequence[Any]]]:
        """Returns a context with the value under `name`, and the contents that it has yet to take in.

        Args:
            name: the same name always goes with the same `make` and the same body; see `GrowingCache.growing`.
            make: makes the value for an empty list.
            items: what to take in instead of the contents. It depends on the contents alone, and only grows when they
                do.
        """
        return self._cache.growing(name, make, self.contents if items is None else items)

    def texts(self, name: Hashable) -> dict[Any, Any]:
        """Returns a dictionary for texts or payloads made of these contents, empty in each run and for others."""
        with self._run_cache.growing(name, dict[Any, Any], ()) as (found, _):
            return found

    def peek(self, name: Hashable) -> Any:
        """Returns the value under `name` as an earlier call left it, or None."""
        return self._cache.peek(name)

    def keep(self, name: Hashable, value: object) -> None:
        """Keeps a value of this list under `name`."""
        self._cache.keep(name, value)

    def forget(self) -> None:
        """Forgets all values of this list."""
        self._cache.forget()
        self._run_cache.forget()


def known_contents(call: ModelCall, contents: Sequence[types.Content]) -> KnownContents:
    """Returns what is known about `contents`, which are one of the lists that the passes of `call` work on.

    Args:
        call: the model call, whose `session_memo` and `run_memo` keep the values.
        contents: a request's contents.
    """
    lists: list[KnownContents] = call.memo.setdefault("contents", [])
    for one in lists:
        if one.is_of(contents):
            return one
    # The passes of an agent are the same at each call, and so is the order of the lists that they work on.
    slot = ("contents", call.agent_name, len(lists))
    for memo in (call.session_memo, call.run_memo):
        if slot not in memo:
            memo[slot] = GrowingCache()
    before = lists[-1] if lists else None
    hashes = _hashes(call, contents, before)
    lists.append(KnownContents(contents, hashes, call.session_memo[slot], call.run_memo[slot], before))
    return lists[-1]


def _hashes(call: ModelCall, contents: Sequence[types.Content], before: KnownContents | None) -> list[int]:
    with reading_events(call, "payloads", ContentHashes, holds_events=True) as (known, events):
        known.take_events(events)
    if before is None:
        known.next_call()
    if before is None or len(before.contents) != len(before.hashes):
        return known.of(contents)
    # A pass made these of the list before, and left most of them as they were.
    pairs = zip(before.contents, before.hashes, strict=True)
    if len(contents) == len(before.contents):
        return [
            hashed if one is other else known.of_one(one) for one, (other, hashed) in zip(contents, pairs, strict=True)
        ]
    same = _same_at_end(contents, before.contents)
    others = contents[: len(contents) - same]
    end = before.hashes[len(before.hashes) - same :]
    if len(others) <= _FEW:
        # A cut leaves a marker and the newest contents.
        return [*known.of(others), *end]
    hashes = {id(one): hashed for one, hashed in pairs}.get
    return [*(known.of_one(one) if (hashed := hashes(id(one))) is None else hashed for one in others), *end]


def _same_at_end(one: Sequence[types.Content], other: Sequence[types.Content]) -> int:
    """Returns how many contents at the ends of two lists are the same objects."""
    count = 0
    for mine, theirs in zip(reversed(one), reversed(other), strict=False):
        if mine is not theirs:
            break
        count += 1
    return count
