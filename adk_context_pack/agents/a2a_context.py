"""Lean messages to remote agents: what ADK sends over A2A, rewritten by the passes that local requests go through."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.releases import FENCED_PREAMBLE, typed_in
from adk_context_pack._adk.remote_agents import Converter, a2a_parts, as_built, message_to, missing_for_context_builder
from adk_context_pack.conversation.contents import text_part, user_content
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.token_estimate import DEFAULT_WINDOW, Counter
from adk_context_pack.errors import SettingError, instances, logger, must, positive, told_of
from adk_context_pack.passes.cast_narrative import PREAMBLE
from adk_context_pack.passes.context_pass import ContextPass, ContextPipeline, default_passes

_OWNER = "a2a_context"


class A2aContext:
    """The context builder that `a2a_context` returns. Its docstring explains the settings.

    Attributes:
        reports: a `ReportLog` with one `CallReport` for each message, newest last. A remote agent reports no usage.
    """

    def __init__(self, pipeline: ContextPipeline) -> None:
        self._pipeline = pipeline
        self.reports = pipeline.reports

    def __call__(
        self, context: InvocationContext, agent_name: str, part_converter: Converter
    ) -> tuple[list[Any], str | None]:
        """Returns the A2A parts to send and the id of the remote conversation. This is ADK's `context_builder`.

        If it fails, it logs why and returns what ADK sends without a context builder.
        """
        try:
            contents, context_id = message_to(context)
            if contents:
                typed = {id(part) for content in typed_in(context.session.events) for part in content.parts or ()}
                contents = _once_introduced(self._rewritten(contents, context), typed)
                return a2a_parts(contents, part_converter), context_id
        except Exception:
            if any(entry.on_error == "raise" for entry in self._pipeline.passes):
                raise
            logger.exception("a message to %s is sent as ADK builds it", agent_name)
        return as_built(context)

    def _rewritten(self, contents: list[types.Content], context: InvocationContext) -> list[types.Content]:
        # ADK makes none in such a run.
        callback_context = CallbackContext(context)
        request = LlmRequest(config=types.GenerateContentConfig())
        request.contents = contents
        with ModelCall.remembering(callback_context) as call:
            # A message continues the remote conversation, so it never begins as the one before did.
            lone = replace(call, session_id=f"{call.session_id} {context.invocation_id} {len(call.events)}")
            result, report = self._pipeline.run(request, lone)
        report.session_id = call.session_id
        self._pipeline.deliver(callback_context, request, result, report)
        typed = (call.user_content.parts if call.user_content else None) or []
        kept = [part for content in result.contents or () for part in content.parts or ()]
        lost = [part for content in contents for part in content.parts or () if part not in kept]
        files = [part for part in lost if (part.inline_data or part.file_data) and part not in typed]
        message = [part for part in lost if part in typed]
        before, after = ([user_content(each)] if each else [] for each in (files, message))
        return [*before, *(result.contents or ()), *after]


@told_of(_OWNER)
def a2a_context(
    *,
    passes: Iterable[ContextPass] | None = None,
    max_tokens: int | None = None,
    counter: Counter | None = None,
    max_reports: int = 1000,
    keep_requests: bool | int = False,
) -> A2aContext:
    """Returns a `context_builder` for ADK's `RemoteA2aAgent`, so that a remote agent gets as lean a context as a local.

        RemoteA2aAgent(name="billing", agent_card=url, context_builder=a2a_context())

    ADK calls no model callback for a remote agent and sends it each event of other agents as a block with its own
    preamble. This builder lets the passes rewrite what ADK selects, and then sends a preamble once in a message, since
    it speaks of all quoted blocks. Every fence stays. What the remote agent has seen is not sent again, and
    credentials, resumed calls, converters and task mode work as without the builder. Events of other branches, of other
    isolated tasks and before a rewind are left out, as in a local request.

    The user's current message and every file are always sent. If a pass drops one, the builder puts it back.

    A remote agent has none of the tools that read back, so it has only what it is sent. A large result that a pass
    shortens reaches it as its shape. Pass `passes=[CastNarrative(max_result_tokens=…)]` to quote larger ones whole.

    Args:
        passes: the passes over each message, in order. None means `default_passes()` within `max_tokens`. Passes that
            wait for something outside cannot run here, since ADK calls a context builder synchronously.
        max_tokens: the budget of a message in the default passes, in tokens. None means four fifths of 128,000.
        counter: a tokenizer for budget and reports, from text to its number of tokens.
        max_reports: how many of the newest reports are kept.
        keep_requests: keeps the newest messages for `write_html`, as for `ContextPipeline`.

    Raises:
        SettingError: a setting that cannot work, or the installed ADK has no such hook. It came with google-adk 2.10.

    Cost to the prompt cache: none here. The remote agent appends a message to its own session.
    """
    if missing := missing_for_context_builder():
        raise SettingError(f"{_OWNER}: needs {missing}")
    must(passes is None or max_tokens is None, _OWNER, "max_tokens", max_tokens, "given without passes")
    budget = DEFAULT_WINDOW * 4 // 5 if max_tokens is None else positive(_OWNER, "max_tokens", max_tokens)
    given: Iterable[ContextPass] = default_passes(max_tokens=budget, counter=counter) if passes is None else passes
    found = instances(_OWNER, "passes", given, ContextPass, "CastNarrative()")
    for entry in found:
        must(not entry.prepares, _OWNER, "passes", entry, "made of passes that wait for nothing")
    return A2aContext(ContextPipeline(found, counter=counter, max_reports=max_reports, keep_requests=keep_requests))


def _once_introduced(contents: Sequence[types.Content], typed: Container[int]) -> list[types.Content]:
    """Returns `contents` with each preamble before the first quoted block only.

    All contents become one message, and a preamble speaks of all that is quoted between the markers. These stay.
    """
    rebuilt = []
    said: set[str] = set()
    for content in contents:
        first, *others = content.parts or [types.Part()]
        text = "" if id(first) in typed else first.text or ""
        preamble = next((each for each in (FENCED_PREAMBLE, PREAMBLE) if text.startswith(each)), "")
        rest = text.removeprefix(preamble).lstrip("\n")
        shown = {"parts": [text_part(rest), *others] if rest else others}
        rebuilt.append(content.model_copy(update=shown) if preamble in said else content)
        said |= {preamble} - {""}
    return rebuilt
