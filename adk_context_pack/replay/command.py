"""Runs `adk-context-pack replay`: what would the pack save on these recorded sessions?"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any, TextIO
from urllib.parse import unquote, urlsplit

from adk_context_pack._adk.requests import AppRequests, is_app
from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.errors import RecordingError, SettingError, printable
from adk_context_pack.pack_settings import PackSettings
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.replay.answering import AnswerabilitySums
from adk_context_pack.replay.recordings import FullResults, Recording, files_in, open_recording, sessions_in
from adk_context_pack.replay.replayer import Replayer
from adk_context_pack.replay.stored_event import RecordedSession
from adk_context_pack.replay.sums import ReplaySums, Screen, replay_text
from adk_context_pack.replay.tool_caps import SettingsFor
from adk_context_pack.reports.html_page import write_html
from adk_context_pack.reports.prices import Prices
from adk_context_pack.reports.report_log import ReportLog
from adk_context_pack.reports.token_use import TokenUse
from adk_context_pack.tools.offload_payload import default_result_passes


def load_object(setting: str, name: str, is_right: Callable[[Any], bool], expected: str) -> Any:
    """Loads the object that `module:name` names, from the working directory or any installed package.

    It may be a function or class that makes what is right.

    Raises:
        SettingError: the module or the object does not exist, or is not as `expected`.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingError.of("replay", setting, name, "of the form module:name")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
        for step in attribute.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError) as error:
        raise SettingError.of("replay", setting, name, f"something that can be imported ({error})") from None
    if not is_right(found) and callable(found):
        found = found()
    if not is_right(found):
        raise SettingError.of("replay", setting, name, expected)
    return found


def load_passes(name: str) -> tuple[ContextPass, ...]:
    """Loads the passes that `--passes` names: a pass, some passes, a pipeline, or a function that returns them.

    Raises:
        SettingError: the object does not give any passes.
    """

    def is_right(found: Any) -> bool:
        is_made = isinstance(found, ContextPass | Iterable) or hasattr(found, "passes")
        return is_made and not isinstance(found, type)

    expected = "passes, such as mypackage.passes:PASSES"
    found = load_object("--passes", name, is_right, expected)
    found = getattr(found, "passes", found)
    passes = (found,) if isinstance(found, ContextPass) else tuple(found) if isinstance(found, Iterable) else (found,)
    if not all(isinstance(entry, ContextPass) for entry in passes):
        raise SettingError.of("replay", "--passes", name, expected)
    return passes


def load_artifacts(uri: str | None) -> Any:
    """Returns the artifact service that `--artifacts` names by a URI or a folder of a `FileArtifactService`, or None.

    Raises:
        SettingError: ADK has no such service, it needs a package that is not installed, or the folder does not exist.
    """
    if uri is None:
        return None

    def refused(reason: str) -> SettingError:
        return SettingError.of("replay", "--artifacts", uri, f"such as file:///folder or gs://bucket ({reason})")

    parts = urlsplit(uri)
    is_folder = not parts.scheme or parts.scheme == "file"
    path = Path(unquote(parts.path) if parts.scheme else uri)
    if is_folder and not path.is_dir():
        # ADK would create it.
        raise refused("the folder does not exist")
    # ADK's command line takes long to import.
    from google.adk.cli.service_registry import get_service_registry  # noqa: PLC0415

    try:
        service = get_service_registry().create_artifact_service(path.resolve().as_uri() if is_folder else uri)
    except Exception as error:
        raise refused(f"{type(error).__name__}: {error}") from None
    if service is None:
        raise refused(f"ADK knows no artifact service for {parts.scheme}://")
    return service


def load_plugin(name: str | None, app: AppRequests | None) -> Any:
    """Loads the plugin that `--plugin` names, or returns the one that the app has, or None.

    Raises:
        SettingError: the object is not a `ContextPackPlugin`, nor a function or class that makes one.
    """

    def is_right(found: Any) -> bool:
        return hasattr(found, "settings_for") and not isinstance(found, type)

    if name is None:
        return next(filter(is_right, app.plugins if app else ()), None)
    return load_object("--plugin", name, is_right, "a ContextPackPlugin, such as mypackage.agent:PLUGIN")


_OPTIONS = ("passes", "window", "max_rows", "max_payload_tokens", "no_caps")


def load_pack(options: argparse.Namespace, app: AppRequests | None) -> tuple[SettingsFor, Counter | None]:
    """Returns the settings and the counter that the options of `replay` describe: by default, `ContextPackPlugin()`.

    Raises:
        SettingError: an option that cannot work.
    """
    given = [f"--{name.replace('_', '-')}" for name in _OPTIONS if getattr(options, name) not in {None, False}]
    if options.plugin and given:
        raise SettingError.of("replay", "--plugin", options.plugin, f"given without {given[0]}")
    plugin = None if given else load_plugin(options.plugin, app)
    if plugin is not None:
        return plugin.settings_for, getattr(plugin, "counter", None)
    limits = {"max_rows": options.max_rows, "max_tokens": options.max_payload_tokens}
    caps = () if options.no_caps else default_result_passes(**{name: n for name, n in limits.items() if n is not None})
    passes = None if options.passes is None else load_passes(options.passes)
    settings = PackSettings(passes=passes, max_tokens=options.window, result_passes=caps)
    return (lambda _: settings), None


_WIDTH = 24
_PATIENCE_S = 0.5
_STEP_S = 0.1


class Progress:
    """Draws a progress bar, once the work takes longer than half a second.

    Attributes:
        total: the number of sessions, if it is known.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.total: int | None = None
        self._start = self._drawn = monotonic()
        self._shown = False
        self._active = stream.isatty()

    def step(self, done: int, calls: int) -> None:
        """So many sessions are done, with so many model calls."""
        now = monotonic()
        if not self._active or now - self._start < _PATIENCE_S or now - self._drawn < _STEP_S:
            return
        self._drawn = now
        self._shown = True
        self._stream.write(f"\r{self._bar(done)} {calls:,} calls, {now - self._start:.0f} s\x1b[K")
        self._stream.flush()

    def end(self) -> None:
        """Wipes the bar off the terminal."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False

    def _bar(self, done: int) -> str:
        if not self.total:
            return f"{done:,} sessions"
        filled = min(_WIDTH, _WIDTH * done // self.total)
        return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,}/{self.total:,} sessions"


OK, OVER_BUDGET, UNREADABLE, MISUSED = 0, 1, 2, 64
"""The exit codes, an exceeded budget first, then a budget of an unknown agent, then unreadable input.

64 is EX_USAGE of sysexits.
"""

_MAX_HTML_CALLS = 500


def run_replay(options: argparse.Namespace, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Runs the command.

    Returns:
        The exit code.
    """
    out, err = out or sys.stdout, err or sys.stderr
    try:
        run = _Run(options, err)
    except SettingError as error:
        err.write(f"{error}\n")
        return MISUSED
    with _quiet_adk():
        run.replay(options.sessions)
    out.write((json.dumps(run.to_dict(), indent=1) if options.json else run.text(Screen.of(out))) + "\n")
    if options.html:
        run.write_page(options.html)
    return run.verdict()


@contextmanager
def _quiet_adk() -> Iterator[None]:
    """Silences ADK's warnings about experiments and calls without results, which would repeat for each request."""
    logger = logging.getLogger("google_adk")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


class _Run:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace, err: TextIO) -> None:
        self._err = err
        self._progress = Progress(err)
        an_app = "an app or an agent, such as mypackage.agent:root_agent"
        app = AppRequests(load_object("--app", options.app, is_app, an_app)) if options.app is not None else None
        settings_for, counter = load_pack(options, app)
        self._full = FullResults(artifact_service=load_artifacts(options.artifacts))
        self._answers = AnswerabilitySums(settings_for) if options.answerability else None
        if options.counter is not None:
            a_counter = "a function from text to its number of tokens"
            counter = load_object("--counter", options.counter, callable, a_counter)
        self._replayer = Replayer(settings_for, counter=counter, app=app, keep_requests=bool(options.html))
        self._log = ReportLog(max_reports=_MAX_HTML_CALLS, max_requests=_MAX_HTML_CALLS)
        for name in ("price_input", "price_cached"):
            if not getattr(options, name) >= 0:
                raise SettingError.of(
                    "replay", f"--{name.replace('_', '-')}", getattr(options, name), "a number from 0 up"
                )
        prices = Prices(input=options.price_input, cached=options.price_cached)
        self.sums = ReplaySums(
            use=TokenUse(prices=prices),
            budgets=dict(map(_budget, options.max_tokens)),
            has_caps=not options.no_caps,
            is_whole=app is not None,
        )

    def replay(self, names: Iterable[str]) -> None:
        """Replays all sessions of the recordings that are named, one session at a time."""
        recordings = [found for name in names for found in self._opened(name)]
        counts = [recording.count() for recording in recordings]
        self._progress.total = None if None in counts else sum(count or 0 for count in counts)
        try:
            for recording in recordings:
                for session in sessions_in(recording):
                    if isinstance(session, RecordedSession):
                        self._replay_one(session)
                    else:
                        self._problem(session)
        finally:
            self._progress.end()

    def text(self, screen: Screen) -> str:
        """Returns the result as tables. The answerability, if it was asked for, comes first."""
        text = replay_text(self.sums, screen)
        return "\n".join((*self._answers.lines(), "", text)) if self._answers and self.sums.use.total.calls else text

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain JSON values."""
        found = self.sums.to_dict()
        return found | {"answerability": self._answers.to_dict()} if self._answers else found

    def write_page(self, path: str) -> None:
        """Writes the newest calls as an HTML page."""
        try:
            # The page may be too small for all calls, but its sums are those of all.
            write_html(self._log, path, title="What the pack would change", use=self.sums.use)
        except OSError as error:
            self._problem(RecordingError(f"{path}: {error.strerror or type(error).__name__}"))
        if self.sums.use.total.calls > len(self._log):
            self._err.write(f"{path} shows the last {len(self._log):,} of {self.sums.use.total.calls:,} calls\n")

    def verdict(self) -> int:
        """Returns the exit code, and prints a line for each request over its budget."""
        sums = self.sums
        self._err.writelines(f"{printable(line)}\n" for line in sums.over_budget)
        unknown = [agent for agent in sums.budgets if agent != "*" and agent not in sums.use.agents]
        known = printable(", ".join(sums.use.agents)) or "none"
        self._err.writelines(
            f"--max-tokens {agent}: no call of this agent in these sessions (agents: {known})\n" for agent in unknown
        )
        if sums.over_budget:
            return OVER_BUDGET
        if unknown:
            return MISUSED
        return UNREADABLE if sums.problems else OK

    def _replay_one(self, session: RecordedSession) -> None:
        session = self._full.of(session)
        entry = self.sums.open_session(session)
        refused = 0
        for call in self._replayer.replay(session):
            if isinstance(call, Exception):
                refused += 1
                continue
            self.sums.add(call, entry)
            if call.report.request_after is not None:
                self._log.add(call.report)
            self._progress.step(len(self.sums.sessions), self.sums.use.total.calls)
        if refused:
            text = f"{session.source}: session {session.id}: ADK cannot rebuild {refused} of its requests"
            self._problem(RecordingError(text))
        if self._answers:
            self._answers.add(session)

    def _opened(self, name: str) -> list[Recording]:
        try:
            return [open_recording(found) for found in files_in(name)]
        except RecordingError as error:
            self._problem(error)
            return []

    def _problem(self, error: RecordingError) -> None:
        self._progress.end()
        line = printable(" ".join(str(error).split()))
        self.sums.problems.append(line)
        self._err.write(f"{line}\n")


def _budget(text: str) -> tuple[str, int]:
    agent, _, number = text.rpartition("=")
    if not agent or not number.isdecimal() or int(number) < 1:
        raise SettingError.of("replay", "--max-tokens", text, "of the form AGENT=N")
    return agent, int(number)
