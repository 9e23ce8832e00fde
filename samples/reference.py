"""Builds the reference as a searchable site: `pip install -e ".[docs]"`, then `python -m samples.reference site`.

It holds the public names with their settings, the test kit, the options of the command line, environment variables and
attributes of spans. Any warning of pdoc ends it.
"""

import sys
import warnings
from contextlib import redirect_stdout, suppress
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Literal

import adk_context_pack
from adk_context_pack import plugin
from adk_context_pack.__main__ import main

SETTINGS = Path(__file__).parent / "guide" / "settings.md"


def options() -> str:
    """Returns what `adk-context-pack replay --help` prints."""
    with redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        main(["replay", "--help"])
    return printed.getvalue()


def build(folder: Path) -> None:
    """Writes the site into `folder`, and raises UserWarning for what pdoc cannot resolve."""
    pdoc, render = import_module("pdoc"), import_module("pdoc.render")
    # pdoc sees neither names that load on first use nor what a type alias of another module names.
    public = vars(adk_context_pack)["__all__"]
    vars(adk_context_pack).update({name: getattr(adk_context_pack, name) for name in public})
    vars(plugin).update(Literal=Literal)
    page = SETTINGS.read_text(encoding="utf-8")
    adk_context_pack.__doc__ = f"{adk_context_pack.__doc__}\n\n{page}\n\n# Options of replay\n\n```text\n{options()}```"
    render.configure(docformat="google")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc("adk_context_pack", "adk_context_pack.testing", output_directory=folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
