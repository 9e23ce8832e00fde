"""Sorts a request's tokens by category, so that the categories add up to the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.instruction import agent_of, is_labelled
from adk_context_pack.conversation.known_contents import said_in
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.outline import outline_of
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.conversation.voices import Voice, Voices
from adk_context_pack.reports.call_report import CALLS_AND_RESULTS

CATEGORIES = (
    "system_instruction",  # the system instruction, and the dynamic one that ADK puts among the contents
    "tool_declarations",
    "user",  # what the user said
    "own_words",  # what this agent said and thought
    CALLS_AND_RESULTS,  # this agent's, with code that it ran
    "relayed",  # what other agents did, as ADK relays it or as a pass retells it
    "state_views",  # state values that a pass filled into the instructions
    "media",  # images, audio, files, whoever sent them
    "other",  # compaction summaries, and what nobody in the session said
)
"""The names of the categories, in the order in which they are shown."""

VIEWS = "state_views"
"""The entry of `ModelCall.memo` in which a pass lists the texts that it filled into instructions."""

_OWN = {**dict.fromkeys(("call", "result", "code"), CALLS_AND_RESULTS), "media": "media", "file": "media"}
"""The categories of the parts that tell theirs by themselves."""

_TOOL = "tool "
"""Begins the keys of sums for one tool. No category begins so."""


class Categories:
    """Sorts the tokens of one model call's requests into categories."""

    def __init__(self, call: ModelCall, meter: TokenMeter) -> None:
        self._call = call
        self._meter = meter
        self._dynamic = bool(getattr(agent_of(call.context), "static_instruction", None))

    def of(self, request: LlmRequest) -> tuple[dict[str, int], dict[str, int]]:
        """Returns tokens by category, with an entry for each of `CATEGORIES`, and by tool.

        State views count as instructions, and code that the model ran as the tool `code`.
        """
        found = dict.fromkeys(CATEGORIES, 0)
        found["system_instruction"], found["tool_declarations"] = self._meter.fixed(request)
        sums = self._sums(request.contents or ())
        for name in found:
            found[name] += sums.pop(name, 0)
        tools = {name.removeprefix(_TOOL): tokens for name, tokens in sums.items()}
        return found, tools

    def with_views(self, found: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
        """Returns categories with state views apart: what passes list as filled in, else what instructions grew by."""
        texts = self._call.memo.get(VIEWS)
        instructions = found["system_instruction"]
        views = sum(map(self._meter.text, texts)) if texts else instructions - before["system_instruction"]
        views = min(max(views, 0), instructions)
        return {**found, "system_instruction": instructions - views, "state_views": views}

    def _sums(self, contents: Sequence[types.Content]) -> dict[str, int]:
        # It forgets the sums if the session says something else about the speakers.
        spoken = outline_of(self._call, contents).voices
        name = f"categories, dynamic instruction {self._dynamic}"

        def take(sums: dict[str, int], new: Sequence[types.Content]) -> None:
            first = len(contents) - len(new)
            self._add(sums, new, self._meter.sizes(contents)[first:], spoken[first:])

        sums = self._meter.grow(contents, name, dict[str, int], take)
        return dict(sums)

    def _add(
        self, sums: dict[str, int], contents: Sequence[types.Content], sizes: Sequence[int], spoken: Sequence[Voice]
    ) -> None:
        """Adds contents to `sums`. `spoken` says who speaks in each of them, unless it holds a result."""
        for content, total, speaker in zip(contents, sizes, spoken, strict=True):
            parts, left = content.parts or (), total
            kinds = [_OWN.get(said_in(part)[0], "") for part in parts]
            if (main := kinds[0] if len(set(kinds)) == 1 else "") == "":
                voice = Voices.of(self._call).voice(content) if any(kinds) else speaker
                # Releases before 2.9.0 put no marks around it. Only agents with a static instruction have one.
                text = (parts[0].text if parts else None) or ""
                is_alone = self._dynamic and content.role == "user" and not text.startswith("For context")
                is_own = voice == "fixed" and (is_alone or is_labelled(text))
                said = {"user": "user", "model": "own_words", "relay": "relayed"}.get(voice, "other")
                main = "system_instruction" if is_own else said
            for kind, part in zip(kinds, parts, strict=True):
                # The envelope of a part alone is its own. Beside others it is the speaker's.
                tokens = total if len(parts) == 1 or not kind else self._meter.part(part)
                if kind == CALLS_AND_RESULTS:
                    what, tool, *_ = said_in(part)
                    name = _TOOL + ("code" if what == "code" else tool or "no name")
                    sums[name] = sums.get(name, 0) + tokens
                if kind and kind != main:
                    sums[kind] = sums.get(kind, 0) + min(tokens, left)
                    left -= min(tokens, left)
            sums[main] = sums.get(main, 0) + left
