"""What a series of requests costs: the scoring that every strategy of the replay goes through, ours and the field's.

A request is a list of texts, one for each message, in whatever form its library sends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tests.support.o200k import o200k

Request = Sequence[str]
_count = lru_cache(maxsize=None)(o200k)


@dataclass(frozen=True, kw_only=True)
class Score:
    """What one strategy did over a session.

    Attributes:
        name: the strategy.
        tokens: o200k tokens of all requests together.
        cached: how many of them stood in the same place of the request before.
        busts: calls whose request does not begin with the whole request before.
        answers: how many planted facts the last request still holds, of how many.
        milliseconds: the median time of the strategy for one of the last twelve calls, where the history is long.
    """

    name: str
    tokens: int
    cached: int
    busts: int
    answers: tuple[int, int]
    milliseconds: float = 0.0

    def cost(self, price: float) -> float:
        """Tokens to pay for where a cached one costs `price` of another."""
        return self.tokens - (1 - price) * self.cached


def score(name: str, requests: Sequence[Request], facts: Sequence[str], milliseconds: float = 0.0) -> Score:
    """The score of a series of requests."""
    cached = busts = 0
    before: Request = ()
    for request in requests:
        same = next((n for n, (a, b) in enumerate(zip(before, request, strict=False)) if a != b), None)
        same = min(len(before), len(request)) if same is None else same
        cached += sum(map(_count, request[:same]))
        busts += same < len(before)
        before = request
    last = "\n".join(requests[-1])
    kept = sum(fact in last for fact in facts)
    tokens = sum(_count(message) for request in requests for message in request)
    return Score(
        name=name, tokens=tokens, cached=cached, busts=busts, answers=(kept, len(facts)), milliseconds=milliseconds
    )


def table(scores: Sequence[Score], say: Callable[[str], None]) -> None:
    """Prints the scores as shares of the first one, which is sending everything."""
    whole = scores[0]
    say(f"{'strategy':44} {'tokens':>10} {'busts':>5} {'1.0':>7} {'0.25':>7} {'0.10':>7} {'answers':>8} {'ms':>7}")
    for one in scores:
        shares = " ".join(f"{one.cost(price) / whole.cost(price):7.1%}" for price in (1.0, 0.25, 0.1))
        kept = f"{one.answers[0]}/{one.answers[1]}"
        say(f"{one.name:44} {one.tokens:>10,} {one.busts:>5} {shares} {kept:>8} {one.milliseconds:7.2f}")
