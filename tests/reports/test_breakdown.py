"""The tokens of a request by category and by tool add up, whatever they are scaled to."""

from adk_context_pack.reports.call_report import spread


def test_spreads_to_an_exact_sum():
    """Scaled shares add up to the total, also where there is nothing to scale."""
    assert spread({"a": 1, "b": 1, "c": 1, "other": 0}, 100) == {"a": 34, "b": 33, "c": 33, "other": 0}
    assert spread({"a": 0, "other": 0}, 7) == {"a": 0, "other": 7}
    assert spread({"a": 3, "other": 0}, 3) == {"a": 3, "other": 0}
