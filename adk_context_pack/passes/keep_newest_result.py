"""Of tool results that say the same, only the newest stays whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from adk_context_pack.conversation.clearing import ClearingEditor
from adk_context_pack.conversation.known_contents import known_contents
from adk_context_pack.conversation.ledger import KEY
from adk_context_pack.conversation.model_call import ModelCall
from adk_context_pack.conversation.pairing import Pairing, Place, pair, part_at, waiting_calls
from adk_context_pack.conversation.tokens import Counter, meter_of
from adk_context_pack.errors import counted, names, positive, valid_counter
from adk_context_pack.passes.context_pass import ContextPass


@dataclass(frozen=True, kw_only=True)
class KeepNewestResult(ContextPass):
    """Puts a short note in place of older results that a newer one repeats.

    A result is repeated if the same tool returns the same content for the same arguments. The call and its result stay
    paired. Results of waiting calls and orphans are left alone.

    Args:
        min_tokens: results smaller than this stay.
        exclude_tools: tools whose results stay.
        counter: a tokenizer, from text to tokens. Without one, tokens are estimated.

    Cost to the prompt cache: when a result is repeated, everything behind the older one misses the cache once.
    """

    cuts_history = needs_results = True
    min_tokens: int = 100
    exclude_tools: Collection[str] = field(default=())
    counter: Counter | None = None

    def __post_init__(self) -> None:
        """Checks the settings."""
        super().__post_init__()
        positive(self, "min_tokens", self.min_tokens)
        object.__setattr__(self, "exclude_tools", names(self, "exclude_tools", self.exclude_tools))
        valid_counter(self, self.counter)

    def apply(self, request: LlmRequest, call: ModelCall) -> LlmRequest:
        """Returns `request` with notes for repeated results, or the same object if none is repeated."""
        contents = request.contents or []
        pairing = pair(contents)
        if len(pairing.call_of) < 2:  # noqa: PLR2004 - one result repeats nothing
            return request
        editor = ClearingEditor(known_contents(call, contents), meter_of(call, self.counter))
        for place, size in self._repeated(contents, pairing, waiting_calls(pairing, call), editor):
            name = pairing.results[place]
            editor.put_result(place, size, {KEY: f"the same as the newer result of {name} for the same arguments"})
        if not editor.count:
            return request
        call.note(f"left out {counted(editor.count, 'repeated result')}, {editor.saved} tokens")
        return request.model_copy(update={"contents": editor.contents()})

    def _repeated(
        self, contents: Sequence[types.Content], pairing: Pairing, waiting: Collection[Place], editor: ClearingEditor
    ) -> Iterator[tuple[Place, int]]:
        alike: dict[tuple[str | None, int], list[Place]] = defaultdict(list)
        for place, call in reversed(pairing.call_of.items()):
            size = 0 if call in waiting else editor.size(place, self.min_tokens, self.exclude_tools)
            if not size:
                continue
            # Only results of the same size are worth comparing.
            newer = alike[pairing.results[place], size]
            if any(_same(contents, pairing, place, other) for other in newer):
                yield place, size
            else:
                newer.append(place)


def _same(contents: Sequence[types.Content], pairing: Pairing, one: Place, other: Place) -> bool:
    mine, theirs = (part_at(contents, pairing.call_of[place]).function_call for place in (one, other))
    if mine is None or theirs is None or mine.args != theirs.args:
        return False
    said, again = (part_at(contents, place).function_response for place in (one, other))
    return said is not None and again is not None and said.response == again.response
