"""Reports and prefixes of calls in several threads stay apart and complete."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from adk_context_pack import CallReport, ReportLog
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.reports import prefix as prefix_module
from adk_context_pack.reports.prefix import PrefixMemory
from tests.support.adk_contents import contents_of, request_of
from tests.support.events import user_said

THREADS, CALLS = 8, 120


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def in_threads(work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def report_of(thread: int, number: int) -> CallReport:
    report = CallReport(
        agent=str(thread),
        model="",
        invocation_id=str(number),
        session_id="s",
        passes=(),
        tokens_before=1,
        tokens_after=1,
    )
    report.request_before = report.request_after = ()
    return report


def context_of(thread: int, number: int) -> Any:
    session = SimpleNamespace(id="s")
    return SimpleNamespace(session=session, invocation_id=str(number), agent_name=str(thread))


def test_reports_of_many_threads_are_all_kept() -> None:
    """No report gets lost, each answer finds its own, and recorded requests stay within their number."""
    log = ReportLog(max_reports=THREADS * CALLS, max_requests=5)

    def work(thread: int) -> None:
        for number in range(CALLS):
            context, report = context_of(thread, number), report_of(thread, number)
            log.add(report, context)
            assert log.waiting_for(context) is report

    in_threads(work)
    assert len(log) == THREADS * CALLS
    assert sum(report.request_after is not None for report in log) == 5
    assert log.totals().calls == THREADS * CALLS


def test_prefixes_of_many_threads_stay_in_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that come and go by many sessions leave the memory of prefixes within its bounds, and count it right."""
    monkeypatch.setattr(prefix_module, "_MAX_AGENTS", 10)
    memory = PrefixMemory()
    request, meter = request_of(contents_of([user_said("Hello")], "worker")), TokenMeter()

    def work(thread: int) -> None:
        for number in range(CALLS):
            memory.compare((str(number % 20), str(thread % 2)), request, meter, 10)

    in_threads(work)
    assert len(memory) <= 10
    assert memory._links == sum(len(last.hashes) for last in memory._last.values())
