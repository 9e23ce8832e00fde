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


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{id}", "app:settings"), ("{id}", "user:name"), ("{id}", "temp:x"), ("{id}", "rows:search:0123456789a"),
        ("{id}", "stored_until:0123456789a"), ("ap{id}", "p:x"), ("r:{id}", "a\0b"), ("r:{id}", "\ud800"),
        ("r:{id}", "a" * 5000),
    ],
)  # fmt: skip
def test_an_argument_cannot_choose_whose_state_is_written(template, value):
    """A model's argument reaches no scope that the template does not name, and makes no key that a database refuses."""
    assert filled(template, "search", {"id": value}) is None


def test_a_template_may_name_a_scope():
    """The author of an app may keep results for the user."""
    assert filled("user:{id}", "search", {"id": "7"}) == "user:7"
