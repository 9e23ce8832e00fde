"""Read-only SQL over rows, in bounded time and memory."""
