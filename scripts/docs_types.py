"""Check the Python code that README and documentation show with `mypy --strict`; `make lint` runs it.

Code that pages run without showing it is type-checked only as the context of what they show: its errors are not
reported. Errors name the page and its line.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})python\b(?P<options>[^\n]*)\n(?P<code>.*?)^ *(?P=fence) *$", re.M | re.S
)
_SESSION = re.compile(r'session="([^"]*)"')


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def modules(text: str) -> list[tuple[str, set[int]]]:
    """Return the modules that a page's Python blocks make.

    Blocks of one session are one module. Each line of code keeps its number in the page; all other lines are blank.

    Returns:
        For each module that the page shows a block of, its code and the numbers of the lines that are shown.
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
    """Return the errors of `mypy --strict` in the code that some pages show, one line each."""
    with tempfile.TemporaryDirectory() as folder:
        sources: dict[str, tuple[Path, set[int]]] = {}
        for path in paths:
            for code, shown in modules(path.read_text(encoding="utf-8")):
                file = Path(folder, f"shown_{len(sources)}.py")
                file.write_text(code, encoding="utf-8")
                sources[file.name] = path, shown
        files = [str(Path(folder, name)) for name in sources]
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *files]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    errors = []
    for line in done.stdout.splitlines():
        file, number, message = line.split(":", 2)
        # By name, since mypy's cache repeats the folder of an earlier run.
        path, shown = sources.get(Path(file).name, (Path(file), set()))
        if int(number) in shown:
            errors.append((str(path), int(number), message))
    return [f"{path}:{number}:{message}" for path, number, message in sorted(errors)]


if __name__ == "__main__":
    found = check(pages())
    print(*found, sep="\n")
    sys.exit(bool(found))
