"""Compares many random fits with the oracle.

    python tests/agreement/soak.py --cases 100000 --seed 1

Case number i of a seed is always the same. Prints how many agreed, by verdict and by path, and
exits with 1 if one did not.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from agreement import cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    arguments = parser.parse_args()
    counts, wrong, start = Counter(), [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.first, arguments.first + arguments.cases):
            try:
                verdict = cases.check([arguments.seed, number], folder)
            except Exception as error:  # noqa: BLE001 - any error is a finding, and the rest goes on
                verdict = f"case {number}: {type(error).__name__}: {error}"
            known = verdict in cases.VERDICTS
            counts[verdict if known else "wrong"] += 1
            if not known:
                wrong.append(verdict)
                sys.stdout.write(f"{verdict}\n")
            if (number + 1) % 1000 == 0:
                sys.stdout.write(f"{sum(counts.values())} cases: {dict(counts)}\n")
                sys.stdout.flush()
    seconds = time.monotonic() - start
    sys.stdout.write(f"seed {arguments.seed}, {seconds:.0f} s: {dict(counts)}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
