"""Test a random sample of mutants of each module with mutmut, and write the results to tests/mutation.json.

A mutant is a copy of the code with one small change. If all tests still pass, it survives: a test is missing, or the
change has no effect. The reason recorded for a survivor (`why`) is kept when the results are written again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.file_mutation import mutate_file_contents
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import get_mutant_name

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "tests" / "mutation.json"
KILLED = ("killed", "timeout", "segfault")


def mutants_of(path: Path) -> list[str]:
    """Return the names of all mutants of a module."""
    mutated = mutate_file_contents(str(path), path.read_text(encoding="utf-8"))
    return [get_mutant_name(path, name) for name in mutated.mutant_names]


def modules(patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the modules selected in pyproject.toml. If there are patterns, yield only the modules that match one."""
    for path in sorted(Path("spotball_core").rglob("*.py")):
        if config().should_mutate(path) and (not patterns or any(fnmatch(str(path), p) for p in patterns)):
            yield path


def sample(path: Path, most: int, seed: int) -> list[str]:
    """Return at most this many random mutants of a module. The sample depends on the seed and the module."""
    names = mutants_of(path)
    return random.Random(f"{seed} {path}").sample(names, min(most, len(names)))


def result(path: Path, names: Sequence[str], known: dict[str, str]) -> dict[str, object]:
    """Return the results for these mutants of a module. `known` contains the recorded reason for each survivor."""
    data = SourceFileMutationData(path=path)
    data.load()
    status = {name: status_by_exit_code[data.exit_code_by_key.get(name)] for name in names}
    survivors = []
    for name in names:
        if status[name] not in KILLED:
            lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
            changed = "\n".join(line for line in lines if line[:1] in "+-")
            survivor = {"mutant": name, "status": status[name], "change": changed, "why": known.get(changed, "")}
            survivors.append(survivor)
    killed = sum(state in KILLED for state in status.values())
    return {"mutants": len(data.exit_code_by_key), "tested": len(names), "killed": killed, "survivors": survivors}


def main() -> None:
    """Run mutmut on the sample, write the results, and print the share of killed mutants."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", help="paths of modules, such as 'spotball_core/stats/*' (default: all)")
    parser.add_argument("--most", type=int, default=40, help="mutants per module, at most (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tested at a time (default: %(default)s)")
    options = parser.parse_args()
    os.chdir(ROOT)
    chosen = {path: sample(path, options.most, options.seed) for path in modules(options.patterns)}
    names = [name for sampled in chosen.values() for name in sampled]
    mutmut = [str(Path(sys.executable).with_name("mutmut")), "run", "--max-children", str(options.jobs)]
    # Set as in conftest.py, but before the forkserver process imports NumPy.
    subprocess.run([*mutmut, *names], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    written = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    for path, sampled in chosen.items():
        if sampled:
            before = written.get(str(path), {}).get("survivors", [])
            known = {survivor["change"]: survivor["why"] for survivor in before}
            written[str(path)] = {"seed": options.seed, **result(path, sampled, known)}
            print(f"{path}: {written[str(path)]['killed']} of {len(sampled)} killed")
    RESULTS.write_text(json.dumps(dict(sorted(written.items())), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    tested = sum(each["tested"] for each in written.values())
    killed = sum(each["killed"] for each in written.values())
    print(f"{RESULTS.relative_to(ROOT)}: {killed} of {tested} mutants killed, {killed / tested:.1%}")


if __name__ == "__main__":
    main()
