"""A replayed call with the figures of the provider adds up like the report of a live one."""

from __future__ import annotations

import pytest

from adk_context_pack import PrefixReport
from adk_context_pack.replay.replayed import Replayed
from tests.reports.test_calibrated import adds_up, report


@pytest.mark.parametrize("tokens", [(2000, 1000), (777, 333), (10, 9), (500, 500)])
def test_all_figures_are_scaled_and_add_up(tokens):
    """Passes, categories, tools and prefixes are scaled with the request, with the pack and without it."""
    call = Replayed(report(), PrefixReport(tokens=500, previous_tokens=800)).corrected(tokens)
    assert (call.report.tokens_before, call.report.tokens_after) == tokens
    assert call.report.tokens_without_pack == tokens[0]
    assert call.prefix_without.tokens == pytest.approx(tokens[0] / 2, abs=1)
    assert call.report.prefix.share == pytest.approx(0.5, abs=0.1)
    adds_up(call.report)
