"""The goals for the sizes of stubs, on the benchmark's own results."""

from __future__ import annotations

from tests.benchmarks.bench_stub_sizes import measure


async def test_stub_sizes_meet_their_goals():
    """The table of 500 rows fits into 600 tokens, small results come through untouched, nothing gets larger."""
    lines = {line.name: line for line in await measure()}
    assert lines["500 rows, one fraud"].whole > 33_000
    assert all(line.capped["max_tokens=600"] <= 600 for name, line in lines.items() if "prose" not in name)
    assert lines["22 tokens"].untouched
    assert lines["22 tokens"].whole < 25
    assert all(size <= line.whole for line in lines.values() for size in line.capped.values())
