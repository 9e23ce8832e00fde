"""The private PostgreSQL: skipped by name where it is not installed, a failure where `CI` is set."""

import pytest

from tests.support import postgres


def test_what_is_missing_is_named(monkeypatch):
    """A machine without PostgreSQL, or without its driver, is told which of them it lacks."""
    monkeypatch.setattr(postgres, "find_spec", lambda driver: object())
    monkeypatch.setattr(postgres, "postgres_folder", lambda: None)
    assert "PostgreSQL is not installed" in postgres.missing()
    monkeypatch.setattr(postgres, "find_spec", lambda driver: None)
    assert "asyncpg, which is not installed" in postgres.missing()


@pytest.mark.parametrize(("value", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_a_check_that_cannot_be_made_fails_in_ci(monkeypatch, value, outcome):
    """Skipped at home, failed where `CI` is set."""
    monkeypatch.setenv("CI", value)
    with pytest.raises(outcome, match="no server"):
        postgres.skip_or_fail("no server")
