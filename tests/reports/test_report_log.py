"""ReportLog: the newest reports, found again by call, and sums over them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.adk.agents import LlmAgent, ParallelAgent

from adk_context_pack import CallReport, ContextPipeline, PassReport, PrefixReport, ReportLog, StripForContext
from adk_context_pack.conversation.token_estimate import TokenMeter
from adk_context_pack.reports import token_use
from adk_context_pack.reports.call_report import PrefixMemory
from adk_context_pack.reports.token_use import TokenUse
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import user_said
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
    assert [each.calls for each in log.by_run().values()] == [3, 2, 3]
    assert log.by_agent().keys() == {"scout", "writer"}
    scout = log.totals(agent="scout", session_id="session")
    mine = [each for each in log if each.agent == "scout" and each.session_id == "session"]
    assert scout == log.by_session()["session"].of(mine)
    assert scout.calls == 3
    assert scout.tokens_after == sum(each.tokens_after for each in mine)
    assert scout.prompt_tokens == 2100
    assert log.totals(invocation_id=run.turns[0][0].invocation_id).calls == 3
    assert f"strip_for_context: {log.totals().passes['strip_for_context']:,} tokens taken away" in str(log)


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


def test_answered_calls_are_forgotten_first(monkeypatch):
    """The calls of one run share a key. One that was answered ends no waiting, and makes room for those that wait."""
    monkeypatch.setattr(token_use, "_MAX_WAITING", 2)
    log, run, other = ReportLog(), Context(1), Context(2)
    log.add(report(), run)
    log.answered(run)
    log.add(newest := report(), run)
    log.add(report(), other)
    log.answered(other)
    assert log.waiting_for(other) is log[-1]
    log.add(report(), Context(3))
    assert log.waiting_for(other) is None
    assert log.waiting_for(run) is newest


def test_answers_that_never_come_are_forgotten():
    """A call that failed or was answered by a plugin leaves nothing behind for ever."""
    log = ReportLog(max_reports=1)
    contexts = [Context(number) for number in range(3000)]
    for context in contexts:
        log.add(report(), context)
    assert len(log._waiting) == 1024
    assert log.waiting_for(contexts[0]) is None
    assert log.waiting_for(contexts[-1]) is log[-1]


THREADS, CALLS = 8, 120
pytestmark = pytest.mark.usefixtures("switch_often")


def in_threads(work):
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def test_reports_of_many_threads_are_all_kept():
    """No report gets lost, each answer finds its own, and recorded requests stay within their number."""
    log = ReportLog(max_reports=THREADS * CALLS, max_requests=5)

    def work(thread):
        for number in range(CALLS):
            context, one = Context(f"{thread} {number}"), report(request_before=(), request_after=())
            log.add(one, context)
            assert log.waiting_for(context) is one

    in_threads(work)
    assert len(log) == THREADS * CALLS
    assert sum(each.request_after is not None for each in log) == 5
    assert log.totals().calls == THREADS * CALLS


def test_prefixes_of_many_threads_stay_in_their_bounds():
    """Threads that come and go by many sessions leave the memory of prefixes within its bounds, and count it right."""
    memory = PrefixMemory()
    memory.limit(10 * 5_000)
    request, meter = request_of(contents_of([user_said("Hello")], "worker")), TokenMeter()

    def work(thread):
        for number in range(CALLS):
            memory.compare((str(number % 20), str(thread % 2)), request, meter, 10)

    in_threads(work)
    assert 0 < len(memory._items) <= 12
    assert memory.kept_bytes == sum(size for _, size in memory._items.values())


def found(*reports):
    return TokenUse.of(reports).offenders()


def one(tokens=100_000, **categories):
    """A report of a request with these categories, filled up with what users said."""
    sizes = {**categories, "user": tokens - sum(categories.values())}
    tools = {"list_orders": sizes["tool_calls_and_results"]} if "tool_calls_and_results" in sizes else {}
    same = {"categories": sizes, "categories_before": sizes, "tools": tools, "tools_before": tools}
    return report(tokens_before=tokens, tokens_after=tokens, **same)


@pytest.mark.parametrize(("categories", "what", "advice"), [
    ({"tool_calls_and_results": 80_000}, "list_orders", "cap_rows"),
    ({"tool_declarations": 40_000}, "tool declarations", "defer_tools"),
    ({"system_instruction": 30_000}, "instruction of a, up to 30,000 tokens", "CompactState"),
    ({"relayed": 50_000}, "other agents", "CastNarrative"),
    ({"own_words": 50_000}, "agents said before", "FitTokenBudget"), ({"media": 50_000}, "images", "DropOldMedia"),
    ({"state_views": 50_000}, "state", "CompactState"), ({"user": 0}, "users said", "FitTokenBudget"),
])  # fmt: skip
def test_names_what_helps(categories, what, advice):
    """Each kind of large part is named with the share that it has and with what makes it smaller."""
    categories.pop("user", None)
    offender = next(each for each in found(one(**categories)) if what in each.what)
    assert advice in offender.advice
    if categories:
        assert offender.tokens == sum(categories.values())
        assert offender.share == offender.tokens / 100_000


def test_a_tool_with_small_results_is_cleared():
    """Where few tokens of a tool are in each request, old results are cleared, since there is little to cap."""
    assert "old ones add up" in found(one(tokens=1_000, tool_calls_and_results=800))[0].advice


@pytest.mark.parametrize(("kept", "advice"), [(500, "static_instruction"), (40_000, "FitTokenBudget")])
def test_a_prefix_that_breaks_again_and_again(kept, advice):
    """Breaks are counted with what was read again, a whole prefix is none, and the place says what to change."""
    calls = [one(system_instruction=1_000) for _ in range(14)]
    for call in calls[1:]:
        call.prefix = PrefixReport(tokens=kept, previous_tokens=100_000)
    calls[1].prefix = PrefixReport(tokens=100_000, previous_tokens=100_000)
    offender = next(each for each in found(*calls) if "prefix" in each.what)
    assert offender.what == "prefix of a broken 12 times"
    assert offender.tokens == 12 * (100_000 - kept)
    assert advice in offender.advice


def test_at_most_five_and_the_worst_first():
    """There are at most five, in falling order, a pass that fails first, and nothing where nothing was sent."""
    large = {"tool_declarations": 20_000, "system_instruction": 19_000, "relayed": 18_000, "own_words": 17_000}
    worst = found(one(**large, media=15_500, tool_calls_and_results=5_000))
    assert len(worst) == 5
    assert [each.tokens for each in worst] == sorted((each.tokens for each in worst), reverse=True)
    assert found() == found(one(tokens=0)) == []
    failing = one(relayed=50_000)
    failing.passes = (PassReport(name="p", tokens_before=5, tokens_after=5, error="ValueError: no"),)
    assert found(failing)[0].what == "pass p failed 1 time"
