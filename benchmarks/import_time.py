"""Claim: `import spotball_core` takes less than twice as long as `import numpy, pydantic`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 11


def seconds(statement: str) -> float:
    """Median time of a fresh interpreter that runs a statement, in seconds."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print the ratio and what was compared."""
    mine = seconds("import spotball_core; from spotball_core import Grid, accuracy")
    peers = seconds("import numpy, pydantic")
    print(f"import spotball_core with Grid and accuracy: {mine * 1000:.0f} ms")
    print(f"import numpy, pydantic: {peers * 1000:.0f} ms")
    print(f"ratio {mine / peers:.2f} (claim: below 2), medians of {RUNS} fresh interpreters each")


if __name__ == "__main__":
    main()
