"""Wolfy: an Ads analyst made of five agents, with all parts of adk_context_pack in place."""
