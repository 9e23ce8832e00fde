"""States the laws of passes, result passes, references and stores as checks that raise AssertionError.

A law of passes gets a function from request and call to request, and a conversation. It builds its own requests, so
laws can run in any order on the same conversation. It uses `built()` for a request and its call, `call()` for a fresh
call, and `moments()` for the conversation as it grew.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from pydantic import BaseModel

from adk_context_pack._adk import Event, LlmRequest, Session, known_tools, releases, types
from adk_context_pack._json import json_text
from adk_context_pack.conversation.contents import same_texts, texts_of
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import TokenMeter, characters, estimate_payload
from adk_context_pack.errors import Callback, StoreError, instances, must, names
from adk_context_pack.passes.cast_narrative import PENDING
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.reports import call_report, token_use
from adk_context_pack.stores.payload_store import ResultStore, StoreScope, load_payload
from adk_context_pack.tables import failure, stub_form
from adk_context_pack.testing.answers import listed_events, names_search, request_text, said_values, says
from adk_context_pack.testing.conversation import Conversation, OneRequest, generate
from adk_context_pack.testing.scripted_model import RecordedRequest
from adk_context_pack.tools import read_back, resolve_results
from adk_context_pack.tools.result_pass import MIN_LOSS, ResultPass, ToolCall, reduce_result


def unpaired(contents: Sequence[types.Content]) -> Iterator[str]:
    """Finds calls without result and results without call, by id or, without one, by name within the group."""
    # A group is a content with calls and those with results right after it. Gemini pairs by position, without ids.
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


def pure(apply: Apply, conversation: Any) -> None:
    """Requires that nothing in the request or the session changes, and that each of their objects stays the same."""
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
    # An estimate weighs some characters dearer.
    demand(meter.request(result) <= allowed * 1.05, "there are more tokens")


def paired(apply: Apply, conversation: Any) -> None:
    """Requires that no call loses its result, and no result its call."""
    request, call = conversation.built()
    alone = Counter(unpaired(apply(request, call).contents)) - Counter(unpaired(request.contents))
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
    """Requires that what was sent stays a prefix, as `must_go_on` says, while it is one in ADK's own contents."""
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

    Its last content may be an account that continues in `new`. Blocks that wait for a result may become an account.
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
    shown = request_text(request, without=releases.PREAMBLES)
    leaves = getattr(getattr(apply, "__self__", apply), "leaves_history", None)
    read_back.offer_read_back(request, call.state, history=bool(leaves and leaves(request, call)))
    result = apply(request, call)
    text = request_text(result)
    events = releases.live_events(call.events)
    lost = {word for event in events for word in shown_words(event, request, shown) if word not in text}
    if not lost or call.context is None:
        return
    demand(names_search(result, text), f"no tool to read back is named and offered for {sorted(lost)[:9]}")
    listed = set(listed_events(call))
    found = {value for event in events if event.id in listed for value in said_values(event)}
    lost -= set(re.findall(r"\w{3,}", "\n".join(found)))
    demand(not lost, f"read_back does not find {sorted(lost)[:9]}")


def shown_words(event: Event, request: LlmRequest, shown: str) -> set[str]:
    """Returns the words of three and more characters in values of an event that a request shows whole."""
    # Keys are left out, since an account that gives a value in a sentence needs none. What a user typed counts only
    # where the request has it as it was typed, since it may read like what ADK says around the words of other agents.
    if event.author == "user" and event.content and not event.get_function_responses():
        said = texts_of(event.content)
        if not any(texts_of(content) == said for content in request.contents or ()):
            return set()
    return {word for value in said_values(event) if says(shown, value) for word in re.findall(r"\w{3,}", value)}


def active_stays(apply: Apply, conversation: Any) -> None:
    """Requires that the instructions of each skill that ADK counts as active for the agent stay whole."""
    request, call = conversation.built()
    active = known_tools.active_skills(call.state, call.agent_name)

    def instructions(shown: LlmRequest) -> set[Picture]:
        parts = [part.function_response for content in shown.contents or () for part in content.parts or ()]
        loaded = [part for part in parts if part and known_tools.kind_in(shown.tools_dict, part.name) == "instructions"]
        bodies = [part.response for part in loaded if isinstance(part.response, dict)]
        return {picture(body) for body in bodies if body.get("skill_name") in active}

    gone = instructions(request) - instructions(apply(request, call))
    demand(not gone, f"{len(gone)} instructions of active skills were cut")


LAWS: Mapping[str, Callable[[Apply, Any], None]] = {
    law.__name__: law
    for law in (pure, idle_is_identity, settled, never_grows, paired, heard, steady, reachable, active_stays)
}


def demand(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raises an `AssertionError` that says `otherwise`, unless a law holds."""
    # An assert would be gone under `python -O`.
    if not holds:
        raise AssertionError(otherwise)


def _was_put_in(message: types.Content, request: LlmRequest, result: LlmRequest) -> bool:
    def times(contents: Contents) -> int:
        # The model may say what the user said, and messages with the same words may bring other media.
        told = (each.parts for each in contents if each.role == "user" and same_texts(each, message))
        return sum(picture(parts) == picture(message.parts) for parts in told)

    return times(result.contents) > times(request.contents)


Picture = tuple[Any, ...]


def picture(value: Any, *, identity: bool = False) -> Picture:
    """Returns `value` as nested tuples that are equal only if the values are the same, types, order and nan included.

    With `identity`, mutable objects are compared by identity as well, so that a swapped copy is noticed.
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


def account_goes_on(old: types.Content, new: types.Content) -> bool:
    """Tells whether `new` is the account `old` with more lines at its end, or with results that calls waited for."""
    said, says = lines_of_account(old), lines_of_account(new)
    if said is None or says is None or len(says) < len(said):
        return False
    changed = [(then, now) for then, now in zip(said, says, strict=False) if now != then]
    return all(then.endswith(PENDING) and now.startswith(then.removesuffix(PENDING)) for then, now in changed)


def lines_of_account(content: types.Content) -> list[str] | None:
    """Returns the actions of a fenced account, one string each with its lines, or None for any other content."""
    parts = content.parts or []
    if not parts or not (parts[-1].text or "").endswith(releases.QUOTE_END):
        return None
    text = "\n".join(part.text if part.text is not None else f"[part] {picture(part)}" for part in parts)
    return re.split(r"\n(?=\[)", text.removesuffix(releases.QUOTE_END).rstrip("\n"))


def blocks_wait(contents: Sequence[types.Content]) -> bool:
    """Tells whether `contents` are relayed blocks, the first with a call whose result is in none of them."""
    texts = ["\n".join(part.text or "" for part in content.parts or ()) for content in contents]
    called = re.findall(r"\] called tool `(.*?)` with parameters:", texts[0], re.DOTALL)
    # Within a part an agent may have said anything.
    heads = "\0".join(["", *(part.text or "" for content in contents for part in content.parts or ())])
    returned = re.findall(r"\0\[[^\]\0]*\] `([^\0]*?)` tool returned result:", heads)
    are_blocks = (c.role == "user" and text.startswith("For context:") for c, text in zip(contents, texts, strict=True))
    return all(are_blocks) and bool(Counter(called) - Counter(returned))


def check_pass(  # noqa: PLR0913 - what to try it on, each with a default
    pass_: ContextPass | Callable[[LlmRequest, ModelCall], LlmRequest],
    *,
    conversations: Iterable[Conversation] | None = None,
    requests: Iterable[tuple[LlmRequest, ModelCall]] | None = None,
    examples: int = 100,
    seed: int = 0,
    state: dict[str, Any] | None = None,
    except_for: Collection[str] = (),
) -> None:
    """Tries the laws of `LAWS` on a pass, and returns if all of them hold.

    Args:
        pass_: a pass, or a function from request and call to request.
        conversations: your own sessions, tried beside the generated ones.
        requests: your own requests with their calls, if you have no session to build them from. The law "steady"
            needs a session that grows, so it is not tried on these.
        examples: the number of generated conversations. 0 tries your own only.
        seed: the seed of the generated conversations. The same seed gives the same conversations.
        state: the state of the generated sessions, for a pass that reads it.
        except_for: laws that the pass may break: "steady" for a pass that cuts history at stated points, "never_grows"
            for one that fills something in.

    Raises:
        AssertionError: a law is broken, or the pass raises. The message names the law and shows what it found.
        SettingError: `except_for` names no law, or `pass_` cannot be called.
    """
    apply = pass_.apply if isinstance(pass_, ContextPass) else pass_
    is_right = callable(apply) and not isinstance(apply, type | Callback)
    must(is_right, "check_pass", "pass_", pass_, "a pass over requests such as StripForContext()")
    spared = names("check_pass", "except_for", except_for, LAWS)
    label = pass_.name if isinstance(pass_, ContextPass) else getattr(pass_, "__name__", type(pass_).__name__)
    for conversation in (*(conversations or ()), *generate(examples, seed=seed, state=state)):
        _check_one(label, apply, conversation, spared)
    for request, call in requests or ():
        _check_one(label, apply, OneRequest(request, call), spared | {"steady"})


def _check_one(label: str, apply: Any, tried: Any, spared: Collection[str]) -> None:
    for name, law in [each for each in LAWS.items() if each[0] not in spared]:
        try:
            law(apply, tried)
        except Exception as error:
            said = f'raises {type(error).__name__}, seen under the law "{name}"'
            if isinstance(error, AssertionError):
                said = f'breaks the law "{name}" ({(law.__doc__ or "").splitlines()[0]})'
            raise AssertionError(f"{label} {said}: {error}\n{tried!r}") from error


_ROWS = [{"id": number, "name": f"row {number}", "cost": number / 7} for number in range(400)]
_LOG = "".join(f"line {number} of a log\n" for number in range(3000))
SAMPLE_RESULTS: tuple[Any, ...] = (
    *({}, [], "", "short", 7, True, {"result": None}, {"status": "ok"}),
    *({"rows": _ROWS[:3]}, {"rows": _ROWS}, _ROWS, {"data": {"rows": _ROWS}, "next": None}),
    *(_LOG, {"log": _LOG}, {"log": _LOG, "rows": _ROWS, "status": "ok"}, {"deep": {"er": [{"text": _LOG}]}}),
    *({"error": "quota exceeded"}, {"error": _LOG}, {"status": "error", "message": "too many rows", "rows": _ROWS}),
    {"isError": True, "content": [{"type": "text", "text": _LOG}]},
    {"isError": False, "content": [{"type": "text", "text": json.dumps(_ROWS)}]},
)
"""The results on which passes are always tried."""


def check_result_pass(
    *passes: ResultPass, results: Iterable[Any] = (), count: int = 40, seed: int = 0, tool_name: str = "fetch"
) -> None:
    """Tries the laws of result passes that run together, and returns if all of them hold.

    Pure: the result that comes in does not change. Idle is identity: an equal result is the same object. Settled: what
    was not stored in part passes as it is. Never grows: there are at most as many tokens. Failures: a failed result
    keeps its status and message, and still reads as a failure. Reachable: whatever is not shown is behind a handle that
    the result names. True: no table or text is shown as an empty one. Named: only tools that the agent has are named.
    Floor: a store that fails costs the rest of the result, and does not bring it back into the prompt.

    Call it where no event loop runs.

    Args:
        passes: the passes, in the order in which they run.
        results: results of your own to try them on, beside `SAMPLE_RESULTS` and those of `mixed_results`.
        count: how many of the latter.
        seed: the seed of these.
        tool_name: the tool that is said to have returned them.

    Raises:
        AssertionError: a law is broken, or a pass raises. The message names the law and shows the result.
        SettingError: `passes` is empty, or an entry is not a pass over results.
    """
    found = instances("check_result_pass", "passes", passes, ResultPass, "CapRows()")
    must(found, "check_result_pass", "passes", passes, "given")
    for number, result in enumerate([*SAMPLE_RESULTS, *mixed_results(count, seed=seed), *results]):
        # Half of the agents have no tool to read back with.
        offered = frozenset({known_tools.READ_BACK}) if number % 2 else frozenset()
        asyncio.run(_check(passes, copy.deepcopy(result), tool_name, offered))


async def _check(passes: tuple[ResultPass, ...], result: Any, tool_name: str, offered: frozenset[str]) -> None:
    before, call = picture(result), _call(tool_name, offered)
    shown = await _reduced(passes, result, call)
    _must(picture(result) == before, "pure", "the result that came in was changed", result)
    if picture(shown) == before:
        _must(shown is result, "idle is identity", "an equal result, but another object", result)
        return
    if not call.kept:
        again = await _reduced(passes, shown, _call(tool_name, offered))
        _must(picture(again) == picture(shown), "settled", "the second time changed the result", result)
    _must(estimate_payload(shown) <= estimate_payload(result), "never grows", "there are more tokens", result)
    if (error := failure.error_of(result)) is not None:
        _must(failure.error_of(shown) is not None, "failures", "the failure reads as a success", result)
        kept = ("status", "message") if isinstance(result, dict) and isinstance(shown, dict) else ()
        same = all(shown.get(key) == result[key] for key in kept if key in result and len(error) < len(_LOG))
        _must(same, "failures", "status or message is gone", result)
    text = json_text(shown)
    relayed = json_text(stub_form.told_to("", "", shown))
    for name in (known_tools.READ_BACK, *known_tools.OPENERS):
        has_it = name in offered or name in json_text(result)
        _must(has_it or name not in text, "named", f"{name} is named, which the agent does not have", result)
        _must(name in json_text(result) or name not in relayed, "named", f"{name} is named to another agent", result)
    _must(not any(_emptied(result, shown)), "true", "something is shown as empty that is not", result)
    opened = [shown]
    for entry in call.kept:
        _must(entry.handle in text, "reachable", "something is kept under a handle that is not shown", result)
        opened.append(await load_payload(call.context, entry.handle))
    lost = estimate_payload(result) - estimate_payload(shown)
    if (call.kept or lost >= MIN_LOSS) and any(entry.is_reducing for entry in passes):
        there = {str(leaf) for leaf in scalars(result) if leaf not in (None, "")}
        missing = there - {str(leaf) for value in opened for leaf in scalars(value)}
        _must(not missing, "reachable", f"neither shown nor kept: {sorted(missing)[:3]}", result)
    if call.kept:
        poor = await reduce_result(passes, result, _call(tool_name, offered, _Broken))
        is_small = 2 * estimate_payload(poor) <= 3 * estimate_payload(shown) + 400
        _must(is_small, "floor", "a store that fails brings the whole into the prompt", result)


async def _reduced(passes: tuple[ResultPass, ...], result: Any, call: ToolCall) -> Any:
    try:
        return await reduce_result([replace(entry, on_error="raise") for entry in passes], result, call)
    except Exception as error:
        raise AssertionError(f"a pass raises {type(error).__name__}: {error}\n{json_text(result)[:500]}") from error


def _emptied(whole: Any, shown: Any) -> Iterator[bool]:
    """Yields whether something in `whole` is shown as empty and is not."""
    if isinstance(whole, Mapping) and isinstance(shown, Mapping):
        for key, item in whole.items():
            if key in shown:
                yield from _emptied(item, shown[key])
    elif isinstance(whole, Mapping | list | tuple | str):
        yield bool(whole) and isinstance(shown, Mapping | list | tuple | str) and not shown


def _call(tool_name: str, offered: frozenset[str], kind: type[ToolCall] = ToolCall) -> ToolCall:
    delta: dict[str, Any] = {}
    session = SimpleNamespace(id="session", app_name="app", user_id="user", state=delta, events=[])
    # Half of the apps have an artifact service.
    artifacts = InMemoryArtifactService() if offered else None
    context = SimpleNamespace(session=session, artifact_service=artifacts, session_service=None, state=session.state)
    return kind(tool_name=tool_name, session_id="session", state_delta=delta, context=context, offered=offered)


class _Broken(ToolCall):
    """A call whose results cannot be kept."""

    async def keep(self, *_: Any, **__: Any) -> str:
        raise StoreError("the store is full")


def _must(holds: bool, law: str, otherwise: str, result: Any) -> None:  # noqa: FBT001 - reads as a sentence
    demand(holds, f'the law "{law}" is broken: {otherwise}\n{json_text(result)[:500]}')


_WORDS = (
    *("invoice", "carrier", "refund", "harbour", "kettle", "orchard", "lantern", "signal", "ledger", "marble"),
    *("thicket", "bishop", "cobalt", "meadow", "pewter", "straw", "Rechnung", "Straße", "größer", "météo", "déjà"),
    *("señal", "otoño", "łódka", "東京", "売上", "поиск", "заказ"),
)


def mixed_results(count: int = 200, *, seed: int = 0) -> Iterator[Any]:
    """Yields results that mix tables, texts, nested lists, pages, logs, search hits, tickets and empty fields."""
    for number in range(count):
        # A seeded source of chance is repeatable, and nothing here is a secret.
        yield _Maker(f"{seed}-{number}").result()


class _Maker(random.Random):
    def result(self) -> Any:
        """Returns one result, in one of the envelopes that tools have."""
        fields = {f"{self._word()}_{n}": self._field() for n in range(self.randint(1, 5))}
        text = json.dumps(fields)
        content = {"content": [{"type": "text", "text": text}], "isError": False}
        failed = {"status": "error", "message": "too much", **fields}
        shapes = (fields, {"status": "ok", "data": fields}, failed, text, [fields, {"next": None}], content)
        return self.choice((*shapes, {**content, "structuredContent": fields}, self._field()))

    def _field(self) -> Any:
        empty: list[Callable[[], Any]] = [lambda: 7, lambda: None, list, dict, str, lambda: {"a": [], "b": {}}]
        return self.choice((*[self._table] * 5, *[self._text] * 5, self._tree, self._word, *empty))()

    def _word(self) -> str:
        return self.choice(_WORDS)

    def _words(self, least: int, most: int) -> str:
        return " ".join(self._word() for _ in range(self.randint(least, most)))

    def _some(self) -> int:
        return self.choice((1, 2, 3, 7, 12, 40, 101, 300))

    def _table(self) -> Any:
        columns: dict[str, Callable[[int], Any]] = {
            "id": lambda n: 1000 + n,
            "city": lambda _: self._word(),
            "amount": lambda _: self.randint(-500, 90_000),
            "note": lambda _: self._words(0, 30) if self.random() < 1 / 9 else "",
            "title": lambda n: f"{self._words(3, 9)} #{n}",
            "url": lambda n: f"https://{self.randint(1, 9)}.example.org/{n}/{self._word()}",
            "score": lambda n: round(1 - n / 100, 3),
            "snippet": lambda _: self._words(20, 120),
            "state": lambda _: self.choice(("open", "closed")),
            "user": lambda n: {"login": self._word(), "avatar": f"https://pics.example.org/{n % 5}.png"},
            "labels": lambda _: [{"name": self._word()} for _ in range(self.choice((0, 1, 40)))],
            **{f"{self._word()}_{place}": lambda _: self.randint(0, 999) for place in range(self.choice((1, 1, 70)))},
        }
        names = self.sample(list(columns), self.randint(1, len(columns)))
        rows = [{name: columns[name](n) for name in names} for n in range(self._some())]
        return self.choice((rows, rows, {f"2026-{n:02}": row for n, row in enumerate(rows)}, list(map(str, rows))))

    def _text(self) -> str:
        prose = " ".join(f"{self._words(6, 18).capitalize()}." for _ in range(self.choice((2, 20, 60, 300, 1500))))
        levels = ("INFO", "DEBUG", "WARN", "ERROR")
        cells = [(n, self._word(), n * 7, self.choice(levels), n % 28 + 1, n % 60) for n in range(self._some())]
        forms = ("2026-03-{4:02}T10:{5:02}Z {3} {1} {0}", "{},{},{}", "| {} | {} | {} |", "<tr><td>{1}<td>{2}</tr>")
        log, rows, lines, page = ("\n".join(form.format(*row) for row in cells) for form in forms)
        head = f"<!doctype html><html><head><script>{'var a = 1;' * 90}</script></head><body><nav>Home</nav>"
        texts = (
            *(prose, log, f"sku,place,qty\n{rows}"),
            f"{prose}\n\n| day | place | orders |\n|---|---|---|\n{lines}\n\n{prose}",
            f"{head}<table><tr><th>name</th><th>qty</th></tr>{page}</table><p>{prose}</p></body></html>",
        )
        return self.choice(texts)

    def _tree(self) -> Any:
        value: Any = self._words(1, 60)
        for _ in range(self.randint(1, 7)):
            value = {self._word(): value, "list": [value] * self.choice((1, 3)), "n": self.randint(0, 9)}
        return value


def check_references(
    events: Sequence[Event], requests: Sequence[RecordedRequest], *, tools: Collection[str] | None = None
) -> None:
    """Requires that nothing was resolved that the agent was not shown.

    Each call with a reference whose tool ran needs a request of the same agent that shows the handle: in the
    instruction, in a result or in another agent's words, before the user's text or a call has it. So does each handle
    to which an answer may refer, as its event lists them for `resolve_answer`.

    Args:
        events: the session's events. A result with an `error` counts as that of a tool that did not run.
        requests: the requests of all agents as their models received them, oldest first. `ScriptedModel` records them.
        tools: names of the tools that resolve references. None means all.

    Raises:
        AssertionError: a reference was resolved without that.
    """
    results = {result.id: result.response or {} for event in events for result in event.get_function_responses()}
    typed = {text for content in releases.typed_in(events) for text in resolve_results.texts_sent(content)}
    for author in {event.author for event in events}:
        own = [request for request in requests if request.agent == author]
        answers = [event for event in events if event.author == author and _is_answer(event)]
        for number, event in enumerate(answers):
            # As many answers as requests: each answer has its own. Else any may have led to it.
            led = own[number : number + 1] if len(own) == len(answers) else own
            referred = (event.custom_metadata or {}).get("context_pack_answer_references") or ()
            given = [("an answer may refer to", handle) for handle in referred]
            for call in event.get_function_calls():
                if "error" in results.get(call.id, {"error": ""}) or (tools is not None and call.name not in tools):
                    continue
                handles = re.findall(r"\{\{\s*result:\s*(\w{11})", json_text(call.args).lower())
                given += [(f"{call.name} was given", handle) for handle in handles]
            for what, handle in given:
                shown = any(resolve_results.is_shown(handle, request, typed) for request in led)
                demand(shown, f"{what} {handle}, which {author} was not shown")


def _is_answer(event: Event) -> bool:
    calls = event.get_function_calls()
    is_of_adk = any((call.name or "").startswith("adk_request_") for call in calls)
    return not event.partial and not is_of_adk and bool(event.content) and not event.get_function_responses()


_NAME = "rows-check-00000000000.json"


async def check_store(store: ResultStore, *, artifact_service: Any = None) -> None:
    """Puts, opens and deletes results in four made-up scopes, and leaves nothing behind.

    Any bytes come back as they were, of one scope or several at once. A name that is unknown, deleted or of another
    app, user or session opens nothing. Deleting twice is not an error.

    Args:
        store: a store with its services at hand.
        artifact_service: an ADK artifact service, for a store that reaches it through the context.

    Raises:
        AssertionError: the store breaks a rule. The message says which.
        Exception: whatever the store raises.
    """
    demand(isinstance(store, ResultStore), "a store has `name`, `put`, `open` and `delete`")
    demand(isinstance(store.name, str), "the name of a store is a text")
    names = {"app_name": "check_app", "user_id": "check_user", "id": "check_session"}
    sessions = [Session(**names), *(Session(**names | {name: "other"}) for name in names)]
    # A store may look at what it asks ADK's context for.
    contexts = [SimpleNamespace(session=session, artifact_service=artifact_service) for session in sessions]
    mine, *others = map(StoreScope.of, contexts)
    for data in (b"0", bytes(range(256)), b'{"rows":[{"city":"K\xc3\xb6ln"}]}', b"x" * 1_000_000):
        kept = await store.put(mine, _NAME, data)
        demand(kept is None or isinstance(kept, str), "`put` returns a text or None")
        demand(await store.open(mine, _NAME, kept) == data, f"{len(data)} bytes came back as others")
        await store.delete(mine, _NAME, kept)
        await store.delete(mine, _NAME, kept)
        demand(await store.open(mine, _NAME, None) is None, "what was deleted is still there")
    demand(await store.open(mine, "rows-unknown-00000000000.json", None) is None, "an unknown name opens something")
    texts = [await store.put(mine, _NAME, b"mine")]
    for scope in others:
        demand(await store.open(scope, _NAME, None) is None, "a name opens what another scope has put")
    texts += [await store.put(scope, _NAME, scope.app_name.encode()) for scope in others]
    demand(await store.open(mine, _NAME, texts[0]) == b"mine", "one scope overwrites what another has put")
    for scope, text in zip((mine, *others), texts, strict=True):
        await store.delete(scope, _NAME, text)


def check_budget(
    reports: Iterable[call_report.CallReport],
    *,
    max_tokens: int | Mapping[str, int] | None = None,
    max_cost: float | None = None,
    prices: token_use.Prices | None = None,
) -> None:
    """Checks that the requests of a run stay within a budget, as `adk-context-pack check` does for recorded sessions.

        check_budget(plugin.reports, max_tokens={"writer": 4_000, "*": 12_000})

    Args:
        reports: those of a `ContextPackPlugin`.
        max_tokens: the most tokens of a request, for each agent or for all. "*" means all other agents.
        max_cost: the most that the requests of a session may cost, in the currency of the prices.
        prices: those of a million tokens, by default 1 and 0.1 for cached ones.

    Raises:
        AssertionError: a request or a session is over the budget, or no report was made, or none of an agent in it.
        SettingError: no budget is given, or it cannot work.
    """
    must(max_tokens or max_cost is not None, "check_budget", "max_tokens or max_cost", max_tokens, "given")
    tokens = max_tokens if isinstance(max_tokens, Mapping) else {} if max_tokens is None else {"*": max_tokens}
    use = token_use.TokenUse.of(reports, prices or token_use.Prices(), token_use.Budget(tokens=tokens, cost=max_cost))
    demand(use.total.calls > 0, "no report was made")
    wrong = [*use.over_budget, *use.unseen()]
    demand(not wrong, "\n".join(wrong))
