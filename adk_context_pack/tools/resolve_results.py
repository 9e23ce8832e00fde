"""Passes results by reference: a model names a value that it was shown, and the tool or the answer gets the value."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from types import EllipsisType, SimpleNamespace
from typing import Any
from weakref import WeakValueDictionary

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.sessions.session import Session
from google.genai import types

from adk_context_pack._adk import BaseTool, CallbackContext, Event, LlmRequest, LlmResponse, ToolContext
from adk_context_pack._adk.releases import invocation_of, typed_in
from adk_context_pack._json import json_text, opened
from adk_context_pack.conversation.ledger import scalars
from adk_context_pack.errors import ContextPackError, QueryError, logged, logger, must, positive
from adk_context_pack.reports.call_report import instruction_text
from adk_context_pack.stores.codec import OFF_LOOP_BYTES, off_loop, rough_size
from adk_context_pack.stores.handles import HANDLE_LENGTH, find_result, is_handle, stored_results
from adk_context_pack.stores.payload_store import load_payload
from adk_context_pack.tables.columns import lazy
from adk_context_pack.tables.find_tables import find_tables
from adk_context_pack.tools.wrap import ManyTools, attach, copy_of

PathStep = str | int | EllipsisType
"""A step of a path: a name, an index, or `...` for all items of a list. At a list, a name of digits is an index."""

_REFERENCE = re.compile(r"\{\{\s*result:([^{}]*)\}\}")
_STEP = re.compile(r'\.([^.\[\]"{}]+)|\[(-?\d{1,9})\]|(\[\*\])|\["([^"{}]*)"\]')


def references_in(value: Any) -> Iterator[str]:
    """Yields the references in `value`, braces included: in texts, and in lists and dicts at any depth."""
    texts = (leaf for leaf in scalars(value) if isinstance(leaf, str))
    yield from (found[0] for text in texts for found in _REFERENCE.finditer(text))


def parsed(text: str) -> tuple[str, list[PathStep]]:
    """Returns the handle and the path of a reference, or raises a `QueryError` in words for a model."""
    inner = text[2:-2].strip().removeprefix("result:").strip()
    handle, path = inner[:HANDLE_LENGTH].lower(), inner[HANDLE_LENGTH:]
    steps: list[PathStep] = []
    end = 0
    while is_handle(handle) and (found := _STEP.match(path, end)):
        name, index, each, quoted = found.groups()
        steps.append(... if each else int(index) if index else name if quoted is None else quoted)
        end = found.end()
    if not is_handle(handle) or end < len(path):
        how = "Write {{result:HANDLE}}, or with a path such as {{result:HANDLE.rows[0].id}}."
        raise QueryError(f"It is not a reference. {how}")
    return handle, steps


def with_values(value: Any, value_of: Callable[[str], Any], *, whole_only: bool = False) -> Any:
    """Returns a copy of `value` with each reference replaced. What is put in is not searched again.

    A text that is one reference becomes the value itself. Within a longer text it becomes the value's text: a text as
    it is, anything else as compact JSON.
    """
    if isinstance(value, str):
        if _REFERENCE.fullmatch(value):
            return value_of(value)
        return value if whole_only else _REFERENCE.sub(lambda found: as_text(value_of(found[0])), value)
    if isinstance(value, Mapping):
        return {key: with_values(item, value_of, whole_only=whole_only) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_values(item, value_of, whole_only=whole_only) for item in value]
    return value


def as_text(value: Any) -> str:
    """Returns the text of a value within a longer text."""
    return value if isinstance(value, str) else json_text(value)


class ResolvingTools(ManyTools):
    """The toolset that `resolve_results` returns. Its docstring explains the settings."""

    def __init__(self, tools: Sequence[Any], *, max_bytes: int, in_answers: bool) -> None:
        super().__init__("resolve_results", tools)
        most = positive("resolve_results", "max_bytes", max_bytes)
        self._in_answers = in_answers
        self.takes_references = "arguments and your answer" if in_answers else self.takes_references or "arguments"
        self.make = partial(resolving, max_bytes=most)

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Returns the tools, which resolve references before they run."""
        return self.made_of(await self.inner_tools(readonly_context))

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Does what the inner toolsets do, and sees to it that requests and answers are looked at."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        attach(tool_context, before=note_request, after=self.after_model)

    def after_model(self, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """ADK's `after_model_callback`: lists on the answer's event the handles to which calls and text may refer."""
        parts = (llm_response.content and llm_response.content.parts) or ()
        _note(callback_context, llm_response, NOTED, [part.function_call.args for part in parts if part.function_call])
        # A partial answer may end within a reference.
        if self._in_answers and not llm_response.partial:
            _note(callback_context, llm_response, NOTED_ANSWER, opened(answer_text(llm_response.content)))


def resolve_results(*tools: Any, max_bytes: int = 1_048_576, in_answers: bool = False) -> ResolvingTools:
    """Returns a toolset of the same tools whose arguments may refer to stored results.

        LlmAgent(tools=[cap_rows(list_orders), resolve_results(make_invoice, send_mail)])

    The model writes `{{result:HANDLE}}`, or a path within the result such as `{{result:HANDLE.rows[3].id}}`, and the
    tool gets the value from the store, which the model need not retype. An argument, or an item in a list or dict, that
    is one reference becomes the value itself: list, dict, number, text. Within a longer text a reference becomes its
    text, compact JSON for anything but a text. What is put in is not searched for references again.

        reference = "{{result:" handle {step} "}}"
        step      = "." name | "[" index "]" | "[*]" | '["' key '"]'

    A name has none of `.[]{}"`. An index counts from 0, or from the end when negative. `[*]` takes the rest of the path
    for each item of a list: `{{result:HANDLE.rows[*].id}}` is the list of all ids. A path may begin with the name of a
    table that a capped result lists under `_row_limits`.

    The session's event, tracing, confirmation and tool callbacks show what the model wrote. A tool's own check, such as
    a callable `require_confirmation`, gets the value. A handle counts if the session holds its result and the
    request that the model answered showed it: in a result, in what ADK relays of another agent, or in the instruction,
    before any text of the user or call of the model with the same handle. The event of the call lists the handles that
    counted in `custom_metadata["context_pack_references"]`, so that confirmed and resumed calls work in any process.
    Everything else is answered with an error that says what there is, and the tool does not run. References in texts of
    users, in results and in what other agents say are never looked at.

    At the agent's first request the toolset adds one callback to the agent's `before_model_callback` and one to its
    `after_model_callback`. References are refused in live mode, which does not call these, and where a plugin replaces
    the model's answer. Results say how to refer to them if the agent has such a tool.

    Args:
        tools: functions, tools and toolsets. Declarations stay as they are. A model that is held to a parameter's
            declared type can write a reference only where a text is allowed.
        max_bytes: how many bytes the values of all references in one call may have together, as JSON in UTF-8.
        in_answers: whether results also say that the agent may write references in its answer. The app shows its user
            what `resolve_answer` returns. Set it only for agents whose answers reach a user that way.

    Raises:
        SettingError: a setting that cannot work, or an entry of `tools` is not a tool.

    Cost to the prompt cache: none. A shortened result has about 30 tokens more.
    """
    return ResolvingTools(tools, max_bytes=max_bytes, in_answers=in_answers)


def resolving(tool: BaseTool, max_bytes: int) -> BaseTool:
    """Returns a copy of `tool` that resolves references in its arguments before it runs."""
    # As in `wrap_tool`, a shallow copy keeps everything else as it is.
    resolved: Any = copy_of(tool)
    # `copy.deepcopy` of an agent follows a partial, but not a closure.
    resolved.run_async = partial(resolved_run, resolved.run_async, tool.name, max_bytes)
    if (check := getattr(resolved, "check_require_confirmation", None)) is not None:
        # Newer releases ask this before they run a confirmed call.
        resolved.check_require_confirmation = partial(resolved_check, check, max_bytes)
    resolved.takes_references = "arguments"
    return resolved  # type: ignore[no-any-return]


async def resolved_run(run: Any, name: str, max_bytes: int, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
    """Runs a tool with the values, or returns what is wrong with a reference."""
    try:
        args = await _resolved(args, tool_context, max_bytes)
    except ContextPackError as error:
        return {"error": f"{error} The tool was not called."}
    except Exception:
        logger.exception("the references in a call of %s could not be resolved", name)
        return {"error": "The references could not be resolved. The tool was not called."}
    return await run(args=args, tool_context=tool_context)


async def resolved_check(check: Any, max_bytes: int, args: dict[str, Any], tool_context: ToolContext) -> bool:
    """Asks a tool about the values whether it needs a confirmation, as `resolved_run` does."""
    if args == noted_call(tool_context.session.events, tool_context.function_call_id)[0]:
        with suppress(Exception):
            # The run says what is wrong.
            args = await _resolved(args, tool_context, max_bytes)
    return bool(await check(args, tool_context))


async def _resolved(args: dict[str, Any], context: ToolContext, max_bytes: int) -> dict[str, Any]:
    wanted = list(references_in(args))
    if not wanted:
        return args
    _, shown = noted_call(context.session.events, context.function_call_id)

    def not_shown(handle: str) -> str:
        known = []
        for each in shown:
            with suppress(ContextPackError):
                known.append(f"{each} ({find_result(context.session.state, each).tool_name})")
        there = f"You were shown: {', '.join(known)}." if known else "You were shown none that is stored."
        return f"You were not shown a result {handle}. {there} Else write the value itself."

    values, wrong = await values_of(wanted, shown, context, max_bytes=max_bytes, not_shown=not_shown)
    for text, said in wrong.items():
        raise QueryError(f"{text}: {said}")
    resolved: dict[str, Any] = with_values(args, lambda text: copy.deepcopy(values[text]))
    return resolved


async def values_of(
    texts: Iterable[str], shown: Collection[str], context: Any, *, max_bytes: int, not_shown: Callable[[str], str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Returns the values that references name, and for each of the others what is wrong, in words for a model.

    The values belong to the stored results: read them and never change them. A reference that is written twice counts
    twice towards `max_bytes`. Only the handles in `shown` count, and `not_shown` says so of any other.
    """
    left, results = max_bytes, dict[str, OpenResult]()
    values, wrong = dict[str, Any](), dict[str, str]()
    for text, count in Counter(texts).items():
        try:
            handle, steps = parsed(text)
            if handle not in shown:
                wrong[text] = not_shown(handle)
                continue
            if handle not in results:
                results[handle] = OpenResult(await load_payload(context, handle))
            value = await off_loop(max(OFF_LOOP_BYTES, results[handle].size), results[handle].value_at, steps)
            size = count * len(as_text(value).encode(errors="replace"))
            if size > left:
                wrong[text] = f"It has {size} bytes, and {left} of {max_bytes} are left. Refer to a part of it."
            else:
                values[text], left = value, left - size
        except ContextPackError as error:
            wrong[text] = str(error)
        except Exception:
            logger.exception("a reference could not be resolved")
            wrong[text] = "It could not be resolved. The log has the error."
    return values, wrong


NOTED = "context_pack_references"
"""The key in an event's `custom_metadata` that lists the handles which its calls may refer to."""
NOTED_ANSWER = "context_pack_answer_references"
"""The key in an event's `custom_metadata` that lists the handles which its text may refer to."""


# A request lives as long as its model call, in which its answer is looked at. Most answers refer to nothing.
_REQUESTS: WeakValueDictionary[tuple[str, str, str], LlmRequest] = WeakValueDictionary()


def note_request(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """ADK's `before_model_callback`, the last of an agent: it sees the request as the model will."""
    _REQUESTS[_key(callback_context)] = llm_request


def answer_text(content: types.Content | None) -> str:
    """Returns what an agent says in a content, without its thoughts."""
    parts = (content.parts if content else None) or ()
    return "".join(part.text for part in parts if part.text and not part.thought)


def noted_call(events: Sequence[Event], call_id: str | None) -> tuple[Mapping[str, Any], list[str]]:
    """Returns the arguments of a call as the session holds them, and the handles to which it may refer."""
    for event in reversed(events) if call_id else ():
        for call in event.get_function_calls() if event.author != "user" else ():
            if call.id == call_id:
                return call.args or {}, list(map(str, (event.custom_metadata or {}).get(NOTED) or ()))
    return {}, []


def is_shown(handle: str, request: Any, typed: Collection[str]) -> bool:
    """Returns whether a request shows a handle by itself.

    The first place counts. A user may type any handle, a model may call a tool with it, and the tool may give it back,
    so what follows the user's text or a call with the handle proves nothing. `typed` has what the user sent, texts and
    results as JSON.
    """
    if request.config and handle in instruction_text(request.config.system_instruction):
        return True
    for content in request.contents:
        for part in content.parts or ():
            if part.function_response is not None:
                if handle in (result := json_text(part.function_response.response)):
                    return result not in typed
            elif part.function_call is not None:
                if handle in json_text(part.function_call.args).lower():
                    return False
            elif content.role != "model" and handle in (part.text or "").lower():
                return part.text not in typed
    return False


def _note(context: CallbackContext, response: LlmResponse, key: str, said: Any) -> None:
    with logged("references of an answer count as unknown"):
        wanted = set()
        for text in references_in(said):
            handle = ""
            # Whoever resolves a mistaken one says what is wrong.
            with suppress(QueryError):
                handle, _ = parsed(text)
            wanted.add(handle)
        if wanted:
            request = _REQUESTS.get(_key(context))
            sent = [*typed_in(context.session.events), context.user_content]
            typed, handles = {text for content in sent if content for text in texts_sent(content)}, list[str]()
            if request is not None:
                # If some are not shown, others that are shown follow.
                known = [result.handle for result in reversed(stored_results(context.session.state))]
                handles = [each for each in known if each in wanted and is_shown(each, request, typed)]
                others = (each for each in known if each not in wanted and is_shown(each, request, typed))
                handles += islice(others, 0 if len(handles) == len(wanted) else 10)
            response.custom_metadata = {**(response.custom_metadata or {}), key: handles}


def texts_sent(content: types.Content) -> Iterator[str]:
    """Yields the texts of a user's content, and as JSON the results of long-running tools that the user sends."""
    for part in content.parts or ():
        if part.text:
            yield part.text
        if part.function_response is not None:
            yield json_text(part.function_response.response)


def _key(context: CallbackContext) -> tuple[str, str, str]:
    return context.invocation_id, context.agent_name, invocation_of(context).branch or ""


_MAX_LISTED, _MAX_NAME = 20, 60


class OpenResult:
    """A stored result whose tables and JSON texts are read once, however many references name parts of it."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self.size = rough_size(whole)
        self._read: dict[int, Any] = {}

    def value_at(self, steps: Sequence[PathStep]) -> Any:
        """Returns the value at a path within the result, or raises a `QueryError` that tells a model what there is.

        A path is followed as the result is nested. If that fails, it may begin with the name of a table, as a capped
        result lists them under `_row_limits`: JSON in a text and the envelope of MCP add nothing to such a name.
        """
        try:
            return self._walked(self._whole, steps)
        except QueryError:
            for length in range(len(steps), 0, -1):
                name = ".".join(step if isinstance(step, str) else _where([step]) for step in steps[:length])
                if (rows := self._tables.get(name)) is not None:
                    return self._walked(rows, steps, length)
            raise

    @lazy
    def _tables(self) -> dict[str, Any]:
        return {table.key: table.rows for table in find_tables(self._whole)}

    def _walked(self, value: Any, steps: Sequence[PathStep], start: int = 0) -> Any:
        for position, step in enumerate(steps[start:], start):
            if isinstance(value, str):
                # The texts are parts of the result, so that none is replaced by another one in the same place.
                if id(value) not in self._read:
                    self._read[id(value)] = opened(value)
                value = self._read[id(value)]
            if step is ...:
                return [self._walked(item, steps, position + 1) for item in _items(value, steps[:position])]
            value = _step(value, step, steps[:position])
        return value


def _step(value: Any, step: str | int, before: Sequence[PathStep]) -> Any:
    if isinstance(step, str):
        if isinstance(value, Mapping) and step in value:
            return value[step]
        if isinstance(value, Mapping) or not step.isdecimal():
            raise QueryError(f"There is no {step[:_MAX_NAME]!r} in {_where(before)}. {_listed(value)}")
    items = _items(value, before)
    try:
        return items[int(step)]
    except IndexError:
        raise QueryError(f"There is no item {step} in {_where(before)}. {_listed(items)}") from None


def _items(value: Any, before: Sequence[PathStep]) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    raise QueryError(f"There is no list in {_where(before)}. {_listed(value)}")


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        names = [str(key)[:_MAX_NAME] for key in value]
        more = f", and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        return f"There are: {', '.join(names[:_MAX_LISTED])}{more}." if names else "It is empty."
    if isinstance(value, list | tuple):
        has_names = bool(value) and isinstance(value[0], Mapping)
        first = f" {_listed(value[0]).replace('There are', 'In the first')}" if has_names else ""
        return f"It is a list of {len(value)} items, from [0].{first}"
    return f"It is a single value ({type(value).__name__})."


def _where(steps: Sequence[PathStep]) -> str:
    written = (f".{step}" if isinstance(step, str) else "[*]" if step is ... else f"[{step}]" for step in steps)
    return "".join(written).lstrip(".") or "it"


@dataclass(frozen=True, slots=True)
class ResolvedAnswer:
    """An agent's answer as its user should read it.

    Attributes:
        text: the answer, with values in the place of references.
        unresolved: the references that are still in the text, as the model wrote them, each with the reason.
    """

    text: str
    unresolved: Mapping[str, str]


async def resolve_answer(
    event: Event, session: Session, artifact_service: BaseArtifactService | None = None, *, max_bytes: int = 1_048_576
) -> ResolvedAnswer:
    """Returns the text of an agent's answer, with references to stored results replaced by the values.

        agent = LlmAgent(tools=[resolve_results(cap_rows(list_orders), in_answers=True)])
        ...
        if event.is_final_response():
            session = await runner.session_service.get_session(app_name=…, user_id=…, session_id=…)
            answer = await resolve_answer(event, session, runner.artifact_service)

    A reference is written as `resolve_results` describes. It becomes a text: a stored text as it is, compact JSON for
    anything else. An answer that is one JSON object or list stays JSON: a text in it that is one reference becomes the
    value itself. What is put in is not searched for references again.

    A reference counts if the agent has a toolset `resolve_results(..., in_answers=True)`, its request showed the
    handle, and the given session holds the result. The event lists the handles that counted in
    `custom_metadata["context_pack_answer_references"]`. Any other reference stays as the model wrote it. Texts of users
    resolve to nothing, and so do partial events of a streamed answer: call this for the final event. An answer that a
    callback or ADK's `set_model_response` makes after the model's own lists no handles, so that it stays as it is.

    The event, the session and an agent's `output_key` are never changed. They keep what the model wrote, and so does
    everything that reads them, such as the next agent and the pages of `adk web`. The user reads the whole value, of
    which the agent may have seen a part. Treat the text like the tool's result: escape it before it joins a page.

    Args:
        event: an event of the agent, from the runner or from the session. Thoughts are left out.
        session: the session of the event, as it is after the event.
        artifact_service: the app's artifact service, if it has one. Large results are kept there.
        max_bytes: how many bytes the values of all references may have together, as JSON in UTF-8. A reference whose
            value does not fit stays as it is.

    Raises:
        SettingError: an argument that cannot work, such as None for a session that was not found.

    Cost to the prompt cache: none.
    """
    most = positive("resolve_answer", "max_bytes", max_bytes)
    for name, given, kind in (("event", event, Event), ("session", session, Session)):
        # Only the type, since a session holds payloads.
        must(isinstance(given, kind), "resolve_answer", name, type(given), f"ADK's {kind.__name__}")
    # Outside of a run nothing has a context, of which opening a stored result takes these parts.
    context = SimpleNamespace(session=session, artifact_service=artifact_service)
    # A user's text may refer to nothing.
    listed = (event.custom_metadata or {}).get(NOTED_ANSWER) if event.author != "user" else None
    written = answer_text(event.content)
    shown, said = list(map(str, listed or ())), "The event does not list {} as a result that its answer may refer to."
    wanted = references_in(opened(written))
    values, unresolved = await values_of(wanted, shown, context, max_bytes=most, not_shown=said.format)
    if not values:
        return ResolvedAnswer(written, unresolved)
    return ResolvedAnswer(as_text(with_values(opened(written), lambda text: values.get(text, text))), unresolved)
