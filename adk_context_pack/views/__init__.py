"""Views of state values: choosing fields, and writing them as compact JSON."""
