"""The soak, for a few turns."""

import os

import pytest

from tests.benchmarks.bench_soak import main
from tests.benchmarks.process_memory import measured
from tests.support import postgres

pytestmark = [pytest.mark.slow, pytest.mark.newest, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


# Most of the time goes to starting seven processes with ADK, so that full results in state are left to the nightly run.
WHERE = {"artifacts": ["--plain"]} | ({"state": ["--state", "--caches", "1"]} if os.environ.get("WHOLE_LOAD") else {})


@pytest.mark.parametrize("where", WHERE.values(), ids=WHERE)
def test_two_processes_lose_nothing(where, capsys):
    """Two processes on one PostgreSQL swap their sessions, and every answer is right, by the other's handles too."""
    pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="this ADK keeps no artifacts in files")
    if reason := postgres.missing():
        postgres.skip_or_fail(reason)
    every = main(["--turns", "3", "--intervals", "4", *where])
    shown = capsys.readouterr().out
    assert shown.count(" 0 lost, 0 stored twice") == len(every) == (2 if "--plain" in where else 1)
    for found in every:
        assert len(found) == 4
        assert sum(each["turns"] for each in found) > 20
        assert sum(each["again"] for each in found) > 0
    for found, is_packed in zip(every, (True, False), strict=False) if measured() else ():
        last = found[-1]["memory"][0]
        assert (last["by_owner"]["ReportLog"] > 0) == is_packed
        assert 0 <= last["pack"] < last["app"] < last["resident"]
        assert found[-1]["trimmed"][0] > 0
