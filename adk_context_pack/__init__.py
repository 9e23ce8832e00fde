"""Keeps the prompts of multi-agent systems on Google ADK small, exact and cacheable."""

from importlib import import_module
from pkgutil import get_data

__version__ = "0.3.0"

_HOMES: dict[str, str] = {}
"""The module of each public name, loaded when the name is first used, as the stub for type checkers has them."""
for _module in (get_data(__name__, "__init__.pyi") or b"").decode().split("\nfrom ")[1:]:
    _home, _, _names = _module.partition(" import ")
    _HOMES |= {_name.split(",")[0].split()[0]: _home for _name in _names.split(" as ")[1:]}

__all__ = list(_HOMES)

_renamed: dict[str, str] = {}
"""Names that the next minor version no longer has, and what to write for them."""


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    from adk_context_pack.errors import deprecated, did_you_mean  # noqa: PLC0415 - only for a name that is not there

    if name in _renamed:
        deprecated(name, _renamed[name])
        return __getattr__(_renamed[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{did_you_mean(name, _HOMES)}")


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
