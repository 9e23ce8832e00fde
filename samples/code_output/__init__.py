"""The output of code."""
