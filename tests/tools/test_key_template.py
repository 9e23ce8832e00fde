"""State keys made from a call's arguments."""

import pytest

from adk_context_pack import SettingError
from adk_context_pack.tools.key_template import checked_template, filled


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
