"""Runs `adk-context-pack doctor`, what to change in an app, and `try`, what the pack would save in it."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.events.event import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from adk_context_pack._adk.instruction import agents_in, static_texts
from adk_context_pack._adk.requests import recorded
from adk_context_pack.conversation.tokens import TokenMeter
from adk_context_pack.errors import Callback, RecordingError, SettingError, counted, printable
from adk_context_pack.replay.recordings import Exit, RecordedSession, Sessions, in_a_line, load_app
from adk_context_pack.replay.replayer import Replayer
from adk_context_pack.reports.call_report import share
from adk_context_pack.reports.token_use import TokenUse, offenders
from adk_context_pack.tools.wrap import pass_of


def run_doctor(options: argparse.Namespace) -> int:
    """Prints what keeps the pack from working in an app, what takes many tokens, and what moves in instructions."""
    requests, counter, prices = load_app(options)
    sessions, app = Sessions(options), requests and requests.app
    agents = [each for each in agents_in(getattr(app, "root_agent", app)) if isinstance(each, BaseAgent)]
    pack = next((each for each in getattr(app, "plugins", ()) if hasattr(each, "settings_for")), None)
    use = TokenUse(prices=prices)
    settings_for = pack.settings_for if pack else lambda _: None
    replayer = Replayer(settings_for, counter=counter, app=requests, prices=prices, keep_requests=True)

    def see(session: RecordedSession) -> int:
        for call in replayer.replay(session):
            if isinstance(call, Exception):
                what = "a request cannot be built" if session.source else "its request needs a recorded session"
                sessions.tell(RecordingError(f"{session.source or session.id}: {what}: {call}"))
            else:
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
    for each in offenders(use):
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
        used += [pass_of(tool) for each in agents for tool in getattr(each, "tools", ())]
        if not any(isinstance(one, Callback) for one in used):
            # ADK shows the nodes of a workflow their input alone.
            sees_logs = len(agents) > 1 and not hasattr(getattr(app, "root_agent", app), "graph")
            names = (type(each).__name__ for each in plugins)
            others = "".join(f", {name}(…)" for name in names if name != "ContextFilterPlugin")
            setting = 'read_back="always"' if is_cached else ""
            made = f"App(…, plugins=[ContextPackPlugin({setting}){others}])"
            made = f"from adk_context_pack import ContextPackPlugin\n\n{made}"
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
        for key in dict.fromkeys(re.findall(r"{(\w+)\??}", text if isinstance(text, str) else "")):
            if (writer := writers.get(key)) is None:
                continue
            what = f"The instruction of {each.name} pastes all that {writer.name} wrote, and changes with it"
            if fields := getattr(getattr(writer, "output_schema", None), "model_fields", None):
                view = f"before_model_callback=[CompactState(key={key!r}, select={tuple(fields)})]"
                how = f"Give it this with the fields that it needs, and write {{compact:{key}}} in its instruction."
                yield what, f"from adk_context_pack import CompactState\n\n{view}\n{how}"
            elif find(each.name) and find(writer.name) and getattr(each, "include_contents", "") == "default":
                yield what, f"Remove {{{key}}} from it. {each.name} is shown what {writer.name} said as it is."


def run_try(options: argparse.Namespace) -> int:
    """Runs an app on prompts or takes its recordings, replays them, and returns the exit code."""
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
    replay, tune = options.steps
    code: int = replay(options)
    sys.stdout.write("\n")
    if sys.stdout.isatty() and Path(options.html).exists():
        webbrowser.open(Path(options.html).resolve().as_uri())
    return code or int(tune(options))
