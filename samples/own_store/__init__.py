"""A store of one's own."""
