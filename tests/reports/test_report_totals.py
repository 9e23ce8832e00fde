"""ReportTotals: sums, as an object, as JSON and as a table."""

import json

from adk_context_pack.reports.report_log import ReportTotals
from tests.support.reported import reported_run


def test_nothing_is_zero():
    """The sums over no reports are zeros, and print."""
    totals = ReportTotals.of([])
    assert totals.calls == totals.tokens_saved == 0
    assert "0 calls" in str(totals)


async def test_adds_up():
    """Categories add up to the whole, and what the passes took away is what was saved."""
    _, pipeline = await reported_run("Where is Oslo?", "And now?")
    totals = pipeline.reports.totals()
    assert totals.tokens_after == sum(totals.categories.values())
    assert totals.tokens_before == sum(totals.categories_before.values())
    assert totals.tokens_saved == sum(totals.passes.values()) > 0
    assert (totals.cached_tokens, totals.errors) == (1500, 0)
    assert totals.seconds == sum(report.seconds for report in pipeline.reports)
    assert json.loads(json.dumps(totals.to_dict()))["calls"] == 5


async def test_prints_as_a_table():
    """The table has a line for each category that is there and one for each pass."""
    _, pipeline = await reported_run()
    text = str(pipeline.reports)
    assert "3 calls" in text
    assert f"strip_for_context: {pipeline.reports.totals().passes['strip_for_context']:,} tokens taken away" in text
