"""Run the benchmarks in this folder one after the other, and report changes relative to the stored figures.

A benchmark is a file whose docstring starts with "Claim:". Files with an option `--plot FILE` also draw their plot. A
run of all benchmarks writes RESULTS.md. `--keep` stores its figures for later comparisons; if only some
benchmarks ran, the file shows the stored figures of the others.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from measure import FIGURES
from page import write_page
from results import Figure, Result, Setting, here_and_now, show

HERE = Path(__file__).parent
KEPT = "kept.json"
DOCS = HERE.parent / "docs"
PLOTS = Path("assets/benchmarks")
"""Folder of the plots, relative to the documentation's folder."""

CORES = 2
"""Number of cores that all claims refer to."""


@dataclass(frozen=True)
class Benchmark:
    """A file with one claim."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """Return the name in figures and on the command line."""
        return self.path.stem

    @property
    def plot(self) -> Path | None:
        """Return the path of its plot, relative to the documentation's folder, or None if it has none."""
        return PLOTS / f"{self.name}.svg" if '"--plot"' in self.path.read_text(encoding="utf-8") else None


def benchmarks(folder: Path = HERE) -> dict[str, Benchmark]:
    """Return the folder's benchmarks by name."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if text.startswith("Claim:"):
            found[path.stem] = Benchmark(path, text)
    return found


def run(benchmark: Benchmark, setting: Setting, docs: Path = DOCS) -> Result:
    """Run one benchmark and return its figures. If it fails, return those measured before the failure."""
    command = [sys.executable, str(benchmark.path)]
    if benchmark.plot:
        (docs / benchmark.plot).parent.mkdir(parents=True, exist_ok=True)
        command += ["--plot", str(docs / benchmark.plot)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.jsonl"
        file.touch()
        start = time.perf_counter()
        done = subprocess.run(command, check=False, env={**os.environ, FIGURES: str(file)})
        seconds = time.perf_counter() - start
        figures = tuple(Figure(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines())
    names = [figure.name for figure in figures]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        print(f"{benchmark.name}: several figures have the same name: {', '.join(twice)}", file=sys.stderr)
    finished = done.returncode == 0 and not twice
    return Result(benchmark.name, benchmark.text, seconds, figures, setting, finished)


def read_kept(file: Path) -> dict[str, Result]:
    """Return the stored figures, by benchmark."""
    if not file.exists():
        return {}
    records = json.loads(file.read_text(encoding="utf-8"))
    return {
        record["name"]: Result(
            **record
            | {
                "figures": tuple(Figure(**figure) for figure in record["figures"]),
                "setting": Setting(**record["setting"]),
            }
        )
        for record in records
    }


def write_kept(kept: Mapping[str, Result], new: Iterable[Result], file: Path) -> None:
    """Store new results together with those of other benchmarks. Failed results do not replace stored ones."""
    together = {**kept, **{result.name: result for result in new if result.finished}}
    records = [asdict(together[name]) for name in sorted(together)]
    file.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None, *, folder: Path = HERE, docs: Path = DOCS) -> int:
    """Print claims and figures as they are measured, then the changes. Return 1 if a benchmark failed."""
    known = benchmarks(folder)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"benchmarks (default: all): {', '.join(known)}")
    parser.add_argument("--keep", action="store_true", help="store the figures, to compare later runs with them")
    options = parser.parse_args(arguments)
    if strangers := set(options.names) - set(known):
        parser.error(f"unknown benchmarks: {', '.join(sorted(strangers))}. Choose from {', '.join(known)}")

    kept = read_kept(folder / KEPT)
    setting = here_and_now()
    results = []
    for name in options.names or known:
        print(f"\n{name}\n{known[name].text}\n", flush=True)
        result = run(known[name], setting, docs)
        results.append(result)
        print(f"{name} {'took' if result.finished else 'FAILED after'} {result.seconds:.0f} s", flush=True)
    show(results, kept)
    fresh = {result.name: result for result in results}
    # For benchmarks that did not run, the file shows the stored figures.
    every = [one for name in known if (one := fresh.get(name) or kept.get(name))]
    if not options.names or (options.keep and len(every) == len(known)):
        page = folder / "RESULTS.md"
        plots = {
            name: Path(os.path.relpath(docs / plot, folder)) if (plot := benchmark.plot) else None
            for name, benchmark in known.items()
        }
        write_page(page, every, kept, plots)
        print(f"wrote {page}")
    if options.keep:
        write_kept(kept, results, folder / KEPT)
        print(f"stored the figures in {folder / KEPT}")
    return 0 if all(result.finished for result in results) else 1


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    sys.exit(main())
