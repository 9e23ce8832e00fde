"""Measures the page of many calls: its size, and how long a real browser takes to open and to expand it.

    python -m tests.benchmarks.bench_page [CALLS]

Each call has its request on the page, of a history that grows within each of several sessions. Times are of one run.
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
import time
from pathlib import Path

from google.adk.events.event import Event

from adk_context_pack import ContextPipeline, ModelCall, Prices, ReportLog, default_passes, write_html
from tests.support.adk_contents import contents_of, request_of
from tests.support.browser import Page, browser
from tests.support.events import agent_called, agent_said, tool_returned, user_said

AGENTS = ("planner", "analyst", "writer")
TOOLS = {"list_orders": 60, "search_docs": 20, "get_user": 2}
_SESSION = 60
_FRAMES = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
_EXPAND = f"""(async () => {{
  const start = performance.now();
  [...document.querySelectorAll(".tools button")].find((each) => each.textContent === "open all").click();
  await {_FRAMES}; await {_FRAMES}; await {_FRAMES};
  return performance.now() - start;
}})()"""
_LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def many_reports(calls: int) -> ReportLog:
    """Returns reports of so many calls of three agents, with their requests."""
    choose = random.Random(1)
    pipeline = ContextPipeline(default_passes(max_tokens=60_000), max_reports=calls, keep_requests=calls)
    events: list[Event] = []
    for number in range(calls):
        if number % _SESSION == 0:
            events = [user_said("What was sold in Oslo?")]
        agent, tool = choose.choice(AGENTS), choose.choice(list(TOOLS))
        request = request_of(contents_of(events, agent))
        request.model = "gemini-2.5-flash"
        call = ModelCall(
            agent_name=agent,
            session_id=f"session {number // _SESSION}",
            invocation_id=f"run {number // 10}",
            events=list(events),
            user_content=events[0].content,
        )
        pipeline.reports.add(pipeline.run(request, call)[1])
        rows = [{"id": row, "city": f"Oslo {number}", "sold": choose.random()} for row in range(TOOLS[tool])]
        events += [
            agent_called(agent, tool, f"c{number}", city=f"Oslo {number}"),
            tool_returned(agent, tool, {"rows": rows}, f"c{number}"),
            agent_said(agent, "I have seen it. " * choose.randint(1, 30)),
        ]
    return pipeline.reports


def expand(page: Page, path: Path) -> tuple[float, float, int]:
    """Returns the milliseconds until a page is loaded, and until all of its calls are open, and their number."""
    page.open(path)
    loaded = page.run(_LOADED)
    expanded = page.run(_EXPAND)
    return loaded, expanded, page.run("document.querySelectorAll('.call[aria-expanded=true]').length")


def main() -> None:
    """Prints the figures."""
    logging.disable(logging.ERROR)
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    reports = many_reports(calls)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        start = time.perf_counter()
        write_html(reports, path, prices=Prices())
        seconds = time.perf_counter() - start
        print(f"{calls:,} calls with their requests: {path.stat().st_size / 1e6:.1f} MB, written in {seconds:.1f} s")
        with browser(Path(folder) / "profile") as page:
            loaded, expanded, opened = expand(page, path)
        print(f"loaded in {loaded:,.0f} ms, {opened:,} calls expanded in {expanded:,.0f} ms")


if __name__ == "__main__":
    main()
