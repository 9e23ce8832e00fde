"""LlmRequest to LlmRequest: one file, one class, one name."""
