"""Tables as tools return them, the same at each run."""

from __future__ import annotations

import random
from typing import Any

OUTLIER = 250


def transactions(count: int = 500) -> list[dict[str, Any]]:
    """Card transactions with one fraud in the middle; 500 of them have about 33,000 tokens as JSON."""
    made = random.Random(7)
    rows = [
        {
            "transaction_id": f"txn_{number:05d}",
            "date": f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}",
            "merchant": made.choice(("Blue Market", "Acme Fuel", "Corner Cafe", "Skyline Air", "North Books")),
            "category": made.choice(("groceries", "fuel", "food", "travel")),
            "amount": round(made.uniform(5, 180), 2),
            "quantity": made.randint(1, 9),
            "fee": round(made.uniform(0.1, 2.5), 2),
            "country": made.choice(("NO", "SE", "DK", "DE")),
            "status": "settled",
        }
        for number in range(count)
    ]
    if count > OUTLIER:
        rows[OUTLIER] |= {"merchant": "Unknown Shell Ltd", "amount": 98_999.99, "country": "KY", "status": "CHARGEBACK"}
    return rows
