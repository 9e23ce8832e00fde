"""A support desk of three agents."""
