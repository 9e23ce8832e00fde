"""Measures how many reads it takes to find something in a long payload: `python -m tests.benchmarks.bench_needles`.

Each of twenty kinds of payload comes with five questions. A question is found by the preview, or by reads that a careful
reader would try: a search for the question's words, the page at the line of the outline that shares most words with it,
the beginning, the end. Previews of kinds at odd places of the table were looked at, and the scores of all kinds.
"""

# ruff: noqa: E501 - payloads, a line each
# fmt: off

from __future__ import annotations

import asyncio
import base64
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from adk_context_pack import ReadPayload
from adk_context_pack.tools import payload_preview

TOKENS, MOST = 200, 4
WORDS = ["pump", "valve", "river", "stone", "table", "garden", "window", "copper", "signal", "harbour", "engine", "market",
         "paper", "winter", "bridge", "lamp"]  # fmt: skip
Case = tuple[str, list[tuple[str, str]]]


def sentence(made: random.Random, count: int = 12) -> str:
    """Returns a sentence without a meaning."""
    return " ".join(made.choices(WORDS, k=count)).capitalize() + "."


def log(made: random.Random, lines: int, say: Callable[[int], str], odd: dict[int, str], step: int = 7) -> str:
    """Returns a log with some lines of its own at given places."""
    times = (
        f"2026-03-{1 + n * step // 86400:02d} {n * step // 3600 % 24:02d}:{n * step // 60 % 60:02d}:{n * step % 60:02d}"
        for n in range(lines)
    )
    return "\n".join(f"{time} {odd.get(n) or say(n)}" for n, time in enumerate(times))


def service_log(made: random.Random) -> Case:
    """A log with two rare errors among many of one kind."""
    odd = {n: f"ERROR [http] upstream {n} timed out after {n * 3} ms" for n in range(40, 1900, 11)}
    odd |= {777: "ERROR [db] connection pool exhausted (size 20)", 1203: "FATAL [jvm] out of memory: heap space"}
    text = log(made, 2000, lambda n: f"INFO [http] GET /items/{n} 200 in {n % 90} ms", odd)
    many = sum("timed out" in line for line in odd.values())
    return text, [
        ("pool exhausted", "pool exhausted"), ("out of memory", "heap space"),
        ("how many upstream timed out", f"{many}"), ("last time of the log", "03:53:13"),
        ("GET items 1500", "/items/1500 200"),
    ]


def german_log(made: random.Random) -> Case:
    """A log without levels, in German."""
    odd = {611: "Ofen 3: Brenner erloschen, Ventil klemmt", 902: "Linie 2 angehalten: Not-Aus gedrückt", 1100: "Zutritt verweigert für Karte 4711"}
    text = log(made, 1500, lambda n: f"Linie {n % 4}: Stück {n} fertig, {n % 7} Sekunden", odd)
    return text, [
        ("Brenner", "Brenner erloschen"), ("Not-Aus", "angehalten"), ("Karte verweigert", "4711"),
        ("Stück 1234", "Stück 1234 fertig"), ("Ventil", "klemmt"),
    ]


def json_log(made: random.Random) -> Case:
    """A log of one JSON object a line, of differing keys."""
    rows = [json.dumps({"ts": f"2026-05-01T10:{n // 60 % 60:02d}:{n % 60:02d}Z", "level": "info", "msg": f"job {n} done", f"k{n % 9}": n}) for n in range(1200)]
    for n, (level, msg) in {
        300: ("error", "quota exceeded for tenant acme"),
        640: ("warn", "disk 91% full on node-7"),
        990: ("critical", "replica lost"),
    }.items():
        rows[n] = json.dumps({"ts": f"2026-05-01T10:{n // 60 % 60:02d}:{n % 60:02d}Z", "level": level, "msg": msg})
    return "\n".join(rows), [
        ("quota exceeded", "tenant acme"), ("disk full", "node-7"), ("replica", "replica lost"),
        ("job 777", "job 777 done"), ("critical", "critical"),
    ]


def russian_log(made: random.Random) -> Case:
    """A log in Russian with levels in English."""
    odd = {n: f"ERROR не удалось отправить письмо {n}" for n in range(100, 1100, 9)} | {500: "ERROR диск переполнен", 801: "WARN ключ истекает через 3 дня"}
    text = log(made, 1300, lambda n: f"INFO заказ {n} обработан", odd)
    many = sum("письмо" in line for line in odd.values())
    return text, [
        ("диск", "диск переполнен"), ("ключ истекает", "3 дня"), ("сколько письмо", f"{many}"),
        ("заказ 1201", "заказ 1201 обработан"), ("ERROR письмо первый", "00:11:40"),
    ]


def git_diff(made: random.Random) -> Case:
    """A diff of git over twenty files."""
    names = [f"src/{a}/{b}.py" for a in WORDS[:5] for b in WORDS[5:9]]
    parts = []
    for k, name in enumerate(names):
        body = "".join(f" {sentence(made, 6)}\n" * 3 + f"+new {name} {n}\n" * 2 + f"-old {n}\n" for n in range(3 + k))
        parts.append(f"diff --git a/{name} b/{name}\nindex 12ab..34cd 100644\n--- a/{name}\n+++ b/{name}\n@@ -1,9 +1,12 @@ def f{k}():\n{body}")
    parts[7] = parts[7].replace("+new", "+retries = 5  # was 3\n+new", 1)
    return "".join(parts), [
        ("how many files", "20 files"), (f"{names[3]} added", "+12 -6"), ("retries", "retries = 5"),
        (names[17], names[17]), ("lines added in all", f"+{sum(2 * (3 + k) for k in range(20)) + 1}"),
    ]


def plain_diff(made: random.Random) -> Case:
    """A unified diff without git's headers."""
    names = [f"docs/{word}.txt" for word in WORDS]
    parts = [f"--- {name}.orig\t2026-01-01\n+++ {name}\t2026-01-02\n@@ -1,40 +1,41 @@\n" + "".join(f" {sentence(made)}\n" for _ in range(30)) + f"-alt {k}\n+neu {k}\n+neu auch {k}\n" for k, name in enumerate(names)]
    parts[11] = parts[11].replace("+neu 11", "+Kündigungsfrist sechs Wochen")
    return "".join(parts), [
        ("Kündigungsfrist", "sechs Wochen"), ("how many files", "16 files"), ("docs/harbour.txt", "harbour.txt"),
        ("docs/lamp.txt changes", "neu 15"), ("neu auch 4", "neu auch 4"),
    ]


def postgres_dump(made: random.Random) -> Case:
    """A dump with COPY."""
    parts = ["-- PostgreSQL database dump\nSET client_encoding = 'UTF8';\n"]
    for k, name in enumerate(("customers", "orders", "order_lines", "invoices", "shipments", "audit")):
        rows = "".join(f"{n}\t{made.choice(WORDS)}\t{made.random():.3f}\n" for n in range(100 + 37 * k))
        parts.append(f"CREATE TABLE public.{name} (\n    id integer NOT NULL,\n    note{k} text,\n    v numeric\n);\nCOPY public.{name} (id, note{k}, v) FROM stdin;\n{rows}\\.\n")
    parts[4] = parts[4].replace("77\t", "77\tUNPAID ", 1)
    return "\n".join(parts), [
        ("rows invoices", "211"), ("rows customers", "100"), ("column shipments note", "note4"), ("unpaid", "UNPAID"),
        ("audit", "audit"),
    ]


def mysql_dump(made: random.Random) -> Case:
    """A dump with INSERT."""
    parts = ["-- MySQL dump 10.13\n"]
    for k, name in enumerate(("wp_users", "wp_posts", "wp_options")):
        rows = [f"({n},'{made.choice(WORDS)}','it''s {n}')" for n in range(300 + k * 11)]
        rows[200] = f"(200,'siteurl{k}','https://example.org/{k}')"
        chunks = [rows[n : n + 50] for n in range(0, len(rows), 50)]
        parts.append(f"DROP TABLE IF EXISTS `{name}`;\nCREATE TABLE `{name}` (\n  `id` int NOT NULL,\n  `a` text,\n  `b` text\n);\n" + "".join(f"INSERT INTO `{name}` VALUES {','.join(chunk)};\n" for chunk in chunks))
    return "".join(parts), [
        ("rows wp_posts", "311"), ("rows wp_options", "322"), ("siteurl1", "example.org/1"), ("tables", "wp_options"),
        ("CREATE TABLE wp_users", "wp_users"),
    ]


def python_code(made: random.Random) -> Case:
    """A long module."""
    names = [f"{a}_{b}" for a in WORDS[:7] for b in WORDS[7:14]]
    parts = ['"""A module."""\nimport os\n']
    for k, name in enumerate(names):
        body = f"    x = {k * 17}\n" + "".join(f"    # {sentence(made)}\n" for _ in range(6))
        parts.append(f'def {name}(a, b={k}):\n    """Raises an Error where {k} failed."""\n{body}    return x\n\n')
    parts[30] = ("class HarbourMaster:\n    limit = 8080\n\n    def dock(self, ship):\n        return ship\n\n" + parts[30])
    return "\n".join(parts), [
        ("HarbourMaster", "HarbourMaster"), ("limit", "limit = 8080"), (f"def {names[20]}", f"{names[20]}(a"),
        ("how many functions", "50"), ("dock ship", "def dock"),
    ]


def java_code(made: random.Random) -> Case:
    """A long class."""
    parts = ["package org.example;\n\nimport java.util.List;\n\npublic class Depot {\n"]
    for k, name in enumerate(a + b.capitalize() for a in WORDS[:6] for b in WORDS[6:14]):
        parts.append(f"    /** {sentence(made, 20)} Throws an Exception. */\n    public int {name}(int a) {{\n        return a * {k};\n    }}\n\n")
    parts[20] = ('    private static final String GATE = "north-9";\n\n    @Override\n    protected void closeGate(String why) {\n        log(why);\n    }\n\n')
    return "".join(parts) + "}\n", [("closeGate", "closeGate"), ("GATE", "north-9"), ("class", "Depot"), ("riverPaper", "riverPaper"), ("tableEngine", "tableEngine(int")]


def markdown(made: random.Random) -> Case:
    """A handbook in Markdown."""
    heads = [f"{a.capitalize()} and {b}" for a in WORDS[:4] for b in WORDS[4:10]]
    parts = [f"{'#' * (1 if k % 6 == 0 else 2)} {head}\n\n" + " ".join(sentence(made) for _ in range(12)) + "\n\n" for k, head in enumerate(heads)]
    parts[13] = "## Refunds\n\nReturned goods are paid back within 21 days.\n\n" + parts[13]
    parts[19] += "### Apéndice\n\nLa contraseña inicial es tortuga-55.\n\n"
    return "".join(parts), [
        ("refunds days", "21 days"), ("contraseña", "tortuga-55"), ("Apéndice", "Apéndice"), (heads[22], heads[22]),
        ("how many sections headings", "26"),
    ]


def page(made: random.Random) -> Case:
    """A web page with scripts and styles."""
    parts = [f"<section class='c{k}'><h2 id='h{k}'>{word.capitalize()} guide</h2><p>{' '.join(sentence(made) for _ in range(8))}</p></section>" for k, word in enumerate(WORDS)]
    parts[9] = ("<h2>Opening <b>hours</b></h2><table><tr><td>Sunday</td><td>13&ndash;17 o'clock</td></tr></table>" + parts[9])
    noise = ("<script>" + "var error = function(){ throw new Error('failed'); };" * 90 + "</script><style>" + ".a{color:red}" * 200 + "</style>")
    return (
        f"<!DOCTYPE html><html><head><title>Harbour town museum</title>{noise}</head><body>{''.join(parts)}{noise}<footer>Call 030-7788</footer></body></html>",
        [
            ("opening hours Sunday", "Sunday"),
            ("title", "Harbour town museum"),
            ("footer call", "030-7788"),
            ("winter guide", "Winter guide"),
            ("Opening hours", "13"),
        ],
    )


def manual(made: random.Random) -> Case:
    """A French manual with numbered headings."""
    parts = [f"{k}. {word.capitalize()}\n\n" + "".join(f"{k}.{j} {made.choice(WORDS).capitalize()} {word}\n\n{' '.join(sentence(made) for _ in range(5))}\n\n" for j in range(1, 4)) for k, word in enumerate(WORDS, 1)]
    parts[8] += "9.4 Vidange\n\nVider la cuve toutes les 400 heures.\n\n"
    return "MANUEL D'UTILISATION\n\n" + "".join(parts), [("vidange", "400 heures"), ("cuve", "Vider la cuve"), ("14. Winter", "Winter"), ("titre manuel", "MANUEL"), ("9.4", "Vidange")]


def underlined(made: random.Random) -> Case:
    """Documentation with underlined headings."""
    parts = [f"{word.capitalize()} reference\n{'=' * 20}\n\n" + "\n".join(sentence(made) for _ in range(25)) + "\n\n" for word in WORDS]
    parts[5] += "Licence keys\n------------\n\nThe key file is kept in /etc/keys.d.\n\n"
    return "".join(parts), [
        ("licence keys", "/etc/keys.d"), ("lamp reference", "Lamp reference"), ("key file", "keys.d"),
        ("harbour reference", "Harbour reference"), ("how many headings", "17"),
    ]


def tree(made: random.Random) -> Case:
    """JSON of many branches."""
    value: dict[str, Any] = {"meta": {"version": "4.2.1", "region": "eu"}, "nodes": {f"n{k}": {"kind": made.choice(WORDS), "ports": list(range(k % 9)), "tags": dict.fromkeys(made.sample(WORDS, 5), k)} for k in range(180)}}
    value["nodes"]["n99"]["kind"] = "quarantined"
    value["policy"] = {"retention": {"days": 365}, "owner": "ops@example.org"}
    return json.dumps(value), [
        ("version", "4.2.1"), ("how many nodes", "180"), ("quarantined", "quarantined"), ("retention days", "365"),
        ("owner policy", "ops@example.org"),
    ]


def readings(made: random.Random) -> Case:
    """A table of a measuring device that no reader of CSV takes."""
    lines = ["# device TX-9, firmware 3.3", "# channels: 7"] + [";".join(f"{made.random():.3f}" for _ in range(5 + n % 3)) for n in range(1500)]
    lines[900] = "# recalibrated by Imani, offset 0.25"
    return "\n".join(lines), [
        ("recalibrated", "Imani"), ("firmware", "3.3"), ("how many lines", "1502"), ("offset", "offset 0.25"),
        ("channels", "channels: 7"),
    ]


def mailbox(made: random.Random) -> Case:
    """A mail with a long body and headers, and replies."""
    parts = [
        f"From {word}@example.org Mon Mar  2 10:00:00 2026\nFrom: {word}@example.org\nTo: desk@example.org\nSubject: About the {WORDS[k - 1]}\nDate: Mon, 2 Mar 2026 10:{k:02d}:00 +0000\n\n"
        + "\n".join(sentence(made) for _ in range(12))
        + "\n\n"
        for k, word in enumerate(WORDS)
    ]
    parts[6] = parts[6].replace("\n\n", "\n\nThe contract number is K-55012.\n", 1)
    return "".join(parts), [
        ("contract number", "K-55012"), ("who wrote first From", "pump@example.org"), ("how many messages", "16"),
        ("Subject bridge", "About the bridge"), ("To", "desk@example.org"),
    ]


def encoded(made: random.Random) -> Case:
    """A PNG in base64."""
    text = base64.b64encode(b"\x89PNG\r\n\x1a\n" + made.randbytes(20_000)).decode()
    return text, [
        ("what is it", "base64"), ("what file image", "PNG"), ("how many bytes", "20008"), ("beginning", text[:20]),
        ("end", text[-20:]),
    ]


def settings(made: random.Random) -> Case:
    """A file of settings with sections."""
    parts = [f"[{word}.service]\n" + "".join(f"{made.choice(WORDS)}_{n} = {made.randrange(10**6)}\n" for n in range(25)) + "\n" for word in WORDS]
    parts[10] += "max_clients = 250\n"
    return "".join(parts), [
        ("max_clients", "250"), ("garden.service", "garden.service"), ("how many sections", "16"),
        ("last section lamp", "lamp.service"), ("winter.service", "[winter.service]"),
    ]


def prose(made: random.Random) -> Case:
    """A long Japanese report."""
    parts = [f"第{k}章 {word}の概要\n\n" + "。".join(f"{word}は{made.choice(WORDS)}と{made.randrange(10**6)}に関係する" for _ in range(20)) + "。\n\n" for k, word in enumerate(WORDS, 1)]
    parts[9] = parts[9].replace("。", "。返品期限は十四日である。", 1)
    return "".join(parts), [
        ("返品期限", "十四日"), ("第12章", "第12章"), ("bridgeの概要", "bridgeの概要"), ("第16章 lamp", "lampの概要"), ("第3章", "riverの概要"),
    ]


KINDS = (service_log, german_log, json_log, russian_log, git_diff, plain_diff, postgres_dump, mysql_dump, python_code, java_code, markdown, page, manual, underlined, tree, readings, mailbox, encoded, settings, prose)  # fmt: skip


async def replies(text: str, question: str, preview: str) -> Iterator[str]:
    """Returns what a careful reader reads, one reply after the other."""
    tool = ReadPayload()

    async def whole(*_: object) -> str:
        return text

    tool._text = whole  # type: ignore[method-assign]
    session = SimpleNamespace(id="s", app_name="a", user_id="u", state={}, events=[])
    context: Any = SimpleNamespace(session=session, state=session.state)
    said = set(re.findall(r"\w+", question.casefold()))
    lines = [(len(said & set(re.findall(r"\w+", line.casefold()))), line) for line in preview.splitlines()]
    best = max((line for line in lines if re.search(r"\bat \d+", line[1])), default=(0, ""), key=lambda line: line[0])
    place = int(re.search(r"\bat (\d+)", best[1])[1]) if best[0] else 0  # type: ignore[index]
    # Before, several words were several patterns.
    words = (
        question if hasattr(payload_preview, "outline_of") else "|".join(re.escape(word) for word in question.split())
    )
    asked: list[dict[str, Any]] = [{"search": words}, {"offset": place}, {}, {"offset": -4000}]
    return iter([json.dumps(await tool.read_payload("h", context, **each), ensure_ascii=False) for each in asked])


async def reads(text: str, question: str, answer: str, preview: str) -> int:
    """Returns after how many reads an answer is seen, at most one more than are made."""
    if answer in preview:
        return 0
    found = (
        n
        for n, reply in enumerate(await replies(text, question, preview), 1)
        if json.dumps(answer, ensure_ascii=False)[1:-1] in reply
    )
    return next(found, MOST + 1)


async def main() -> None:
    """Prints for each kind how many reads its questions take, and the sums of both halves."""
    sums: dict[str, list[int]] = {"looked at": [], "held out": []}
    for place, kind in enumerate(KINDS):
        text, questions = kind(random.Random(kind.__name__))
        preview = payload_preview.text_preview(text, max_tokens=TOKENS)
        counts = [await reads(text, *question, preview) for question in questions]
        sums["held out" if place % 2 else "looked at"] += counts
        print(f"{kind.__name__:15} {len(text):7,} characters: {counts}")
        if len(sys.argv) > 1 and not place % 2:
            print(
                preview, *(question for question, count in zip(questions, counts, strict=True) if count > 1), sep="\n"
            )
    for half, counts in sums.items():
        print(half, ", ".join(f"{counts.count(n)} by {n} reads" for n in range(MOST + 2)))


if __name__ == "__main__":
    asyncio.run(main())
