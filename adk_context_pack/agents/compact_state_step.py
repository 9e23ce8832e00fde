"""A step of a pipeline that keeps the view of a state value in state, without a model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from pydantic import PrivateAttr

from adk_context_pack.errors import Configured
from adk_context_pack.passes.state_view import Select, StateView


class CompactStateStep(Configured, BaseAgent):
    """Writes the compact JSON view of the state value `key` to state, under `output_key`.

        SequentialAgent(sub_agents=[
            generator,
            CompactStateStep(name="compact_queries", key="gaql_queries", select=("id", "title", "status")),
            LlmAgent(name="reviewer", instruction="Review: {gaql_queries_compact}", ...),
        ])

    The view shows the state at the moment when the step runs, so put the step right before the agents that read it.
    Changes that their own tools make later in the same turn are not in it. If an agent needs those, give it a
    `CompactState` pass with the same settings, which is exact at every model call.

    The step writes the view with a state delta, so that every session service stores it. If the view has not changed,
    the step adds nothing to the session. As a node of a 2.x `Workflow`, its output is the view as text.

    Cost to the cache: as for every state value in an instruction, see `CompactState`.
    """

    key: str
    select: Any = None
    output_key: str
    _view: StateView = PrivateAttr()

    def __init__(
        self, *, name: str, key: str, select: Select | None = None, output_key: str | None = None, **settings: Any
    ) -> None:
        """Writes compact JSON of a state value to state.

        Args:
            name: the agent's name.
            key: the state key, `app:`, `user:` or `temp:` included.
            select: the part of the value that an agent needs: a function of the whole value, field names, or fields for
                each value of a deciding field. `adk_context_pack.passes.state_view` describes all forms.
            output_key: the state key of the view. By default, this is the key with `_compact` appended.
            **settings: what each agent of ADK has, such as `description`.

        Raises:
            SettingError: a key that no placeholder can name, or a `select` that is neither function nor data of that
                form.
        """
        # Checked before pydantic, which would wrap the error in one of its own.
        output_key = f"{key}_compact" if output_key is None else output_key
        view = StateView(owner=type(self).__name__, key=key, select=select, output_key=output_key)
        own: dict[str, Any] = {"key": key, "select": select, "output_key": output_key}
        super().__init__(name=name, **own, **settings)
        self._view = view

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        # The raw state, since reading through a context copies the value.
        state = ctx.session.state
        text = self._view.render(state)
        if state.get(self.output_key) != text:
            actions = EventActions(state_delta={self.output_key: text})
            yield self._event(text, invocation_id=ctx.invocation_id, branch=ctx.branch, actions=actions)

    async def _run_impl(self, *, ctx: Any, node_input: Any) -> AsyncGenerator[Any, None]:
        """Runs the step as a node of a `Workflow` (2.x), which hands the node's output to the next one."""
        silent = True
        async for event in super()._run_impl(ctx=ctx, node_input=node_input):
            silent = False
            yield event
        if silent:
            # Nothing changed, but without an output the next node would be sent the user's message instead.
            ctx.event_author = self.name
            yield self._event(self._view.render(ctx.session.state))

    def _event(self, text: str, **settings: Any) -> Event:
        output = {"output": text} if "output" in Event.model_fields else {}
        return Event(author=self.name, **output, **settings)
