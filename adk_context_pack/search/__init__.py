"""Ranked search over passages of text: a pure algorithm that knows nothing of ADK or of the rest of the pack."""
