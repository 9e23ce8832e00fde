"""ReportLog: the newest reports, found again by call, and sums over them."""

import asyncio

from google.adk.agents import LlmAgent, ParallelAgent

from adk_context_pack import CallReport, ContextPipeline, ReportLog, StripForContext
from adk_context_pack.reports import report_log
from tests.support.reported import SECRET, reported_run
from tests.support.run import run_agent
from tests.support.scripted_model import ScriptedModel


def report(**values):
    given = {"agent": "a", "model": "m", "invocation_id": "i", "session_id": "s", "tokens_before": 3, "tokens_after": 2}
    return CallReport(**{"passes": (), **given, **values})


def test_is_a_bounded_sequence():
    """The newest reports stay, in order; index and slices work as with a list."""
    log = ReportLog(max_reports=3)
    for number in range(5):
        log.add(report(tokens_before=number))
    assert [each.tokens_before for each in log] == [2, 3, 4]
    assert (log[0].tokens_before, log[-1].tokens_before, len(log)) == (2, 4, 3)
    assert [each.tokens_before for each in log[::-1]] == [4, 3, 2]
    assert [each.tokens_before for each in log[-2:]] == [3, 4]
    log.clear()
    assert not log


async def test_sums_for_runs_sessions_and_agents():
    """Sums over a run, a session and an agent are the sums of their calls."""
    run, pipeline = await reported_run("Where is Oslo?", "And now?")
    log = pipeline.reports
    await reported_run(pipeline=pipeline, session_id="second")
    assert list(log.by_session()) == ["session", "second"]
    assert log.by_agent().keys() == {"scout", "writer"}
    assert [each.calls for each in log.by_run().values()] == [3, 2, 3]
    scout = log.totals(agent="scout", session_id="session")
    mine = [each for each in log if each.agent == "scout" and each.session_id == "session"]
    assert scout == log.by_session()["session"].of(mine)
    assert scout.calls == 3
    assert scout.tokens_after == sum(each.tokens_after for each in mine)
    assert scout.prompt_tokens == 2100
    assert log.totals(invocation_id=run.turns[0][0].invocation_id).calls == 3


async def test_answers_find_their_calls_when_agents_run_side_by_side():
    """With several calls under way at once, each report gets the figures of its own answer."""
    pipeline = ContextPipeline([StripForContext()])

    def usage(request):
        return int(request.config.system_instruction.split("number ")[1].split(".")[0])

    async def answer(request):
        await asyncio.sleep(0.01 * (usage(request) % 3))
        return "ok"

    workers = [
        LlmAgent(
            name=f"worker_{number}",
            model=ScriptedModel(answer=answer, usage=usage),
            instruction=f"You are number {number}.",
            before_model_callback=pipeline,
            after_model_callback=pipeline.after_model,
        )
        for number in range(1, 7)
    ]
    await run_agent(ParallelAgent(name="all", sub_agents=workers), "Go.")
    assert {each.agent: each.prompt_tokens for each in pipeline.reports} == {f"worker_{n}": n for n in range(1, 7)}


async def test_requests_are_kept_only_where_asked_for():
    """Requests are recorded on request alone, and only those of the newest calls."""
    _, silent = await reported_run()
    assert all(each.request_after is None for each in silent.reports)
    kept = ContextPipeline([StripForContext()], keep_requests=2)
    await reported_run("Where is Oslo?", "And now?", pipeline=kept)
    assert [each.request_after is not None for each in kept.reports] == [False, False, False, True, True]
    last = kept.reports[-1]
    assert SECRET in str(last.request_before)
    assert SECRET not in str(last.request_after)
    assert SECRET not in repr(last)


class Context:
    def __init__(self, number):
        self.session = type("Session", (), {"id": str(number)})
        self.invocation_id = self.agent_name = "x"


async def test_answered_calls_are_not_kept_beyond_the_number_of_reports(monkeypatch):
    """With few reports, calls that a model answered take no memory either, but the newest may be answered again."""
    monkeypatch.setattr(report_log, "_MAX_ANSWERED", 2)
    pipeline = ContextPipeline([], max_reports=1)
    for number in range(3):
        await reported_run("Where is Oslo?", "And now?", "And then?", pipeline=pipeline, session_id=str(number))
    assert pipeline.reports.dropped > 10
    assert len(pipeline.reports._waiting) <= 2


def test_a_later_call_of_a_run_waits_whatever_became_of_an_earlier_one(monkeypatch):
    """The calls of one run share a key, and an earlier one that was answered does not end the waiting of the newest."""
    monkeypatch.setattr(report_log, "_MAX_ANSWERED", 1)
    log, run, other = ReportLog(), Context(1), Context(2)
    log.add(report(), run)
    log.answered(run)
    log.add(newest := report(), run)
    log.add(report(), other)
    log.answered(other)
    assert log.waiting_for(run) is newest
    log.answered(run)
    assert log.waiting_for(run) is newest
    assert log.waiting_for(other) is None


def test_answers_that_never_come_are_forgotten():
    """A call that failed or was answered by a plugin leaves nothing behind for ever."""
    log = ReportLog(max_reports=1)
    contexts = [Context(number) for number in range(3000)]
    for context in contexts:
        log.add(report(), context)
    assert len(log._waiting) == 1024
    assert log.waiting_for(contexts[0]) is None
    assert log.waiting_for(contexts[-1]) is log[-1]
