"""A pipeline with evaluation and a budget."""

from . import agent as agent  # `adk eval` looks for it here
