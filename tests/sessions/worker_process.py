"""Starts second Python processes that work on the databases of the tests."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


async def started(module, database, folder, *, stderr=asyncio.subprocess.PIPE, **told):
    """Starts `python -m tests.sessions.<module>` with a database, an artifact folder, and what else it is told."""
    told |= {"kind": database.kind, "place": database.place, "folder": str(folder)}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"tests.sessions.{module}",
        json.dumps(told),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
    )
