"""The goals for the sizes of stubs, on the benchmark's own results."""

from __future__ import annotations

from tests.benchmarks.bench_stub_sizes import measure


async def test_stub_sizes_meet_their_goals():
    """The table of 500 rows fits into 600 tokens, small results come through untouched, nothing gets larger."""
    lines = {line.name: line for line in await measure()}
    assert lines["500 rows, one fraud"].whole > 33_000
    assert all(line.capped["stub_tokens=600"] <= 600 for name, line in lines.items() if "prose" not in name)
    assert lines["22 tokens"].untouched
    assert lines["22 tokens"].whole < 25
    assert all(size <= line.whole for line in lines.values() for size in line.capped.values())


async def test_stubs_of_some_five_hundred_tokens_answer_most_questions():
    """Below 600 tokens 12 of 13 questions are answered by what is visible of 500 rows, and 11 of 50 rows."""
    lines = {line.name: line for line in await measure()}
    for name, least in (("500 rows, one fraud", 12), ("50 rows", 11)):
        assert lines[name].capped["5 rows, 600"] <= 600
        assert lines[name].answers["5 rows, 600"] >= least
