"""A replay tells what live runs of the same app send, without the pack and with it, for each agent."""

import pytest

from tests.replay.live_apps import APPS
from tests.replay.live_runs import compare

pytestmark = pytest.mark.filterwarnings("ignore")
QUICK = ("600 rows", "stubs that do not pay", "state in short", "settings for one agent", "a single-turn agent")
FROM_THE_RECORDING = ("many turns", "transfers", "compacted events", "a rewind")
UNKNOWN_TOOLS = ("side by side", "in sequence", "in a loop", "no history", "a workflow", "a full budget")
"""The recording does not tell that an agent has tools which it never called, and so is offered those to read back, nor
how much of a budget the instruction and the declarations take."""


async def assert_agrees(name, folder, **mode):
    app = APPS[name]
    if app.skipped:
        pytest.skip(app.skipped)
    found = await compare(app, folder, **mode)
    assert found
    assert {agent: each for agent, each in found.items() if each.difference > 0.05} == {}


def shapes(*quick, left_out=()):
    """All shapes of an app but a few, of which a few are quick tests."""
    return [
        name if name in quick else pytest.param(name, marks=pytest.mark.slow) for name in APPS if name not in left_out
    ]


@pytest.mark.parametrize("name", shapes(*QUICK, left_out=("side by side",)))
async def test_with_the_app_whole_requests_agree(name, tmp_path):
    """Given the app, a replay of the run without the pack tells within 5 % what both live runs sent, agent by agent."""
    await assert_agrees(name, tmp_path, given=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FROM_THE_RECORDING)
async def test_contents_agree_from_the_recording_alone(name, tmp_path):
    """Without the app, the contents that a replay tells are within 5 % of those that both live runs sent."""
    await assert_agrees(name, tmp_path, given=False)


@pytest.mark.parametrize("name", shapes("no history alone", "stubs that do not pay", left_out=UNKNOWN_TOOLS))
async def test_the_provider_figures_tell_whole_requests(name, tmp_path):
    """With the provider's figures in the recording, whole requests agree, also of agents that are shown no history."""
    await assert_agrees(name, tmp_path, given=False, counted=True)
