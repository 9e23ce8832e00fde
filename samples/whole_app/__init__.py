"""The plugin for a whole app."""
