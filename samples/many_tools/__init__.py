"""Many tools, of which the model is shown two."""
