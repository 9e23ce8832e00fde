"""Results by reference: a model names a value that it was shown, and the tool gets the value itself."""

from __future__ import annotations

import copy
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from google.adk.agents.readonly_context import ReadonlyContext
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from adk_context_pack.errors import ContextPackError, QueryError, positive
from adk_context_pack.stores.handles import find_result
from adk_context_pack.stores.opening import load_payload
from adk_context_pack.stores.worker import OFF_LOOP_BYTES, off_loop
from adk_context_pack.tools.many_tools import ManyTools, attach
from adk_context_pack.tools.references import Reference, as_text, parsed, references_in, replaced
from adk_context_pack.tools.result_path import OpenResult
from adk_context_pack.tools.shown_handles import note_answer, note_references, note_request, noted_call
from adk_context_pack.tools.wrap import copy_of

logger = logging.getLogger("adk_context_pack")

_NOT_CALLED = "The tool was not called."


class ResolvingTools(ManyTools):
    """The toolset that `resolve_results` returns. Its docstring explains the settings."""

    def __init__(self, tools: Sequence[Any], *, max_bytes: int, in_answers: bool) -> None:
        super().__init__("resolve_results", tools)
        self._max_bytes = positive("resolve_results", "max_bytes", max_bytes)
        self._in_answers = in_answers
        self._copies: dict[int, tuple[BaseTool, BaseTool]] = {}

    @property
    def takes_references(self) -> bool:
        """True, for stubs that say so to the model."""
        return True

    @property
    def takes_references_in_answers(self) -> bool:
        """Tells whether the agent's answers may hold references, for stubs that say so to the model."""
        return self._in_answers or super().takes_references_in_answers

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Returns the tools, which resolve references before they run."""
        # The same copy for the same tool, since a tool may keep something on itself between two steps of an agent.
        tools = await self.inner_tools(readonly_context)
        pairs = [self._copies.get(id(tool)) or (tool, resolving(tool, self._max_bytes)) for tool in tools]
        self._copies = {id(pair[0]): pair for pair in pairs}
        return [resolved for _, resolved in pairs]

    async def process_llm_request(self, *, tool_context: ToolContext, llm_request: LlmRequest) -> None:
        """Does what the inner toolsets do, and sees to it that requests and answers are looked at."""
        await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        attach(tool_context, before=note_request, after=note_references)
        if self._in_answers:
            attach(tool_context, before=note_request, after=note_answer)


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
    check = getattr(resolved, "check_require_confirmation", None)
    wrapped = _Resolved(resolved.run_async, check, tool.name, max_bytes)
    resolved.run_async = wrapped.run_async
    if check is not None:
        # Newer releases ask this before they run a confirmed call.
        resolved.check_require_confirmation = wrapped.check_require_confirmation
    resolved.takes_references = True
    return resolved  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Resolved:
    """The methods of a resolving tool. `copy.deepcopy` of an agent follows an object, but not a closure."""

    run: Callable[..., Awaitable[Any]]
    check: Callable[..., Awaitable[bool]] | None
    name: str
    max_bytes: int

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        """Runs the tool with the values, or returns what is wrong with a reference."""
        try:
            args = await self._resolved(args, tool_context)
        except ContextPackError as error:
            return {"error": f"{error} {_NOT_CALLED}"}
        except Exception:
            logger.exception("the references in a call of %s could not be resolved", self.name)
            return {"error": f"The references could not be resolved. {_NOT_CALLED}"}
        return await self.run(args=args, tool_context=tool_context)

    async def check_require_confirmation(self, args: dict[str, Any], tool_context: ToolContext) -> bool:
        """Asks the tool about the values, as `run_async` does."""
        if args == noted_call(tool_context.session.events, tool_context.function_call_id).args:
            with suppress(Exception):
                # The run says what is wrong.
                args = await self._resolved(args, tool_context)
        return bool(self.check and await self.check(args, tool_context))

    async def _resolved(self, args: dict[str, Any], context: ToolContext) -> dict[str, Any]:
        wanted = list(dict.fromkeys(references_in(args)))
        if not wanted:
            return args
        values = await _values(wanted, context)
        _check_size(args, values, self.max_bytes)
        resolved: dict[str, Any] = replaced(args, lambda text: copy.deepcopy(values[text]))
        return resolved


async def _values(wanted: Sequence[str], context: ToolContext) -> dict[str, Any]:
    """Returns the value of each reference.

    Raises:
        ContextPackError: there is none, in words for a model.
    """
    shown = noted_call(context.session.events, context.function_call_id).handles
    results: dict[str, OpenResult] = {}
    values: dict[str, Any] = {}
    for text in wanted:
        reference = parsed(text)
        if reference.handle not in shown:
            raise QueryError(f"You were not shown a result {reference.handle}. {_advice(shown, context)}")
        values[text] = await value_of(reference, context, results)
    return values


async def value_of(reference: Reference, context: Any, results: dict[str, OpenResult]) -> Any:
    """Returns the value that a reference names. It belongs to the stored result: read it and never change it.

    Args:
        reference: the reference. Its handle was shown to the agent.
        context: ADK's context of the session.
        results: the results that are open already, by handle. A newly opened one joins them.

    Raises:
        ContextPackError: there is no such value, in words for a model.
    """
    if reference.handle not in results:
        results[reference.handle] = OpenResult(await load_payload(context, reference.handle))
    try:
        return await off_loop(OFF_LOOP_BYTES, results[reference.handle].value_at, reference.steps)
    except QueryError as error:
        raise QueryError(f"{reference.text}: {error}") from None


def _check_size(args: Any, values: dict[str, Any], max_bytes: int) -> None:
    sizes = {text: len(as_text(value).encode(errors="replace")) for text, value in values.items()}
    total = sum(sizes[text] for text in references_in(args))
    if total > max_bytes:
        largest = max(sizes, key=sizes.__getitem__)
        raise QueryError(
            f"The values have {total} bytes, and at most {max_bytes} are passed on. Refer to a part of {largest}."
        )


def _advice(shown: Sequence[str], context: ToolContext) -> str:
    known = []
    for handle in shown:
        try:
            known.append(f"{handle} ({find_result(context.session.state, handle).tool_name})")
        except ContextPackError:
            continue
    there = f"You were shown: {', '.join(known)}." if known else "You were shown none that is stored."
    return f"{there} Else write the value itself."
