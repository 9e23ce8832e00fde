"""Measures how many reads it takes to find something in a result: `python -m tests.benchmarks.bench_needles`.

The results and what is to be found in them are those of `tests/gallery`. It is found in what the model is shown, or by
reads that a careful reader would try: a search for the question's words, the page at the line of the outline that
shares most words with it, the beginning, the end. `--missed` prints what takes more than one read.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from adk_context_pack import ReadPayload
from adk_context_pack._json import json_text, opened
from tests.gallery.__main__ import shown
from tests.gallery.results import Case, cases

MOST = 4


async def replies(text: str, question: str, preview: str) -> AsyncIterator[str]:
    """Yields what a careful reader reads, one reply after the other."""
    tool = ReadPayload()

    async def whole(*_: object) -> tuple[str, bool]:
        return text, opened(text) is not text

    tool._text = whole  # type: ignore[method-assign]
    session = SimpleNamespace(id="s", app_name="a", user_id="u", state={}, events=[])
    context: Any = SimpleNamespace(session=session, state=session.state)
    said = set(re.findall(r"\w+", question.casefold()))
    lines = [(len(said & set(re.findall(r"\w+", line.casefold()))), line) for line in preview.splitlines()]
    best = max((line for line in lines if re.search(r"\bat \d+", line[1])), default=(0, ""), key=lambda line: line[0])
    place = int(re.search(r"\bat (\d+)", best[1])[1]) if best[0] else 0  # type: ignore[index]
    for asked in ({"search": question}, {"offset": place}, {}, {"offset": -4000}):
        reply = await tool.read_payload("h", context, **asked)  # type: ignore[arg-type]
        yield json.dumps(reply, ensure_ascii=False)


def whole_text(value: Any) -> str:
    """Returns the text that a result is kept as: the longest one in it, or all of it as JSON."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    texts = [each for each in values if isinstance(each, str)]
    longest = max(texts, key=len, default="")
    return longest if 2 * len(longest) > len(json_text(value)) else json_text(value)


async def reads(case: Case) -> list[int]:
    """Returns for each needle after how many reads it is seen, at most one more than are made."""
    preview, text = await shown(case), whole_text(case.result)
    preview = preview.removeprefix(case.ask).partition("\n\n[fetcher]")[0]
    seen = [preview, *[reply async for reply in replies(text, case.ask, preview)]]
    return [next((n for n, reply in enumerate(seen) if needle in reply), MOST + 1) for needle in case.find]


async def main() -> None:
    """Prints for each result how many reads its needles take, and the sums."""
    sums = Counter[int]()
    for case in cases():
        counts = await reads(case)
        sums.update(counts)
        if "--missed" not in sys.argv or max(counts) > 1:
            print(f"{case.name:24} {counts}", "" if max(counts) < 2 else case.find)
    print(", ".join(f"{sums[n]} by {n} reads" for n in range(MOST + 2)))


if __name__ == "__main__":
    asyncio.run(main())
