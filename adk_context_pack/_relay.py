"""Reading ADK's relayed blocks: which contents of a request are other agents' events, and which event each one is.

A block counts as relayed only if the session says so: each of its parts must be, byte for byte, what ADK renders for a
part of one and the same foreign event. Whatever looks like a block and is tied to no event was typed by a user, written
by a callback, or is a compaction summary, and is nobody's to remove.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk import FENCED_PREAMBLE, PLAIN_PREAMBLE, QUOTE_BEGIN, QUOTE_ELIDED, QUOTE_END, is_foreign
from adk_context_pack._relay_format import warn_of_unknown_format
from adk_context_pack._texts import Texts, texts_of

PartKind = Literal["said", "thought", "call", "result", "native"]

_FENCED_BY_PREAMBLE = {PLAIN_PREAMBLE: False, FENCED_PREAMBLE: True}
_TAIL = f"\n{QUOTE_END}"


class RelayedPart(NamedTuple):
    """One part of a block, and the part of the event that it shows."""

    kind: PartKind
    part: types.Part
    source: types.Part


@dataclass(frozen=True, slots=True)
class RelayedBlock:
    """One content of a request that ADK made from another agent's event.

    Attributes:
        index: its place in the request's contents.
        content: the content; part 0 is ADK's preamble.
        event: the session's event behind it.
        parts: every later part, in order.
    """

    index: int
    content: types.Content
    event: Event
    parts: tuple[RelayedPart, ...]


def find_relayed(
    contents: Sequence[types.Content] | None, events: Sequence[Event], agent_name: str
) -> list[RelayedBlock]:
    """The relayed blocks among `contents`, in order.

    Args:
        contents: a request's contents as ADK built them, or as other passes left them.
        events: the session's events, oldest first.
        agent_name: the agent whose request it is; its own events are no relays.
    """
    candidates = list(_candidates(contents or ()))
    if not candidates:
        return []
    foreign = [event for event in events if is_foreign(event, agent_name)]
    if not foreign:
        return []
    typed = _typed_blocks(events)
    known: list[tuple[int, types.Content]] = []
    doubtful: dict[Texts, list[tuple[int, types.Content]]] = {}
    for index, content, text in candidates:
        if typed and (texts := texts_of(content)) in typed:
            doubtful.setdefault(texts, []).append((index, content))
        elif text in _FENCED_BY_PREAMBLE:
            known.append((index, content))
        else:
            warn_of_unknown_format(text)
    blocks = _tie(known, foreign)
    for texts, group in doubtful.items():
        blocks += _tie_doubtful(texts, group, events, foreign)
    return sorted(blocks, key=lambda block: block.index) if doubtful else blocks


def elide(text: str) -> str:
    """`text` with ADK's quote markers replaced, as ADK does it, so that it cannot end the quote it stands in."""
    if "<<<" not in text:
        return text
    return text.replace(QUOTE_BEGIN, QUOTE_ELIDED).replace(QUOTE_END, QUOTE_ELIDED)


def _candidates(contents: Sequence[types.Content]) -> Iterator[tuple[int, types.Content, str]]:
    for index, content in enumerate(contents):
        if content.role == "user" and content.parts:
            text = content.parts[0].text
            if text and text.startswith("For context"):
                yield index, content, text


def _tie(candidates: Sequence[tuple[int, types.Content]], foreign: Sequence[Event]) -> list[RelayedBlock]:
    blocks = []
    cursor = 0
    used: set[int] = set()
    for index, content in candidates:
        # Blocks stand in the order of their events, save where compaction sorted them by time: so the search starts
        # behind the last event found, and wraps round once.
        for position in _from(cursor, len(foreign)):
            if position not in used and (tied := _match(content, foreign[position])):
                blocks.append(RelayedBlock(index, content, foreign[position], tied))
                used.add(position)
                cursor = position + 1
                break
    return blocks


def _tie_doubtful(
    texts: Texts, group: Sequence[tuple[int, types.Content]], events: Sequence[Event], foreign: Sequence[Event]
) -> Iterator[RelayedBlock]:
    """The blocks among contents that a user typed as well, byte for byte.

    Where every event that reads like this is in the request, the order of the session tells the user's from ADK's.
    Where some are missing (compacted, rewound, on another branch), nothing tells them apart, so all of them stay.
    """
    content = group[0][1]
    relays = {id(event): tied for event in foreign if (tied := _match(content, event))}
    order = [event for event in events if id(event) in relays or _is_typed(event, texts)]
    if len(order) == len(group):
        for (index, content), event in zip(group, order, strict=True):
            if id(event) in relays:
                yield RelayedBlock(index, content, event, relays[id(event)])


def _from(start: int, length: int) -> Iterator[int]:
    yield from range(start, length)
    yield from range(min(start, length))


def _match(content: types.Content, event: Event) -> tuple[RelayedPart, ...]:
    """Every part after the preamble as a part of `event`, in order, or nothing.

    Some of the event's parts may be missing, since a pass before this one may have taken them away.
    """
    parts = content.parts or []
    fenced = _FENCED_BY_PREAMBLE.get(parts[0].text or "", False)
    sources = iter((event.content.parts if event.content else None) or ())
    tied = []
    for part in parts[1:]:
        for source in sources:
            if kind := _kind(part, source, event.author, fenced=fenced):
                tied.append(RelayedPart(kind, part, source))
                break
        else:
            return ()
    return tuple(tied)


def _kind(part: types.Part, source: types.Part, author: str, *, fenced: bool) -> PartKind | None:
    text = part.text
    if text is None:
        return "native" if part is source or part == source else None
    if source.text is not None:
        verb: PartKind = "thought" if source.thought else "said"
        return verb if _is_rendered(text, f"[{author}] {verb}:", source.text, fenced=fenced) else None
    if (call := source.function_call) is not None:
        head = f"[{author}] called tool `{_name(call.name, fenced=fenced)}` with parameters:"
        return "call" if text.startswith(head) and _is_call(text, head, call.args, fenced=fenced) else None
    if (response := source.function_response) is not None:
        head = f"[{author}] `{_name(response.name, fenced=fenced)}` tool returned result:"
        rendered = text.startswith(head) and _is_rendered(text, head, str(response.response), fenced=fenced)
        return "result" if rendered else None
    return None


def _name(name: str | None, *, fenced: bool) -> str:
    return elide(str(name)) if fenced else str(name)


def _is_call(text: str, head: str, args: object, *, fenced: bool) -> bool:
    # The fenced releases sort the arguments; a release that sorts in the plain format would be met as well.
    if isinstance(args, dict) and len(args) > 1:
        try:
            ordered = dict(sorted(args.items()))
        except TypeError:
            ordered = args
        if _is_rendered(text, head, str(ordered), fenced=fenced):
            return True
    return _is_rendered(text, head, str(args), fenced=fenced)


def _is_rendered(text: str, head: str, payload: str, *, fenced: bool) -> bool:
    if not fenced:
        return text == f"{head} {payload}"
    return text.startswith(head) and text == f"{head}\n{QUOTE_BEGIN}\n{elide(payload)}{_TAIL}"


def _is_typed(event: Event, texts: Texts) -> bool:
    return event.author == "user" and event.content is not None and texts_of(event.content) == texts


def _typed_blocks(events: Sequence[Event]) -> set[Texts]:
    """What users typed that starts as a relay does."""
    return {
        texts_of(event.content)
        for event in events
        if event.author == "user"
        and event.content
        and event.content.parts
        and (event.content.parts[0].text or "").startswith("For context")
    }
