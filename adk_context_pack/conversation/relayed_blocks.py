"""Finds the blocks that ADK relays from other agents, and ties each of them to the session's event.

A block counts as relayed only if the session says so: each of its parts must be, byte for byte, what ADK renders for a
part of one and the same foreign event. Whatever looks like a block and is tied to no event was typed by a user, written
by a callback, or is a compaction summary, and must stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Literal, NamedTuple

from adk_context_pack._adk import Event, releases, types
from adk_context_pack.conversation.contents import Texts, said_in, texts_of
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import UnknownRelayFormatWarning, warn_once

PartKind = Literal["said", "thought", "call", "result", "native"]

_proved: set[tuple[str, float, str | None, int]] = set()
_MAX_PROVED = 50_000


class RelayedPart(NamedTuple):
    """One part of a block, and the part of the event that it shows."""

    kind: PartKind
    part: types.Part
    source: types.Part


def prove(content: types.Content, event: Event) -> list[RelayedPart]:
    """Returns every part after the preamble with the part of `event` that it shows, in order, or nothing.

    Some of the event's parts may be missing, since a pass before this one may have taken them away.
    """
    preamble, *parts = content.parts or []
    if preamble.text in releases.PREAMBLES and (tied := _prove_known(content, event)):
        return tied
    if preamble.text is None or preamble.text != unknown_preamble():
        return []

    def kind(part: types.Part, source: types.Part) -> PartKind | None:
        shown = releases.render_relay(event, source)
        return _kind_of(source) if shown is not None and shown.parts == [preamble, part] else None

    return _tied(parts, event, kind)


def _prove_known(content: types.Content, event: Event) -> list[RelayedPart]:
    first, *parts = content.parts or []
    render = _RENDERERS[first.text or ""]
    return _tied(parts, event, lambda part, source: _kind(part, source, event, render))


def _tied(
    parts: Sequence[types.Part], event: Event, kind: Callable[[types.Part, types.Part], PartKind | None]
) -> list[RelayedPart]:
    sources = iter((event.content.parts if event.content else None) or ())
    tied: list[RelayedPart] = []
    for part in parts:
        for source in sources:
            if found := kind(part, source):
                tied.append(RelayedPart(found, part, source))
                break
        else:
            return []
    return tied


def _kind_of(source: types.Part) -> PartKind:
    kind, *_ = said_in(source)
    if kind == "text":
        return "thought" if source.thought else "said"
    return kind if kind in ("call", "result") else "native"


def unknown_preamble() -> str | None:
    """Returns the beginning of the installed ADK's relays if their format is not known here, otherwise None."""
    renderer = releases.relay_renderer()
    # The renderer is a part of the question, since tests put another one in its place.
    return None if renderer is None else _unknown_preamble(renderer)


@lru_cache(maxsize=8)
def _unknown_preamble(_renderer: object) -> str | None:
    sources = [
        types.Part(text="text"),
        types.Part(function_call=types.FunctionCall(name="tool", args={"b": 1, "a": "text"})),
        types.Part(function_response=types.FunctionResponse(name="tool", response={"result": "text"})),
    ]
    event = Event(author="agent", content=types.Content(role="model", parts=sources))
    for source in sources:
        shown = releases.render_relay(event, source)
        if shown is not None and shown.parts:
            preamble = shown.parts[0].text
            if preamble not in releases.PREAMBLES or len(_prove_known(shown, event)) != 1:
                return preamble
    return None


def _kind(part: types.Part, source: types.Part, event: Event, render: Callable[[str, str], str]) -> PartKind | None:
    text, head = part.text, f"[{event.author}] "
    if text is None:
        return "native" if part is source or part == source else None
    _, name, call_id, value = said_in(source)
    # The plain format has no markers, so a name that contains one is not changed.
    name = elide_quotes(name) if name and render is _render_fenced else str(name)
    if not text.startswith(head) or (kind := _kind_of(source)) == "native":
        return None
    if kind == "call":
        log = f"{head}called tool `{name}` with parameters:"
        if value and render is _render_fenced:
            # The fenced releases sort the arguments of a call, and no more than those.
            value = dict(sorted(value.items()))
    elif kind == "result":
        log = f"{head}`{name}` tool returned result:"
    else:
        return kind if text == render(f"{head}{kind}:", value) else None
    # Rendering a large payload costs as much here as it costs ADK, and an event never changes. A proof is therefore
    # remembered for the life of the process. Some session services count ids from one in each session.
    proof = event.id, event.timestamp, call_id, hash(text)
    if not text.startswith(log) or not (proof in _proved or text == render(log, str(value))):
        return None
    if len(_proved) >= _MAX_PROVED:
        _proved.clear()
    # Without ids a proof could be that of another part.
    if event.id and call_id:
        _proved.add(proof)
    return kind


def _render_fenced(head: str, payload: str) -> str:
    return f"{head}\n{releases.QUOTE_BEGIN}\n{elide_quotes(payload)}\n{releases.QUOTE_END}"


_RENDERERS = {releases.PLAIN_PREAMBLE: "{} {}".format, releases.FENCED_PREAMBLE: _render_fenced}
"""How ADK writes what a part says, by the preamble of the block."""


def elide_quotes(text: str) -> str:
    """Replaces ADK's quote markers in `text`, as ADK does, so that the text cannot end its own quote."""
    return text.replace(releases.QUOTE_BEGIN, releases.QUOTE_ELIDED).replace(releases.QUOTE_END, releases.QUOTE_ELIDED)


_SLOW = (
    "the installed google-adk relays other agents in a format that this release of adk_context_pack does not know; "
    "ADK's own renderer is used to recognise them, which takes longer (a newer adk_context_pack may know the format)"
)
_LEFT = (
    "a content that starts with 'For context' is not in a relay format known to this release of adk_context_pack; "
    "it is left as it is (text of another callback, or a relay that another release of google-adk wrote)"
)


_SUMMARIZER = "model"
"""The author that ADK gives its compaction summaries, which up to 2.6.3 it shows as a block of another agent."""


class RelayedBlock(NamedTuple):
    """One content of a request that ADK made from another agent's event."""

    position: int
    content: types.Content
    event: Event
    parts: list[RelayedPart]


def find_relayed(contents: Sequence[types.Content] | None, call: ModelCall) -> list[RelayedBlock]:
    """Finds the relayed blocks among `contents`, in order."""
    candidates = list(_candidates(contents or ()))
    session = _session_of(call) if candidates else None
    if session is None or not session.foreign:
        return []
    known: list[tuple[int, types.Content]] = []
    doubtful: dict[Texts, list[tuple[int, types.Content]]] = {}
    for index, content, text in candidates:
        if session.typed and (texts := texts_of(content)) in session.typed:
            doubtful.setdefault(texts, []).append((index, content))
        elif session.summaries and texts_of(content) in session.summaries:
            # An agent called `model` said the very same. The two cannot be told apart, and a summary must stay.
            continue
        else:
            if text not in releases.PREAMBLES or text == unknown_preamble():
                warn_once(_SLOW if text == unknown_preamble() else _LEFT, UnknownRelayFormatWarning, about=text[:80])
            known.append((index, content))
    blocks = _tie(known, session.foreign)
    shown = {id(block.event) for block in blocks} if doubtful else set()
    for texts, group in doubtful.items():
        blocks += _tie_doubtful(texts, group, call, shown)
    return sorted(blocks, key=lambda block: block.position) if doubtful else blocks


def relays_key(contents: Sequence[types.Content], call: ModelCall) -> tuple[int, int] | None:
    """Returns where the last relay ends, and a key that the same relays share, or None if there are none.

    The key is 0 if only a search can tell.
    """
    candidates = list(_candidates(contents))
    session = _session_of(call) if candidates else None
    if session is None or not session.foreign:
        return None
    marks = ((event.id, event.timestamp) for event in session.foreign)
    return candidates[-1][0] + 1, 0 if session.typed or session.summaries else hash(tuple(marks))


class _Session(NamedTuple):
    """The facts about relays in a session, found once for all passes of one model call.

    `foreign` are the events of others that ADK relays, since no rewind has annulled them, oldest first. `typed` are the
    texts of users that start as a relay does, and `summaries` those of summaries if an agent has the name of their
    author.
    """

    foreign: list[Event]
    typed: set[Texts]
    summaries: set[Texts]


def _session_of(call: ModelCall) -> _Session:
    found = call.memo.get("relay")
    if not isinstance(found, _Session):
        foreign = [event for event in releases.live_events(call.events) if releases.is_foreign(event, call.agent_name)]
        confusable = any(event.author == _SUMMARIZER for event in foreign)
        summaries = summary_blocks(call.events) if confusable else set()
        typed = {texts_of(content) for _, content, _ in _candidates(releases.typed_in(call.events))}
        found = call.memo["relay"] = _Session(foreign, typed, summaries)
    return found


def summary_blocks(events: Sequence[Event]) -> set[Texts]:
    """Returns the texts of compaction summaries, as ADK shows them as blocks."""
    found: set[Texts] = set()
    for event in events:
        if (compaction := event.actions.compaction) is not None:
            said = [part.text for part in compaction.compacted_content.parts or () if part.text]
            for preamble, render in _RENDERERS.items():
                found.add((preamble, *(render(f"[{_SUMMARIZER}] said:", text) for text in said)))
    return found


def _candidates(contents: Sequence[types.Content]) -> Iterator[tuple[int, types.Content, str]]:
    for index, content in enumerate(contents):
        # A block has a part besides its preamble; a lone text may be a dynamic instruction.
        if content.role == "user" and content.parts and len(content.parts) > 1:
            text = content.parts[0].text
            if text and (text.startswith("For context") or text == unknown_preamble()):
                yield index, content, text


def _tie(candidates: Sequence[tuple[int, types.Content]], foreign: Sequence[Event]) -> list[RelayedBlock]:
    blocks, used, cursor = list[RelayedBlock](), set[int](), len(foreign) - 1
    # From the newest on: where events are left out of a request, these are the oldest.
    for index, content in reversed(candidates):
        # Blocks stand in the order of their events, save where compaction sorted them by time: so the search starts
        # before the last event found, and wraps round once.
        places = chain(range(cursor, -1, -1), range(len(foreign) - 1, cursor, -1))
        tied = ((place, parts) for place in places if place not in used and (parts := prove(content, foreign[place])))
        for position, parts in islice(tied, 1):
            blocks.append(RelayedBlock(index, content, foreign[position], parts))
            used.add(position)
            cursor = position - 1
    return blocks[::-1]


def _tie_doubtful(
    texts: Texts, group: Sequence[tuple[int, types.Content]], call: ModelCall, shown: Collection[int]
) -> Iterator[RelayedBlock]:
    """Finds the blocks among contents that a user typed as well, byte for byte.

    If every event with this text is in the request, the order of the session tells the user's from ADK's. If some are
    missing (compacted, rewound, on another branch), they cannot be told apart, and all of them stay.
    """
    content = group[0][1]
    # Rewound events count, too: what a user's block was taken for may not hang on whether another one was taken back.
    foreign = (event for event in call.events if releases.is_foreign(event, call.agent_name) and id(event) not in shown)
    relays = {id(event): tied for event in foreign if (tied := prove(content, event))}
    typed = {id(each) for each in releases.typed_in(call.events) if texts_of(each) == texts}
    order = [event for event in call.events if id(event) in relays or id(event.content) in typed]
    if len(order) == len(group):
        for (index, content), event in zip(group, order, strict=True):
            if id(event) in relays:
                yield RelayedBlock(index, content, event, relays[id(event)])
