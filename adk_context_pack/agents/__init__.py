"""State to state, with no model."""
