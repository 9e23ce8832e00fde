"""The wall: everything that differs between ADK releases, or is private to ADK, is imported here and nowhere else."""
