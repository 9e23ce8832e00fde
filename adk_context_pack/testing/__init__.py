"""A test kit for passes of one's own: the seven laws, over generated conversations and over your own.

    from adk_context_pack.testing import check_pass


    def test_my_pass_keeps_the_laws():
        check_pass(MyPass())

It needs neither pytest nor Hypothesis.
"""

from adk_context_pack.testing.check_pass import check_pass
from adk_context_pack.testing.conversation import Conversation
from adk_context_pack.testing.generate import generate
from adk_context_pack.testing.laws import LAWS

__all__ = ["LAWS", "Conversation", "check_pass", "generate"]
