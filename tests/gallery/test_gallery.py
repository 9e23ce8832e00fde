"""What models read of results that look like those of real tools."""

import pytest
from google.adk import __version__
from google.adk.models.registry import LLMRegistry

from tests.gallery.__main__ import shown
from tests.gallery.ask import answers
from tests.gallery.results import FOLDER, cases
from tests.support.scripted_model import ScriptedModel

pytestmark = [pytest.mark.newest, pytest.mark.skipif(__version__ < "2", reason="ADK 1 words accounts otherwise")]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
async def test_a_model_is_shown_what_the_file_says(case):
    """Stub or preview, and what the next agent is told, are as they were read and approved (`--write` renews them)."""
    assert await shown(case) == (FOLDER / "golden" / f"{case.name}.txt").read_text("utf-8")


def test_questions_are_printed_or_asked():
    """Without a model what would be asked is printed. With one its answer is compared with what was to be found."""
    LLMRegistry.register(ScriptedModel)
    (printed,) = answers(["base64-attachment"], "")
    assert printed.startswith("Which page is blank")
    (answer,) = answers(["base64-attachment"], "scripted-model")
    assert answer.startswith("base64-attachment: 0 of 1 found, 0 calls")
