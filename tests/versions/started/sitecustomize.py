"""Runs in each Python that a recorded test starts, and appends what it enters to a file, name by name."""

import os
import sys
import threading

_TARGET = os.environ.get("ENTERED_BY_CHILDREN")
_seen = {}


def _note(frame, event, _):
    code = frame.f_code
    if event != "call" or id(code) in _seen:
        return
    _seen[id(code)] = code
    file = code.co_filename.replace(os.sep, "/")
    for place in ("google/adk/", "adk_context_pack/"):
        found = file.rfind("/" + place) + 1
        if found:
            # At once, since a test may kill this process.
            os.write(_FILE, f"{file[found:]}::{code.co_qualname.partition('.<')[0]}\n".encode())


if _TARGET:
    _FILE = os.open(_TARGET, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    threading.setprofile(_note)
    sys.setprofile(_note)
