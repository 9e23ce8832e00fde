"""What Gemini, OpenAI and Anthropic refuse about the order and the pairing of contents, as pure checkers.

Each checker takes a request's contents and gives one sentence for each thing that the provider would answer with a
400. The sentences name tools and ids but no positions, so that the sentences of a request before and after a pass can
be compared: `new_problems(before, after)` is what the pass alone is to blame for.

The rules and their sources stand with each provider: `rules_gemini.py`, `rules_openai.py`, `rules_anthropic.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from google.genai import types

from tests.support.rule_message import Contents, parts_of
from tests.support.rules_anthropic import anthropic_problems
from tests.support.rules_gemini import gemini_problems
from tests.support.rules_openai import openai_problems

CHECKERS: dict[str, Callable[[Contents], list[str]]] = {
    "gemini": gemini_problems,
    "openai": openai_problems,
    "anthropic": anthropic_problems,
}


def new_problems(before: Contents, after: Contents) -> list[str]:
    """The problems that `after` has and `before` had not, each with the provider's name."""
    found = [
        f"{provider}: {problem}"
        for provider, check in CHECKERS.items()
        for problem in (Counter(check(after)) - Counter(check(before))).elements()
    ]
    return found + lost_signatures(before, after)


def lost_signatures(before: Contents, after: Contents) -> list[str]:
    """Calls and texts that stand in both, with a thought signature in `before` and without it in `after`."""
    signed = Counter(_body(part) for part in parts_of(before) if part.thought_signature)
    bare = Counter(_body(part) for part in parts_of(before) if not part.thought_signature)
    bare_now = Counter(_body(part) for part in parts_of(after) if not part.thought_signature)
    return [f"the thought signature of {body!r} is lost" for body in (bare_now - bare) if body in signed]


def _body(part: types.Part) -> str:
    if part.function_call:
        return f"{part.function_call.name}({part.function_call.args})"
    return part.text or repr(part.model_dump(exclude={"thought_signature"}, exclude_none=True))
