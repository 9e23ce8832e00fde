"""States the laws of passes as checks that raise AssertionError, and writes requests out for comparison.

A check gets a function from request and call to request, and a conversation. It builds its own requests, so checks can
run in any order on the same conversation. It uses `built()` for a request and its call, `call()` for a fresh call, and
`moments()` for the conversation as it grew.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import BaseModel

from adk_context_pack._adk.known_tools import active_skills, kind_in
from adk_context_pack._adk.releases import QUOTE_END, live_events
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import TokenMeter, characters
from adk_context_pack.testing.answers import (
    event_words,
    listed_events,
    names_search,
    request_text,
    shown_words,
    told_text,
    with_read_backs,
)


def unpaired(contents: Sequence[types.Content]) -> Iterator[str]:
    """Finds calls without result and results without call, by id or, without one, by name within the group.

    A group is a content with calls and the contents with results right after it. ADK takes its own ids out for Gemini,
    which pairs by position.
    """
    waiting: Counter[str] = Counter()
    nameless: Counter[str] = Counter()
    for content in contents:
        calls = [part.function_call for part in content.parts or () if part.function_call]
        results = [part.function_response for part in content.parts or () if part.function_response]
        if not results:
            yield from (f"call of {name}" for name in nameless.elements())
            nameless = Counter()
        for result in results:
            key, pool = (f"{result.id}", waiting) if result.id else (f"{result.name}", nameless)
            if pool[key]:
                pool[key] -= 1
            else:
                yield f"result of {result.name} {result.id}"
        for call in calls:
            (waiting if call.id else nameless)[f"{call.id or call.name}"] += 1
    yield from (f"call {key}" for key in waiting.elements())
    yield from (f"call of {name}" for name in nameless.elements())


Apply = Callable[[LlmRequest, ModelCall], LlmRequest]
Contents = Sequence[types.Content]
Law = Callable[[Apply, Any], None]
ESTIMATE_ERROR = 0.05
"""By how much tokens may seem to grow where characters do not: an estimate weighs some characters dearer."""


def pure(apply: Apply, conversation: Any) -> None:
    """Neither the request nor the session is written into, and every object of theirs is still the same object."""
    request, call = conversation.built()
    watched = [request.contents, request.config, call.events, call.state, call.user_content]
    before = [picture(value, identity=True) for value in watched]
    contents, config = request.contents, request.config
    apply(request, call)
    demand(request.contents is contents, "the request was given other contents; return a new request")
    demand(request.config is config, "the request was given another config; return a new request")
    after = [picture(value, identity=True) for value in watched]
    demand(after == before, "something that came in was changed; build new objects with model_copy(update=…)")


def idle_is_identity(apply: Apply, conversation: Any) -> None:
    """Requires that a result equal to the input is the very same contents and config."""
    request, call = conversation.built()
    result = apply(request, call)
    if picture(result.contents) == picture(request.contents):
        demand(result.contents is request.contents, "equal contents, but another list; return `request` itself")
    if picture(result.config) == picture(request.config):
        demand(result.config is request.config, "an equal config, but another object; return `request` itself")


def settled(apply: Apply, conversation: Any) -> None:
    """Requires that a second time changes nothing, within the same call or in a fresh one."""
    request, call = conversation.built()
    once = apply(request, call)
    for again in (call, conversation.call()):
        twice = apply(once, again)
        demand(picture(twice.contents) == picture(once.contents), "the second time changed contents")
        demand(picture(twice.config) == picture(once.config), "the second time changed the config")


def never_grows(apply: Apply, conversation: Any) -> None:
    """Requires that characters and tokens do not increase, except by a user message that would be missing."""
    request, call = conversation.built()
    result = apply(request, call)
    if result.contents is request.contents:
        return
    typed = [event.content for event in call.events if event.author == "user" and event.content]
    messages = [*typed, call.user_content] if call.user_content else typed
    added = [message for message in messages if _was_put_in(message, request, result)][:1]
    demand(characters(result.contents) <= characters([*request.contents, *added]), "there are more characters")
    meter = TokenMeter()
    allowed = meter.request(request) + meter.contents(added)
    demand(meter.request(result) <= allowed * (1 + ESTIMATE_ERROR), "there are more tokens")


def paired(apply: Apply, conversation: Any) -> None:
    """No call lost its result and no result its call."""
    request, call = conversation.built()
    result = apply(request, call)
    alone = Counter(unpaired(result.contents)) - Counter(unpaired(request.contents))
    demand(not alone, f"left alone: {', '.join(alone)}")


def heard(apply: Apply, conversation: Any) -> None:
    """Requires the user's current message, unchanged, in a request that is not empty and ends in no new model turn."""
    request, call = conversation.built()
    result = apply(request, call)
    if not request.contents:
        return
    demand(bool(result.contents), "the request is empty")
    message = picture(call.user_content)
    if any(picture(content) == message for content in request.contents):
        demand(any(picture(content) == message for content in result.contents), "the user's message is gone")
    if request.contents[-1].role != "model":
        demand(result.contents[-1].role != "model", "the request now ends in a model turn")


def steady(apply: Apply, conversation: Any) -> None:
    """Requires that what was already sent stays a prefix as the session grows, if it does in ADK's own contents.

    The last content may continue if it is an account within a fence, as `must_go_on` describes.
    """
    earlier: tuple[list[Picture], LlmRequest] | None = None
    for now in conversation.moments():
        request, call = now.built()
        pictures = [picture(content) for content in request.contents]
        result = apply(request, call)
        if earlier and earlier[0] and pictures[: len(earlier[0])] == earlier[0]:
            must_go_on(earlier[1].contents, result.contents)
        earlier = (pictures, result)


def must_go_on(old: Contents, new: Contents) -> None:
    """Requires that `old` is a prefix of `new`, with two exceptions.

    Its last content may be an account that continues in `new`. Blocks that wait for a result, and were too small to be
    retold alone, may become an account.
    """
    for index, content in enumerate(old):
        demand(index < len(new), f"content {index} of the {len(old)} that were sent is gone")
        if picture(content) != picture(new[index]):
            if blocks_wait(old[index:]) and lines_of_account(new[index]) is not None:
                return
            demand(index == len(old) - 1, f"content {index} of the {len(old)} that were sent changed")
            goes_on = account_goes_on(content, new[index])
            demand(goes_on, "the last content that was sent changed other than by going on")


def reachable(apply: Apply, conversation: Any) -> None:
    """Requires that each word and value of the session that leaves a request can be read back by a tool that it names.

    The tool must be offered, as the plugin does it for a pass whose `leaves_history` says that it is needed.
    """
    request, call = conversation.built()
    shown = told_text(request)
    result = with_read_backs(apply, request, call)
    text = request_text(result)
    events = live_events(call.events)
    lost = {word for event in events for word in shown_words(event, request, shown) if word not in text}
    if not lost or call.context is None:
        return
    demand(names_search(result, text), f"no tool to read back is named and offered for {sorted(lost)[:9]}")
    listed = set(listed_events(call))
    lost -= {word for event in events if event.id in listed for word in event_words(event)}
    demand(not lost, f"read_back does not find {sorted(lost)[:9]}")


def active_stays(apply: Apply, conversation: Any) -> None:
    """Requires that the instructions of each skill that ADK counts as active for the agent stay whole."""
    request, call = conversation.built()
    active = active_skills(call.state, call.agent_name)

    def instructions(shown: LlmRequest) -> set[Picture]:
        parts = [part.function_response for content in shown.contents or () for part in content.parts or ()]
        loaded = [part for part in parts if part and kind_in(shown.tools_dict, part.name) == "instructions"]
        bodies = [part.response for part in loaded if isinstance(part.response, dict)]
        return {picture(body) for body in bodies if body.get("skill_name") in active}

    gone = instructions(request) - instructions(apply(request, call))
    demand(not gone, f"{len(gone)} instructions of active skills are no longer whole")


LAWS: Mapping[str, Law] = {
    law.__name__: law
    for law in (pure, idle_is_identity, settled, never_grows, paired, heard, steady, reachable, active_stays)
}
"""The laws by name."""


def demand(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raises an `AssertionError` that says `otherwise`, unless a law holds."""
    # An assert would be gone under `python -O`.
    if not holds:
        raise AssertionError(otherwise)


def _was_put_in(message: types.Content, request: LlmRequest, result: LlmRequest) -> bool:
    texts, shown = [part.text for part in message.parts or ()], picture(message.parts)

    def times(contents: Contents) -> int:
        # The model may say what the user said, and messages with the same words may bring other media.
        of_users = [content.parts or [] for content in contents if content.role == "user"]
        return sum([part.text for part in parts] == texts and picture(parts) == shown for parts in of_users)

    return times(result.contents) > times(request.contents)


Picture = tuple[Any, ...]


def picture(value: Any, *, identity: bool = False) -> Picture:
    """Returns `value` as nested tuples that are equal only if the values are the same, types, order and nan included.

    Args:
        value: any value. Pydantic models, mappings, lists, tuples and sets are looked into. Others are taken by `repr`.
        identity: compares mutable objects by identity, so that a swapped copy is noticed.
    """
    inner: Picture
    if isinstance(value, str | bytes | bool | int | None.__class__):
        return (type(value).__name__, value)
    if isinstance(value, BaseModel):
        inner = tuple((name, picture(field, identity=identity)) for name, field in value.__dict__.items())
    elif isinstance(value, Mapping):
        inner = tuple((picture(key), picture(item, identity=identity)) for key, item in value.items())
    elif isinstance(value, list | tuple):
        inner = tuple(picture(item, identity=identity) for item in value)
    elif isinstance(value, set | frozenset):
        inner = tuple(sorted(map(repr, value)))
    else:
        inner = (repr(value),)
    return (type(value).__name__, id(value) if identity else 0, inner)


PENDING = " -> no result yet"
"""The end of a line whose call waits for its result, which takes its place."""


def account_goes_on(old: types.Content, new: types.Content) -> bool:
    """Tells whether `new` is the account `old` with more lines at its end, or with results that calls waited for."""
    said, says = lines_of_account(old), lines_of_account(new)
    if said is None or says is None or len(says) < len(said):
        return False
    return all(
        now == then or (then.endswith(PENDING) and now.startswith(then.removesuffix(PENDING)))
        for then, now in zip(said, says, strict=False)
    )


def lines_of_account(content: types.Content) -> list[str] | None:
    """Returns the actions of a fenced account, one string each with its lines, or None for any other content."""
    parts = content.parts or []
    if not parts or not (parts[-1].text or "").endswith(QUOTE_END):
        return None
    text = "\n".join(part.text if part.text is not None else f"[part] {picture(part)}" for part in parts)
    return re.split(r"\n(?=\[)", text.removesuffix(QUOTE_END).rstrip("\n"))


def blocks_wait(contents: Sequence[types.Content]) -> bool:
    """Tells whether `contents` are relayed blocks, the first with a call whose result is in none of them."""
    texts = ["\n".join(part.text or "" for part in content.parts or ()) for content in contents]
    called = re.findall(r"\] called tool `(.*?)` with parameters:", texts[0], re.DOTALL)
    returned = re.findall(r"\] `(.*?)` tool returned result:", "\n".join(texts), re.DOTALL)
    are_said = all(content.role == "user" for content in contents)
    are_blocks = are_said and all(text.startswith("For context:") for text in texts)
    return are_blocks and bool(Counter(called) - Counter(returned))
