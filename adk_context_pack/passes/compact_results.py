"""Writes the names of a table's columns once, in place of in each row of a tool result. Nothing is left out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from operator import is_not
from typing import Any, ClassVar

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack._adk.known_tools import kind_in, takes_references
from adk_context_pack.conversation.calibration import least_cached
from adk_context_pack.conversation.clearing import compacted, is_shortened
from adk_context_pack.conversation.contents import changed, mapped
from adk_context_pack.conversation.known_contents import MADE_OF, known_contents, shortened
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.tokens import meter_of
from adk_context_pack.errors import counted, names, positive
from adk_context_pack.passes.context_pass import ContextPass


@dataclass(frozen=True, kw_only=True)
class CompactResults(ContextPass):
    """Shows tables in tool results as columns and rows, and JSON in texts as what it holds.

        {"orders": [{"id": 1, "at": {"city": "Oslo"}, "paid": true}, {"id": 2, "at": {"city": "Bergen"}, "paid": …
        {"orders": {"columns": ["id", "at.city"], "rows": [[1, "Oslo"], [2, "Bergen"], …], "every_row": {"paid": true}}}

    A table is a list or a mapping of objects of which most have the same keys. `every_row` has what is the same in all
    of them, `key` the column whose cells are the keys of a mapping. Each value stays as it was, to the digits of its
    numbers, and a text that does not read back alike stays a text. Results stay as they are that would become little
    shorter, or that were made smaller when the tool returned, those of ADK's and the pack's own tools, and all where
    an agent writes references into results. The session keeps what the tool returned.

    Args:
        min_tokens: smaller results stay.
        exclude_tools: tools whose results stay.

    Cost to the prompt cache: none. What a result becomes depends on the result alone, save that it stays whole until a
    request has the 2,048 or 4,096 tokens from which on some providers cache.
    """

    needs_results = keeps_all = True
    min_tokens: int = 200
    exclude_tools: Collection[str] = field(default=())
    _checks: ClassVar = {"min_tokens": positive, "exclude_tools": names}

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with shorter results, or the same object if there are none."""
        contents = request.contents or []
        # The plugin asks other passes what they make of the same contents before any pass runs.
        asked = (shown for shown, whole, by in call.memo.get(MADE_OF, ()) if whole is contents and by is self)
        if (shown := next(asked, None)) is None:
            sizes = (meter := meter_of(call)).sizes(contents)
            if max(sizes, default=0) < self.min_tokens or takes_references(call.context):
                return request

            def take(made: _Made, new: Sequence[types.Content]) -> None:
                for size, content in zip(sizes[len(made) :], new, strict=True):
                    part_of = partial(self._part, tools=request.tools_dict)
                    short = mapped(content, part_of) if size >= self.min_tokens else content
                    made.append(None if short is content else short)
                    made.tokens += size * bool(made[-1])

            made = known_contents(call, contents).cache.grow(("compacted", self), _Made, contents, take)
            # A request that is too small for the provider's cache is read in full at each call.
            least, before = least_cached(request, call, meter), accumulate(sizes, initial=sum(meter.fixed(request)))
            whole = bisect_left([*before], least) if least > 1536 else 0  # noqa: PLR2004 - 1,024 are soon reached
            shown = [*contents[:whole], *(new or old for new, old in zip(made[whole:], contents[whole:], strict=True))]
            if not any(map(is_not, shown, contents)):
                return request
        call.note(f"wrote the results of {counted(sum(map(is_not, shown, contents)), 'content')} as columns and rows")
        return shortened(request, shown, call, self)

    def _part(self, part: types.Part, tools: Mapping[str, Any]) -> types.Part:
        result = part.function_response
        if result is None or result.name in self.exclude_tools or kind_in(tools, result.name) is not None:
            return part
        response = result.response
        if not response or part.thought_signature or is_shortened(response):
            return part
        short = compacted(response)
        return part if short is response else changed(part, "function_response", changed(result, "response", short))


class _Made(list[types.Content | None]):
    """Holds the shorter contents of a session, and None for each that stays."""

    tokens = 0

    @property
    def bytes(self) -> int:
        """About how many bytes of memory they take."""
        return 4 * (len(self) + self.tokens)
