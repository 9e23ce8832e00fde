"""The real clients of model providers as ADK uses them, pointed at a local server by the means that each has."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from google.adk.models.base_llm import BaseLlm

from tests.support.all_passes import WAYS

PROVIDERS = ("gemini", "gemini-with-ids", "openai", "anthropic")
"""A Gemini that gives its calls no ids and one that does, an OpenAI-compatible server through LiteLLM, and Claude."""
ATTACHED = [
    *(("gemini", way) for way in WAYS),
    ("gemini-with-ids", "plugin with every pass"),
    ("gemini-with-ids", "callbacks"),
    ("openai", "plugin"),
    ("openai", "every pass as callbacks"),
    ("anthropic", "plugin"),
    ("anthropic", "every pass as callbacks"),
]
"""Each provider with ways to attach the pack; what the ways do to a request does not depend on the provider."""
_ENVIRONMENT = {
    "gemini": {"GOOGLE_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": "{url}"},
    "openai": {},
    "interactions": {"GOOGLE_API_KEY": "key", "GOOGLE_GEMINI_BASE_URL": "{url}"},
    "responses": {},
    "anthropic": {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": "{url}"},
}
# What a developer's shell may hold and would lead a client elsewhere.
_FOREIGN = (
    "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_GENAI_API_VERSION", "ANTHROPIC_AUTH_TOKEN", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy",
    "https_proxy", "all_proxy",
)  # fmt: skip


def connect(provider: str, url: str, monkeypatch: pytest.MonkeyPatch) -> BaseLlm:
    """A model of `provider` that talks to the server at `url`.

    Skips the test where the client is not installed.
    """
    for name in _FOREIGN:
        monkeypatch.delenv(name, raising=False)
    for name, value in _ENVIRONMENT[provider.removesuffix("-with-ids")].items():
        monkeypatch.setenv(name, value.format(url=url))
    if provider == "openai":
        pytest.importorskip("litellm", reason="LiteLLM is not installed")
        _skip_without_mcp()
        return _made("lite_llm", "LiteLlm", model="openai/gpt-4.1-mini", api_base=f"{url}/v1", api_key="key")
    if provider == "anthropic":
        pytest.importorskip("anthropic", reason="Anthropic's client is not installed")
        return _made("anthropic_llm", "AnthropicLlm", model="claude-sonnet-4-20250514")
    if provider == "responses":
        reason = "this ADK has no model for OpenAI's responses"
        pytest.importorskip("openai", reason="OpenAI's client is not installed")
        made = pytest.importorskip("google.adk.integrations.openai._openai_responses_llm", reason=reason)
        return made.OpenAIResponsesLlm(model="gpt-4.1-mini", base_url=f"{url}/v1", api_key="key")
    if provider == "interactions":
        return _made("google_llm", "Gemini", model="gemini-2.5-flash", use_interactions_api=True)
    name = "gemini-3-pro-preview" if provider == "gemini-with-ids" else "gemini-2.5-flash"
    return _made("google_llm", "Gemini", model=name)


def shows_dict_results(provider: str) -> bool:
    """Whether the model is shown results that are dicts without the key `result`; Claude of old ADKs is not."""
    if provider != "anthropic":
        return True
    from google.genai import types  # noqa: PLC0415

    convert = import_module("google.adk.models.anthropic_llm").part_to_message_block
    part = types.Part(function_response=types.FunctionResponse(id="a", name="tool", response={"rows": 1}))
    return bool(convert(part)["content"])


def _skip_without_mcp() -> None:
    # LiteLLM imports this at a completion with tools; some releases need a newer mcp than ADK 1.x lets be installed.
    try:
        import_module("litellm.responses.mcp.chat_completions_handler")
    except ModuleNotFoundError:
        return
    except ImportError as error:
        pytest.skip(f"the installed LiteLLM and mcp do not go together: {error}")


def _made(module: str, name: str, **settings: Any) -> BaseLlm:
    model: BaseLlm = getattr(import_module(f"google.adk.models.{module}"), name)(**settings)
    return model
