"""Says what a part is, builds contents, reads each event once, and recognises contents of earlier calls by hashes."""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import is_, is_not
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from adk_context_pack._adk import Event, LlmRequest, types
from adk_context_pack._json import json_text, shorten
from adk_context_pack.conversation.model_call import GrowingCache, ModelCall, Take, Value

# Copying a prototype takes a quarter of the time of validating a new one, and there is nothing to check.
_PART = types.Part(text="")
_CONTENT = types.Content(role="user", parts=[])

Texts = tuple[str | None, ...]

REMOVED = "[Removed after its turn: "
"""The beginning of what `DropOldMedia` writes in the place of a part."""


def texts_of(content: types.Content) -> Texts:
    """Returns the text of each part, None for parts of another kind."""
    return tuple([part.text for part in content.parts or ()])


def same_texts(one: types.Content, other: types.Content) -> bool:
    """Tells whether two contents, of which one may be ADK's copy of the other, hold the same texts in order."""
    return one is other or (len(one.parts or ()) == len(other.parts or ()) and texts_of(one) == texts_of(other))


def copies_of(contents: Sequence[types.Content], message: types.Content | None) -> Iterator[int]:
    """Yields the indexes of copies of a user's message, newest first, and then of contents that share its texts alone.

    A relay has the texts of a message that a user forged, and may differ from it in media alone.
    """
    alike = []
    for index in range(len(contents) - 1, -1, -1):
        content = contents[index]
        if message is not None and content.role != "model" and same_texts(content, message):
            if content.parts == message.parts:
                yield index
            else:
                alike.append(index)
    yield from alike


def text_length(content: types.Content) -> int:
    """Returns the characters of all texts in a content."""
    return sum([len(part.text or "") for part in content.parts or ()])


def text_part(text: str) -> types.Part:
    """Returns a part that holds a text alone."""
    return changed(_PART, "text", text)


def user_content(parts: list[types.Part]) -> types.Content:
    """Returns a content of the user role."""
    return changed(_CONTENT, "parts", parts)


Model = TypeVar("Model", bound=BaseModel)
_new, _set = object.__new__, object.__setattr__


def copied(model: Model) -> Model:
    """Returns a shallow copy. `model.model_copy()` takes twice as long (`tests.benchmarks.bench_defaults`)."""
    copy: Model = _new(type(model))
    _set(copy, "__dict__", model.__dict__.copy())
    _set(copy, "__pydantic_fields_set__", model.__pydantic_fields_set__.copy())
    _set(copy, "__pydantic_extra__", model.__pydantic_extra__)
    _set(copy, "__pydantic_private__", model.__pydantic_private__)
    return copy


def changed(model: Model, name: str, value: Any) -> Model:
    """Returns a shallow copy of `model` in which one field has another value. Nothing is validated."""
    copy = copied(model)
    copy.__dict__[name] = value
    copy.__pydantic_fields_set__.add(name)
    return copy


def mapped(content: types.Content, change: Callable[[types.Part], types.Part]) -> types.Content:
    """Returns a content with its parts as `change` makes them, or the same object if it changes none."""
    parts = [change(part) for part in content.parts or ()]
    return changed(content, "parts", parts) if any(map(is_not, parts, content.parts or ())) else content


KEY, MAX_HEAD = "left_out", 100
"""The first key of every note that stands for a result, and the characters of its values but texts."""


def is_note(payload: Any) -> bool:
    """Tells whether a payload is such a note, and not something larger that begins like one."""
    if not isinstance(payload, dict) or next(iter(payload), None) != KEY:
        return False
    texts = sum(len(value) for value in payload.values() if isinstance(value, str))
    others = (value for value in payload.values() if not isinstance(value, str))
    return texts <= 20 * MAX_HEAD and all(len(str(value)) <= MAX_HEAD for value in others)


def media_reference(media: Any, saved: Collection[str], *, can_load: bool) -> str:
    """Returns what stands in the place of media: their type, bytes and name, and how to load them from artifacts."""
    mime_type = str(media.mime_type or "")
    told = [mime_type if re.fullmatch(r"[\w.+-]{1,60}/[\w.+-]{1,60}", mime_type) else "a file"]
    if (data := getattr(media, "data", None)) is not None:
        told.append(f"{len(data):,} bytes")
    # The query of an address may hold a signature.
    address = str(getattr(media, "file_uri", None) or "").partition("?")[0].rstrip("/")
    stored = re.fullmatch(r"artifact://.+/artifacts/(.+)/versions/\d+", address)
    name = getattr(media, "display_name", None) or (stored[1] if stored else address.rpartition("/")[2])
    again = ""
    if name in saved:
        told.append(f"artifact {json_text(name)}")
        again = " load_artifacts shows its newest version." if can_load else ""
    elif name:
        told.append(json_text(shorten(name, 100)))
    return f"{REMOVED}{', '.join(told)}.{again}]"


Kind = Literal["call", "result", "text", "media", "file", "code", ""]


def said_in(part: types.Part) -> tuple[Kind, str | None, str | None, Any]:
    """Returns the kind, the name, the id and the value of a part. Whatever depends on what a part is asks here.

    The name is that of a tool, or the type of media. The value is arguments, a response, a text, bytes, the address of
    a file, or what a provider ran or what that gave. If a part has several of these, the first one counts, since ADK
    runs any call that it finds.
    """
    # Plain tuples, and fields from the dict of the model, since this runs for each part of a session.
    fields = part.__dict__
    if (call := fields["function_call"]) is not None:
        return "call", call.name, call.id, call.args
    if (result := fields["function_response"]) is not None:
        return "result", result.name, result.id, result.response
    if (text := fields["text"]) is not None:
        return "text", None, None, text
    if (blob := fields["inline_data"]) is not None:
        return "media", blob.mime_type, None, blob.data
    if (file := fields["file_data"]) is not None:
        return "file", file.mime_type, None, file.file_uri
    if (code := fields["executable_code"]) is not None:
        return "code", code.language, None, code.code
    if (printed := fields["code_execution_result"]) is not None:
        return "code", printed.outcome, None, printed.output
    # Tools that the provider runs itself. Releases of google-genai before 1.70 have no such parts.
    if (served := fields.get("tool_call") or fields.get("tool_response")) is not None:
        return "code", None, served.id, json_text(getattr(served, "args", None) or getattr(served, "response", None))
    return "", None, None, None


def read_events(
    call: ModelCall, name: Hashable, make: Callable[[], Value], take: Take[Value, Event], *, holds_events: bool = False
) -> Value:
    """Returns the value under `name` after it has taken in the events of the session that are new to it.

        authors = read_events(call, "authors", set, lambda found, new: found.update(event.author for event in new))

    The call's `session_memo` keeps the value, or its `run_memo` if the value holds events, since the next run has other
    objects. See `GrowingCache.grow`.
    """
    # Several passes read the same events before one model call. One look at them is enough.
    slot = "run events" if holds_events else "session events"
    looked: tuple[GrowingCache[Event], int] | None = call.memo.get(slot)
    if looked is None or looked[1] != len(call.events):
        cache = (call.run_memo if holds_events else call.session_memo).setdefault("events", GrowingCache())
        # ADK only appends to a session's events, but a service may load no more than the newest of them. Comparing both
        # ends tells this without going through all of them.
        if cache.keys and cache.keys != _ends(call.events[: cache.keys[0]]):
            cache.values.clear()
        cache.keys = _ends(call.events)
        call.memo[slot] = looked = cache, len(call.events)
    return looked[0].grow(name, make, call.events, take)


def _ends(events: Sequence[Event]) -> Sequence[Any]:
    if not events:
        return ()
    first, last = events[0], events[-1]
    # Some services count ids from one in each session, and a session may be deleted and created again.
    return len(events), first.id or object(), first.timestamp, last.id or object(), last.timestamp


class ContentHashes:
    """Hashes contents by role, texts, payloads, names, ids and media, and by nothing that a provider does not see.

    Python's own hash has a new key in each process, so that nobody can write a content that is taken for another one.

    Writing out a payload takes longer than all the rest. A payload is therefore recognised by its identity, since ADK's
    copies of a content share it with the session's event from 2.4.0 on. The hash of an event's payload is made of the
    event's id and time, which a stored event keeps.
    """

    def __init__(self) -> None:
        # The payloads are held so that no other object gets their identity. They and their hashes are apart: a pair
        # for each would be one more object for Python's garbage collector to visit.
        self._held: list[Any] = []
        self._hashes: dict[int, int] = {}

    def take_events(self, events: Iterable[Event]) -> None:
        """Takes in the payloads of events."""
        held, hashes = self._held, self._hashes
        for event in events:
            # Fields are read from the dict of the model, since this runs for each event of a session.
            fields = event.__dict__
            content, event_id = fields["content"], fields["id"]
            if content is None or not event_id:
                continue
            for number, part in enumerate(content.parts or ()):
                kind, _, _, value = said_in(part)
                if kind in ("call", "result") and value:
                    held.append(value)
                    hashes[id(value)] = hash((event_id, fields["timestamp"], number))

    def of(self, content: types.Content) -> int:
        """Returns the hash of one content."""
        heads: list[object] = [content.role]
        for part in content.parts or ():
            kind, name, call_id, value = said = said_in(part)
            if kind in ("call", "result"):
                known = self._hashes.get(id(value))
                said = kind, name, call_id, payload_hash(value) if known is None else known
            heads.append(said)
        return hash(tuple(heads))


def payload_hash(value: Any) -> int:
    """Returns a hash of call arguments or a tool's response (any JSON-like value), equal for equal values.

    It holds for this process alone.
    """
    try:
        # Version 2 writes equal values alike. Later ones write references.
        return hash(marshal.dumps(value, 2))
    except ValueError:
        # Values that JSON does not have.
        return hash(json_text(value))


@dataclass(slots=True)
class KnownContents:
    """A list of contents, a hash of each, and the values that earlier calls made of those they had as well.

    ADK builds the contents again for each call. The hashes tell whether the list begins as that of the call before did.
    If it does not, all values are forgotten.
    """

    contents: Sequence[types.Content]
    hashes: list[int]
    cache: GrowingCache[Any]


MADE_OF = "made of"
"""The key in a call's memo of contents with shorter results, each with those before it and the pass that made them."""


def shortened(request: LlmRequest, contents: list[types.Content], call: ModelCall, by: Hashable) -> LlmRequest:
    """Returns `request` with contents of which a pass has only made results and arguments shorter.

    How a changed part looks must depend on the part before, on what that was made of, and on `by` alone.
    """
    call.memo.setdefault(MADE_OF, []).append((contents, request.contents, by))
    return request.model_copy(update={"contents": contents})


def whole_of(call: ModelCall, contents: Sequence[types.Content]) -> Sequence[types.Content]:
    """Returns the contents of which passes made `contents` at this call by shortening results, or `contents`."""
    for shorter, whole, _ in reversed(call.memo.get(MADE_OF, ())):
        contents = whole if shorter is contents else contents
    return contents


def known_contents(call: ModelCall, contents: Sequence[types.Content]) -> KnownContents:
    """Returns what is known about `contents`, which are one of the lists that the passes of `call` work on."""
    lists: list[KnownContents] = call.memo.setdefault("contents", [])
    for one in lists:
        # Somebody may have added to the list since.
        if one.contents is contents and len(contents) == len(one.hashes):
            return one
    # The passes of an agent are the same at each call, and so is the order of the lists that they work on.
    slot = ("contents", call.agent_name, len(lists))
    cache = call.session_memo.setdefault(slot, GrowingCache())
    known = read_events(call, "payloads", ContentHashes, ContentHashes.take_events, holds_events=True)
    hashes: list[int] = []
    for shorter, whole, by in call.memo.get(MADE_OF, ()):
        if shorter is contents and len(contents) == len(whole):
            before, maker = known_contents(call, whole).hashes, hash(by)
            hashes = [
                own if one is was else hash((own, maker, *map(is_, one.parts or (), was.parts or ())))
                for one, was, own in zip(contents, whole, before, strict=True)
            ]
    if not hashes:
        # A pass made these of the list before, and left most of them as they were. Somebody may have added to that.
        last = lists[-1] if lists and len(lists[-1].contents) == len(lists[-1].hashes) else None
        hashed = dict(zip(map(id, last.contents), last.hashes, strict=True)) if last else {}
        hashes = [known.of(one) if (own := hashed.get(id(one))) is None else own for one in contents]
    # What was made of other contents.
    if hashes[: len(cache.keys)] != cache.keys:
        cache.values.clear()
    cache.keys = hashes
    lists.append(KnownContents(contents, hashes, cache))
    return lists[-1]
