"""Holds the settings of the pack that is tried on recorded sessions."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from adk_context_pack._adk.app_requests import AppRequests
from adk_context_pack.conversation.tokens import Counter
from adk_context_pack.errors import SettingError
from adk_context_pack.pack_settings import PackSettings
from adk_context_pack.replay.load import load_passes, load_plugin
from adk_context_pack.replay.tool_caps import SettingsFor
from adk_context_pack.tools.presets import default_result_passes

_OPTIONS = ("passes", "window", "max_rows", "max_payload_tokens", "no_caps")


@dataclass(frozen=True, kw_only=True)
class Pack:
    """Tells what the plugin would do.

    Attributes:
        settings_for: gives the settings for an agent, or None for an agent that the plugin leaves alone.
        counter: the plugin's own tokenizer, or None.
    """

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
