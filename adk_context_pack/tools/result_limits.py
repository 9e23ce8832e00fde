"""Says what may be shown of a tool's result, what has to be kept of it, and what it weighs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from google.genai import types

from adk_context_pack._adk.instruction import agent_of, model_names
from adk_context_pack._adk.known_tools import DECLARED, NO_OPENERS, OPENERS, READ_BACK, Openers, offered_tools
from adk_context_pack._json import json_text
from adk_context_pack.conversation import token_estimate
from adk_context_pack.conversation.model_call import totals_on
from adk_context_pack.conversation.token_estimate import Counter, TokenMeter, estimate_payload, estimate_tokens
from adk_context_pack.errors import logged
from adk_context_pack.reports.call_report import SIZES, SmallerResult
from adk_context_pack.stores.handles import ResultKind, stored_results
from adk_context_pack.tables.columns import without_frames

Encoding = Literal["json", "csv"]
"""The form of the shown rows in a stub: as a list of objects, or as one text with a header."""
LAST_PAGE = 3
"""A last page may have so many times the tokens of another one: asking once more costs more than a longer page."""
_FEW, _SMALLEST = 8, 100
_PLAIN = frozenset({int, float, bool, type(None)})


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultLimits:
    """Holds what the passes of one result allow, and what its agent can open.

    They are settings of `CapRows` and `OffloadPayload`, whose `max_tokens` are `text_tokens` here. Without `max_rows`
    no list is capped, and without `text_tokens` no long text or branch is shortened. A result of up to `read_tokens`
    stays whole, since it will be read or its stub costs more than it saves. `refer_in` says where the agent may write a
    reference to what is kept.
    """

    max_rows: int | None = None
    max_tokens: int | None = None
    stub_rows: int | None = None
    stub_tokens: int | None = None
    facts: bool = True
    encoding: Encoding = "json"
    titles: bool = False
    text_tokens: int | None = None
    preview_tokens: int = 200
    read_tokens: int = 0
    openers: Openers = NO_OPENERS
    refer_in: str = ""
    tool: str = ""
    counter: Counter | None = None

    @property
    def budget(self) -> int | None:
        """The most tokens of a result that is left alone, or None for any number."""
        return max([each for each in (self.max_tokens, self.text_tokens) if each is not None], default=None)

    def admits(self, result: Any) -> bool:
        """Tells at a glance that a result is within any limits: a few short fields, and no list among them."""
        if type(result) is not dict or len(result) > _FEW or (self.budget or _SMALLEST) < _SMALLEST:
            return False
        return all(type(value) in _PLAIN or (type(value) is str and len(value) <= _FEW) for value in result.values())

    def tokens(self, value: Any) -> int:
        """Returns the tokens of a value as JSON with blanks in it, the longest form in which a provider gets it."""
        return estimate_payload(value) if self.counter is None else self.counter(json_text(value, layout="spaced"))

    def text(self, text: str) -> int:
        """Returns the tokens of a text."""
        return (self.counter or estimate_tokens)(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class LastRequest:
    """Describes the last request of an agent, which decides whether shortening the next result pays.

    Holds the tokens of the request, whether the agent could read back, and the smallest window of its models.
    """

    tokens: int = 0
    opens: bool = False
    window: int = token_estimate.DEFAULT_WINDOW

    @classmethod
    def of(cls, context: Any) -> LastRequest:
        """Returns the last request of a running agent, by the totals that recent events carry."""
        name = getattr(agent_of(context), "name", "")
        recent = reversed(getattr(getattr(context, "session", None), "events", ())[-200:])
        found = (totals for event in recent if event.author == name and "tokens_after" in (totals := totals_on(event)))
        totals = next(found, {})
        opens = "pack_tools" in totals or not offered_tools(context).isdisjoint({READ_BACK, *OPENERS})
        window = min(map(token_estimate.window_of, model_names(context, None)))
        return cls(tokens=totals.get("tokens_after", 0), opens=opens, window=window)

    @property
    def room(self) -> int:
        """An eighth of the window, or a third of what the request left of most of it."""
        return max(0, min(self.window // 8, (self.window * 3 // 4 - self.tokens) // 3))

    def unpaid(self, cached_price: float, saved: Iterable[float]) -> int:
        """Returns the tokens up to which a result stays whole, since stubs in its event save no more than `saved`."""
        # For the first one `read_back` is declared, which changes the agent's prefix. The provider then reads a whole
        # request once more, and the session may end with that call.
        return 0 if self.opens or sum(saved) >= (1 - cached_price) * (DECLARED + self.tokens) else self.room


def page_room(context: Any, handle: str, offset: int) -> int:
    """Returns the tokens that a page from `offset` on may have if it goes on where an earlier one ended, else 0."""
    # Who reads on reads all, and each call more sends all pages again.
    wanted = handle.strip().lower()
    pages = (reply.get("next_offset") for read, reply in _replies(context) if read == wanted and "offset" in reply)
    return LastRequest.of(context).room if offset in pages else 0


def readable_whole(context: Any, tool_name: str, last: LastRequest) -> int:
    """Returns the tokens up to which a tool's result stays whole, since to shorten it would cost more."""
    # A session that has read results of the tool to their end will do so again. A text in which it only searches costs
    # what it was searched so far, and a call more. Tables are asked, and their answers are computed.
    session = getattr(context, "session", None)
    kept = stored_results(session.state, tool_name=tool_name) if session else ()
    left, asked = {each.handle: 0.5 for each in kept}, 0
    for handle, reply in _replies(context) if left else ():
        asked += (estimate_payload(reply) + last.tokens // 10) * (handle in left)
        if (total := reply["total_characters"]) and "offset" in reply:
            left[handle] = left.get(handle, 1) - ((reply.get("next_offset") or total) - reply["offset"]) / total
    if left and 2 * sum(left[each.handle] <= 0 for each in kept) >= len(kept):
        return LAST_PAGE * last.room
    # A stub has about 200 tokens.
    return asked and asked // len(kept) + 200


def _replies(context: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields each page of a stored text, and what was found in one, with its handle, oldest first."""
    asked = dict[str | None, str]()
    for event in context.session.events:
        asked |= {call.id: str((call.args or {}).get("handle")) for call in event.get_function_calls()}
        for response in event.get_function_responses():
            reply = response.response or {}
            if response.name in (READ_BACK, OPENERS.payload) and "total_characters" in reply:
                yield asked.get(response.id, "").strip().lower(), reply


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Something that the model does not see whole: "rows" to ask or a "payload" to read. Once kept, it has a handle."""

    value: Any
    kind: ResultKind
    rows_shown: int = 0
    rows_total: int = 0
    handle: str = ""


_SAMPLED_ITEMS = 200


class ResultWeigher:
    """Weighs one tool result on its way through the passes. A failure to count it gives 0 and a line in the log."""

    def __init__(self, counter: Counter | None = None) -> None:
        # An app's own tokenizer may be slow. The tokens of the rest are in proportion.
        self._meter = TokenMeter(
            counter=counter and (lambda text: round(counter(text[:200_000]) * max(len(text) / 200_000, 1)))
        )
        # With the results themselves, so that no other object gets the identity of one.
        self._known: dict[int, tuple[Any, int]] = {}

    def of(self, result: Any) -> int:
        """Returns the tokens of a result as the response that ADK makes of it."""
        if id(result) not in self._known:
            count = 0
            # A result may be an object of any class.
            with logged("the tokens of a result could not be counted", type_only=True):
                count = self._meter.payload(without_frames(as_response(result)))
            self._known[id(result)] = result, count
        return self._known[id(result)][1]

    def text_share(self, result: Any) -> float:
        """Returns the tokens of a result written as Python writes it, as a share of those as JSON."""
        # ADK writes it so for other agents. A sample of the result tells.
        sample = _sample(without_frames(_sample(as_response(result))))
        return self._meter.text(str(sample)) / max(self._meter.payload(sample), 1)


def _sample(value: Any) -> Any:
    if isinstance(value, str):
        return value[:10_000]
    if isinstance(value, Mapping):
        return {key: _sample(item) for key, item in islice(value.items(), _SAMPLED_ITEMS)}
    if isinstance(value, list | tuple):
        return [_sample(item) for item in value[:: -(-len(value) // _SAMPLED_ITEMS) or 1]]
    return value


def as_response(result: Any) -> dict[str, Any]:
    """Returns a tool's result as ADK puts it into a response, without media."""
    whole = result if isinstance(result, dict) else {"result": result}
    return {name: value for name, value in whole.items() if not isinstance(value, types.Part)}


def remember_result(
    session_id: str, tool: str, results: tuple[Any, Any], handles: Iterable[str], weigher: ResultWeigher
) -> None:
    """Remembers in `SIZES` that passes made a result smaller."""
    full, shown = results
    with logged("the saving of a result of %s is not known", tool, type_only=True):
        saved = weigher.of(full) - weigher.of(shown)
        result = SmallerResult(tool=tool, saved=saved, saved_in_text=round(saved * weigher.text_share(full)))
        SIZES.add(session_id, as_response(shown), handles, result)
