"""Writes down which functions of ADK and of the package each test enters, in the processes that it starts as well.

A plugin of pytest for `python -m tests.versions.choose`, which sets `ENTERED` to the folder to write to. An object of a
class counts as entering that class, so that a test which only builds an `Event` is known to depend on its fields.
Needs Python 3.12.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import CodeType

import pytest
from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
FOLDER = "ENTERED"
CHILDREN = "ENTERED_BY_CHILDREN"
# These build or read an object without entering a function of its class.
_OF_MODELS = ("__init__", "model_validate", "model_validate_json", "model_construct", "model_copy", "model_dump")
_MODEL_CODES = {id(getattr(each, "__func__", each).__code__) for each in (getattr(BaseModel, n) for n in _OF_MODELS)}
TOOL = 4
_PLACES = ("google/adk/", "adk_context_pack/")


class Entered:
    """What this process enters between `start` and `stop`, in all of its threads."""

    def __init__(self) -> None:
        self._codes: dict[int, CodeType] = {}
        self._kinds: set[type] = set()
        sys.monitoring.use_tool_id(TOOL, "entered")
        sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, self._note)

    def start(self) -> None:
        """Forgets what was entered before."""
        self._codes.clear()
        self._kinds.clear()
        sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
        sys.monitoring.restart_events()

    def stop(self) -> set[str]:
        """Returns functions and classes, as `google/adk/events/event.py::Event.is_final_response`."""
        sys.monitoring.set_events(TOOL, 0)
        functions = {
            named(path, code.co_qualname) for code in list(self._codes.values()) if (path := place(code.co_filename))
        }
        kinds = {kind for each in self._kinds for kind in each.__mro__}
        return functions | {named(path, kind.__qualname__) for kind in kinds if (path := _home(kind.__module__))}

    def _note(self, code: CodeType, _: int) -> object:
        # The bodies of modules and classes run for whichever test comes first.
        if code.co_flags & inspect.CO_OPTIMIZED:
            self._codes[id(code)] = code
        # Functions without a file are those that dataclasses are given.
        if id(code) not in _MODEL_CODES and code.co_filename != "<string>":
            return sys.monitoring.DISABLE
        held = sys._getframe(1).f_locals
        self._kinds.add(each if isinstance(each := held.get("self", held.get("cls")), type) else type(each))
        return None


@cache
def place(file: str) -> str | None:
    """Returns the path of a file of ADK or of the package, from the name of that package on; None for all others."""
    file = file.replace(os.sep, "/")
    return next((file[found:] for each in _PLACES if (found := file.rfind("/" + each) + 1)), None)


def named(path: str, name: str) -> str:
    """Returns the name of a function, that around it where it is defined within another."""
    return f"{path}::{name.partition('.<')[0]}"


@cache
def _home(module: str) -> str | None:
    return place(getattr(sys.modules.get(module), "__file__", None) or "")


class Recorder:
    """One line for each test: its processor time, whether it passed, and what it entered."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._entered, self._passed = folder, Entered(), True
        self._file = (folder / f"{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}.jsonl").open("w")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Records one test with its fixtures."""
        children = self._folder / f"children-{os.getpid()}"
        children.write_text("")
        os.environ[CHILDREN] = str(children)
        self._passed, before = True, _processor_time()
        self._entered.start()
        yield
        names = self._entered.stop() | set(children.read_text().split())
        entry = {
            "test": item.nodeid.partition("[")[0],
            "seconds": _processor_time() - before,
            "passed": self._passed,
            "entered": sorted(names),
        }
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Sees whether a test failed or was skipped."""
        self._passed = self._passed and report.passed


def _processor_time() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_configure(config: pytest.Config) -> None:
    """Records where a folder is named."""
    if FOLDER in os.environ and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        # Each Python that a test starts finds `sitecustomize` there.
        started = str(Path(__file__).parent / "started")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (started, os.environ.get("PYTHONPATH"))))
        config.pluginmanager.register(Recorder(Path(os.environ[FOLDER])))
