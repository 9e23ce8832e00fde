"""Proves that a content is what ADK renders for one event: byte for byte, part by part.

Both formats that ADK is known to write are rendered here. Where the installed ADK writes another one, its own renderer
is asked instead. That renders every candidate a second time, but proves just as much.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from google.adk.events.event import Event
from google.genai import types

from adk_context_pack._adk.releases import (
    FENCED_PREAMBLE,
    PLAIN_PREAMBLE,
    PREAMBLES,
    QUOTE_BEGIN,
    QUOTE_ELIDED,
    QUOTE_END,
    relay_renderer,
    render_relay,
)
from adk_context_pack.errors import UnknownRelayFormatWarning

PartKind = Literal["said", "thought", "call", "result", "native"]

_Render = Callable[[str, str], str]
_Mark = tuple[str, float]
"""An event's id and time. Some session services count ids from one in each session."""

_proved: set[tuple[_Mark, int]] = set()
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
    preamble = (content.parts or [])[0].text
    if preamble in PREAMBLES and (tied := _prove_known(content, event)):
        return tied
    unknown = unknown_preamble()
    return _prove_by_adk(content, event) if unknown is not None and preamble == unknown else []


def _prove_known(content: types.Content, event: Event) -> list[RelayedPart]:
    parts = content.parts or []
    render = _render_fenced if parts[0].text == FENCED_PREAMBLE else _render_plain
    sources = iter((event.content.parts if event.content else None) or ())
    head = f"[{event.author}] "
    mark = event.id, event.timestamp
    tied: list[RelayedPart] = []
    for part in parts[1:]:
        for source in sources:
            if kind := _kind(part, source, head, render, mark):
                tied.append(RelayedPart(kind, part, source))
                break
        else:
            return []
    return tied


def _prove_by_adk(content: types.Content, event: Event) -> list[RelayedPart]:
    """Does the same as `prove`, with ADK's own renderer."""
    preamble, *parts = content.parts or []
    sources = iter((event.content.parts if event.content else None) or ())
    tied: list[RelayedPart] = []
    for part in parts:
        for source in sources:
            shown = render_relay(event, source)
            if shown is not None and shown.parts == [preamble, part]:
                tied.append(RelayedPart(_kind_of(source), part, source))
                break
        else:
            return []
    return tied


def _kind_of(source: types.Part) -> PartKind:
    if source.text is not None:
        return "thought" if source.thought else "said"
    if source.function_call is not None:
        return "call"
    return "result" if source.function_response is not None else "native"


def unknown_preamble() -> str | None:
    """Returns the beginning of the installed ADK's relays if their format is not known here, otherwise None."""
    renderer = relay_renderer()
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
        shown = render_relay(event, source)
        if shown is not None and shown.parts and not _is_known(shown, event):
            return shown.parts[0].text
    return None


def _is_known(shown: types.Content, event: Event) -> bool:
    preamble = (shown.parts or [])[0].text
    return preamble in PREAMBLES and len(_prove_known(shown, event)) == 1


def _kind(part: types.Part, source: types.Part, head: str, render: _Render, mark: _Mark) -> PartKind | None:
    text = part.text
    if text is None:
        return "native" if part is source or part == source else None
    if not text.startswith(head):
        return None
    if (said := source.text) is not None:
        verb: PartKind = "thought" if source.thought else "said"
        return verb if text == render(f"{head}{verb}:", said) else None
    if (response := source.function_response) is not None:
        tool = f"{head}`{_name(response.name, render)}` tool returned result:"
        return "result" if _is_log(text, tool, response.response, render, mark) else None
    if (call := source.function_call) is not None:
        tool = f"{head}called tool `{_name(call.name, render)}` with parameters:"
        args = call.args
        if args and render is _render_fenced:
            # The fenced releases sort the arguments of a call, and no more than those.
            args = dict(sorted(args.items()))
        return "call" if _is_log(text, tool, args, render, mark) else None
    return None


def _is_log(text: str, head: str, payload: object, render: _Render, mark: _Mark) -> bool:
    """Tells whether `text` is ADK's rendering of a call's arguments or of a result.

    Rendering a large payload costs as much here as it costs ADK, and an event never changes. A proof is therefore
    remembered by its hash for the life of the process.
    """
    if not text.startswith(head):
        return False
    proof = (mark, hash(text))
    if mark[0] and proof in _proved:
        return True
    if text != render(head, str(payload)):
        return False
    if len(_proved) >= _MAX_PROVED:
        _proved.clear()
    _proved.add(proof)
    return True


def _name(name: str | None, render: _Render) -> str:
    # The plain format has no markers, so a name that contains one is not changed.
    return elide(name) if name and render is _render_fenced else str(name)


def _render_plain(head: str, payload: str) -> str:
    return f"{head} {payload}"


def _render_fenced(head: str, payload: str) -> str:
    return f"{head}\n{QUOTE_BEGIN}\n{elide(payload)}\n{QUOTE_END}"


def said_blocks(author: str, said: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns ADK's two renderings of what an agent said, in the plain format and in the fenced one."""
    forms: tuple[tuple[str, _Render], ...] = ((PLAIN_PREAMBLE, _render_plain), (FENCED_PREAMBLE, _render_fenced))
    return [(preamble, *(render(f"[{author}] said:", text) for text in said)) for preamble, render in forms]


def elide(text: str) -> str:
    """Replaces ADK's quote markers in `text`, as ADK does, so that the text cannot end its own quote."""
    if "<<<" not in text:
        return text
    return text.replace(QUOTE_BEGIN, QUOTE_ELIDED).replace(QUOTE_END, QUOTE_ELIDED)


logger = logging.getLogger("adk_context_pack")
_warned: set[str] = set()
_MAX_WARNED = 100
_SLOW = (
    "the installed google-adk relays other agents in a format that this release of adk_context_pack does not know; "
    "ADK's own renderer is used to recognise them, which takes longer (a newer adk_context_pack may know the format)"
)
_LEFT = (
    "a content that starts with 'For context' is not in a relay format known to this release of adk_context_pack; "
    "it is left as it is (text of another callback, or a relay that another release of google-adk wrote)"
)


def warn_of_unknown_format(preamble: str) -> None:
    """Says once for each process and preamble that contents look like relays in an unknown format.

    Both ways: the log is what production reads, the warning is what a test suite turns into an error.
    """
    key = preamble[:80]
    if key in _warned or len(_warned) >= _MAX_WARNED:
        return
    _warned.add(key)
    message = _SLOW if preamble == unknown_preamble() else _LEFT
    logger.warning(message)
    try:
        warnings.warn(message, UnknownRelayFormatWarning, stacklevel=2)
    except UnknownRelayFormatWarning:
        # A process that turns warnings into errors must not lose a run to one.
        logger.debug("the warning was raised as an error")
