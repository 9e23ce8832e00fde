"""Runs in each Python that a recorded test starts, and appends what it enters to a file, name by name."""

import os
import sys

_TARGET = os.environ.get("ENTERED_BY_CHILDREN")
_TOOL = 4


def _note(code, _):
    file = code.co_filename.replace(os.sep, "/")
    for place in ("google/adk/", "adk_context_pack/"):
        found = file.rfind("/" + place) + 1
        if found:
            # At once, since a test may kill this process.
            os.write(_FILE, f"{file[found:]}::{code.co_qualname.partition('.<')[0]}\n".encode())
    return sys.monitoring.DISABLE


if _TARGET:
    _FILE = os.open(_TARGET, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    _STARTS = sys.monitoring.events.PY_START
    sys.monitoring.use_tool_id(_TOOL, "entered")
    sys.monitoring.register_callback(_TOOL, _STARTS, _note)
    sys.monitoring.set_events(_TOOL, _STARTS)
