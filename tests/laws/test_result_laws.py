"""The laws of result passes over generated mixed results: each pass, ordered pair, the defaults, random settings."""

import random
from dataclasses import dataclass
from itertools import permutations

import pytest

from adk_context_pack import CapRows, OffloadPayload, ResultPass, default_result_passes
from adk_context_pack.testing import check_result_pass
from tests.support.laws_settings import LAWS_EXAMPLES

pytestmark = [pytest.mark.laws, pytest.mark.slow]
COUNT = max(10, LAWS_EXAMPLES // 60)


@dataclass(frozen=True, kw_only=True)
class DropLongest(ResultPass):
    """A pass of a user's own: leaves out the longest field and keeps nothing."""

    async def apply(self, result, call):
        """Returns a dict without its longest field."""
        if not isinstance(result, dict) or len(result) < 2 or "error" in result or "status" in result:
            return result
        longest = max(result, key=lambda key: len(str(result[key])))
        is_long = len(str(result[longest])) > 900
        return {key: value for key, value in result.items() if key != longest} if is_long else result


PASSES = {
    "rows": CapRows(),
    "titles": CapRows(tools={"fetch": "titles"}),
    "csv": CapRows(encoding="csv", facts=False),
    "rows without a limit of tokens": CapRows(max_rows=9, max_tokens=None),
    "payloads": OffloadPayload(),
    "own": DropLongest(),
}


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_keeps_the_laws(name):
    """Whatever a pass does to a result, nothing leaves it without the handle that opens it."""
    check_result_pass(PASSES[name], count=COUNT, seed=1)


@pytest.mark.parametrize("pair", list(permutations(PASSES, 2)), ids="-".join)
def test_each_ordered_pair_keeps_the_laws(pair):
    """No pass undoes what another one named, in either order."""
    check_result_pass(*(PASSES[name] for name in pair), count=COUNT // 4, seed=2)


def test_the_defaults_keep_the_laws():
    """The passes that every user of the plugin has keep them over as many results as all pairs together."""
    check_result_pass(*default_result_passes(), count=4 * COUNT, seed=3)


@pytest.mark.parametrize("seed", range(8))
def test_random_settings_keep_the_laws(seed):
    """Limits from tiny to huge change what is shown, and never whether it is right and in reach."""
    rnd = random.Random(seed)
    tokens, rows = rnd.choice((60, 200, 1000, 5000)), rnd.choice((1, 5, 50, 500))
    stub_rows = rnd.choice((None, 1, rows))
    own = CapRows(
        max_rows=rows, max_tokens=tokens, stub_rows=stub_rows, stub_tokens=rnd.choice((None, tokens, tokens // 3))
    )
    preview = rnd.choice((None, 20, tokens // 2))
    check_result_pass(own, OffloadPayload(max_tokens=tokens, preview_tokens=preview), count=COUNT // 4, seed=seed)
