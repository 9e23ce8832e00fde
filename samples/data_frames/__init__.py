"""Data frames that tools return."""
