"""The conversation behind a model call: its contents, turns, calls and tokens, and where to cut it."""
