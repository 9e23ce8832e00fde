"""State values in instructions as small, exact views."""

from __future__ import annotations

from dataclasses import dataclass, field

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest

from adk_context_pack._adk.instruction import agent_of, static_texts
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.errors import warn_once
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.stores.append_guard import Addition, guard
from adk_context_pack.views.fill import with_dynamic, with_system
from adk_context_pack.views.mistakes import KeyCheck
from adk_context_pack.views.select import Select
from adk_context_pack.views.state_view import StateView
from adk_context_pack.views.template import PREFIX, View, slot_keys


@dataclass(frozen=True, kw_only=True)
class CompactState(ContextPass):
    """Fills `{compact:KEY}` in an instruction with a compact JSON view of the state value `KEY`.

        LlmAgent(
            instruction="Review these queries: {compact:gaql_queries}",
            before_model_callback=[CompactState(key="gaql_queries", select=("id", "title", "status"))],
        )

    The view is exact. It is rendered at every model call from the state at that call, so it is right at an agent's
    first call, after each tool, in a loop and in the next turn. When ADK fills in state, it leaves `{compact:KEY}`
    alone.

    The pass fills in `instruction`, the root agent's `global_instruction` and that of ADK's `GlobalInstructionPlugin`,
    as text or as a function. It never fills in text that a user, a tool or another agent wrote, even if such a text
    reached the instruction through `{some_state}` or is part of a view. If the state has no such value,
    `{compact:KEY}` becomes `null`, and `{compact:KEY?}` becomes empty. A `static_instruction`, which must never change,
    is left alone.

    With `output_key`, the view is also kept in state under that name, as JSON text. A template that names
    `{output_key}` is exact at every call of an agent with this pass. Tools, and agents without the pass, read the view
    of the last model call of an agent that has it, of the last `refresh`, or of the last `CompactStateStep`. It is
    written only if it changed. ADK fills in templates before any callback, so `{output_key}` needs a value at the first
    call. Set `refresh` as the agent's `before_agent_callback`, or write `{output_key?}`.

    Cost to the cache: a view in the system instruction changes the prompt's very beginning whenever the value changes,
    and the provider reads nothing behind it from its cache. Give the agent a `static_instruction`. ADK then puts
    `instruction` behind the history, and only the end of the prompt changes.

    A key that the state does not have, and a field that no item has, are warned of once in a process, where
    `views.mistakes` can tell that they are mistakes.

    Args:
        key: the state key, `app:`, `user:` or `temp:` included.
        select: the part of the value that an agent needs: a function of the whole value, field names, or fields for
            each value of a deciding field. `adk_context_pack.views.state_view` describes all forms.
        output_key: the state key that keeps the view for others. None keeps it nowhere.

    Raises:
        SettingError: a key that no placeholder can name, or a `select` that is neither function nor data of that form.
    """

    key: str
    select: Select | None = None
    output_key: str | None = None
    _view: StateView = field(init=False, repr=False, compare=False)
    _key_check: KeyCheck = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        view = StateView(owner=type(self).__name__, key=self.key, select=self.select, output_key=self.output_key)
        object.__setattr__(self, "_view", view)
        object.__setattr__(self, "_key_check", KeyCheck(self.key))

    @property
    def slot_keys(self) -> frozenset[str]:
        """The key of the slots that the pass fills in."""
        return frozenset({self.key})

    def refresh(self, callback_context: CallbackContext) -> None:
        """ADK's `before_agent_callback`: stores the view under `output_key` before the agent's instruction is made."""
        if self.output_key is not None:
            self._store(callback_context, self._view.render(callback_context.session.state))

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns the request with the view in its instructions."""
        context, agent = call.context, agent_of(call.context)
        if context is None or agent is None:
            return request
        stale = call.state.get(self.output_key) if self.output_key is not None else None
        view = View(
            key=self.key,
            text=self._view.render(call.state, strict=self.on_error == "raise"),
            missing=call.state.get(self.key) is None,
            output_key=self.output_key,
            stale="" if stale is None else str(stale),
        )
        if not call.is_shadow:
            self._store(context, view.text)
        if any(self.key in slot_keys(text) for text in static_texts(agent)):
            warn_once(
                f"{agent.name}: {{{PREFIX}{view.key}}} is in static_instruction, which must stay the same in every "
                "request; it is left as it is. Put it into instruction"
            )
        self._key_check.look(call, getattr(agent, "instruction", None))
        config = with_system(request, agent, view, call, context)
        contents = with_dynamic(request, agent, view, call, context)
        if config is request.config and contents is request.contents:
            return request
        call.note(f"view of {self.key}: {len(view.text)} characters")
        return request.model_copy(update={"config": config, "contents": contents})

    def _store(self, context: CallbackContext, text: str) -> None:
        # Compared with the raw session, since reading through the context copies the value.
        if self.output_key is not None and context.session.state.get(self.output_key) != text:
            context.state[self.output_key] = text
            guard(context, Addition(key=self.output_key))
