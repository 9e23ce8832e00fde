"""Who speaks in a content: what cannot be told counts as nobody's."""

import pytest
from google.genai import types

from adk_context_pack import ModelCall
from adk_context_pack.conversation.voices import Voices
from tests.support.events import user_said


@pytest.mark.parametrize(
    ("role", "text", "voice"),
    [
        ("user", "Hello", "user"),
        ("model", "Hello", "model"),
        ("user", "For context:", "relay"),
        ("user", "Something else", "fixed"),
        ("system", "Hello", "fixed"),
        (None, "Hello", "fixed"),
    ],
)
def test_roles_alone_do_not_tell(role, text, voice):
    """What a user typed is the user's, and a content without a role, or with one of its own, is nobody's to drop."""
    call = ModelCall(agent_name="a", events=[user_said("Hello")], user_content=None)
    content = types.Content(role=role, parts=[types.Part(text=text)])
    assert Voices.of(call).voice(content) == voice
