"""Hypothesis strategies for ADK sessions as they are, as they can be, and as an attacker would like them.

    @given(conversations())
    def test_something(conversation):
        request, call = conversation.request(), conversation.call()

The contents of `conversation.request()` come from ADK's own builder, for the conversation's agent. Everything that is
drawn is deterministic under Hypothesis' seed: timestamps and event ids are counted, not taken from a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar
from zlib import crc32

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.genai import types
from hypothesis import strategies as st

from adk_context_pack.testing.conversation import SKILLS, Teller
from tests.support import payloads, relay
from tests.support.adk_contents import OWN_SUMMARY, RELAYED_SUMMARY
from tests.support.conversation import Conversation
from tests.support.events import call_part, event, result_part, summary

T = TypeVar("T")
CONFIRMATION = "adk_request_confirmation"


@st.composite
def conversations(draw: st.DrawFn, *, max_turns: int = 3, orderly: bool = False, skills: bool = False) -> Conversation:
    """A session of several agents, in which one of them is about to call its model.

    Args:
        draw: Hypothesis' own.
        max_turns: how many user messages there are at most.
        orderly: without what is malformed (orphans, odd authors, empty contents, rewinds), as a healthy app makes it.
        skills: with agents that load skills, one of which is active for the agent that calls its model.
    """
    agents = draw(st.lists(st.sampled_from(payloads.AGENTS), min_size=2, max_size=3, unique=True))
    teller = _Teller(draw, agents, orderly=orderly, skills=skills)
    # A run may be started by state alone; then nobody has said anything yet, and a request may be empty.
    silent = not orderly and draw(st.integers(0, 19)) == 19
    for turn in range(draw(st.integers(1, max_turns))):
        if turn or not silent:
            teller.user_turn()
        for _ in range(draw(st.integers(1, 5))):
            teller.step()
    agent = draw(st.sampled_from(agents))
    active = {f"_adk_activated_skill_{agent}": list(SKILLS[:1])} if skills else {}
    made = Conversation(
        agent=agent,
        events=tuple(teller.events),
        settings=draw(_SETTINGS),
        instruction=draw(st.sampled_from(_INSTRUCTIONS)),
        dynamic=draw(st.sampled_from((None, None, None, "Today is Monday.", "Queries: {compact:gaql_queries}"))),
        state={"gaql_queries": [{"id": "q1", "status": "success", "rows": 3}], "empty": None} | active,
    )
    # No two sessions share an event, and what is known of an event may be kept for as long as the process lives.
    session = crc32(repr(made).encode(errors="surrogatepass"))
    for number, entry in enumerate(made.events):
        entry.id = f"event-{session:08x}-{number}"
    return made.buildable()


_INSTRUCTIONS = ("You are helpful.", "Review {compact:gaql_queries} and {compact:empty?}.")
_SETTINGS = st.fixed_dictionaries(
    {
        "ids": st.booleans(),
        "include": st.sampled_from(("default", "default", "default", "none")),
        "thoughts": st.booleans(),
        "relay_format": st.sampled_from((None, *relay.FORMATS)),
        "summary_form": st.sampled_from((None, RELAYED_SUMMARY, OWN_SUMMARY)),
        "branch": st.sampled_from((None, None, None, "root.mine")),
    }
)


class _Teller(Teller):
    """The kit's teller with everything else that may happen, drawn by Hypothesis."""

    def __init__(self, draw: st.DrawFn, agents: list[str], *, orderly: bool, skills: bool) -> None:
        super().__init__(agents, Random(0))
        self.draw, self.orderly = draw, orderly
        self.pending: list[tuple[str, str | None, str | None]] = []
        steps = [self.says, self.says, self.calls_tools, self.calls_tools, self.calls_tools, self.transfers]
        steps += [self.waits, self.posts_back, self.asks_for_approval, self.is_compacted, self.changes_state]
        steps += [self.loads_a_skill] * 3 if skills else []
        odd = [self.leaves_a_call, self.returns_unasked, self.is_empty, self.is_odd, self.is_rewound, self.is_branched]
        self.steps = steps if orderly else steps + odd

    def step(self) -> None:
        self.draw(st.sampled_from(self.steps))()

    def user_turn(self) -> None:
        self.turn += 1
        forged = [] if self.orderly else self.forgeries()
        parts = self.draw(st.sampled_from(forged)) if forged and self.draw(st.booleans()) else self.user_parts()
        self.add("user", *parts, role="user")

    def forgeries(self) -> list[list[types.Part]]:
        """Real blocks of this session, as a user would type them, one content or one text each."""
        foreign = [entry for entry in self.events[-6:] if entry.author not in ("user", None) and entry.content]
        blocks = [block for entry in foreign for form in relay.FORMATS if (block := relay.relayed(entry, form))]
        typed = [[types.Part(text="\n".join(part.text or "" for part in block.parts or ()))] for block in blocks]
        return [[part.model_copy() for part in block.parts or ()] for block in blocks] + typed

    def user_parts(self) -> list[types.Part]:
        said = [types.Part(text=self.draw(payloads.texts()) or "?")]
        return said + ([self.draw(payloads.native_parts())] if self.draw(st.integers(0, 4)) == 0 else [])

    def says(self) -> None:
        kinds = (payloads.texts().map(_text), payloads.native_parts(), payloads.invisible_parts())
        extra = self.draw(st.lists(st.one_of(*kinds), max_size=2))
        self.add(self.an_agent(), types.Part(text=self.draw(payloads.texts())), *extra)

    def calls_tools(self) -> None:
        """Calls with their results: parallel, out of order, each in an event of its own, beside other parts."""
        author, calls = self.an_agent(), self.some_calls()
        self.add_calls(author, calls)
        results = self.draw(st.permutations(calls)) if len(calls) > 1 else calls
        groups = [[call] for call in results] if self.draw(st.integers(0, 3)) == 0 else [results]
        for group in groups:
            self.add(author, *(self.result(name, call_id) for name, call_id in group), role="user")

    def waits(self) -> None:
        """A long-running call, whose pending result may say so, beside a call that is answered at once."""
        author, calls = self.an_agent(), self.some_calls()
        self.add_calls(author, calls, waiting={calls[0][1]} - {None})
        self.pending.append((author, *calls[0]))
        answered = calls if self.draw(st.booleans()) else calls[1:]
        if answered:
            self.add(author, *(self.result(name, call_id) for name, call_id in answered), role="user")

    def posts_back(self) -> None:
        """The user's side submits the result of a long-running call."""
        if not self.pending:
            self.waits()
        author, name, call_id = self.pending.pop()
        author = self.draw(st.sampled_from(("user", author)))
        self.add(author, self.result(name, call_id), role="user")

    def asks_for_approval(self) -> None:
        """A tool that needs a confirmation, the user's answer, and the tool's result."""
        author, ((name, call_id), *_) = self.an_agent(), self.some_calls()
        asked = self.new_id("adk-")
        self.add_calls(author, [(name, call_id)])
        self.add(author, call_part(CONFIRMATION, {"originalFunctionCall": {"name": name, "id": call_id}}, asked))
        self.add(author, result_part(name, {"error": "This tool call requires confirmation"}, call_id), role="user")
        if self.draw(st.booleans()):
            self.add("user", result_part(CONFIRMATION, {"confirmed": True}, asked), role="user")
            self.add(author, self.result(name, call_id), role="user")

    def is_compacted(self) -> None:
        """ADK's compaction summary of all that happened before the last events."""
        if len(self.events) > 2:
            last = self.events[self.draw(st.integers(0, len(self.events) - 2))].timestamp
            text = self.draw(payloads.texts()) or "The user asked for a report."
            made = summary(text, self.events[0].timestamp, last, timestamp=self.now())
            self.keep(made)

    def leaves_a_call(self) -> None:
        self.add_calls(self.an_agent(), self.some_calls())

    def returns_unasked(self) -> None:
        self.add(self.an_agent(), self.result(self.draw(payloads.tool_names()), self.new_id("adk-")), role="user")

    def is_empty(self) -> None:
        shapes = (
            None,
            types.Content(role="model"),
            types.Content(role="model", parts=[]),
            types.Content(parts=[_text("x")]),
        )
        self.keep(Event(author=self.an_agent(), content=self.pick(shapes)))
        self.add(self.an_agent(), self.draw(payloads.invisible_parts()))

    def is_odd(self) -> None:
        """An event of an author that is no agent's name, or of none, which ADK nevertheless relays."""
        author = self.draw(st.sampled_from(payloads.ODD_AUTHORS))
        parts = [_text(self.draw(payloads.texts())), call_part(self.draw(payloads.tool_names()), {"a": 1}, "odd")]
        made = event("", *parts[: self.draw(st.integers(1, 2))])
        self.keep(made.model_copy(update={"author": author}))

    def is_rewound(self) -> None:
        actions = EventActions(rewind_before_invocation_id=f"turn-{self.draw(st.integers(1, max(1, self.turn)))}")
        self.keep(Event(author="user", actions=actions))
        # Nobody answers a rewind: the next thing that happens is a message of the user.
        self.user_turn()

    def is_branched(self) -> None:
        """What runs beside the agent on a branch of its own, and what runs on the agent's."""
        branch = self.draw(st.sampled_from(("root.mine", "root.other", "root")))
        self.add(self.an_agent(), _text(self.draw(payloads.texts())), branch=branch)

    def add_calls(
        self, author: str, calls: list[tuple[str | None, str | None]], waiting: set[str | None] | None = None
    ) -> None:
        parts = [call_part(name, self.draw(payloads.arguments()), call_id) for name, call_id in calls]
        if self.draw(st.booleans()):
            # Gemini signs the first call of a step only.
            parts[0].thought_signature = b"sig-%d" % len(self.events)
        if self.draw(st.integers(0, 3)) == 0:
            parts.insert(0, self.draw(st.one_of(payloads.invisible_parts(), payloads.texts().map(_text))))
        self.add(author, *parts, long_running_tool_ids=waiting or None)

    def some_calls(self) -> list[tuple[str | None, str | None]]:
        count = self.draw(st.sampled_from((1, 1, 1, 2, 3)))
        prefix = self.draw(
            st.sampled_from(("adk-", "adk-", "call_") if self.orderly else ("adk-", "call_", "", "same"))
        )
        return [(self.a_tool(), self.new_id(prefix)) for _ in range(count)]

    def a_tool(self) -> str | None:
        return self.draw(st.sampled_from(payloads.TOOLS) if self.orderly else payloads.tool_names())

    def new_id(self, prefix: str) -> str | None:
        """A call id: ADK's own, a provider's, none, or one that was used before."""
        self.calls += 1
        if not prefix:
            return None
        return prefix if prefix == "same" else f"{prefix}{self.calls}"

    def result(self, name: str | None, call_id: str | None) -> types.Part:
        return result_part(name, self.draw(payloads.payloads()), call_id)

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))

    def a_text(self) -> str:
        return self.draw(payloads.texts())


def _text(text: str) -> types.Part:
    return types.Part(text=text)
