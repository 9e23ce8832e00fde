"""A remote agent over A2A that is sent a short account."""
