"""Makes up tool results of the kinds that real tools return, alone and mixed, from a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

_WORDS = (
    *("invoice", "carrier", "refund", "harbour", "kettle", "orchard", "lantern", "signal", "ledger", "marble"),
    *("thicket", "bishop", "cobalt", "meadow", "pewter", "straw", "Rechnung", "Straße", "größer", "météo", "déjà"),
    *("señal", "otoño", "łódka", "東京", "売上", "поиск", "заказ"),
)
_LEVELS = ("INFO", "DEBUG", "WARN", "ERROR")


def mixed_results(count: int = 200, *, seed: int = 0) -> Iterator[Any]:
    """Yields results that mix tables, texts, nested lists, pages, logs, search hits, tickets and empty fields.

    Args:
        count: how many.
        seed: the same seed gives the same results.
    """
    for number in range(count):
        # A seeded source of chance is repeatable, and nothing here is a secret.
        yield _Maker(random.Random(f"{seed}-{number}")).result()  # noqa: S311


class _Maker:
    """Draws results from a source of chance."""

    def __init__(self, rnd: random.Random) -> None:
        self._rnd = rnd

    def result(self) -> Any:
        """Returns one result, in one of the envelopes that tools have."""
        fields = {f"{self._word()}_{n}": self._field() for n in range(self._rnd.randint(1, 5))}
        text = json.dumps(fields)
        shapes: list[Callable[[], Any]] = [
            lambda: fields,
            lambda: {"status": "ok", "data": fields},
            lambda: {"status": "error", "message": "too much", **fields},
            self._field,
            lambda: text,
            lambda: [fields, {"next": None}],
            lambda: {"content": [{"type": "text", "text": text}], "isError": False},
            lambda: {"content": [{"type": "text", "text": text}], "structuredContent": fields, "isError": False},
        ]
        return self._rnd.choice(shapes)()

    def _field(self) -> Any:
        kinds: list[Callable[[], Any]] = [
            *(self._rows, self._rows, self._hits, self._tickets, self._wide, self._by_month, self._names),
            *(self._prose, self._log, self._page, self._csv, self._report, self._tree),
            *(self._word, lambda: 7, lambda: None, list, dict, str, lambda: {"a": [], "b": {}}),
        ]
        return self._rnd.choice(kinds)()

    def _word(self) -> str:
        return self._rnd.choice(_WORDS)

    def _words(self, least: int, most: int) -> str:
        return " ".join(self._word() for _ in range(self._rnd.randint(least, most)))

    def _some(self) -> int:
        return self._rnd.choice((1, 2, 3, 7, 12, 40, 101, 300))

    def _prose(self) -> str:
        sentences = (f"{self._words(6, 18).capitalize()}." for _ in range(self._rnd.choice((2, 20, 60, 300, 1500))))
        return " ".join(sentences)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "id": 1000 + number,
                "city": self._word(),
                "amount": self._rnd.randint(-500, 90_000),
                "note": self._words(0, 30) if self._rnd.random() < 1 / 9 else "",
            }
            for number in range(self._some())
        ]

    def _hits(self) -> list[dict[str, Any]]:
        return [
            {
                "title": f"{self._words(3, 8)} {number}",
                "url": f"https://{self._rnd.randint(1, 9)}.example.org/{number}/{self._word()}",
                "score": round(1 - number / 100, 3),
                "snippet": self._words(20, 120),
            }
            for number in range(self._rnd.randint(3, 20))
        ]

    def _tickets(self) -> list[dict[str, Any]]:
        return [
            {
                "number": number,
                "title": f"{self._words(4, 9)} #{number}",
                "state": self._rnd.choice(("open", "closed")),
                "user": {"login": self._word(), "avatar": f"https://pics.example.org/{number % 5}.png"},
                "body": self._words(10, 90),
                "labels": [{"name": self._word()} for _ in range(self._rnd.choice((0, 1, 40)))],
            }
            for number in range(self._rnd.choice((4, 30, 140)))
        ]

    def _wide(self) -> list[dict[str, Any]]:
        names = [f"{self._word()}_{n}" for n in range(self._rnd.choice((20, 72)))]
        return [{name: self._rnd.randint(0, 999) for name in names} for _ in range(self._some())]

    def _by_month(self) -> dict[str, Any]:
        return {f"2026-{n:02}": {"calls": self._rnd.randint(0, 999), "note": self._words(1, 25)} for n in range(1, 13)}

    def _names(self) -> list[str]:
        return [self._words(1, 20) for _ in range(self._some())]

    def _log(self) -> str:
        lines = (
            f"2026-03-{n % 28 + 1:02}T10:{n % 60:02}:00Z {self._rnd.choice(_LEVELS)} {self._words(2, 8)} {n}"
            for n in range(self._rnd.choice((5, 80, 900)))
        )
        return "\n".join(lines)

    def _page(self) -> str:
        cells = "".join(f"<tr><td>{self._word()}</td><td>{n * 3}</td></tr>" for n in range(self._some()))
        head = f"<!doctype html><html><head><script>{'var a = 1;' * 90}</script></head><body><nav>Home</nav>"
        return f"{head}<table><tr><th>name</th><th>qty</th></tr>{cells}</table><p>{self._prose()}</p></body></html>"

    def _csv(self) -> str:
        return "\n".join(["sku,qty,place", *(f"S{n},{n * 2},{self._word()}" for n in range(self._some()))])

    def _report(self) -> str:
        lines = "\n".join(f"| {n} | {self._word()} | {n * 7} |" for n in range(self._some()))
        return f"{self._prose()}\n\n| day | place | orders |\n|---|---|---|\n{lines}\n\n{self._prose()}"

    def _tree(self) -> Any:
        value: Any = self._words(1, 60)
        for _ in range(self._rnd.randint(1, 7)):
            value = {self._word(): value, "list": [value] * self._rnd.choice((1, 3)), "n": self._rnd.randint(0, 9)}
        return value
