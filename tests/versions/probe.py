# ruff: noqa: S603, T201 - a command that starts others and prints
"""Which relay format each ADK release between the tested ones writes, and whether the pack reads it.

    python -m tests.versions.probe                 # one release of each minor that the suite does not run on
    python -m tests.versions.probe 2.4.0 2.9.1     # these

Needs `uv`, which keeps what it has once fetched, so that a release takes a few seconds. The exit code is 1 where a
release writes a format that the pack does not know, or where its passes leave anything of it behind.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
RELEASES = ("2.1.0", "2.2.0", "2.3.0", "2.4.0", "2.5.0", "2.6.3", "2.9.2", "2.10.0", "2.11.0", "2.12.0")
"""One of each 2.x minor release between those on which the whole suite runs."""


def main() -> int:
    """Probes each release in an environment of its own; the number of those that failed, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="*", default=RELEASES)
    parser.add_argument("--folder", default=Path(tempfile.gettempdir(), "adk_context_pack_releases"))
    wanted = parser.parse_args()
    failed = [release for release in wanted.releases if not _probed(release, Path(wanted.folder, release))]
    print(f"{len(wanted.releases) - len(failed)} of {len(wanted.releases)} releases are read as they should be")
    return bool(failed)


def _probed(release: str, folder: Path) -> bool:
    try:
        python = _environment(release, folder)
    except subprocess.CalledProcessError as error:
        print(f"google-adk {release}: no environment ({error.stderr.strip()[-300:]})")
        return False
    settings = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = [str(python), "-m", "tests.versions.relay_of_this_release"]
    done = subprocess.run(command, cwd=ROOT, env=settings, check=False, capture_output=True, text=True)
    said = done.stdout.strip() or done.stderr.strip()[-2000:]
    print(f"google-adk {release}: {said}", flush=True)
    return done.returncode == 0


def _environment(release: str, folder: Path) -> Path:
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        _quietly("uv", "venv", "-q", "--clear", "-p", sys.executable, str(folder))
        _quietly("uv", "pip", "install", "-q", "--python", str(python), f"google-adk=={release}", "regex")
        ready.touch()
    return python


def _quietly(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
