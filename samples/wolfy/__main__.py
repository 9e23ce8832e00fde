"""`python -m samples.wolfy`: the report, and what the run sent to models without the pack and with it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import warnings
from collections.abc import Iterable, Sequence

from .agent import open_account
from .comparison import Comparison, compare
from .measure import Run
from .offline.model import OFFLINE_MODEL
from .prompts import QUESTION
from .techniques import ADK_OPTIONS

_CAPTION = """\
Tokens are those of the requests as the models received them (system instruction, tool declarations and contents),
counted on both sides by the same estimator (adk_context_pack.estimate_tokens); Gemini's own counts differ somewhat.
What each technique saves was measured by two more runs for each: `alone` is the pipeline with nothing of the pack,
less the same with this technique only; `in place` is the pipeline with all techniques but this one, less that with
all of them. Techniques overlap, so neither column adds up to the whole; where the figure is negative, the technique
costs tokens (the writer asks for the summary in a call of its own, and sends its whole history twice).
`cacheable` is by how many points the technique raises the share of tokens that begin as an earlier request of the run
did, in the run with all of them; providers bill those at a fraction, and they are what a static instruction is for."""
_KEYS = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparison and prints it; gives the exit code."""
    options = _parser().parse_args(arguments)
    offline = options.model == OFFLINE_MODEL
    if not offline and not any(os.environ.get(key) for key in _KEYS):
        print(f"--model {options.model} needs GOOGLE_API_KEY in the environment", file=sys.stderr)
        return 2
    try:
        account = open_account(options.data)
    except (OSError, ValueError) as error:
        print(f"--data {options.data}: {error}", file=sys.stderr)
        return 2
    # Newer releases of ADK announce that SequentialAgent and LoopAgent will give way to Workflow, which old ones lack.
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\]")
    # Fifteen more runs cost nothing offline; with a paid model they would.
    found = asyncio.run(
        compare(account, question=options.question, model=options.model, savings=offline, on_run=_show_progress)
    )
    print(json.dumps(found.as_json(), indent=2) if options.json else _text(found))
    return 0


def _show_progress(done: int, runs: int) -> None:
    """Shows on a terminal how many runs are done, and wipes that off after the last one."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} of {runs} runs\x1b[K" if done < runs else "\r\x1b[K")
        sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m samples.wolfy", description=__doc__)
    parser.add_argument("--data", metavar="FILE", help="a CSV file with a header line, instead of the made-up account")
    parser.add_argument("--model", default=OFFLINE_MODEL, help="a Gemini model, with GOOGLE_API_KEY set (%(default)s)")
    parser.add_argument("--question", default=QUESTION, help="what to ask (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    return parser


def _text(found: Comparison) -> str:
    blocks = [found.lean.report, _calls_table(found)]
    if found.savings:
        blocks += [_savings_table(found), _CAPTION]
    return "\n\n".join([*blocks, _verdict(found)])


def _calls_table(found: Comparison) -> str:
    rows = [(entry["agent"], entry["call"], entry["tokens_without"], entry["tokens_with"]) for entry in found.calls()]
    rows.append(("all", len(found.lean.calls), found.bare.tokens, found.lean.tokens))
    return _table(("agent", "call", "without the pack", "with it"), rows)


def _savings_table(found: Comparison) -> str:
    rows = [(entry.technique, entry.alone, entry.in_place, f"{100 * entry.cacheable:+.1f}") for entry in found.savings]
    return _table(("technique: tokens saved", "alone", "in place", "cacheable"), rows)


def _verdict(found: Comparison) -> str:
    same = found.bare.figures == found.lean.figures
    alone = ""
    if found.adk is not None:
        share = _share(found.adk, found.bare)
        alone = f"ADK's own options alone ({', '.join(ADK_OPTIONS)}): {found.adk.tokens:,}, {share:.1%}.\n"
    return (
        f"With the pack the run sent {found.lean.tokens:,} input tokens, "
        f"without it {found.bare.tokens:,}: {_share(found.lean, found.bare):.1%}.\n{alone}"
        f"The figures of both reports are {'the same' if same else 'NOT the same'} ({len(found.lean.figures)} figures)."
    )


def _share(run: Run, whole: Run) -> float:
    return run.tokens / whole.tokens if whole.tokens else 1.0


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [list(head), *([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]


if __name__ == "__main__":
    sys.exit(main())
