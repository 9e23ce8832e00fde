"""The soak, for a few seconds."""

import pytest

from tests.benchmarks.bench_soak import main, verdict
from tests.support import postgres

pytestmark = [pytest.mark.slow, pytest.mark.newest, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.mark.parametrize("where", [["--state"], []], ids=["state", "artifacts"])
def test_two_processes_lose_nothing(where, capsys):
    """Two processes on one PostgreSQL swap their sessions, and every answer is right, by the other's handles too."""
    pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="this ADK keeps no artifacts in files")
    if reason := postgres.missing():
        postgres.skip_or_fail(reason)
    found = main(["--minutes", "0.2", "--intervals", "4", *where])
    shown = capsys.readouterr().out
    assert " 0 lost, 0 stored twice" in shown
    assert "lost" in verdict(found)
    assert len(found) == 4
    assert sum(each["turns"] for each in found) > 20
    assert sum(each["again"] for each in found) > 0


def test_a_wrong_answer_is_counted_as_lost():
    """What the workers count as lost, or as stored twice, is in the last line."""
    figures = {
        "turns": 10,
        "seconds": 1.0,
        "read": 5,
        "again": 1,
        "lost": 2,
        "twice": 1,
        "resident": [100.0],
        "cached": [9.0],
    }
    assert "40 turns, 20 results read back, 8 lost, 4 stored twice" in verdict([figures] * 4)
