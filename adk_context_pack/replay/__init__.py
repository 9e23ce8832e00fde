"""Estimates what the pack would save on recorded sessions: `adk-context-pack replay SESSION…`."""
