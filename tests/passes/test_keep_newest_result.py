"""KeepNewestResult: of identical results only the newest stays whole."""

from adk_context_pack import ContextPipeline, KeepNewestResult
from tests.support.events import agent_called, agent_said, call_part, event, tool_returned, user_said
from tests.support.histories import results, rows
from tests.support.requests import applied, call_for, request_for


def session(*asked):
    events = [user_said("Q")]
    for number, (tool, args, response) in enumerate(asked):
        events += [
            agent_called("a", tool, f"adk-{number}", **args),
            tool_returned("a", tool, response, f"adk-{number}"),
        ]
    return [*events, agent_said("a", "So."), user_said("Next")]


def notes(events, entry=None):
    return ["left_out" in response for response in results(applied(entry or KeepNewestResult(), "a", events).contents)]


SAME = ("read", {"path": "a"}, {"rows": rows(1, 40)})


def test_only_the_newest_of_identical_results_stays():
    """Three times the same leaves the last one whole, and the notes name the tool."""
    events = session(SAME, SAME, ("read", {"path": "b"}, {"rows": rows(1, 40)}), SAME)
    assert notes(events) == [True, True, False, False]
    assert "read" in results(applied(KeepNewestResult(), "a", events).contents)[0]["left_out"]


def test_small_excluded_and_waiting_results_stay():
    """Small results, excluded tools and waiting calls are left alone."""
    assert not any(notes(session(("read", {}, {"x": 1}), ("read", {}, {"x": 1}))))
    assert not any(notes(session(SAME, SAME), KeepNewestResult(exclude_tools=["read"])))
    waiting = event("a", call_part("read", {"path": "a"}, "w"), long_running_tool_ids={"w"})
    receipt = tool_returned("a", "read", {"rows": rows(1, 40)}, "w")
    assert not any(notes([user_said("Q"), waiting, receipt, *session(SAME)]))


def test_a_note_never_has_more_characters_than_the_result():
    """Digits have more tokens than words of the same length; a note that would be the longer text is not put in."""
    dense = ("read", {"path": "a"}, {"at": "2025-01-02T03:04:05+00:00", "day": "20250102", "no": 7})
    assert notes(session(dense, dense), KeepNewestResult(min_tokens=1)) == [False, False]


def test_a_small_result_among_large_ones_ends_nothing():
    """Results under the limit, wherever they stand, keep no other from being compared."""
    small = ("read", {"path": "a"}, {"ok": 1})
    assert notes(session(SAME, small, SAME, small)) == [True, False, False, False]


def test_the_report_says_how_much_was_left_out():
    """The note of the pass counts the results and what they weighed."""
    events = session(SAME, SAME, SAME)
    _, report = ContextPipeline([KeepNewestResult()]).run(request_for("a", events), call_for("a", events))
    (one,) = report.passes
    assert one.note == f"left out 2 repeated results, {one.tokens_saved} tokens"


def test_an_excluded_tool_in_between_ends_nothing():
    """A result of an excluded tool stays, and older results of other tools are still compared."""
    between = ("write", {"path": "a"}, {"rows": rows(1, 40)})
    assert notes(session(SAME, between, SAME), KeepNewestResult(exclude_tools=["write"])) == [True, False, False]
