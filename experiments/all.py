"""Run every experiment, each in a process of its own, and write the page of results.

./run exec python experiments/all.py            about 40 minutes on two cores: the figures of docs/results.md
./run exec python experiments/all.py --quick    under 5 minutes: a small form of each, into out/experiments

One that fails is named, the others still run, and the exit code is 1. With --quick the page of the small forms is
out/experiments/results.md; docs/results.md is made again from the results of the full runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from claims import CLAIMS
from common import QUICK_RESULTS, RESULTS, ROOT
from page import PAGE, text_of


def main() -> int:
    """Run, report, write the page; 0 if all of them worked."""
    names = [claim.name for claim in CLAIMS]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small form of each, to try the scripts")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--out", type=Path, help="folder (default: experiments/results; quick: out/experiments)")
    options = parser.parse_args()
    out = options.out or (QUICK_RESULTS if options.quick else RESULTS)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {out}: {error.strerror}")
    failed = []
    for name in options.only:
        begin = time.monotonic()
        command = [sys.executable, str(ROOT / "experiments" / f"{name}.py"), "--out", str(out)]
        with (out / f"{name}.log").open("w") as log:
            # One thread each: small networks are slower with two.
            code = subprocess.run(
                command + ["--quick"] * options.quick,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
                check=False,
            ).returncode
        print(f"{name:12} {'ok' if code == 0 else 'FAILED'}  {time.monotonic() - begin:6.1f} s", flush=True)
        if code:
            failed.append(name)
    pages = {out / "results.md": out, PAGE: RESULTS} if out != RESULTS else {PAGE: RESULTS}
    for page, results in pages.items():
        page.write_text(text_of(results, page), encoding="utf-8")
        print(f"wrote {page}")
    for name in failed:
        print(f"{name} failed: see {out / f'{name}.log'}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
