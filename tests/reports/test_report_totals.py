"""ReportTotals: sums, as an object, as JSON and as a table."""

from tests.support.reported import reported_run


async def test_prints_as_a_table():
    """The table has a line for each category that is there and one for each pass."""
    _, pipeline = await reported_run()
    text = str(pipeline.reports)
    assert "3 calls" in text
    assert f"strip_for_context: {pipeline.reports.totals().passes['strip_for_context']:,} tokens taken away" in text
