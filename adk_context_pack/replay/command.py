"""Runs `adk-context-pack replay`: what would the pack save on these recorded sessions?"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from typing import Any

from adk_context_pack._adk.requests import AppRequests
from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.errors import RecordingError, SettingError, must, printable
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.plugin import PackSettings
from adk_context_pack.replay.answering import AnswerabilitySums
from adk_context_pack.replay.recordings import MISUSED, OK, OVER_BUDGET, UNREADABLE, Sessions, load_app, load_object
from adk_context_pack.replay.replayer import Replayer, SettingsFor
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.replay.sums import ReplaySums, brief_text, replay_text
from adk_context_pack.reports.html_page import write_html
from adk_context_pack.reports.report_log import ReportLog
from adk_context_pack.reports.token_use import Budget, TokenUse
from adk_context_pack.tools.offload_payload import default_result_passes


def passes_in(found: Any) -> tuple[ContextPass, ...] | None:
    """Returns the passes that an object gives: a pass, some passes, or a pipeline. None if it gives anything else."""
    found = getattr(found, "passes", found)
    passes = tuple(found) if isinstance(found, Iterable) else (found,)
    return passes if all(isinstance(entry, ContextPass) for entry in passes) else None


_OPTIONS = ("passes", "window", "max_rows", "max_payload_tokens", "no_caps")


def load_pack(options: argparse.Namespace, app: AppRequests | None) -> tuple[SettingsFor, Counter | None]:
    """Returns the settings and the counter that the options of `replay` describe: by default, `ContextPackPlugin()`."""
    given = [f"--{name.replace('_', '-')}" for name in _OPTIONS if getattr(options, name) not in {None, False}]
    if options.plugin and given:
        raise SettingError.of("replay", "--plugin", options.plugin, f"given without {given[0]}")

    def a_plugin(found: Any) -> Any:
        return found if hasattr(found, "settings_for") and not isinstance(found, type) else None

    own = next(filter(a_plugin, app.plugins if app and not given else ()), None)
    expected = "a ContextPackPlugin, such as mypackage.agent:PLUGIN"
    if plugin := load_object("--plugin", options.plugin, a_plugin, expected) or own:
        return plugin.settings_for, getattr(plugin, "counter", None)
    limits = {"max_rows": options.max_rows, "max_tokens": options.max_payload_tokens}
    caps = () if options.no_caps else default_result_passes(**{name: n for name, n in limits.items() if n is not None})
    passes = load_object("--passes", options.passes, passes_in, "passes, such as mypackage.passes:PASSES")
    settings = PackSettings(passes=passes, max_tokens=options.window, result_passes=caps)
    return (lambda _: settings), None


_MAX_HTML_CALLS = 500


def run_replay(options: argparse.Namespace) -> int:
    """Runs the command and returns the exit code."""
    if options.brief and not options.max_tokens and options.max_cost is None:
        raise SettingError("check: there is no budget without --max-tokens or --max-cost")
    app, own_counter, prices = load_app(options)
    settings_for, counter = load_pack(options, app)
    sessions = Sessions(options)
    answers = AnswerabilitySums(settings_for) if options.answerability else None
    counter, keep = own_counter or counter, bool(options.html)
    replayer = Replayer(settings_for, counter=counter, app=app, prices=prices, keep_requests=keep)
    log = ReportLog(max_reports=_MAX_HTML_CALLS, max_requests=_MAX_HTML_CALLS)
    budget = Budget(tokens=dict(map(_budget, options.max_tokens)), cost=options.max_cost)
    use, problems = TokenUse(prices=prices), sessions.problems
    sums = ReplaySums(use=use, budget=budget, is_whole=app is not None, problems=problems)

    def replay(session: RecordedSession) -> int:
        calls, of_session = list(replayer.replay(session)), sums.open_session(session)
        for call in calls:
            if not isinstance(call, Exception):
                sums.add(call, of_session)
                if call.report.request_after is not None:
                    log.add(call.report)
        if refused := sum(isinstance(call, Exception) for call in calls):
            text = f"{session.source}: session {session.id}: ADK cannot rebuild {refused} of its requests"
            sessions.tell(RecordingError(text))
        if answers:
            answers.add(session)
        return use.total.calls

    sessions.each(replay)
    sys.stdout.write(_output(sums, answers, options) + "\n")
    if options.html:
        _write_page(sums, log, sessions, options.html)
    return _verdict(sums, is_check=options.brief)


def _output(sums: ReplaySums, answers: AnswerabilitySums | None, options: argparse.Namespace) -> str:
    if options.json:
        more = {"answerability": answers.to_dict()} if answers else {}
        return json.dumps(sums.to_dict() | more, indent=1)
    text = brief_text(sums) if options.brief else replay_text(sums)
    return "\n".join((*answers.lines(), "", text)) if answers and sums.use.total.calls else text


def _write_page(sums: ReplaySums, log: ReportLog, sessions: Sessions, path: str) -> None:
    try:
        # The page may be too small for all calls, but its sums are those of all.
        write_html(log, path, title="What the pack would change", use=sums.use)
    except OSError as error:
        sessions.tell(RecordingError(f"{path}: {error.strerror or type(error).__name__}"))
    if sums.use.total.calls > len(log):
        sys.stderr.write(f"{path} shows the last {len(log):,} of {sums.use.total.calls:,} calls\n")


def _verdict(sums: ReplaySums, *, is_check: bool) -> int:
    """Returns the exit code, and prints a line for each request over its budget."""
    sys.stderr.writelines(f"{printable(line)}\n" for line in sums.over_budget)
    unknown = [agent for agent in sums.budget.tokens if agent != "*" and agent not in sums.use.agents]
    known = printable(", ".join(sums.use.agents)) or "none"
    ending = f"no call of this agent in these sessions (agents: {known})\n"
    sys.stderr.writelines(f"--max-tokens {agent}: {ending}" for agent in unknown)
    if sums.over_budget:
        return OVER_BUDGET
    if unknown:
        return MISUSED
    # A check of nothing must not pass.
    return UNREADABLE if sums.problems or (is_check and not sums.use.total.calls) else OK


def _budget(text: str) -> tuple[str, int]:
    agent, is_named, number = text.rpartition("=")
    is_right = (agent or not is_named) and number.isdecimal() and int(number) > 0
    must(is_right, "replay", "--max-tokens", text, "of the form N or AGENT=N")
    return agent or "*", int(number)
