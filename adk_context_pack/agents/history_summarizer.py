"""A summarizer for ADK's own compaction that needs no model."""

from __future__ import annotations

from collections.abc import Sequence

from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event_actions import EventCompaction

from adk_context_pack._adk import Event, EventActions, types
from adk_context_pack.conversation.account import account_lines, bounded, event_text
from adk_context_pack.conversation.token_estimate import Counter, TokenMeter
from adk_context_pack.errors import Configured, logged, positive, valid_counter
from adk_context_pack.stores.codec import off_loop, rough_size


class HistorySummarizer(Configured, BaseEventsSummarizer):
    """Compacts events into an attributed account, for `EventsCompactionConfig(summarizer=HistorySummarizer(), …)`.

    The account has one line for each entry, in order: the user's requests word for word, the agents' texts (shortened
    with a mark), and each tool call with its arguments and outcome. Thoughts and credentials are left out. An earlier
    account is taken over entry by entry, and another summarizer's summary unchanged. Nothing is rephrased.

    Compaction shrinks what ADK builds the next request from. The events themselves stay in the session, where
    `read_back` finds them. Compaction ends at the last finished turn among the events that ADK offers. Only a
    single turn that is longer than all of them is compacted from its beginning.

    A pass that trims requests (`FitTokenBudget`, `ClearToolResults`) keeps the last prompt small, and ADK's
    `token_threshold` reads nothing else. With such a pass, set `compaction_interval`, or a threshold below the budget.

    Args:
        max_tokens: the longest account. If it would be longer, tool results are dropped first, then agents' texts, then
            the user's texts, the oldest first. The account then says how many entries are missing.
        max_said_chars: the longest text of an agent, in characters.
        max_args_chars: the longest rendering of a call's arguments, in characters.
        max_outcome_chars: the longest description of a result or an error, in characters.
        counter: a tokenizer, from text to its number of tokens. Without one, tokens are estimated.
    """

    def __init__(
        self,
        *,
        max_tokens: int = 2000,
        max_said_chars: int = 600,
        max_args_chars: int = 200,
        max_outcome_chars: int = 300,
        counter: Counter | None = None,
    ) -> None:
        self.max_tokens = positive(self, "max_tokens", max_tokens)
        lengths = {"said": max_said_chars, "args": max_args_chars, "outcome": max_outcome_chars}
        self._limits = [positive(self, f"max_{name}_chars", length) for name, length in lengths.items()]
        valid_counter(self, "counter", counter)
        self._counter = counter

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Returns the compaction of `events` as ADK stores it, or None if nothing would be gained."""
        # ADK goes on with the whole history. Raised to ADK, the error would end the run on some releases.
        with logged("the events could not be summarised; they stay as they are"):
            return await off_loop(rough_size(events), self._summarize, finished(events))
        return None

    def _summarize(self, events: Sequence[Event]) -> Event | None:
        if not events:
            return None
        meter = TokenMeter(counter=self._counter)
        text = bounded(account_lines(events, self._limits), self.max_tokens, meter)
        if meter.text(text) >= sum(meter.text(event_text(event)) for event in events):
            return None
        ends = {"start_timestamp": events[0].timestamp, "end_timestamp": events[-1].timestamp}
        content = types.Content(role="model", parts=[types.Part(text=text)])
        compaction = EventCompaction(**ends, compacted_content=content)
        # ADK's own summarizer marks its event in the same way.
        return Event(author="user", actions=EventActions(compaction=compaction), invocation_id=Event.new_id())


def finished(events: Sequence[Event]) -> Sequence[Event]:
    """Returns `events` up to the end of the last finished turn, or all of them if that would leave nothing new."""
    # A turn ends with an agent's text that calls no tool. Everything after it belongs to the next turn.
    for stop in range(len(events), 1, -1):
        last = events[stop - 1]
        if last.author != "user" and last.is_final_response() and not last.long_running_tool_ids:
            return events[:stop]
    return events
