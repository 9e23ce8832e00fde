"""What was weighed before is not weighed again, in bounded memory."""

import sys

from adk_context_pack._weights import Weights
from adk_context_pack.tokens import TokenMeter


def test_a_payload_is_weighed_once():
    """The same object is weighed once, an equal one of its own once more."""
    weighed = []

    def weigh(value):
        weighed.append(value)
        return 1000, 7

    weights = Weights()
    payload = {"rows": [1]}
    assert [weights.of(payload, weigh) for _ in range(3)] == [7, 7, 7]
    assert weights.of({"rows": [1]}, weigh) == 7
    assert len(weighed) == 2


def test_holds_no_more_than_its_bound():
    """Objects that add up to more than the bound are let go, and one that is too large is never held."""
    weights = Weights(max_bytes=4000)
    payloads = [[number] for number in range(50)]
    for payload in payloads:
        weights.of(payload, lambda _: (900, 1))
        assert weights._bytes <= 4000
        assert len(weights._held) <= 4
    huge = ["huge"]
    before = sys.getrefcount(huge)
    weights.of(huge, lambda _: (1001, 1))
    assert sys.getrefcount(huge) == before


def test_meters_agree_with_themselves():
    """A payload and a long text have the same tokens in every meter, weighed or remembered."""
    payload, text = {"rows": [{"id": number, "name": "Oslo"} for number in range(99)]}, "word " * 999
    counts = {(TokenMeter().payload(payload), TokenMeter().text(text)) for _ in range(3)}
    fresh = (TokenMeter().payload({"rows": list(payload["rows"])}), TokenMeter().text("word " * 999))
    assert counts == {fresh}
