"""A DataSummarizer warns of settings that nothing in the data answers to, and of nothing else."""

import pytest

from adk_context_pack import GOOGLE_ADS_KPIS, DataSummarizer, Kpi
from adk_context_pack.stores.handles import HANDLE_LENGTH
from tests.support.run import run_agent
from tests.support.warned import warned

ROWS = [{"campaign.name": "Brand", "metrics.costMicros": 5_000_000, "clicks": 3, "segments.device": "MOBILE"}] * 3
KEPT = f"rows:run_gaql:{'0' * HANDLE_LENGTH}"
CPV = Kpi(name="CPV", numerator="cost", denominator="video_vews")


async def said_by(*turns, state, **settings):
    agent = DataSummarizer(name="summarizer", **settings)
    with warned() as texts:
        run = await run_agent(agent, *(turns or ("go",)), state=state)
    assert "summarized_results" in run.session.state
    return texts


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"group_by": ["segments.devise"]}, "group_by names 'segments.devise', .* (did you mean 'segments.device'?)"),
        ({"group_by": [("campaign.name", "zone")]}, "group_by names 'zone', which no row has"),
        ({"rank_by": "clics"}, "rank_by names 'clics', which no row has (did you mean 'clicks'?)"),
        ({"kpis": [CPV]}, "Kpi 'CPV' names 'video_vews', which no row has"),
    ],
)
async def test_a_column_that_no_row_has_is_named_once(settings, expected):
    """One warning names the setting, the word and the nearest column, however many turns there are."""
    begin, _, end = expected.partition(" .* ")
    (text,) = await said_by("go", "again", state={"gaql_execution_results": {"q1": ROWS, "q2": ROWS}}, **settings)
    assert text.startswith(f"summarizer: {begin}")
    assert text.endswith(end)


@pytest.mark.parametrize("rows", [[], [{"error": "denied"}]], ids=["an empty list", "a failure"])
async def test_without_rows_nothing_is_said(rows):
    """A first run before the data is there, an empty list and a failed query are no mistakes."""
    state = {"gaql_execution_results": {"q1": {"rows": rows} if not rows else rows[0]}}
    assert not await said_by(state=state, rank_by="clics", group_by=["zone"], kpis=[CPV])


@pytest.mark.parametrize(
    "settings",
    [
        {"group_by": ["device", "segments.device"], "rank_by": "cost"},
        {"rank_by": "CPC"},
        {"rank_by": "metrics.costMicros", "max_rows": 0},
        {"kpis": [*GOOGLE_ADS_KPIS, Kpi(name="CPC2", numerator="cost_micros", denominator="clicks")]},
        {"max_rows": 0, "max_ranked": 0, "group_by": ["device"]},
    ],
)
async def test_columns_in_any_spelling_are_found(settings):
    """A setting that the summary answers to is never warned of, nor are the columns of the key figures for Ads."""
    assert not await said_by(state={"gaql_execution_results": ROWS}, **settings)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("run_gqal", " (did you mean 'run_gaql'?), so all results that are stored were read"),
        ("orders", ", so all results that are stored were read"),
    ],
)
async def test_a_source_that_nothing_was_stored_under_is_named(source, hint):
    """Results of another tool were read in its place, which the warning says."""
    state = {KEPT: {"rows": ROWS}}
    (text,) = await said_by("go", "again", state=state, source=source)
    assert text == f"summarizer: nothing is stored under the source {source!r}{hint}"


async def test_a_misspelled_source_is_named_without_other_results():
    """A state key that is nearly the source's name is offered."""
    (text,) = await said_by(state={"gaql_results": [{"id": 1}]}, source="gaql_result", output_key="summarized_results")
    assert text == "summarizer: nothing is stored under the source 'gaql_result' (did you mean 'gaql_results'?)"
