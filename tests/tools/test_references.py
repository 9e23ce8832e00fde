"""The grammar of references, and what is put in their place."""

from adk_context_pack.tools.references import replaced

H = "0abcdefghjk"


def test_within_texts_only_where_wanted():
    """A check of arguments leaves longer texts as they are."""
    one = f"{{{{result:{H}}}}}"
    assert replaced([one, f" {one}"], lambda _: 1, whole_only=True) == [1, f" {one}"]
