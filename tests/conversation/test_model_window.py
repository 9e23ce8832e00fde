"""window_of: what a model takes in, by its name."""

import pytest

from adk_context_pack.conversation.model_window import DEFAULT_WINDOW, window_of


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gemini-2.5-flash", 1_048_576),
        ("projects/p/locations/l/publishers/google/models/gemini-2.0-flash-001", 1_048_576),
        ("gemini-2.0-flash-live-001", 32_000),
        ("gemini-live-2.5-flash", 32_000),
        ("anthropic/claude-sonnet-4", 200_000),
        ("openai/gpt-4.1-mini", 1_047_576),
        ("openai/gpt-4o", 128_000),
        ("gpt-4-turbo", 128_000),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-4", 8_192),
        ("gpt-4-32k", 32_768),
        ("openai/o1-mini", 128_000),
        ("openai/o3", 200_000),
        ("gpt-5-nano", 272_000),
        ("gpt-3.5-turbo", 16_385),
        ("GPT-4", 8_192),
        ("something-else", DEFAULT_WINDOW),
        ("", DEFAULT_WINDOW),
        (None, DEFAULT_WINDOW),
    ],
)
def test_windows_by_name(model, window):
    """Provider prefixes, versions and case do not matter; an unknown name has a careful default."""
    assert window_of(model) == window
