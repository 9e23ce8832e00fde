"""generate: conversations from a seed, with what ADK sessions hold."""

import subprocess
import sys

import pytest

from adk_context_pack.testing import generate
from adk_context_pack.testing.picture import picture

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def contents(conversation):
    return picture(conversation.request().contents)


@pytest.mark.slow
def test_a_seed_gives_the_same_conversations():
    """Twice the same for one seed, others for another."""
    first, again, other = (list(generate(20, seed=seed)) for seed in (1, 1, 2))
    assert list(map(contents, first)) == list(map(contents, again))
    assert list(map(contents, first)) != list(map(contents, other))
    assert len(first) == 20


def test_what_passes_look_for_is_in_them():
    """Relays, own calls with and without ids, parallel ones, thoughts, signatures and several turns."""
    found = list(generate(100))
    parts = [part for one in found for content in one.request().contents for part in content.parts or ()]
    calls = [part.function_call for part in parts if part.function_call]
    assert any((part.text or "").startswith("For context:") for part in parts)
    assert {bool(call.id) for call in calls} == {True, False}
    assert any(part.thought_signature for part in parts)
    assert any(len([p for p in c.parts if p.function_call]) > 1 for one in found for c in one.request().contents)
    assert max(len({event.invocation_id for event in one.events}) for one in found) == 3


@pytest.mark.slow
def test_the_kit_needs_neither_pytest_nor_hypothesis():
    """Importing it loads neither, so that any test runner will do."""
    script = "import sys, adk_context_pack.testing; print([n for n in ('pytest', 'hypothesis') if n in sys.modules])"
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own script
    assert done.stdout.strip().splitlines()[-1] == "[]"
