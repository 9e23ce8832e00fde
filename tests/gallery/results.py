"""Builds the tool results of the gallery from their data files, the same ones at each time.

A file has fields above a line `---` and a body below it. `as` is the result as JSON, in which "@" stands for the body
and "@json" for what the body says. `ask` is a question and `find` what its answer needs. A line that begins with `*40 `
is written 40 times, and so is what stands between `*40{` and `*}`. Each `<<…>>` is filled by `_Filler`.
"""

from __future__ import annotations

import json
import random
import re
import string
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
_SIGNS = {"de": ".,", "fr": "\u202f,", "ch": "'.", "us": ",.", "es": ".,"}
_LETTERS = {"hex": "0123456789abcdef", "dig": string.digits, "b64": string.ascii_letters + string.digits + "+/"}


@dataclass(frozen=True)
class Case:
    """One result, with a question about it and what the answer needs."""

    name: str
    result: Any
    ask: str
    find: list[str]


def cases() -> list[Case]:
    """All results of the gallery, by name."""
    return [_case(path) for path in sorted((FOLDER / "data").glob("*.txt"))]


def _case(path: Path) -> Case:
    head, _, body = path.read_text("utf-8").partition("\n---\n")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    body = _Filler(fields, path.stem).filled(body)

    def put(value: Any) -> Any:
        if isinstance(value, dict | list):
            return {key: put(item) for key, item in value.items()} if isinstance(value, dict) else list(map(put, value))
        # Each line of a list may end in a comma, also the last one.
        return {"@": body, "@json": partial(json.loads, re.sub(r",\s*(?=[\]}])", "", body))}.get(str(value), value)

    said = put(json.loads(fields.get("as", '"@"')))
    result = json.loads(json.dumps(said, default=lambda read: read()))
    return Case(path.stem, result, fields["ask"], fields["find"].split(" || "))


class _Filler:
    """Fills `<<n>>` (a count, `<<n+100>>`), `<<1..9>>`, `<<1.00..9.00 de>>`, `<<hex8>>`, `<<w12>>`, `<<a|b*9>>`.

    `<<t+30 %H:%M:%S>>` moves a clock by up to 30 seconds, and `<<x:=…>>` keeps a value for `<<x>>` in the same row.
    """

    def __init__(self, fields: dict[str, str], seed: str) -> None:
        self.made, self.fields, self.number = random.Random(seed), fields, 0
        self.kept: dict[str, str] = {}
        self.clock = datetime.fromisoformat(fields.get("from", "2026-03-02T06:00:00+00:00"))

    def filled(self, text: str) -> str:
        """Returns the text with its lines repeated and its blanks filled."""
        found = []
        rule = r"(?m)^(?:\*(\d+)(?:\{\n([\s\S]*?)^\*\}\n?| (.*)\n?)|(.*\n?))"
        for times, block, one, line in re.findall(rule, text):
            for _ in range(int(times or 1)):
                self.number += bool(times)
                rows = block or (f"{one}\n" if times else line)
                found.append(re.sub(r"<<(.+?)>>", self._value, rows))
        return "".join(found)

    def _value(self, found: re.Match[str]) -> str:
        name, is_kept, asked = found[1].rpartition(":=") if ":=" in found[1] else ("", "", found[1])
        value = self.kept[asked] if asked in self.kept and not is_kept else self._of(asked)
        if is_kept:
            self.kept[name] = value
        return value

    def _of(self, asked: str) -> str:
        made = self.made
        if count := re.fullmatch(r"n(?:\+(\d+))?", asked):
            return str(self.number + int(count[1] or 0))
        if span := re.fullmatch(r"(-?[\d.]+?)\.\.(-?[\d.]+)(?: (\w\w))?", asked):
            return _written(made, *span.groups())
        if code := re.fullmatch(r"(hex|dig|b64)(\d+)", asked):
            return "".join(made.choices(_LETTERS[code[1]], k=int(code[2])))
        if words := re.fullmatch(r"w(\d+)", asked):
            return " ".join(made.choices(self.fields["words"].split(), k=int(words[1])))
        if time := re.fullmatch(r"t(?:\+(\d+))? (.+)", asked):
            self.clock += timedelta(milliseconds=made.randint(1, 1000 * int(time[1]))) if time[1] else timedelta()
            seconds = int(1000 * self.clock.timestamp())
            return {"ms": str(seconds), "s": str(seconds // 1000)}.get(time[2]) or self.clock.strftime(time[2])
        options = (self.fields[asked[1:]] if asked[0] == "@" else asked).split("|")
        weighed = [each.rpartition("*") if "*" in each else (each, "", "1") for each in options]
        return made.choices([each[0] for each in weighed], [float(each[2]) for each in weighed])[0]


def _written(made: random.Random, low: str, high: str, form: str | None) -> str:
    """Returns a number between two, with the decimals of the first one and in the form of a country."""
    decimals = len(low.partition(".")[2])
    # Small numbers are more frequent than large ones, as in life.
    number = float(low) + (float(high) - float(low)) * made.random() ** (2 if decimals == 2 else 1)
    text = f"{number:,.{decimals}f}"
    if form == "in":
        whole, dot, rest = text.replace(",", "").partition(".")
        return re.sub(r"(?<=\d)(?=(?:\d\d)*\d{3}$)(?!$)", ",", whole) + dot + rest
    return text.translate(str.maketrans(",.", _SIGNS[form])) if form else text.replace(",", "")
