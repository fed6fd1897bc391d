"""Write the page of results from the JSON files that the experiments wrote.

./run exec python experiments/page.py                  writes docs/results.md from experiments/results
./run exec python experiments/page.py --check          exit code 1 if docs/results.md is out of date
./run exec python experiments/page.py --results FOLDER --out FILE    another page from other results
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from claims import CLAIMS, Claim
from common import RESULTS, ROOT, read

PAGE = ROOT / "docs" / "results.md"

HEAD = """# Results

Each claim that the project began with, run again: its figure, ours, and the command that prints ours. This page is
made by `experiments/page.py` from the JSON files in `experiments/results`, which the commands wrote; a test holds it
against them. Times are those of the machine that ran them: compare ratios. `./run exec python experiments/all.py` runs
everything again, with `--quick` a small form of it.

"""


def section(claim: Claim, results: Path, page: Path) -> str:
    """One claim as Markdown."""
    lines = [f"## {claim.number}. {claim.title}", "", claim.question, ""]
    command = f"./run exec python experiments/{claim.name}.py"
    if not (results / f"{claim.name}.json").is_file():
        return "\n".join([*lines, f"Not run yet: `{command}`", ""])
    found = read(results, claim.name)
    if found.get("quick"):
        lines += ["A small form, which shows that the script runs: its figures say nothing.", ""]
    lines += ["| what | the project | here |", "|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in claim.rows(found)]
    lines += ["", claim.verdict(found), "", f"`{found.get('command', command)}`", ""]
    figure = os.path.relpath(results / f"{claim.name}.png", page.parent)
    return "\n".join([*lines, f"![{claim.title}]({figure})", ""])


def text_of(results: Path, page: Path) -> str:
    """The whole page."""
    return HEAD + "\n".join(section(claim, results, page) for claim in CLAIMS)


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the JSON files")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args()
    wanted = text_of(options.results, options.out)
    if not options.check:
        options.out.write_text(wanted, encoding="utf-8")
    elif not options.out.is_file() or options.out.read_text(encoding="utf-8") != wanted:
        print(f"{options.out} is out of date: run ./run exec python experiments/page.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
