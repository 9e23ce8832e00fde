"""Objects that the command line names as `module:name`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from adk_context_pack._adk.app_requests import AppRequests, is_app
from adk_context_pack._adk.artifact_services import artifact_service
from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.errors import SettingError
from adk_context_pack.pack_settings import PackSettings
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.replay.tool_caps import SettingsFor
from adk_context_pack.tools.presets import default_result_passes


def load_object(setting: str, name: str) -> Any:
    """Loads the object that `module:name` names, from the working directory or any installed package.

    Raises:
        SettingError: the module or the object does not exist.
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
    return found


def load_passes(name: str) -> tuple[ContextPass, ...]:
    """Loads the passes that `--passes` names: a pass, some passes, a pipeline, or a function that returns them.

    Raises:
        SettingError: the object does not give any passes.
    """
    found = load_object("--passes", name)
    is_made = isinstance(found, ContextPass | Iterable) or hasattr(found, "passes")
    if isinstance(found, type) or (callable(found) and not is_made):
        found = found()
    found = getattr(found, "passes", found)
    passes = (found,) if isinstance(found, ContextPass) else tuple(found) if isinstance(found, Iterable) else (found,)
    for entry in passes:
        if not isinstance(entry, ContextPass):
            raise SettingError.of("replay", "--passes", name, "passes, such as mypackage.passes:PASSES")
    return passes


def load_app(name: str | None) -> AppRequests | None:
    """Loads the app that `--app` names: an app, its root agent, or a function that returns one of them.

    Raises:
        SettingError: it is none of them.
    """
    if name is None:
        return None
    found = load_object("--app", name)
    if not is_app(found) and callable(found):
        found = found()
    if not is_app(found):
        raise SettingError.of("replay", "--app", name, "an app or an agent, such as mypackage.agent:root_agent")
    return AppRequests(found)


def load_artifacts(uri: str | None) -> Any:
    """Returns the artifact service that `--artifacts` names by a URI or a folder, or None.

    Raises:
        SettingError: ADK has no such service, or the folder does not exist.
    """
    if uri is None:
        return None
    try:
        return artifact_service(uri)
    except ValueError as error:
        raise SettingError.of(
            "replay", "--artifacts", uri, f"such as file:///folder or gs://bucket ({error})"
        ) from None


def load_plugin(name: str | None, app: AppRequests | None) -> Any:
    """Loads the plugin that `--plugin` names, or returns the one that the app has, or None.

    Raises:
        SettingError: the object is not a `ContextPackPlugin`, nor a function or class that makes one.
    """
    if name is None:
        return next((each for each in (app.plugins if app else ()) if hasattr(each, "settings_for")), None)
    found = load_object("--plugin", name)
    if isinstance(found, type) or not hasattr(found, "settings_for"):
        found = found() if callable(found) else None
    if not hasattr(found, "settings_for"):
        raise SettingError.of("replay", "--plugin", name, "a ContextPackPlugin, such as mypackage.agent:PLUGIN")
    return found


def load_counter(name: str | None) -> Callable[[str], int] | None:
    """Loads the tokenizer that `--counter` names: a function from text to its number of tokens.

    Raises:
        SettingError: it is not a function.
    """
    if name is None:
        return None
    found = load_object("--counter", name)
    if not callable(found):
        raise SettingError.of("replay", "--counter", name, "a function from text to its number of tokens")
    return found  # type: ignore[no-any-return]


_OPTIONS = ("passes", "window", "max_rows", "max_payload_tokens", "no_caps")


@dataclass(frozen=True, kw_only=True)
class Pack:
    """Tells what the plugin would do."""

    settings_for: SettingsFor
    counter: Counter | None = None


def load_pack(options: argparse.Namespace, app: AppRequests | None) -> Pack:
    """Returns the pack that the options of `replay` describe: by default, `ContextPackPlugin()`.

    Args:
        options: as `add_replay` declares them.
        app: the app that was recorded, whose own plugin is used where no option says otherwise.

    Raises:
        SettingError: an option that cannot work.
    """
    given = [f"--{name.replace('_', '-')}" for name in _OPTIONS if getattr(options, name) not in {None, False}]
    if options.plugin and given:
        raise SettingError.of("replay", "--plugin", options.plugin, f"given without {given[0]}")
    plugin = None if given else load_plugin(options.plugin, app)
    if plugin is not None:
        return Pack(settings_for=plugin.settings_for, counter=getattr(plugin, "counter", None))
    settings = _settings(options)
    return Pack(settings_for=lambda _: settings)


def _settings(options: argparse.Namespace) -> PackSettings:
    limits = {"max_rows": options.max_rows, "max_tokens": options.max_payload_tokens}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    caps = () if options.no_caps else default_result_passes(**given)
    passes = None if options.passes is None else load_passes(options.passes)
    return PackSettings(passes=passes, max_tokens=options.window, result_passes=caps)
