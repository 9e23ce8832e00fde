"""Real data that is not part of this repository; tests that need it skip and name the file."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data"
NOT_HERE = "there is no folder ../shared/data for "
"""How the one reason begins for which a test may skip on the newest ADK under CI."""


def shared_file(name: str) -> Path:
    """The path of a data file; skips the test where it is not there.

    Args:
        name: the path below the data folder, such as "flights/flights-20k.json".
    """
    path = FOLDER / name
    if not path.exists():
        pytest.skip(f"{NOT_HERE}{name}" if not FOLDER.exists() else f"needs ../shared/data/{name}")
    return path
