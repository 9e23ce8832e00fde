"""The pack that a replay tries: without options it is the plugin as it is, and each option changes one thing."""

from __future__ import annotations

import argparse

import pytest

from adk_context_pack import PackSettings
from adk_context_pack.replay.command import load_pack
from adk_context_pack.tools.offload_payload import default_result_passes


def settings(**given):
    names = ("plugin", "passes", "window", "max_rows", "max_payload_tokens")
    options = argparse.Namespace(**{**dict.fromkeys(names), "no_caps": False, **given})
    return load_pack(options, None).settings_for("anybody")


@pytest.mark.parametrize(
    ("option", "limit"), [("max_rows", {"max_rows": 7}), ("max_payload_tokens", {"max_tokens": 5000})]
)
def test_an_option_changes_its_own_limit(option, limit):
    """One limit that is given leaves the others as the plugin has them, stubs and previews included."""
    [value] = limit.values()
    assert settings(**{option: value}).reducing_passes == default_result_passes(**limit)
    assert settings(**{option: value}).reducing_passes != PackSettings().reducing_passes


def test_no_caps_leaves_results_whole():
    """With `--no-caps` no pass over results runs."""
    assert settings(no_caps=True).reducing_passes == ()
