"""Deep pictures of contents, events and state; the test kit's own."""

from adk_context_pack.testing.picture import Picture, picture

__all__ = ["Picture", "picture"]
