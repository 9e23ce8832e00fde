"""Finds rows and computes KPIs, totals and facts of them, free of ADK."""
