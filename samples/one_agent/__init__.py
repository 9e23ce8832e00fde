"""Callbacks for one agent."""
