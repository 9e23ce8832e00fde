"""Runs `adk-context-pack replay`, `check`, `doctor`, what to change in an app, and `try`, what it would save there."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import re
import sys
import webbrowser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

from adk_context_pack._adk import BaseAgent, BasePlugin, Event, types
from adk_context_pack._adk.instruction import agents_in, static_texts
from adk_context_pack._adk.requests import AppRequests, recorded
from adk_context_pack.conversation.token_estimate import Counter, TokenMeter, cached_from
from adk_context_pack.errors import Callback, RecordingError, SettingError, counted, must, printable, told_of
from adk_context_pack.passes import cast_narrative, context_pass
from adk_context_pack.plugin import PackSettings, default_result_passes
from adk_context_pack.replay.recordings import Exit, RecordedSession, Sessions, in_a_line, load_app, load_object
from adk_context_pack.replay.replayer import Replayed, Replayer, SettingsFor, answers_of
from adk_context_pack.reports.call_report import money, share, table
from adk_context_pack.reports.html_page import write_html
from adk_context_pack.reports.token_use import RESULTS, Budget, Prices, ReportLog, TokenUse, Use, if_read_back, percent
from adk_context_pack.testing.answers import Answerability
from adk_context_pack.tools import cap_rows, wrap


class AnswerabilitySums:
    """The answerability of recorded sessions, added up, of whole requests and of those with the pack."""

    def __init__(self, settings_for: SettingsFor, cached_share: float) -> None:
        packs: dict[str, SettingsFor] = {"without the pack": lambda _: None, "with the pack": settings_for}
        self._answers = partial(answers_of, packs=packs, cached_share=cached_share)
        self.results = [Answerability(strategy=name) for name in packs]
        self.lost: list[str] = []

    def add(self, session: RecordedSession) -> None:
        """Replays one session. It is only read."""
        for agent, measured in self._answers(session):
            for total, each in zip(self.results, measured, strict=True):
                total.add(each)
            called = f"session {session.id}: {agent} called"
            self.lost += [f"{called} {lost.tool} with {lost.value[:60]!r}" for lost in measured[1].lost]
        del self.lost[20:]

    def lines(self) -> Iterator[str]:
        """Yields the table and, below it, what was lost."""
        if not self.results[0].values:
            yield "No recorded tool call uses a value from its request, so answerability cannot be measured."
            return
        yield "What the next tool calls needed, and where it is:"
        head = ("", "calls", "values", "visible", "reachable", "in the last fifth", "characters sent")
        rows: list[tuple[str, ...]] = [head]
        for each in self.results:
            parts = each.visible_share, each.reachable_share, each.last_fifth_share, each.characters_share
            rows.append((each.strategy, f"{each.calls:,}", f"{each.values:,}", *map("{:.1%}".format, parts)))
        yield from table(rows)
        if gone := self.results[1].values - self.results[1].reachable:
            yield f"Neither visible nor reachable within two read-backs: {gone}"
            yield from (f"  {line}" for line in self.lost)

    def to_dict(self) -> dict[str, Any]:
        """Returns the results as plain JSON values."""
        return {"strategies": [{**asdict(each), "lost": len(each.lost)} for each in self.results], "lost": self.lost}


def _figures(part: Use) -> dict[str, Any]:
    return {each.name: getattr(part, each.name) for each in fields(Use) if each.name != "shown"}


@dataclass(kw_only=True, slots=True)
class ReplaySums:
    """The results of a replay.

    Results that were capped when they were recorded are `restored` in full, or `capped_before` and cannot be opened.
    `packed_before` counts calls that show some of these and have the pack's own figures, `uncounted` those without any.
    """

    use: TokenUse = field(default_factory=lambda: TokenUse(prices=Prices()))
    sessions: list[tuple[dict[str, str], Use]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    app: AppRequests | None = None
    packed_before: int = 0
    restored: int = 0
    capped_before: int = 0
    uncounted: int = 0

    def add(self, session: RecordedSession, calls: Iterable[Replayed]) -> None:
        """Adds the calls of a session. Only the session's name is kept."""
        self.restored += session.restored
        self.capped_before += len(session.still_capped)
        for call in calls:
            self.use.add(call.report, call.prefix_without)
            self.packed_before += call.packed_before is not None
            self.uncounted += call.figure is None and call.packed_before is None
        # Another recording may have a session of this id.
        found = self.use.sessions.pop(session.id, Use())
        self.use.sessions[f"{session.id} {len(self.sessions)}"] = found
        names = "id", "app_name", "user_id", "source"
        self.sessions.append(({name: getattr(session, name) for name in names}, found))

    def counts(self) -> str:
        """Returns how much was replayed."""
        return f"{counted(self.use.total.calls, 'model call')} in {counted(len(self.sessions), 'session')}"

    def notes(self) -> Iterator[str]:
        """Yields what the figures are made of, and what they leave out, one sentence or two each."""
        yield from if_read_back(self.use.read_backs, self.use.tokens_read_back, self.use.total.tokens_without)
        for model in sorted({each.model for each in self.use.agents.values() if cached_from(each.model)}):
            yield f"The provider of {model} caches nothing smaller than {cached_from(model):,} tokens."
        if self.restored:
            yield f"Results that the pack had capped when they were recorded, now back in full: {self.restored:,}."
        if self.capped_before:
            yield f"Results that were recorded capped and cannot be opened in full: {self.capped_before:,}."
            calls = counted(self.packed_before, "call")
            yield f"--artifacts URI may open them. {calls} with one have the pack's own figures, others are too low."
        if self.uncounted < self.use.total.calls:
            yield "Where the provider counted a request, its figure is the one without the pack, and scales the other."
        if self.app is not None and (others := [agent for agent in self.use.agents if not self.app.has(agent)]):
            yield f"The app has no agent {' or '.join(others)}, whose requests lack instructions and declarations."
        if self.uncounted and self.app is None:
            yield "A session holds neither instructions nor tool declarations. --app MODULE:NAME adds them."
            yield "Where the provider did not count, each agent counts as if it were shown its whole history."

    def to_dict(self) -> dict[str, Any]:
        """Returns everything as plain JSON values."""
        return {
            **_figures(self.use.total),
            "prices": asdict(self.use.prices or Prices()),
            "agents": {name: _figures(entry) for name, entry in self.use.agents.items()},
            "passes": {name: {"tokens_saved": each.saved} for name, each in self.use.passes.items()},
            "sessions": [named | _figures(entry) for named, entry in self.sessions],
            "results": {"restored": self.restored, "capped": self.capped_before},
            "read_back": {"calls": self.use.read_backs, "tokens": self.use.tokens_read_back},
            "over_budget": self.use.over_budget,
            "problems": self.problems,
            "notes": list(self.notes()),
        }


_MAX_SESSIONS = 10


def replay_text(sums: ReplaySums) -> str:
    """Returns the sums as tables. Without a model call it says so in place of empty tables."""
    total, prices = sums.use.total, sums.use.prices or Prices()
    if not total.calls:
        return "no model calls found"
    largest = sorted(sums.sessions, key=lambda entry: -entry[1].tokens_without)
    names = {f"{named['id']} ({named['source']})": entry for named, entry in largest[:_MAX_SESSIONS]}
    left = len(largest) - _MAX_SESSIONS
    whole, sent = total.tokens_without, total.tokens_with
    passes = [(name, f"{each.saved:,}", share(each.saved, whole)) for name, each in sums.use.passes.items()]
    lines = [
        *_table("session", names),
        *([f"… and {left:,} smaller sessions. --json has them all."] if left > 0 else ()),
        "",
        *table([("pass", "tokens saved", "of all"), *passes]),
        "",
        *_table("agent", sums.use.agents),
        "",
        f"Cost: {prices.input:g} for a million input tokens, {prices.cached:g} for a million cached ones.",
        "The estimate assumes that the provider caches everything that an agent's previous request began with.",
        *sums.notes(),
    ]
    if total.prompt_tokens:
        lines.append(f"When this was recorded, the providers counted {total.prompt_tokens:,} prompt tokens in all.")
    verb, of = ("saves", "of") if total.saved >= 0 else ("adds", "to")
    tokens = f"{verb} {abs(total.saved):,} {of} {whole:,} tokens ({percent(whole, sent)})"
    cost = f"{money(total.cost_with)} in place of {money(total.cost_without)}"
    headline = f"The pack {tokens}. The cost is {cost} ({percent(total.cost_without, total.cost_with)})."
    return "\n".join((*map(printable, lines), "", sums.counts(), headline))


def _table(kind: str, entries: Mapping[str, Use]) -> Iterable[str]:
    rows = [(kind, "calls", "without", "with", "change", "largest with", "cost without", "cost with")]
    for name, entry in entries.items():
        whole, sent = entry.tokens_without, entry.tokens_with
        tokens = f"{entry.calls:,}", f"{whole:,}", f"{sent:,}", percent(whole, sent)
        costs = money(entry.cost_without), money(entry.cost_with)
        rows.append((f"{name:.60}", *tokens, f"{entry.largest_with:,}", *costs))
    return table(rows)


def passes_in(found: Any) -> tuple[context_pass.ContextPass, ...] | None:
    """Returns the passes that an object gives: a pass, some passes, or a pipeline. None if it gives anything else."""
    found = getattr(found, "passes", found)
    passes = tuple(found) if isinstance(found, Iterable) else (found,)
    return passes if all(isinstance(entry, context_pass.ContextPass) for entry in passes) else None


def load_pack(options: argparse.Namespace, app: AppRequests | None) -> tuple[SettingsFor, Counter | None]:
    """Returns the settings and the counter that the options of `replay` describe: by default, `ContextPackPlugin()`."""
    names = ("passes", "window", "max_rows", "max_payload_tokens", "no_caps")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name) not in {None, False}]
    is_alone = not (options.plugin and given)
    must(is_alone, "adk-context-pack", "--plugin", options.plugin, f"given without {''.join(given[:1])}")

    def a_plugin(found: Any) -> Any:
        return found if hasattr(found, "settings_for") and not isinstance(found, type) else None

    own = next(filter(a_plugin, app.plugins if app and not given else ()), None)
    expected = "a ContextPackPlugin, such as mypackage.agent:PLUGIN"
    if plugin := load_object("--plugin", options.plugin, a_plugin, expected) or own:
        return plugin.settings_for, getattr(plugin, "counter", None)
    limits = {"max_rows": options.max_rows, "max_tokens": options.max_payload_tokens}
    given_limits = {name: limit for name, limit in limits.items() if limit is not None}
    with told_of("adk-context-pack", max_rows="--max-rows", max_tokens="--max-payload-tokens"):
        caps = () if options.no_caps else default_result_passes(**given_limits)
    passes = load_object("--passes", options.passes, passes_in, "passes, such as mypackage.passes:PASSES")
    with told_of("adk-context-pack", max_tokens="--window"):
        settings = PackSettings(passes=passes, max_tokens=options.window, result_passes=caps)
    return (lambda _: settings), None


def calls_of(session: RecordedSession, replayer: Replayer, sessions: Sessions) -> Iterator[Replayed]:
    """Yields the model calls of a session, and tells how many requests ADK or the app refuses to build, and why."""
    refused = []
    for call in replayer.replay(session):
        if isinstance(call, Replayed):
            yield call
        else:
            refused.append(call)
    if refused:
        lost = f"{session.source}: session {session.id}: ADK cannot rebuild {len(refused)} of its requests"
        # Doctor makes up a session for each agent.
        what = lost if session.source else f"{session.id}: its request needs a recorded session"
        sessions.tell(RecordingError(f"{what}: {refused[0]}"))


_MAX_HTML_CALLS = 500


def run_replay(options: argparse.Namespace) -> int:
    """Rebuilds recorded requests with ADK's own code, and prints tokens and cost without the pack and with it.

    Runs the passes and the caps on tool results over the request of each recorded model call. Only reads. Exit code: 0
    all well, 1 a request exceeds its agent's budget, 2 some input could not be read, 64 an option that cannot work.
    """
    if options.brief and not options.max_tokens and options.max_cost is None:
        raise SettingError("check: set a budget with --max-tokens or --max-cost")
    app, own_counter, prices = load_app(options)
    settings_for, counter = load_pack(options, app)
    sessions = Sessions(options)
    answers = AnswerabilitySums(settings_for, prices.cached_share) if options.answerability else None
    counter, keep = own_counter or counter, bool(options.html)
    replayer = Replayer(settings_for, counter=counter, app=app, prices=prices, keep_requests=keep)
    log = ReportLog(max_reports=_MAX_HTML_CALLS, max_requests=_MAX_HTML_CALLS)
    tokens: dict[str, int] = {}
    for text in options.max_tokens:
        agent, is_named, number = text.rpartition("=")
        is_right = (agent or not is_named) and number.isdecimal() and int(number) > 0
        must(is_right, "adk-context-pack", "--max-tokens", text, "of the form N or AGENT=N")
        tokens[agent or "*"] = int(number)
    with told_of("adk-context-pack", max_cost="--max-cost"):
        use = TokenUse(prices=prices, budget=Budget(tokens=tokens, cost=options.max_cost))
    sums = ReplaySums(use=use, app=app, problems=sessions.problems)

    def replay(session: RecordedSession) -> int:
        sums.add(session, calls := [*calls_of(session, replayer, sessions)])
        for call in calls if keep else ():
            log.add(call.report)
        if answers:
            answers.add(session)
        return use.total.calls

    sessions.each(replay)
    sys.stdout.write(_output(sums, answers, options) + "\n")
    if options.html and use.total.calls:
        _write_page(sums, log, sessions, options.html)
    return _verdict(sums, is_check=options.brief)


def _output(sums: ReplaySums, answers: AnswerabilitySums | None, options: argparse.Namespace) -> str:
    if options.json:
        return json.dumps(sums.to_dict() | ({"answerability": answers.to_dict()} if answers else {}), indent=1)
    text = replay_text(sums)
    if options.brief and sums.use.total.calls:
        # What a budget is held against.
        dearest = max((part.cost_with for _, part in sums.sessions), default=0.0)
        largest = f"the largest of {sums.use.total.largest_with:,} tokens"
        text = f"{sums.counts()}, {largest}, the dearest session at {money(dearest)}"
    return "\n".join((*answers.lines(), "", text)) if answers and sums.use.total.calls else text


def _write_page(sums: ReplaySums, log: ReportLog, sessions: Sessions, path: str) -> None:
    try:
        # The page may be too small for all calls, but its sums are those of all.
        write_html(log, path, title="What the pack would change", use=sums.use)
    except OSError as error:
        sessions.tell(RecordingError(f"{path}: {error.strerror or type(error).__name__}"))
        return
    calls = f"the last {len(log):,} of {sums.use.total.calls:,} calls"
    shown = calls if sums.use.total.calls > len(log) else "each call"
    sys.stderr.write(f"{path} shows {shown} without the pack and with it\n")


def _verdict(sums: ReplaySums, *, is_check: bool) -> int:
    """Returns the exit code, and prints a line for each request over its budget."""
    use = sums.use
    unseen = [f"--max-tokens {line}" for line in use.unseen()]
    sys.stderr.writelines(f"{printable(line)}\n" for line in (*use.over_budget, *unseen))
    if use.over_budget:
        return Exit.OVER_BUDGET
    if unseen:
        return Exit.MISUSED
    # A check of nothing must not pass.
    return Exit.UNREADABLE if sums.problems or (is_check and not use.total.calls) else Exit.OK


def run_doctor(options: argparse.Namespace) -> int:
    """Looks at an app without running it, and at recorded sessions if there are any, and prints what it would change.

    Exit code: 0 nothing to change, 1 something, 2 some input could not be read, 64 an option that cannot work.
    """
    requests, counter, prices = load_app(options)
    sessions, app = Sessions(options), requests and requests.app
    agents = [each for each in agents_in(getattr(app, "root_agent", app)) if isinstance(each, BaseAgent)]
    pack = next((each for each in getattr(app, "plugins", ()) if hasattr(each, "settings_for")), None)
    use = TokenUse(prices=prices)
    settings_for = pack.settings_for if pack else lambda _: None
    replayer = Replayer(settings_for, counter=counter, app=requests, prices=prices, keep_requests=True)

    def see(session: RecordedSession) -> int:
        for call in calls_of(session, replayer, sessions):
            use.add(call.report, call.prefix_without)
        return use.total.calls

    texts = {each.name: text for each in agents if isinstance(text := getattr(each, "instruction", None), str)}
    for each in () if options.sessions else agents:
        # What an agent sends with its first request, it sends with all of them.
        said = Event(author=each.name, content=types.ModelContent("Hello."), invocation_id="first")
        state = dict.fromkeys(re.findall(r"{([\w:]+)}", texts.get(each.name, "")), "…")
        asked = Event(author="user", content=types.UserContent("Hi."))
        see(RecordedSession(id=each.name, app_name="app", user_id="user", events=[asked, said], state=state))
    sessions.each(see)
    own = {each.name: "".join((*static_texts(each), texts.get(each.name, ""))) for each in agents}
    meter = TokenMeter(counter=counter)
    found = [*in_plugins(app, agents, pack), *in_requests(use, own, meter), *in_agents(app, agents)]
    for number, (what, advice) in enumerate(found, 1):
        sys.stdout.write(f"{number}. {printable(what)}\n")
        sys.stdout.writelines(f"   {printable(line)}\n" for line in advice.splitlines())
    ending = "" if found or sessions.problems else " Nothing to change was found."
    counts = f"{counted(len(agents), 'agent')} and {counted(use.total.calls, 'request')}"
    sys.stdout.write(f"Looked at {counts}.{ending}\n")
    return Exit.UNREADABLE if sessions.problems and (options.sessions or not found) else int(bool(found))


def in_requests(use: TokenUse, own: Mapping[str, str], meter: TokenMeter) -> Iterator[tuple[str, str]]:
    """Yields what takes many tokens, and what to do about it. `own` has what instructions say beside state."""
    # That stays as it is, and a cache makes it cheap. The pack has nothing for it.
    stays = [name for name, each in use.agents.items() if 2 * meter.text(own.get(name, "")) >= each.largest_instruction]
    for each in use.offenders():
        is_own = each.what.startswith(tuple(map("instruction of {},".format, stays)))
        # Less than that in a request is not worth a change.
        if each.tokens >= 1_000 * use.total.calls and not is_own:
            yield f"{each.what}: {each.tokens:,} tokens, {share(each.share, 1)} of all", each.advice


def in_plugins(app: Any, agents: Sequence[BaseAgent], pack: Any) -> Iterator[tuple[str, str]]:
    """Yields what is wrong about an app's plugins and its own settings, and what to write in their place."""
    plugins = getattr(app, "plugins", ())
    is_cached = getattr(app, "context_cache_config", None)
    if pack is None:
        used = [one for each in agents for one in getattr(each, "canonical_before_model_callbacks", ())]
        used += [wrap.pass_of(tool) for each in agents for tool in getattr(each, "tools", ())]
        if not any(isinstance(one, Callback) for one in used):
            # ADK shows the nodes of a workflow their input alone.
            sees_logs = len(agents) > 1 and not hasattr(getattr(app, "root_agent", app), "graph")
            names = (type(each).__name__ for each in plugins)
            others = "".join(f", {name}(…)" for name in names if name != "ContextFilterPlugin")
            setting = 'read_back="always"' if is_cached else ""
            plugin = f"ContextPackPlugin({setting})"
            made = f"from adk_context_pack import ContextPackPlugin\n\nApp(…, plugins=[{plugin}{others}])"
            if not hasattr(app, "plugins"):
                root = 'App(name="the_name_of_its_folder", root_agent=root_agent'
                made = "from google.adk.apps.app import App\n" + made.replace("App(…", f"app = {root}")
                made += "\n# or without code: adk web --extra_plugins adk_context_pack.ContextPackPlugin …"
            yield f"Every agent is shown whole results{', and all logs of earlier agents' * sees_logs}", made
        return
    for place, each in enumerate(plugins):
        name = type(each).__name__
        if place < plugins.index(pack) and type(each).on_event_callback is not BasePlugin.on_event_callback:
            what = f"{name} comes first, so that the pack never sees an event that it changes"
            yield what, f"plugins=[{type(pack).__name__}(…), {name}(…)]"
        if name == "ContextFilterPlugin":
            yield "ContextFilterPlugin drops turns of which the pack would keep notes", "Remove it from plugins=[…]."
    settings = {each.name: found for each in agents if (found := pack.settings_for(each.name)) is not None}
    budget = min((each.max_tokens for each in settings.values() if each.max_tokens), default=0)
    least = getattr(getattr(app, "events_compaction_config", None), "token_threshold", None)
    if least and 0 < budget <= least:
        what = f"ADK's compaction begins at {least:,} tokens, which no request within {budget:,} reaches"
        yield what, f"EventsCompactionConfig(token_threshold={budget * 3 // 4:_}, …)"
    moving = {each.read_back for each in settings.values()} - {"always", False}
    if moving and is_cached:
        what = "ADK caches tool declarations, to which the pack adds its own later"
        yield what, 'ContextPackPlugin(read_back="always")'


def in_agents(app: Any, agents: Sequence[BaseAgent]) -> Iterator[tuple[str, str]]:
    """Yields what other agents' output moves in an instruction, and what to write in its place."""
    writers = {key: each for each in agents if (key := getattr(each, "output_key", None))}
    find = getattr(getattr(app, "root_agent", app), "find_agent", lambda _: None)
    for each in agents:
        text = getattr(each, "instruction", None)
        for key in filter(writers.get, dict.fromkeys(re.findall(r"{(\w+)\??}", text if isinstance(text, str) else ""))):
            writer = writers[key]
            what = f"The instruction of {each.name} pastes all that {writer.name} wrote, and changes with it"
            if fields := getattr(getattr(writer, "output_schema", None), "model_fields", None):
                view = f"before_model_callback=[CompactState(key={key!r}, select={tuple(fields)})]"
                how = f"Give it this with the fields that it needs, and write {{compact:{key}}} in its instruction."
                yield what, f"from adk_context_pack import CompactState\n\n{view}\n{how}"
            elif find(each.name) and find(writer.name) and getattr(each, "include_contents", "") == "default":
                yield what, f"Remove {{{key}}} from it. {each.name} is shown what {writer.name} said as it is."


def run_try(options: argparse.Namespace) -> int:
    """Runs an app on prompts with its own model, or takes recorded sessions, and prints what the pack would save.

    Prints the settings to paste. Writes a page of each call without the pack and with it, and opens it from a terminal.
    """
    if options.prompt:
        requests, _, _ = load_app(options)
        try:
            text, artifacts = asyncio.run(recorded(requests and requests.app, options.prompt))
        except Exception as error:
            ending = "Recorded sessions in the place of --prompt need no run."
            raise SettingError(f"try: the app failed: {in_a_line(error)}\n{ending}") from error
        path = Path(options.html).with_suffix(".session.json")
        path.write_text(text, encoding="utf-8")
        options.sessions.append(str(path))
        options.artifacts = options.artifacts or artifacts
    if not options.sessions:
        raise SettingError("try: name recorded sessions, or say with --prompt what to say to the app")
    code = run_replay(options)
    sys.stdout.write("\n")
    if sys.stdout.isatty() and Path(options.html).exists():
        webbrowser.open(Path(options.html).resolve().as_uri())
    return code or int(options.tune(options))


_RESULTS = (
    "",
    *map("rows=CapRows(max_tokens={0}), payloads=OffloadPayload(max_tokens={0})".format, (300, 500, 2000, 4000)),
    "result_passes=[]",
)
_HISTORY = (
    "",
    *map("max_tokens={:_}".format, (64_000, 32_000, 16_000, 8_000, 4_000)),
    "passes=[CastNarrative()]",
    "passes=[]",
)
"""The settings that are tried, as the source that is printed. The first of each are the defaults."""

_NO_PACK = "result_passes=[], passes=[]"
_ENOUGH = 20
"""With fewer values that later calls needed, the defaults are recommended."""


@cache
def _settings(source: str) -> PackSettings:
    names = {each.__name__: each for each in (cap_rows.CapRows, cast_narrative.CastNarrative, cap_rows.OffloadPayload)}
    # The source is one of those above, so that what is printed is what was tried.
    return PackSettings(**eval(f"dict({source})", names))  # noqa: S307


@dataclass(kw_only=True)
class Trial:
    """The cost of recorded sessions with some settings, and the share of values that later calls still see.

    The settings are those of single `agents`, and for all others a `source`: arguments of a `ContextPackPlugin`. What
    later calls needed is `seen` by agent, and under None by all of them. `turns` has the tokens of the requests of each
    turn before passes over history, by agent, session and turn.
    """

    source: str
    agents: Mapping[str, str]
    use: TokenUse
    seen: dict[str | None, Answerability] = field(default_factory=dict)
    turns: dict[tuple[str, ...], list[int]] = field(default_factory=dict)

    def __str__(self) -> str:
        own = ", ".join(f'"{name}": PackSettings({source})' for name, source in sorted(self.agents.items()))
        return ", ".join(filter(None, (self.source, own and f"agents={{{own}}}")))

    def settings_for(self, agent: str) -> PackSettings:
        """Returns the settings of an agent."""
        return _settings(self.agents.get(agent, self.source))

    def cost(self, agent: str | None = None) -> float:
        """Returns the cost of all agents or one, if each value that is not visible is read back."""
        use, seen = self.use.total if agent is None else self.use.agents.get(agent, Use()), self.answers(agent)
        # It takes a call, and what it adds to later ones costs about as much.
        return use.cost_with * (1 + 2 * (seen.values - seen.visible) / max(use.calls, 1))

    def rank(self, visible: float, agent: str | None = None) -> tuple[bool, bool, float]:
        """Returns the place of the trial among others, for all agents or one: the less the better."""
        # Other settings must save at least 2 % of what the defaults cost.
        cost = self.cost(agent) / (0.98 if str(self) else 1)
        return bool(self.needed(agent)), self.answers(agent).visible_share < visible, cost

    def needed(self, agent: str | None = None) -> int:
        """Returns twice the largest turn that is over half of a `max_tokens` of the trial, or 0 if none is."""
        grown = [(name, 2 * (of[-1] - of[0])) for (name, *_), of in self.turns.items() if agent in (None, name)]
        return max((n for name, n in grown if n > (self.settings_for(name).max_tokens or math.inf)), default=0)

    def answers(self, agent: str | None = None) -> Answerability:
        """Returns what all agents see, or one."""
        return self.seen.setdefault(agent, Answerability(strategy=str(self)))

    def to_dict(self) -> dict[str, Any]:
        """Returns the figures as plain JSON values."""
        total, seen = self.use.total, self.answers()
        misses = sum(each.breaks for each in self.use.agents.values())
        figures = {"tokens": total.tokens_with, "cost": self.cost(), "misses": misses, "values": seen.values}
        shares = {"visible": seen.visible_share, "reachable": seen.reachable_share}
        return {"settings": f"ContextPackPlugin({self})", **figures, **shares}


class Tuning:
    """The trials over the sessions that the options of the command line name."""

    def __init__(self, options: argparse.Namespace) -> None:
        is_right = options.visible == 0 or 1 < options.visible <= 100  # noqa: PLR2004
        must(is_right, "tune", "--visible", options.visible, "a percentage such as 99.5")
        self.visible = options.visible / 100
        self.app, self.counter, self.prices = load_app(options)
        self.sessions = Sessions(options)
        self.trials: list[Trial] = []

    def run(self) -> Trial:
        """Runs all rounds and returns the trial that is recommended."""
        self._round([*_RESULTS, _NO_PACK])
        results = next(each for each in reversed(_RESULTS) if self._best().source.startswith(each))
        self._round([", ".join(filter(None, (results, history))) for history in _HISTORY])
        best = self._best()
        own = ((name, self._best(name, first=best).source) for name in best.use.agents)
        if others := {name: source for name, source in own if source != best.source}:
            self._round([best.source], others)
        return self._best()

    def worth_knowing(self) -> Iterator[Trial]:
        """Yields the trials that no cheaper one equals in what stays visible, and the defaults and no pack."""
        most = -1.0
        for each in sorted(self.trials, key=lambda each: (each.cost(), len(str(each)))):
            share = each.answers().visible_share
            if share > most or str(each) in ("", _NO_PACK):
                yield each
            most = max(most, share)

    def _best(self, agent: str | None = None, first: Trial | None = None) -> Trial:
        defaults = self.trials[0]
        # A few may be seen or hidden by chance.
        if defaults.answers(agent).values < _ENOUGH:
            return defaults
        return min([first or defaults, *self.trials], key=lambda each: each.rank(self.visible, agent))

    def _round(self, sources: Iterable[str], agents: Mapping[str, str] | None = None) -> None:
        known = {str(each) for each in self.trials}
        setting: dict[str, Any] = {"counter": self.counter, "app": self.app, "prices": self.prices}
        made = [Trial(source=each, agents=agents or {}, use=TokenUse(prices=self.prices)) for each in sources]
        new = {str(each): each for each in made if str(each) not in known}
        packs = {name: each.settings_for for name, each in new.items()}

        def see(session: RecordedSession) -> int:
            for trial in new.values():
                for call in calls_of(session, Replayer(trial.settings_for, **setting), self.sessions):
                    trial.use.add(report := call.report, call.prefix_without)
                    sent = [each.tokens_after for each in report.passes if each.name == RESULTS]
                    turn = report.agent, report.session_id, report.invocation_id
                    trial.turns.setdefault(turn, []).extend(sent[:1] or [report.tokens_before])
            for agent, answers in answers_of(session, packs, self.prices.cached_share):
                for found, of in product(answers, (agent, None)):
                    new[found.strategy].answers(of).add(found)
            return trial.use.total.calls

        self.sessions.each(see)
        self.trials += new.values()


def run_tune(options: argparse.Namespace) -> int:
    """Replays recorded sessions with several settings of the pack, and prints what those worth knowing cost and hide.

    Prints the settings to paste. Goes over the sessions up to three times. Only reads.
    """
    tuning = Tuning(options)
    best = tuning.run()
    if options.json:
        found = {"recommended": best.to_dict(), "trials": [each.to_dict() for each in tuning.trials]}
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in _lines(tuning, best))
    return Exit.OK if best.use.total.calls and not tuning.sessions.problems else Exit.UNREADABLE


def _lines(tuning: Tuning, best: Trial) -> Iterator[str]:
    whole, seen = best.use.total, best.answers()
    if not whole.calls:
        yield "no model calls found"
        return
    rows = [("tokens", "cost", "change", "misses", "visible", "reachable", "ContextPackPlugin(…)")]
    for each in tuning.worth_knowing():
        found = each.to_dict()
        name = {"": "the defaults", _NO_PACK: "no pack"}.get(str(each), str(each))
        change = percent(whole.cost_without, found["cost"])
        shares = (f"{found['visible']:.1%}", f"{found['reachable']:.1%}") if found["values"] else ("?", "?")
        rows.append((f"{found['tokens']:,}", money(found["cost"]), change, f"{found['misses']:,}", *shares, name))
    yield from table(rows, words=[6])
    yield "A value that later calls need and do not see is taken to cost two calls more, since it is read back.\n"
    yield f"Recommended: it costs {money(best.cost())} in place of {money(whole.cost_without)} without the pack."
    if seen.values:
        left = f"{seen.visible_share:.1%} stay visible and {seen.reachable_share:.1%} can be read back"
        needed = f"{counted(seen.values, 'value')} that later tool calls needed"
        yield f"Of {needed}, {left}. {tuning.visible:.1%} had to stay."
    else:
        yield "No recorded tool call needs a value that its request shows, so what is lost could not be measured."
    if most := max(each.needed() for each in tuning.trials):
        yield f"No max_tokens below {most:,} is recommended, since a turn would lose what it has just read."
    if seen.values < _ENOUGH:
        yield f"Fewer than {_ENOUGH} such values say too little, so these are the defaults."
    source = f"ContextPackPlugin({best})"
    names = sorted({*re.findall(r"([A-Z]\w+)\(", source)})
    yield f"\nfrom adk_context_pack import {', '.join(names)}\n\nplugin = {source}"
