"""What each pass did: the record of each model call, and the places where people look at it."""
