"""Run every benchmark beside this file, one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Print each benchmark's claim and figures."""
    here = Path(__file__).parent
    for path in sorted(here.glob("*.py")):
        if path.name != Path(__file__).name:
            print(f"\n{path.name}", flush=True)
            subprocess.run([sys.executable, str(path)], check=True)


if __name__ == "__main__":
    main()
