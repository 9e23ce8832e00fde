"""State values in instructions as small, exact views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.instruction import agent_of, identity_of, static_texts
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.stores.append_guard import Addition, guard
from adk_context_pack.views.fill import Declared, declare_system, fill_system, with_dynamic
from adk_context_pack.views.loose import warn_once
from adk_context_pack.views.select import Select
from adk_context_pack.views.state_view import StateView, View
from adk_context_pack.views.template import PREFIX, placeholders


@dataclass(frozen=True, kw_only=True)
class CompactState(ContextPass):
    """Fills `{compact:KEY}` in an instruction with a compact JSON view of the state value `KEY`.

        LlmAgent(
            instruction="Review these queries: {compact:gaql_queries}",
            before_model_callback=[CompactState(key="gaql_queries", select=("id", "title", "status"))],
        )

    Exact: the view is made at every model call from the state as it stands at that call, so it is right at the first
    call of an agent, after each tool, in a loop, in the next turn. ADK leaves `{compact:KEY}` alone when it fills in
    state.

    Only in instructions: `instruction`, the root agent's `global_instruction` and that of ADK's
    `GlobalInstructionPlugin`, as text or as a function. Not in anything that a user, a tool or another agent wrote,
    also not where such a text came into the instruction through `{some_state}`, and not within a view.
    `{compact:KEY}` is `null` where the state has no such value, `{compact:KEY?}` is empty. In `static_instruction`,
    which must never change, it is left alone.

    With `output_key` the view is also kept in state under that name, as JSON text, for templates (`{output_key}`,
    exact at every call of an agent with this pass) and for tools and agents without it, which read it as it was at
    the last model call of an agent that has it, the last `refresh`, or the last `CompactStateStep`. It is written
    only where it changed. ADK fills in templates before any callback, so `{output_key}` needs a value at the first
    call: `refresh` as `before_agent_callback` sees to it, or write `{output_key?}`.

    Cost to the cache: a view in the system instruction changes the prompt's very beginning whenever the value
    changes, and nothing behind it is read from the cache. Give the agent a `static_instruction`: then ADK puts
    `instruction` behind the history, and only the end changes.

    Args:
        key: the state key, `app:`, `user:` or `temp:` included.
        select: what an agent needs of the value: a function of the whole value, field names, or fields for each value
            of a deciding field; see `adk_context_pack.views.state_view`.
        output_key: the state key that keeps the view for others; None keeps it nowhere.

    Raises:
        SettingError: a key that no placeholder can name, or a `select` that is neither function nor data of that form.
    """

    key: str
    select: Select | None = None
    output_key: str | None = None
    _view: StateView = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        view = StateView(owner=type(self).__name__, key=self.key, select=self.select, output_key=self.output_key)
        object.__setattr__(self, "_view", view)

    def refresh(self, callback_context: CallbackContext) -> None:
        """ADK's `before_agent_callback`: stores the view under `output_key` before the agent's instruction is made."""
        if self.output_key is not None:
            self._store(callback_context, self._view.render(callback_context.session.state))

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """The request with the view in its instructions."""
        context, agent = call.context, agent_of(call.context)
        if context is None or agent is None:
            return request
        view = self._seen(call)
        if self.output_key is not None:
            self._store(context, view.text)
        _warn_of_static(agent, view)
        config = _with_system(request, declare_system(context, agent, view), view, call)
        contents = with_dynamic(request, agent, view, call)
        if config is request.config and contents is request.contents:
            return request
        call.note(f"view of {self.key}: {len(view.text)} characters")
        return request.model_copy(update={"config": config, "contents": contents})

    def _seen(self, call: ModelCall) -> View:
        stale = call.state.get(self.output_key) if self.output_key is not None else None
        return View(
            key=self.key,
            text=self._view.render(call.state, strict=self.on_error == "raise"),
            missing=call.state.get(self.key) is None,
            output_key=self.output_key,
            stale="" if stale is None else str(stale),
        )

    def _store(self, context: CallbackContext, text: str) -> None:
        # Compared with the raw session, since reading through the context copies the value.
        if self.output_key is not None and context.session.state.get(self.output_key) != text:
            context.state[self.output_key] = text
            guard(context, Addition(key=self.output_key))


def _warn_of_static(agent: Any, view: View) -> None:
    if any(next(placeholders(text, view.key, 0, len(text)), None) for text in static_texts(agent)):
        warn_once(
            f"{agent.name}: {{{PREFIX}{view.key}}} stands in static_instruction, which must stay the same in every "
            "request; it is left as it is. Put it into instruction"
        )


def _with_system(
    request: LlmRequest, entries: list[Declared], view: View, call: ModelCall
) -> types.GenerateContentConfig:
    before = request.config.system_instruction
    texts = list(_texts(before))
    if not texts or not any(entry.may_have_slots for entry in entries):
        return request.config
    filled = fill_system(texts, entries, view, call, identity_of(agent_of(call.context)))
    if filled == texts:
        return request.config
    return request.config.model_copy(update={"system_instruction": _rebuilt(before, iter(filled))})


def _texts(instruction: Any) -> Iterator[str]:
    """The texts of a system instruction of any of its forms, in order."""
    if isinstance(instruction, str):
        yield instruction
    elif isinstance(instruction, types.Part):
        yield from _texts(instruction.text)
    elif isinstance(instruction, types.Content):
        yield from _texts(instruction.parts)
    elif isinstance(instruction, list):
        for item in instruction:
            yield from _texts(item)


def _rebuilt(instruction: Any, texts: Iterator[str]) -> Any:
    """The instruction in the same form with other texts."""
    if isinstance(instruction, str):
        return next(texts)
    if isinstance(instruction, types.Part):
        return instruction.model_copy(update={"text": _rebuilt(instruction.text, texts)})
    if isinstance(instruction, types.Content):
        return instruction.model_copy(update={"parts": _rebuilt(instruction.parts, texts)})
    return [_rebuilt(item, texts) for item in instruction] if isinstance(instruction, list) else instruction
