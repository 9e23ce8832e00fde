"""Each setting of a pass or a tool that cannot work is refused under its owner's and its own name."""

import pytest

from adk_context_pack import (
    CapRows,
    CastNarrative,
    ClearToolResults,
    CompactState,
    DropOldMedia,
    DropOldThoughts,
    FitTokenBudget,
    KeepNewestResult,
    OffloadPayload,
    PayloadStore,
    SettingError,
    StripForContext,
)
from adk_context_pack.tools.query_rows import QueryRows
from adk_context_pack.tools.read_payload import ReadPayload

ODD = object()
NEEDED = {CompactState: {"key": "q"}, FitTokenBudget: {"max_tokens": 100}}
SETTINGS = {
    CapRows: ("max_rows", "max_tokens", "encoding", "counter", "tools", "state_key", "on_report"),
    CastNarrative: ("max_said_chars", "max_args_chars", "on_error"),
    ClearToolResults: ("keep_results", "min_tokens", "exclude_tools", "on_error"),
    CompactState: ("key", "select", "output_key", "on_error"),
    DropOldMedia: ("keep_turns", "min_bytes", "keep_types", "on_error"),
    DropOldThoughts: ("keep_turns", "on_error"),
    FitTokenBudget: ("max_tokens", "keep_turns", "cut_to", "counter", "on_error"),
    KeepNewestResult: ("min_tokens", "exclude_tools", "on_error"),
    OffloadPayload: ("max_tokens", "preview_tokens", "counter", "tools", "on_report"),
    PayloadStore: ("place", "max_state_bytes", "max_results", "max_age_s", "timeout_s"),
    QueryRows: ("max_rows", "max_tokens", "max_seconds", "max_megabytes"),
    ReadPayload: ("max_tokens", "max_seconds"),
    StripForContext: ("on_error",),
}


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in SETTINGS.items() for name in names])
def test_the_error_names_owner_and_setting(owner, name):
    """A user who reads the error knows which setting of which object to change, and what was given."""
    with pytest.raises(SettingError) as caught:
        owner(**{**NEEDED.get(owner, {}), name: ODD})
    assert str(caught.value).startswith(f"{owner.__name__}: {name} must be ")
    assert "not <object object" in str(caught.value)


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (ClearToolResults, "exclude_tools"),
        (KeepNewestResult, "exclude_tools"),
        (StripForContext, "keep_tools"),
        (StripForContext, "keep_agents"),
    ],
)
def test_names_are_held_as_a_set(owner, name):
    """Names given as a list are held so that nobody can change them later, and equal settings are equal passes."""
    given = ["b", "a"]
    made = owner(**{name: given})
    assert getattr(made, name) == frozenset({"a", "b"})
    assert made == owner(**{name: ("a", "b")})
    assert hash(made) == hash(owner(**{name: ("a", "b")}))
