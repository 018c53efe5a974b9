"""Check the Python code in README and documentation with `mypy --strict` and pyright, for `make lint`.

Code that pages run without showing it is only context: its errors are not reported. Errors name the page and line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})python\b(?P<options>[^\n]*)\n(?P<code>.*?)^ *(?P=fence) *$", re.M | re.S
)
_SESSION = re.compile(r'session="([^"]*)"')

_UNTYPED = ("reportMissingImports", "reportMissingModuleSource", "reportMissingTypeStubs")
"""Pyright rules for libraries that are not installed or have no types. mypy ignores these libraries as well."""

_PARTLY_TYPED = re.compile(
    r"^\s*(?:import|from) +(?:dask|datasets|mlcroissant|pandas|pyarrow|pyspark|ray|scipy|sklearn|torch)\b", re.M
)
"""Imports of libraries whose types are incomplete."""

_NOT_ERRORS = ("reportDuplicateImport", "reportUnnecessaryIsInstance")
"""Rules that pages may break: a block may repeat an import for the reader, or show the result of `isinstance`."""

Error = tuple[str, int, str]
"""File name, line number and message."""


def pages() -> list[Path]:
    """Return the README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def modules(text: str) -> list[tuple[str, set[int]]]:
    """Return the modules that a page's Python blocks form.

    Blocks of the same session form one module. Lines keep their numbers in the page; all other lines are blank.

    Returns:
        The code and the numbers of the visible lines, for each module with at least one visible block.
    """
    lines: dict[str, dict[int, str]] = defaultdict(dict)
    shown: dict[str, set[int]] = defaultdict(set)
    for block in _BLOCK.finditer(text):
        first = text.count("\n", 0, block.start("code")) + 1
        session = _SESSION.search(block["options"])
        name = session[1] if session else f"line {first}"
        code = [line.removeprefix(block["indent"]) for line in block["code"].splitlines()]
        lines[name].update(enumerate(code, start=first))
        if "exec=" not in block["options"] or "source=" in block["options"]:
            shown[name].update(range(first, first + len(code)))
    return [
        ("".join(lines[name].get(number, "") + "\n" for number in range(1, max(lines[name]) + 1)), shown[name])
        for name in shown
    ]


def check(paths: Iterable[Path]) -> list[str]:
    """Return the errors of `mypy --strict` and of pyright in the visible code of pages, one line each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources: dict[str, tuple[Path, set[int]]] = {}
        for path in paths:
            for code, shown in modules(path.read_text(encoding="utf-8")):
                file = folder / f"shown_{len(sources)}.py"
                file.write_text(code, encoding="utf-8")
                sources[file.name] = path, shown
        with ThreadPoolExecutor() as pool:
            of_mypy, of_pyright = pool.submit(mypy, folder), pool.submit(pyright, folder)
            found = [*of_mypy.result(), *of_pyright.result()]
    errors = []
    for file_name, number, message in found:
        path, shown = sources.get(file_name, (Path(file_name), set()))
        if number in shown:
            errors.append((str(path), number, message))
    return [f"{path}:{number}: {message}" for path, number, message in sorted(errors)]


def mypy(folder: Path) -> list[Error]:
    """Return the errors of `mypy --strict` in a folder's modules."""
    files = sorted(map(str, folder.glob("*.py")))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    # Identify files by name, because mypy's cache repeats the folder of an earlier run.
    lines = [line.split(":", 2) for line in done.stdout.splitlines()]
    return [(Path(file).name, int(number), message.strip()) for file, number, message in lines]


def pyright(folder: Path) -> list[Error]:
    """Return the errors of pyright's strict mode in a folder's modules.

    basedpyright runs it, because its wheel contains everything needed, while pyright downloads the checker when it
    runs. Unknown types are not errors in a module that imports a library with incomplete types.
    """
    config: dict[str, object] = {"include": ["."], "extraPaths": [str(ROOT)], "typeCheckingMode": "strict"}
    config |= dict.fromkeys(_NOT_ERRORS, False)
    file = folder / "pyrightconfig.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--project", str(file), "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--outputjson"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    found = json.loads(done.stdout)["generalDiagnostics"]
    untyped = {error["file"] for error in found if error.get("rule") in _UNTYPED}
    untyped |= {str(file) for file in folder.glob("*.py") if _PARTLY_TYPED.search(file.read_text(encoding="utf-8"))}
    errors = []
    for error in found:
        rule = error.get("rule", "syntax")
        is_unknown = rule.startswith(("reportUnknown", "reportUntyped"))
        if rule not in _UNTYPED and not (is_unknown and error["file"] in untyped):
            message = f"{error['severity']}: {error['message'].splitlines()[0]} ({rule})"
            errors.append((Path(error["file"]).name, error["range"]["start"]["line"] + 1, message))
    return errors


if __name__ == "__main__":
    found = check(pages())
    print(*found, sep="\n")
    sys.exit(bool(found))
