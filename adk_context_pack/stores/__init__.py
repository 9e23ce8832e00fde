"""Keeps full results in session state or an artifact service, and opens them by handle."""
