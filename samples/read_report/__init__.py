"""Reading the report."""
