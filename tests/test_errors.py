"""Settings that fail when built, all in the same words."""

import pytest

from adk_context_pack import SettingError
from adk_context_pack.errors import at_least, names, one_of, positive


@pytest.mark.parametrize("value", [0, -1, 1.0, "1", None, True])
def test_positive_refuses_what_is_no_positive_integer(value):
    """Zero, negatives, floats, text, None and booleans are no counts."""
    with pytest.raises(SettingError) as error:
        positive("Thing", "max_rows", value)
    assert str(error.value) == f"Thing: max_rows must be an integer of at least 1, not {value!r}"


def test_at_least_takes_its_minimum():
    """The smallest allowed value is allowed."""
    assert at_least("Thing", "keep", 0, 0) == 0


def test_names_become_a_set():
    """Any collection of names is taken, and order and doubles do not matter."""
    assert names("Thing", "keep", ["b", "a", "a"]) == frozenset({"a", "b"})


def test_one_of_names_what_is_allowed():
    """The message says what would have been accepted."""
    with pytest.raises(SettingError, match="one of 'a', 'b', not 'c'"):
        one_of("Thing", "mode", "c", ("a", "b"))


def test_a_setting_error_is_a_value_error():
    """Code that catches ValueError catches a bad setting."""
    assert issubclass(SettingError, ValueError)
