"""Settings that fail when built, all in the same words."""

from adk_context_pack import SettingError


def test_a_setting_error_is_a_value_error():
    """Code that catches ValueError catches a bad setting."""
    assert issubclass(SettingError, ValueError)
