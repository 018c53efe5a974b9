"""Test programs that users may write after reading the README: each runs and is short.

The programs in `programs/` compare their results with plain loops over images. `test_typing.py` checks their types.
"""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.conftest import ROOT

FOLDER = ROOT / "tests/programs"
LIBRARIES = {
    "notebook": "IPython",
    "hugging_face_dataset": "datasets",
    "inspect_scorer": "inspect_ai",
    "sklearn_cross_validation": "sklearn",
    "torch_tensors": "torch",
}
"""Programs that need a library that may be missing in the development environment, with this library."""

PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LIBRARIES])
def test_program_runs_without_an_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "library"), LIBRARIES.items())
def test_program_that_needs_an_optional_library_exits_with_status_0(name: str, library: str, tmp_path: Path) -> None:
    if not find_spec(library):
        pytest.skip(f"needs {library}")
    command = [sys.executable, str(FOLDER / f"{name}.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_program_folder_has_24_programs_of_fewer_than_15_lines_each() -> None:
    lines = {name: n_lines(FOLDER / f"{name}.py") for name in PROGRAMS}
    assert len(lines) == 24
    assert {name: n for name, n in lines.items() if n >= 15} == {}


def n_lines(file: Path) -> int:
    """Return the number of lines of code, without the docstring of the module, comments and blank lines."""
    text = file.read_text(encoding="utf-8")
    end = ast.parse(text).body[0].end_lineno
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in text.splitlines()[end:])
