"""Two revisions of the package side by side."""

import shutil
from collections import Counter

import pytest

from tests.benchmarks.baseline import NOW, ROOT, Row, compared, folders, measured, print_rows

ROW = Row("letters", Counter, ("aab",), {"a": 2})


def filled(folder, code=""):
    """A folder with a package that takes no time to import, and what measures it."""
    for name in ("adk_context_pack", "tests/benchmarks"):
        (folder / name).mkdir(parents=True)
    (folder / "adk_context_pack/__init__.py").write_text(code)
    shutil.copy(ROOT / "tests/benchmarks/baseline.py", folder / "tests/benchmarks")
    return folder


@pytest.fixture
def other(tmp_path):
    """Another revision."""
    return filled(tmp_path)


def test_the_package_of_the_folder_is_measured(other, tmp_path_factory, monkeypatch):
    """Figures are taken from the folder's own package, and refused when Python finds another one."""
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "adk_context_pack"
    elsewhere.mkdir()
    (elsewhere / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(elsewhere.parent))
    assert measured(ROW, other) == {"a": 2, "b": 1}
    (other / "adk_context_pack/__init__.py").unlink()
    with pytest.raises(RuntimeError, match="was measured, which is not the package in"):
        measured(ROW, other)


def test_a_side_that_cannot_do_the_work_is_named(other, monkeypatch, capsys):
    """A revision that cannot do the work leaves its cell without a figure, with the reason beside the table."""
    assert compared(ROW._replace(rounds=3), {NOW: other}) == {NOW: {"a": 2, "b": 1}}
    monkeypatch.setattr("tests.benchmarks.baseline._unpacked", lambda _, folder: filled(folder, "1 / 0"))
    monkeypatch.setattr("tests.benchmarks.baseline.ROOT", other)
    print_rows([ROW], "older")
    shown = capsys.readouterr()
    assert "| what | older | now | goal |" in shown.out
    assert "| letters: a | does not run | 2 | 2 |" in shown.out
    assert "letters does not run there: ZeroDivisionError" in shown.err


def test_git_gives_a_revision_with_todays_benchmarks(capsys):
    """The folder of a revision holds its package and today's workloads, and an unknown revision is reported."""
    with folders("no such revision") as sides:
        assert sides == {NOW: ROOT}
    assert "Git has no no such revi here" in capsys.readouterr().out
    with folders("HEAD") as sides:
        if len(sides) == 1:
            pytest.skip("this is not a clone")
        there = sides["HEAD"] / "tests/benchmarks/test_baseline.py"
        assert (sides["HEAD"] / "adk_context_pack/__init__.py").exists()
        assert there.read_text() == (ROOT / "tests/benchmarks/test_baseline.py").read_text()
