"""What a conversation is made of: voices, groups of turns and calls, cuts, and what left the request."""
