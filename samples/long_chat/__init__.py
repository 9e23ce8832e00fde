"""A long chat within a budget."""
