"""Looks up the context window of a model by its name."""

from __future__ import annotations

import re

DEFAULT_WINDOW = 128_000
"""For a model that no rule names: what current models take at least."""

# The first rule that is found in the name holds. Sources: ai.google.dev/gemini-api/docs/models,
# docs.anthropic.com/en/docs/about-claude/models, platform.openai.com/docs/models.
_WINDOWS = (
    (re.compile(r"gemini-(live|.*-(live|image|tts|audio))"), 32_000),
    (re.compile(r"gemini"), 1_048_576),
    (re.compile(r"claude"), 200_000),
    (re.compile(r"gpt-4\.1"), 1_047_576),
    (re.compile(r"gpt-5"), 272_000),
    (re.compile(r"(^|/)o1-(mini|preview)"), 128_000),
    (re.compile(r"(^|/)o[134]\b"), 200_000),
    (re.compile(r"gpt-4-32k"), 32_768),
    (re.compile(r"gpt-4(-0314|-0613)?$"), 8_192),
    (re.compile(r"gpt-3\.5"), 16_385),
)


def window_of(model: str | None) -> int:
    """The tokens that a model takes in, input and output together where the provider counts them together.

    Args:
        model: the name as it stands in the request, a provider's prefix included (`anthropic/claude-…`).
    """
    name = (model or "").lower()
    return next((window for rule, window in _WINDOWS if rule.search(name)), DEFAULT_WINDOW)
