"""A result that is passed on by its name."""
