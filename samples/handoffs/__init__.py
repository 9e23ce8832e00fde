"""Four agents in a row, each with a declared view of the work of the others."""
