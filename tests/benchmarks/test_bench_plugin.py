"""The plugin's goal, as a ratio within one run."""

from tests.benchmarks.bench_plugin import plugin_ratio


def test_the_plugin_with_its_reports_takes_at_most_twice_the_time_of_its_passes():
    """On the 127,000-token history, reports, counting and read-back together cost no more than the passes do."""
    alone, whole = plugin_ratio(rounds=30)
    assert whole <= 2 * alone
