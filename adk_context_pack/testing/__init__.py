"""A test kit for your own passes: the laws, over generated conversations and over your own sessions.

    def test_my_pass_keeps_the_laws():
        check_pass(MyPass())

`ScriptedModel` runs an agent without a network. The kit needs neither pytest nor Hypothesis.
"""

from importlib import import_module

_HOMES = {
    name: module
    for module, names in {
        "answers": "Answerability LostValue Packed answerability",
        "conversation": "Conversation",
        "generated": "generate",
        "laws": "LAWS",
        "pass_check": "check_pass",
        "recorded_request": "RecordedRequest check_declared_tools text_of",
        "references_check": "check_references",
        "result_pass_check": "check_result_pass",
        "scripted_model": "ScriptedModel call response_of results_in text_in",
        "store_check": "check_store",
    }.items()
    for name in names.split()
}
"""The module of each public name, loaded when the name is first used. The stub says the same to type checkers."""

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
