"""References in an agent's answer: the app shows its user the values, and the session keeps the references."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.events.event import Event
from google.adk.sessions.session import Session

from adk_context_pack._json import opened
from adk_context_pack.errors import ContextPackError, QueryError, SettingError, positive
from adk_context_pack.tools.references import as_text, parsed, references_in, replaced
from adk_context_pack.tools.resolve_results import OpenResult, noted_answer, text_of, value_of

logger = logging.getLogger("adk_context_pack")


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
    left = positive("resolve_answer", "max_bytes", max_bytes)
    place = _Place(_checked("event", event, Event), _checked("session", session, Session), artifact_service)
    written = text_of(event.content)
    values: dict[str, Any] = {}
    unresolved: dict[str, str] = {}
    for text, count in Counter(references_in(opened(written))).items():
        try:
            value = await place.value(text)
            left -= _size_within(value, count, left)
            values[text] = value
        except ContextPackError as error:
            unresolved[text] = str(error)
        except Exception:
            logger.exception("a reference in an answer could not be resolved")
            unresolved[text] = "It could not be resolved. The log has the error."
    if not values:
        return ResolvedAnswer(written, unresolved)
    return ResolvedAnswer(as_text(replaced(opened(written), lambda text: values.get(text, text))), unresolved)


@dataclass(frozen=True, slots=True)
class _Place:
    """The parts of ADK's context that opening a stored result takes, since there is no context outside of a run."""

    event: Event
    session: Session
    artifact_service: BaseArtifactService | None
    results: dict[str, OpenResult] = field(default_factory=dict)

    async def value(self, text: str) -> Any:
        reference = parsed(text)
        if reference.handle not in noted_answer(self.event):
            raise QueryError(f"The event does not list {reference.handle} as a result that its answer may refer to.")
        return await value_of(reference, self, self.results)


def _size_within(value: Any, count: int, left: int) -> int:
    size = count * len(as_text(value).encode(errors="replace"))
    if size > left:
        raise QueryError(f"The value has {size} bytes in the answer, and {left} of max_bytes are left.")
    return size


def _checked(name: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        # Only the type, since a session holds payloads.
        raise SettingError.of("resolve_answer", name, type(value), f"ADK's {kind.__name__}")
    return value
