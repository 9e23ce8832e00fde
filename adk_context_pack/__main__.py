"""`adk-context-pack`, also `python -m adk_context_pack`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from adk_context_pack import __version__
from adk_context_pack.replay.command import run_doctor, run_replay, run_try, run_tune
from adk_context_pack.replay.recordings import Exit, run

_CHECK = """Replays recorded sessions as `replay` does, and fails if prompts have grown beyond a budget. Exit code: 0
all well, 1 over budget, 2 some input could not be read or holds no model call, 64 an option that cannot work."""


def add_recordings(parser: argparse.ArgumentParser, *, of_app: bool = False) -> None:
    """Adds the options that tell what was recorded and what it cost. With `of_app`, the app comes first."""
    add = parser.add_argument
    add("app" if of_app else "--app", metavar="MODULE:NAME", help="the app or the root agent, or its file or folder")
    recordings = "a session service's database or its URL, sessions as JSON, an eval set, or a folder of these"
    add("sessions", nargs="*" if of_app else "+", default=[], metavar="SESSION", help=recordings)
    add("--artifacts", metavar="URI", help="where ADK keeps artifacts, as adk web takes it, or its folder")
    add("--counter", metavar="MODULE:NAME", help="a tokenizer: from text to its number of tokens")
    add("--price-input", type=float, default=1.0, metavar="X", help="a million input tokens (default 1)")
    add("--price-cached", type=float, default=0.1, metavar="X", help="a million cached ones (default 0.1)")


def add_pack(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the pack and of its budget."""
    add = parser.add_argument
    add("--plugin", metavar="MODULE:NAME", help="whose settings to use (default: the app's, or ContextPackPlugin())")
    add("--passes", metavar="MODULE:NAME", help="passes, a pipeline, or a function that gives them")
    add("--window", type=int, metavar="N", help="budget of the default passes in tokens (default: the plugin's)")
    add("--max-rows", type=int, metavar="N", help="rows of a tool result (default: the plugin's, 100)")
    add("--max-payload-tokens", type=int, metavar="N", help="tokens of a tool result (default: the plugin's, 1000)")
    add("--no-caps", action="store_true", help="leave tool results as they were recorded")
    budgets = "exit with 1 if a request of the agent, or of any that is not named, exceeds N tokens; may be repeated"
    add("--max-tokens", action="append", default=[], metavar="[AGENT=]N", help=budgets)
    add("--max-cost", type=float, metavar="X", help="exit with 1 when a session costs more with the pack")
    add("--html", metavar="FILE", help="write the calls as a page, which holds what users and tools said")
    add("--answerability", action="store_true", help="also tell which values later calls needed and still see")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    about = "Keeps the prompts of Google ADK agents small, exact and cacheable."
    parser = argparse.ArgumentParser(prog="adk-context-pack", description=about)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    add = parser.add_subparsers(title="commands", required=True, metavar="COMMAND").add_parser
    replay = add("replay", help="tell what the pack would save on recorded sessions", description=run_replay.__doc__)
    check = add("check", help="fail if the prompts of recorded sessions exceed a budget", description=_CHECK)
    for each in (replay, check):
        add_recordings(each)
        add_pack(each)
        each.set_defaults(run=run_replay, brief=each is check)
    doctor = add("doctor", help="tell what to change in an app, most valuable first", description=run_doctor.__doc__)
    add_recordings(doctor, of_app=True)
    doctor.set_defaults(run=run_doctor)
    tune = add("tune", help="find the best settings for recorded sessions", description=run_tune.__doc__)
    add_recordings(tune)
    saves = "tell what the pack would save in an app, and with which settings"
    first = add("try", help=saves, description=run_try.__doc__)
    add_recordings(first, of_app=True)
    add_pack(first)
    first.add_argument("--prompt", action="append", default=[], metavar="TEXT", help="what to say to it, turn by turn")
    visible = "the least share of the values that later calls need to be left visible (default 99.5)"
    for each in (replay, check, tune, first):
        each.add_argument("--json", action="store_true", help="print JSON for a machine")
    for each in (tune, first):
        each.add_argument("--visible", type=float, default=99.5, metavar="PERCENT", help=visible)
    tune.set_defaults(run=run_tune)
    first.set_defaults(run=run_try, tune=run_tune, brief=False, html="context_pack.html")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as left:
        # The parser has said what is wrong. Its own code is that of unreadable input here.
        return Exit.MISUSED if left.code else 0
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
