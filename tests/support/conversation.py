"""The kit's conversation, with every setting of ADK's own content builder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack import testing
from tests.support.adk_contents import contents_of, request_of


@dataclass(frozen=True, kw_only=True, repr=False)
class Conversation(testing.Conversation):
    """A session and the agent whose turn it is.

    Attributes:
        settings: what `contents_of` is called with (ids, include, relay format and so on).
        dynamic: the text of ADK's dynamic instruction, where the agent has a static one.
    """

    events: tuple[Event, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    dynamic: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "branch", self.settings.get("branch"))

    def contents(self) -> list[types.Content]:
        """ADK's contents for this moment; raises ValueError where ADK does."""
        return contents_of(self.events, self.agent, **self.settings)

    def request(self) -> LlmRequest:
        """ADK's request for this moment; raises ValueError where ADK does."""
        return request_of(self.contents(), instruction=self.instruction, dynamic=self.dynamic)

    def agent_settings(self) -> dict[str, Any]:
        """The instruction, static where there is a dynamic one as well."""
        if not self.dynamic:
            return super().agent_settings()
        return {"instruction": self.dynamic, "static_instruction": self.instruction}

    def may_call(self) -> bool:
        """Not after a rewind: the next thing that happens is a message of the user. Calls may wait."""
        return not self.events[-1].actions.rewind_before_invocation_id

    def buildable(self) -> Conversation:
        """This conversation without the last events that the installed ADK refuses to build a request from."""
        for count in range(len(self.events), 0, -1):
            try:
                self.upto(count).contents()
            except ValueError:
                continue
            return self.upto(count)
        return self.upto(0)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - the protocol's signature
        """Hypothesis shows a failing conversation in lines of its own, not as the constructor of a dataclass."""
        printer.text(repr(self))

    def __repr__(self) -> str:
        lines = [f"agent={self.agent!r} settings={self.settings} dynamic={self.dynamic!r}"]
        lines += [f"  {index}: {_brief(entry)}" for index, entry in enumerate(self.events)]
        return "\n".join(lines)


def _brief(entry: Event) -> str:
    if entry.actions.compaction:
        return f"summary of {entry.actions.compaction.start_timestamp}..{entry.actions.compaction.end_timestamp}"
    if before := entry.actions.rewind_before_invocation_id:
        return f"rewound to before {before}"
    parts = None if entry.content is None else entry.content.parts
    shown = None if parts is None else [part.model_dump(exclude_none=True) for part in parts]
    return f"{entry.author!r} {entry.content and entry.content.role} {shown!r:.500}"
