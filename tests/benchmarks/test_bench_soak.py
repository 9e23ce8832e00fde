"""The soak, for a few seconds."""

import pytest

from tests.benchmarks.bench_soak import growth, main, verdict
from tests.benchmarks.process_memory import measured
from tests.support import postgres

pytestmark = [pytest.mark.slow, pytest.mark.newest, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

FIGURES = {
    "turns": 10,
    "seconds": 1.0,
    "read": 5,
    "again": 1,
    "lost": 2,
    "twice": 1,
    "memory": [{"resident": 100.0, "app": 60.0, "pack": 9.0, "unused": 5.0, "by_owner": {"ByteCache": 9.0}}, None],
    "trimmed": [97.0, None],
}


@pytest.mark.parametrize("where", [["--state", "--caches", "1"], ["--plain"]], ids=["state", "artifacts"])
def test_two_processes_lose_nothing(where, capsys):
    """Two processes on one PostgreSQL swap their sessions, and every answer is right, by the other's handles too."""
    pytest.importorskip("google.adk.artifacts.file_artifact_service", reason="this ADK keeps no artifacts in files")
    if reason := postgres.missing():
        postgres.skip_or_fail(reason)
    every = main(["--minutes", "0.2", "--intervals", "4", *where])
    shown = capsys.readouterr().out
    assert shown.count(" 0 lost, 0 stored twice") == len(every) == (2 if "--plain" in where else 1)
    for found in every:
        assert len(found) == 4
        assert sum(each["turns"] for each in found) > 20
        assert sum(each["again"] for each in found) > 0
    _memory_is_of_the_pack_alone(every)


def _memory_is_of_the_pack_alone(every):
    if measured() is None:
        return
    for found, is_packed in zip(every, (True, False), strict=False):
        last = found[-1]["memory"][0]
        assert (last["by_owner"]["ReportLog"] > 0) == is_packed
        assert 0 <= last["pack"] < last["app"] < last["resident"]
        assert found[-1]["trimmed"][0] > 0


def test_a_wrong_answer_is_counted_as_lost():
    """What the workers count as lost, or as stored twice, is in the last line."""
    assert "40 turns, 20 results read back, 8 lost, 4 stored twice" in verdict([FIGURES] * 4)


def test_growth_is_shown_by_its_cause():
    """The table says how much more each cause holds in the last quarter than in the second, and what is given back."""
    later = {"resident": 130.0, "app": 61.0, "pack": 29.0, "unused": 14.0, "by_owner": {"ByteCache": 29.0}}
    lines = growth([FIGURES, FIGURES, FIGURES, {**FIGURES, "memory": [later, None]}]).splitlines()
    assert [line.split()[-1] for line in lines[1:5]] == ["+1.0", "+20.0", "+9.0", "+30.0"]
    assert lines[5].endswith("130.0, after malloc_trim 97.0")
    assert lines[6].endswith("ByteCache 29.0")
    assert "not known" in growth([{**FIGURES, "memory": [None]}] * 4)
