"""`adk-context-pack`, also `python -m adk_context_pack`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from adk_context_pack import __version__
from adk_context_pack.replay.options import add_replay


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="adk-context-pack", description="Keeps the prompts of Google ADK agents small, exact and cacheable."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    add_replay(parser.add_subparsers(title="commands", required=True, metavar="COMMAND"))
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
