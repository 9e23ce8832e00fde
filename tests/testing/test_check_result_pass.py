"""check_result_pass: the kit's laws of a result pass, on passes that keep them and on passes that break one each."""

from dataclasses import dataclass

import pytest

from adk_context_pack import CapRows, OffloadPayload, ResultPass
from adk_context_pack.testing import check_result_pass


@dataclass(frozen=True, kw_only=True)
class DropLog(ResultPass):
    """Leaves out the field `log`."""

    async def apply(self, result, call):
        """Returns the result without its log."""
        if not isinstance(result, dict) or "log" not in result:
            return result
        return {key: value for key, value in result.items() if key != "log"}


@dataclass(frozen=True, kw_only=True)
class Breaks(ResultPass):
    """Breaks one law."""

    how: str

    async def apply(self, result, call):
        """Breaks it on results that are dicts."""
        if not isinstance(result, dict) or not result:
            return result
        if self.how == "pure":
            result["seen"] = True
        broken = {
            "idle is identity": dict(result),
            "never grows": {**result, "note": "a note"},
            "failures": {"gone": True} if "status" in result or "error" in result or "isError" in result else result,
        }
        if self.how == "raises":
            raise ZeroDivisionError
        return broken.get(self.how, result)


@pytest.mark.parametrize("entry", [CapRows(max_rows=5), OffloadPayload(), DropLog()], ids=lambda entry: entry.name)
def test_passes_that_keep_the_laws_pass(entry):
    """The package's own passes and a simple one keep every law on every shape of result."""
    check_result_pass(entry, results=[{"log": "x", "a": [1, 2]}])


@pytest.mark.parametrize("how", ["pure", "idle is identity", "never grows", "failures", "raises"])
def test_a_pass_that_breaks_a_law_is_noticed(how):
    """Each law finds the pass that breaks it, and the message names the law."""
    with pytest.raises(AssertionError, match=how):
        check_result_pass(Breaks(how=how))
