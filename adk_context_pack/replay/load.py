"""Objects that the command line names as `module:name`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from adk_context_pack.errors import SettingError
from adk_context_pack.passes.context_pass import ContextPass
from adk_context_pack.passes.presets import default_passes


def load_object(setting: str, name: str) -> Any:
    """Loads the object that `module:name` names, from the working directory or any installed package.

    Raises:
        SettingError: the module or the object does not exist.
    """
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise SettingError.of("replay", setting, name, "of the form module:name")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
        for step in attribute.split("."):
            found = getattr(found, step)
    except (ImportError, AttributeError) as error:
        raise SettingError.of("replay", setting, name, f"something that can be imported ({error})") from None
    return found


def load_passes(name: str | None, *, window: int) -> tuple[ContextPass, ...]:
    """Loads the passes that `--passes` names: a pass, some passes, a pipeline, or a function that returns them.

    Args:
        name: the user's `module:name`, or None for the recommended passes.
        window: the budget of the recommended passes, in tokens.

    Raises:
        SettingError: the object does not give any passes.
    """
    found = default_passes(max_tokens=window) if name is None else load_object("--passes", name)
    is_made = isinstance(found, ContextPass | Iterable) or hasattr(found, "passes")
    if isinstance(found, type) or (callable(found) and not is_made):
        found = found()
    found = getattr(found, "passes", found)
    passes = (found,) if isinstance(found, ContextPass) else tuple(found) if isinstance(found, Iterable) else (found,)
    for entry in passes:
        if not isinstance(entry, ContextPass):
            raise SettingError.of("replay", "--passes", name, "passes, such as mypackage.passes:PASSES")
    return passes


def load_counter(name: str | None) -> Callable[[str], int] | None:
    """Loads the tokenizer that `--counter` names: a function from text to its number of tokens.

    Raises:
        SettingError: it is not a function.
    """
    if name is None:
        return None
    found = load_object("--counter", name)
    if not callable(found):
        raise SettingError.of("replay", "--counter", name, "a function from text to its number of tokens")
    return found  # type: ignore[no-any-return]
