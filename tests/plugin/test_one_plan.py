"""One plan for one result, in real runs: settings by tool, own passes, readers without tools, stores that fail."""

from __future__ import annotations

import pytest

from adk_context_pack import PackSettings, SettingError


def tool(name, value):
    """A tool of this name that returns a value."""

    def fetch():
        return value

    fetch.__name__ = fetch.__doc__ = name
    return fetch


@pytest.mark.parametrize("setting", ["all", 3, {"": "whole"}, ["whole"]])
def test_a_setting_for_a_tool_that_cannot_work_is_named(setting):
    """A wrong setting fails when built, with its value."""
    given = setting if isinstance(setting, dict | list) else {"search": setting}
    with pytest.raises(SettingError, match="tools"):
        PackSettings(tools=given)
