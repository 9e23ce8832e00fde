"""State keys made from a call's arguments."""

import pytest

from adk_context_pack.errors import SettingError
from adk_context_pack.tools.key_template import checked_template, filled


def test_arguments_and_the_tool_fill_a_template():
    """Names stand for arguments; `{tool}` for the tool unless an argument has that name."""
    assert filled("r:{query_id}:{tool}", "search", {"query_id": 7}) == "r:7:search"
    assert filled("{tool}", "search", {"tool": "hammer"}) == "hammer"


@pytest.mark.parametrize(("template", "args"), [("r:{a}", {}), ("r:{a:>5d}", {"a": "text"})])
def test_a_call_that_does_not_fill_it_gives_no_key(template, args):
    """A missing argument, or one of another type than the template's format, is no failure."""
    assert filled(template, "search", args) is None


@pytest.mark.parametrize("template", ["", "a{", "{a.b}", "{a[0]}", "{}", "{0}", 5, None])
def test_templates_that_cannot_work_are_refused(template):
    """Attributes and indexes would reach into what a model sent."""
    with pytest.raises(SettingError) as caught:
        checked_template("CapRows", "state_key", template)
    assert repr(template) in str(caught.value)
