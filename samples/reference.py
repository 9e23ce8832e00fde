"""Builds the reference as a searchable site: `pip install -e ".[docs]"`, then `python -m samples.reference site`.

It holds the public names with their settings, an example of each class, the test kit, the options of the command line,
environment variables and attributes of spans. Any warning of pdoc ends it, and so does a dead link.
"""

import inspect
import re
import sys
import warnings
from collections import ChainMap
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Literal

import adk_context_pack
from adk_context_pack import plugin, testing
from adk_context_pack.__main__ import main
from adk_context_pack.errors import Configured

GUIDE = Path(__file__).parent / "guide"


def options() -> str:
    """Returns what `adk-context-pack COMMAND --help` prints for each command."""
    with redirect_stdout(StringIO()) as printed:
        for command in ("try", "doctor", "replay", "check", "tune"):
            print(f"\n## adk-context-pack {command}\n\n```text")
            main([command, "--help"])
            print("```")
    return printed.getvalue()


def public_classes() -> dict[str, type]:
    """Returns the public classes of the package and of its test kit by their names."""
    modules = (adk_context_pack, testing)
    public = {name: getattr(module, name) for module in modules for name in vars(module)["__all__"]}
    return {name: value for name, value in public.items() if inspect.isclass(value)}


def examples() -> dict[str, str]:
    """Returns the block of each example by the name of its class."""
    page = (GUIDE / "examples.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## (\w+)\n\n(```python\n.*?^```)$", page, re.MULTILINE | re.DOTALL))


def complete(name: str, public: type, classes: list[type]) -> None:
    """Gives a class its error, its example, and what it inherits from classes that pdoc leaves out as not public."""
    about = inspect.cleandoc(public.__doc__ or "")
    if issubclass(public, Configured) and "SettingError:" not in about:
        about += "\n\nRaises:\n    SettingError: A setting that cannot work or does not exist."
    public.__doc__ = f"{about}\n\n**Example**\n\n{examples()[name]}\n"
    for base in public.__mro__[1:]:
        if base.__module__.startswith(adk_context_pack.__name__) and base not in classes:
            for inherited, member in vars(base).items():
                if not inherited.startswith("_") and inherited not in vars(public):
                    setattr(public, inherited, member)


def dead_links(folder: Path) -> list[str]:
    """Returns the links of a site that lead to no page, or to no place in one."""
    pages = {path.resolve(): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    places = {path: {"", *re.findall(r'\bid="([^"]+)"', page)} for path, page in pages.items()}
    found = []
    for path, page in pages.items():
        # The script that shows the results of a search has addresses of its own.
        for link in set(re.findall(r'href="([^"]+)"', re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))):
            name, _, place = link.partition("#")
            target = (path.parent / name).resolve() if name else path
            if "://" not in link and place not in places.get(target, ()):
                found.append(f"{path.name}: {link}")
    return found


def build(folder: Path) -> None:
    """Writes the site into `folder`, and raises UserWarning for what pdoc cannot resolve, and for dead links."""
    pdoc, render = import_module("pdoc"), import_module("pdoc.render")
    # pdoc sees neither names that load on first use nor what a type alias of another module names.
    public = vars(adk_context_pack)["__all__"]
    vars(adk_context_pack).update({name: getattr(adk_context_pack, name) for name in public})
    vars(plugin).update(Literal=Literal)
    classes = public_classes()
    for name, value in classes.items():
        # Nor what stands in the annotations of a setting that a class inherits.
        names = [vars(sys.modules[kind.__module__]) for kind in value.__mro__]
        vars(sys.modules[value.__module__]).update(ChainMap(*names))
        complete(name, value, list(classes.values()))
    page = (GUIDE / "settings.md").read_text(encoding="utf-8")
    adk_context_pack.__doc__ = f"{adk_context_pack.__doc__}\n\n{page}\n\n# Commands\n{options()}"
    render.configure(docformat="google")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdoc.pdoc("adk_context_pack", "adk_context_pack.testing", output_directory=folder)
    if dead := dead_links(folder):
        raise UserWarning(f"dead links: {', '.join(dead)}")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
