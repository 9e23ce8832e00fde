"""AgentUse: the largest request, and where and how often the prefix broke."""

from adk_context_pack import PrefixReport
from adk_context_pack.reports.token_use import AgentUse, broke_in_fixed
from tests.reports.test_report_log import report

SIZES = {"system_instruction": 40, "tool_declarations": 10, "user": 50}


def one(kept, previous=100, **settings):
    prefix = PrefixReport(tokens=kept, previous_tokens=previous)
    return report(tokens_before=100, tokens_after=100, categories=SIZES, prefix=prefix, **settings)


def test_breaks_are_counted_by_their_place():
    """A prefix that ends in the instruction is told from one that ends in the history, and a whole one is no break."""
    use = AgentUse()
    for kept, previous in ((0, 0), (100, 100), (20, 100), (70, 100)):
        use.add(one(kept, previous))
    assert (use.breaks, use.breaks_in_fixed) == (2, 1)
    assert (use.lost, use.lost_in_fixed) == (110, 80)
    assert not broke_in_fixed(one(0, 0))
