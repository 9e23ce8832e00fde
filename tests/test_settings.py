"""Each setting that cannot work is refused when its owner is built, under the owner's and its own name."""

from functools import partial

import pytest

from adk_context_pack import (
    CapRows,
    CastNarrative,
    ClearToolResults,
    CompactResults,
    CompactState,
    CompactStateStep,
    ContextPackPlugin,
    ContextPipeline,
    DataSummarizer,
    DropOldMedia,
    DropOldThoughts,
    FitTokenBudget,
    HistorySummarizer,
    IngestMemory,
    KeepNewestResult,
    OffloadPayload,
    PackSettings,
    PayloadStore,
    QueryRows,
    ReadPayload,
    RecallMemory,
    ReportLog,
    SettingError,
    StripForContext,
    default_passes,
)

ODD = object()
NEEDED = {CompactState: {"key": "q"}, FitTokenBudget: {"max_tokens": 100}}
SETTINGS = {
    CapRows: ("max_rows", "max_tokens", "encoding", "counter", "tools", "state_key", "on_report"),
    CastNarrative: ("max_said_chars", "max_args_chars", "on_error"), CompactResults: ("min_tokens", "exclude_tools"),
    ClearToolResults: ("keep_results", "min_tokens", "exclude_tools", "on_error"),
    CompactState: ("key", "select", "output_key", "on_error"),
    DropOldMedia: ("keep_turns", "min_bytes", "keep_types", "on_error"), DropOldThoughts: ("keep_turns", "on_error"),
    FitTokenBudget: ("max_tokens", "keep_turns", "cut_to", "counter", "on_error"),
    KeepNewestResult: ("min_tokens", "exclude_tools", "on_error"),
    OffloadPayload: ("max_tokens", "preview_tokens", "counter", "tools", "on_report"),
    PayloadStore: ("place", "max_state_bytes", "max_results", "max_age_s", "timeout_s"),
    QueryRows: ("max_rows", "max_tokens", "max_seconds", "max_megabytes"), ReadPayload: ("max_tokens", "max_seconds"),
    StripForContext: ("on_error",),
}  # fmt: skip


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, names in SETTINGS.items() for name in names])
def test_the_error_names_owner_and_setting(owner, name):
    """A user who reads the error knows which setting of which object to change, and what was given."""
    with pytest.raises(SettingError) as caught:
        owner(**{**NEEDED.get(owner, {}), name: ODD})
    assert str(caught.value).startswith(f"{owner.__name__}: {name} must be ")
    assert "not <object object" in str(caught.value)


REFUSED = [
    *[
        (build, {"key": "q"} | odd)
        for build in (CompactState, partial(CompactStateStep, name="step"))
        for odd in ({"key": ""}, {"key": "{q}"}, {"select": "id"}, {"output_key": "q"})
    ],
    *[
        (partial(DataSummarizer, name="summarizer"), odd)
        for odd in ({"source": ""}, {"output_key": 3}, {"kpis": ["CTR"]}, {"kpis": "CTR"}, {"max_rows": -1},
                    {"max_ranked": True}, {"group_by": "device"}, {"group_by": (3,)}, {"rank_by": ""})
    ],
    *[(HistorySummarizer, odd) for odd in ({"max_tokens": 0}, {"max_said_chars": -1}, {"counter": 5})],
    *[(IngestMemory, odd) for odd in ({"max_waiting": 0}, {"max_attempts": 0})],
    *[(ClearToolResults, odd) for odd in ({"keep_results": True}, {"exclude_tools": "fetch"}, {"counter": 3})],
    (DropOldMedia, {"keep_types": "image/png"}),
    *[(FitTokenBudget, {"max_tokens": 9} | odd) for odd in ({"max_tokens": 9.5}, {"cut_to": "half"}, {"counter": "o"})],
    (KeepNewestResult, {"exclude_tools": "read"}), (CompactResults, {"exclude_tools": "read"}),
    *[(StripForContext, {"keep_agents": odd}) for odd in ("scout", [""], [3], 5)],
    *[(ContextPipeline, {"passes": [odd]}) for odd in ("strip", None)],
    *[(partial(ContextPipeline, ()), {"max_reports": odd}) for odd in (0, -1, True, "10")],
    (partial(ContextPipeline, ()), {"keep_requests": -2}),
    *[(ReportLog, odd) for odd in ({"max_reports": 0}, {"max_requests": -1})],
    *[(default_passes, {"max_tokens": 9} | odd) for odd in ({"max_tokens": 0}, {"relays": "burn"})],
    *[(RecallMemory, odd) for odd in ({"max_tokens": 0}, {"counter": 3})],
    *[(CastNarrative, {"max_quoted_tokens": odd}) for odd in (True, "9", 1.5, None)],
    *[
        (PackSettings, odd)
        for odd in ({"passes": StripForContext()}, {"passes": "a"}, {"passes": 3}, {"max_tokens": True},
                    {"max_tokens": -5}, {"rows": {"max_rows": 3}}, {"payloads": CapRows()})
    ],
    *[
        (ContextPackPlugin, odd)
        for odd in ({"passes": ["strip"]}, {"max_tokens": 0}, {"rows": 100}, {"payloads": "all"},
                    {"agents": {"a": "none"}}, {"agents": 0}, {"agents": PackSettings()}, {"counter": 5},
                    {"max_reports": 0}, {"keep_requests": -1}, {"shadow": "maybe"}, {"report_file": 7},
                    {"report_file": "page.txt"}, {"prices": 1.25}, {"result_passes": [StripForContext()]},
                    {"result_passes": 3}, {"rows": None, "result_passes": []}, {"payloads": None, "result_passes": []})
    ],
]  # fmt: skip


@pytest.mark.parametrize(("build", "settings"), REFUSED)
def test_what_cannot_work_is_refused_with_its_value(build, settings):
    """Whatever is built, the error names the setting and holds the value, so that nobody has to guess."""
    with pytest.raises(SettingError) as caught:
        build(**settings)
    name, value = list(settings.items())[-1]
    while isinstance(value, list | tuple | dict) and value:
        value = next(iter(value.values() if isinstance(value, dict) else value))
    shown = type(value).__name__ if type(value).__module__.startswith("adk") else repr(value)
    assert name in str(caught.value)
    assert shown in str(caught.value)


AT_LEAST_1 = {
    CapRows: ("max_rows", "max_tokens", "stub_rows", "stub_tokens"),
    CastNarrative: ("max_said_chars", "max_args_chars", "max_result_chars", "max_error_chars"),
    ClearToolResults: ("min_tokens",), DropOldMedia: ("keep_turns",), DropOldThoughts: ("keep_turns",),
    FitTokenBudget: ("max_tokens", "keep_turns"), KeepNewestResult: ("min_tokens",), CompactResults: ("min_tokens",),
    OffloadPayload: ("max_tokens", "preview_tokens"), PayloadStore: ("max_session_bytes", "max_results", "max_age_s"),
    QueryRows: ("max_rows", "max_tokens", "max_seconds", "max_megabytes"),
    ReadPayload: ("max_tokens", "max_matches", "max_seconds"), RecallMemory: ("max_tokens",),
}  # fmt: skip
AT_LEAST_0 = {
    CastNarrative: ("max_result_tokens", "max_quoted_tokens"),
    ClearToolResults: ("keep_results", "keep_in_turn", "max_ledger_tokens"),
    DropOldMedia: ("min_bytes",),
    FitTokenBudget: ("max_ledger_tokens",),
    PayloadStore: ("max_state_bytes",),
}


@pytest.mark.parametrize(
    ("owner", "name", "lowest"),
    [
        (owner, name, lowest)
        for lowest, settings in ((1, AT_LEAST_1), (0, AT_LEAST_0))
        for owner, names in settings.items()
        for name in names
    ],
)
def test_the_lowest_value_that_works(owner, name, lowest):
    """Each number has a lowest value, which works; one less is refused, and the error names the lowest one."""
    assert owner(**NEEDED.get(owner, {}) | {name: lowest})
    with pytest.raises(SettingError, match=f"{name} must be an integer of at least {lowest}, not {lowest - 1}"):
        owner(**NEEDED.get(owner, {}) | {name: lowest - 1})
