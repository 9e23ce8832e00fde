"""What is known about rows, free of ADK: finding them, KPIs, totals, facts."""
