"""Defines the contract of a pass and of one that leads, and is the one place where a pass meets ADK."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar, Literal
from weakref import WeakValueDictionary

from adk_context_pack._adk import BasePlugin, CallbackContext, LlmRequest, types
from adk_context_pack._adk.instruction import agent_of, global_instructions, plugins_of
from adk_context_pack._adk.known_tools import ToolKind
from adk_context_pack.conversation.contents import changed, copied
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import CHAIN, ProviderChain, chain_of, is_broken
from adk_context_pack.errors import Callback, did_you_mean, logged, logger, misspelled, warn_once
from adk_context_pack.passes.state_view import PREFIX, slot_keys
from adk_context_pack.stores.codec import OFF_LOOP_BYTES, off_loop

_checked: WeakValueDictionary[tuple[int, str], Any] = WeakValueDictionary()
"""The agents whose instructions were checked, by id and instruction, since agents cannot be hashed."""


def warn_of_unfilled_slots(context: Any, passes: Iterable[Any]) -> None:
    """Warns once of each slot of an agent's instruction that nothing in its app fills in."""
    # The passes of the caller, of the agent's own callbacks and of a `ContextPackPlugin` count. A callback or a plugin
    # of the app's own may fill in slots as well. Beside one, only a misspelling of a key that a pass fills in is a
    # mistake. An instruction that is a function is not read.
    agent = agent_of(context)
    given = (getattr(agent, "instruction", None), *global_instructions(context, agent)) if agent else ()
    for text in given:
        if not isinstance(text, str) or PREFIX not in text or (id(agent), text) in _checked:
            continue
        try:
            _checked[id(agent), text] = agent
            found = [_keys_of(each) for each in (*passes, *callbacks_of(context), *_plugin_entries(context, agent))]
            filled = frozenset().union(*(keys for keys in found if keys is not None))
            for key in slot_keys(text) - filled:
                if None in found and misspelled(key, filled) is None:
                    continue
                hint = did_you_mean(key, filled) or f". Add CompactState(key={key!r})"
                warn_once(f"{agent.name}: no pass fills in {{{PREFIX}{key}}} in the instruction{hint}")
        except Exception:
            # The request does not depend on the check.
            logger.debug("an instruction could not be checked for slots", exc_info=True)


def _plugin_entries(context: Any, agent: Any) -> Iterator[Any]:
    for plugin in plugins_of(context):
        settings_for = getattr(plugin, "settings_for", None)
        if settings_for is not None:
            yield from getattr(settings_for(agent.name), "passes", None) or ()
        elif type(plugin).before_model_callback is not BasePlugin.before_model_callback:
            yield plugin


def _keys_of(entry: Any) -> frozenset[str] | None:
    """Returns the keys that a callback or plugin fills in, or None if it may fill in any."""
    if type(entry).__module__.startswith("google.adk."):
        return frozenset()
    keys = getattr(entry, "slot_keys", None)
    if keys or (keys is not None and type(entry).__module__.startswith("adk_context_pack.")):
        return frozenset(keys)
    inner = getattr(entry, "passes", None)
    return None if inner is None else frozenset().union(*(_keys_of(each) or () for each in inner))


@dataclass(frozen=True, kw_only=True)
class ContextPass(Callback, ABC):
    """One rewriting of a request before it goes to the model.

    An instance is an entry for `before_model_callback=[…]`, alone, in any order with other callbacks, or within a
    `ContextPipeline`. Subclass it, name it verb + object, and write `apply`. A pass that leaves something out also
    overrides `leaves_history`, so that the plugin offers `read_back` to the agent.

    Args:
        on_error: "skip" logs a failure and leaves the request as it was. "raise" lets it through, for tests.
    """

    shortens: ClassVar[Collection[ToolKind]] = ()
    """The kinds of ADK's tools whose results it makes smaller in each request, and so finds whole in the session."""

    cuts_history: ClassVar[bool] = False
    """True if the pass only removes history. It does not run if the provider keeps the history."""

    needs_results: ClassVar[bool] = False
    """True if the pass leaves a request without tool results as it is. It does not run on a session's first request."""

    keeps_all: ClassVar[bool] = False
    """True if the pass leaves nothing out. Passes behind it look at its result before they leave history out."""

    prepares: ClassVar[bool] = False
    """True if the pass has to be prepared before it runs, since it overrides the method for that."""

    on_error: Literal["skip", "raise"] = "skip"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.prepares = cls.prepare is not ContextPass.prepare

    @property
    def slot_keys(self) -> frozenset[str]:
        """The keys of the `{compact:KEY}` slots that the pass fills in. By default there are none."""
        return frozenset()

    @abstractmethod
    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns the request as the model should see it.

        It must be pure: it builds new objects if something changes, and returns `request` itself if nothing does.
        Over a long history, or one with a long text, it runs in a thread, beside the event loop.

        Args:
            request: what ADK, or the pass before, wants to send. Its parts share objects with the session.
            call: whose request it is, and the session behind it.
        """

    def leaves_history(self, request: LlmRequest, call: ModelCall) -> bool:  # noqa: ARG002 - for subclasses
        """Returns whether this pass removes history from the agent's requests, now or soon, that it may need again.

        The plugin asks each pass about ADK's request before any of them runs, and offers `read_back` if one says yes.
        By default a pass says no. The answer should not return to False while a session grows: a tool that appears or
        disappears costs the cached prefix.
        """
        return False

    def begins_chain(self, request: LlmRequest, call: ModelCall, chain: ProviderChain) -> bool:  # noqa: ARG002 - for subclasses
        """Returns whether to give up `chain`, which the provider keeps, and to send `request` whole. Most say no."""
        return False

    async def prepare(self, context: CallbackContext, request: LlmRequest) -> None:
        """Waits for what `apply` needs from outside, such as an answer of a service. By default there is nothing.

        It is called with ADK's context and request before any pass runs, and must not change the request.
        """

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> Awaitable[None] | None:
        """Runs the pass as ADK's `before_model_callback`. It changes `llm_request` at its top level only.

        If it has to wait for something, or over a long history, it returns an awaitable, as `ContextPipeline` does.
        """

        async def prepared() -> None:
            with failing(self, "pass %s could not be prepared"):
                await self.prepare(callback_context, llm_request)
            await off_loop(size_of(llm_request), self._run, callback_context, llm_request)

        if self.prepares or size_of(llm_request) >= OFF_LOOP_BYTES:
            return prepared()
        self._run(callback_context, llm_request)
        return None

    def _run(self, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        with failing(self, "pass %s failed and was skipped"), ModelCall.remembering(callback_context) as call:
            warn_of_unfilled_slots(call.context, (self,))
            adopt(llm_request, attempt(self, on_chain(llm_request, call, (self,)), call)[0])


def size_of(request: LlmRequest) -> int:
    """Returns about how many bytes passes look at, which run beside the event loop from `OFF_LOOP_BYTES` on."""
    # What other agents' tools returned stands in texts, and 256 contents of any size take as long.
    size = OFF_LOOP_BYTES // 256 * len(request.contents)
    for content in request.contents:
        for part in content.parts or ():
            size += len(part.text or "")
    return size


def failing(entry: ContextPass, said: str) -> AbstractContextManager[None]:
    """Returns a context that logs what fails in a pass, or lets it through, as its `on_error` says."""
    return nullcontext() if entry.on_error == "raise" else logged(said, entry.name)


def attempt(entry: ContextPass, request: LlmRequest, call: ModelCall) -> tuple[LlmRequest, float, str | None]:
    """Returns what one pass makes of `request`, the seconds that it took, and why it was skipped if it failed."""
    call.notes.clear()
    if entry.cuts_history and request.previous_interaction_id:
        chain = call.memo.get(CHAIN)
        call.note(f"stood aside: the provider keeps the history, {chain.kept if chain else 0:,} tokens")
        return request, 0.0, None
    error, start = None, perf_counter()
    try:
        request = entry.apply(request, call)
    except Exception as exception:
        if entry.on_error == "raise":
            raise
        logger.exception("pass %s failed and was skipped", entry.name)
        said = "(its message cannot be made)"
        with suppress(Exception):
            said = str(exception)
        error = f"{type(exception).__name__}: {said}"
    return request, perf_counter() - start, error


def adopt(target: LlmRequest, source: LlmRequest) -> None:
    """Copies the top level of `source` to `target`, since ADK ignores a request that a callback returns."""
    if source is target:
        return
    if source.contents is not target.contents:
        theirs = set(map(id, target.contents))
        # Callbacks of the app may add to a content in place. The pack keeps its own contents for later calls.
        target.contents = [
            content if id(content) in theirs else changed(content, "parts", list(map(copied, content.parts or ())))
            for content in source.contents
        ]
    target.config = source.config
    target.previous_interaction_id = source.previous_interaction_id


def on_chain(request: LlmRequest, call: ModelCall, passes: Sequence[ContextPass]) -> LlmRequest:
    """Returns the request, or if its provider keeps the history: what is new, or all if a pass starts a new chain."""
    if not request.previous_interaction_id:
        return request
    if CHAIN not in call.memo:
        call.memo[CHAIN] = None
        try:
            # Few apps have such a model, and what rebuilds requests loads much of ADK.
            from adk_context_pack._adk.requests import new_contents, whole_contents  # noqa: PLC0415

            whole = whole_contents(request, call.context, call.agent_name, call.events)
            chain = chain_of(call, new_contents(request), whole)
            # The passes see the call as one that starts a new chain.
            call.memo[CHAIN] = chain._replace(is_new=True, has_left=True)
            asked = request.model_copy(update={"contents": whole, "previous_interaction_id": None})
            is_over = is_broken(request.previous_interaction_id, chain.new, call.events)
            if not (is_over or any(each.begins_chain(asked, call, chain) for each in passes)):
                call.memo[CHAIN] = chain
        except Exception:
            call.memo[CHAIN] = None
            logger.exception("the chain of agent %s goes on as it is", call.agent_name)
    if (chain := call.memo[CHAIN]) is None:
        return request
    begun = {"contents": chain.whole, "previous_interaction_id": None}
    return request.model_copy(update=begun if chain.is_new else {"contents": chain.new})


def own_passes(context: Any) -> list[ContextPass]:
    """Returns the passes among the callbacks of the agent that `context` belongs to, those of pipelines included."""
    given = callbacks_of(context)
    found = [one for each in given for one in (each.passes if getattr(each, "runs_leading_passes", False) else (each,))]
    return [each for each in found if isinstance(each, ContextPass)]


def callbacks_of(context: Any) -> list[Any]:
    """Returns the callbacks that the agent behind `context` runs before a model call, in their order."""
    return list(getattr(agent_of(context), "canonical_before_model_callbacks", ()))


LED: WeakValueDictionary[int, LlmRequest] = WeakValueDictionary()
"""The requests that leading passes ran over, by id, so that their agents' callbacks do not run them again."""


class LeadingPass(ContextPass):
    """A pass that needs the contents as ADK built them, and so runs before the passes of the app's plugin.

    It is an entry of the agent's own `before_model_callback`, which ADK calls after those of plugins. A pipeline and
    the plugin therefore run it first, and report on it. Where there is neither, it runs as any other pass does.
    """

    def handed(self, call: ModelCall) -> list[types.Content]:  # noqa: ARG002 - for subclasses
        """Returns what the pass will put into the request. By default there is nothing."""
        return []

    def __call__(self, callback_context: CallbackContext, llm_request: LlmRequest) -> Awaitable[None] | None:
        """Runs the pass as ADK's `before_model_callback`, unless a pipeline has run it or will."""
        waits = any(getattr(each, "runs_leading_passes", False) for each in callbacks_of(callback_context))
        has_run = waits or LED.get(id(llm_request)) is llm_request
        return None if has_run else super().__call__(callback_context, llm_request)


def leading_passes(context: CallbackContext | None) -> tuple[LeadingPass, ...]:
    """Returns the leading passes among the callbacks of the agent that `context` belongs to."""
    return tuple(each for each in callbacks_of(context) if isinstance(each, LeadingPass))


def handed_over(call: ModelCall) -> list[types.Content]:
    """Returns what leading passes will put into a request, and what its provider keeps. A pass may fail to say so."""
    chain = call.memo.get(CHAIN)
    found: list[types.Content] = list(chain.whole) if chain is not None else []
    for entry in leading_passes(call.context):
        with logged("pass %s could not say what it hands over", entry.name):
            found += entry.handed(call)
    return found
