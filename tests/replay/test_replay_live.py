"""A replay tells what live runs of the same app send, without the pack and with it, for each agent."""

from __future__ import annotations

import pytest

from tests.replay.live_apps import APPS
from tests.replay.live_runs import compare

pytestmark = pytest.mark.filterwarnings("ignore")

QUICK = ("600 rows", "a text", "state in short", "no history alone", "settings for one agent", "a single-turn agent")
FROM_THE_RECORDING = ("many turns", "transfers", "compacted events", "a rewind", "a full budget")


async def assert_agrees(name, folder, *, given):
    app = APPS[name]
    if app.skipped:
        pytest.skip(app.skipped)
    found = await compare(app, folder, given=given)
    assert found
    assert {agent: each for agent, each in found.items() if each.difference > 0.05} == {}


@pytest.mark.parametrize("name", QUICK)
async def test_with_the_app_whole_requests_agree(name, tmp_path):
    """Given the app, a replay of the run without the pack tells within 5 % what both live runs sent, agent by agent."""
    await assert_agrees(name, tmp_path, given=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in APPS if name not in (*QUICK, "side by side")])
async def test_with_the_app_all_shapes_agree(name, tmp_path):
    """The same for every other shape of an app."""
    await assert_agrees(name, tmp_path, given=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FROM_THE_RECORDING)
async def test_contents_agree_from_the_recording_alone(name, tmp_path):
    """Without the app, the contents that a replay tells are within 5 % of those that both live runs sent."""
    await assert_agrees(name, tmp_path, given=False)
