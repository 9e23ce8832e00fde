"""A pass of one's own."""
