# ruff: noqa: T201 - a command that prints
"""Shows that the chosen tests find what the whole suite finds: mutants of the files that deal with ADK, on one release.

    python -m tests.versions.choose --recorded FOLDER
    .ci/envs/2.0.0/bin/python -m tests.versions.worth --recorded FOLDER --sample 35

Each mutant first meets the chosen tests that enter the changed function, then all others that do, the fastest first and
at most `--most` seconds of them, as they were recorded. Needs Linux or macOS, since each run is a fork.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import tempfile
from collections import Counter, deque
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.rounds import Round
from tests.mutation.run import HEAVY, Trial, copied_tree, imported, tried
from tests.versions.choose import FACING, Entry, entries_of
from tests.versions.chosen import LIST, ROOT, read, runs_on_older
from tests.versions.differing import named_in


def main() -> None:
    """Draws mutants, tries them, and prints which of them the chosen tests and the others notice."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recorded", type=Path, required=True, help="what `choose` has recorded")
    parser.add_argument("--sample", type=int, default=35)
    parser.add_argument("--seed", type=int, default=20261123)
    parser.add_argument("--most", type=float, default=120)
    parser.add_argument("--children", type=int, default=os.cpu_count() or 1)
    wanted = parser.parse_args()
    for name in HEAVY:
        imported(name)
    os.environ["ADK_RELEASE"] = "worth"
    entries, known = entries_of(wanted.recorded), read(LIST.read_text(encoding="utf-8"))
    paths = [path.relative_to(ROOT) for path in sorted((ROOT / "adk_context_pack").rglob("*.py"))]
    found = [each for path in paths if FACING.match(path.as_posix()) for each in mutants(ROOT, path)]
    drawn = random.Random(wanted.seed).sample(found, min(wanted.sample, len(found)))
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        root, *trees = (copied_tree(Path(folder, str(number))) for number in range(1 + wanted.children))
        trials = deque(Trial(each, deque(rounds_of(each, entries, known, wanted.most))) for each in drawn)
        for mutant, kind in tried(root, trials, trees, seconds=600):
            counts[kind] += 1
            print(f"{kind:7} {mutant}", flush=True)
    noticed = counts["chosen"] + counts["suite"]
    print(f"seed {wanted.seed}: {len(drawn)} of {len(found)} mutants. The suite notices {noticed}, the chosen tests")
    print(f"{counts['chosen']} of them ({100 * counts['chosen'] / max(1, noticed):.0f} %)")


def rounds_of(mutant: Mutant, entries: dict[str, Entry], known: dict[str, bool], most: float) -> list[Round]:
    """Returns the chosen tests that enter the function of a mutant, and then the others."""
    named = named_in(ast.parse((ROOT / mutant.path).read_text(encoding="utf-8")), f"{mutant.path.as_posix()}::")
    around = [name for name, node in named if node.lineno <= mutant.line <= (node.end_lineno or 0)]
    tests = sorted((entries[name].seconds, name) for name in entries if around[-1] in entries[name].entered)
    chosen = [name for _, name in tests if runs_on_older(name, known)]
    others, spent = [], 0.0
    for seconds, name in tests:
        if not runs_on_older(name, known) and (spent := spent + seconds) <= most:
            others.append(name)
    return [Round(kind, tuple(names)) for kind, names in (("chosen", chosen), ("suite", others)) if names]


if __name__ == "__main__":
    main()
