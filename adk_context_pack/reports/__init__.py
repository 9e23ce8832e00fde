"""Records what each pass did to each model call, and shows it where people look."""
