"""Rewrites a request on its way to the model: the contract of a pass, the runner, and one file for each pass."""
