"""Tool result to smaller result, and the way back."""
