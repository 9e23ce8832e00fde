"""Keeps the prompts of multi-agent systems on Google ADK small, exact and cacheable."""
