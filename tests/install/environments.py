"""Create fresh environments with the built wheel, and run commands in them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

UV = str(Path(sys.executable).parent / "uv")

PROBE = """
import importlib, json, pkgutil
failed = {}
for package in ("spotball_core", "spotball_adapters", "spotball_gen"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            failed[module.name] = [str(error), getattr(error, "name", None)]
print(json.dumps(failed))
"""
"""A program that imports every module and prints each failure with its error and the missing module."""

Done = subprocess.CompletedProcess[str]


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> Done:
    """Run a command until it ends, without the PYTHONPATH and VIRTUAL_ENV of this process."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=cwd, env={**kept, **(env or {})}, capture_output=True, text=True, check=False)


def good(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a command, check that it succeeds, and return its output."""
    done = run(*command, cwd=cwd, env=env)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """Represent a virtual environment in which the wheel is installed.

    Attributes:
        folder: the folder of the environment.
        extras: the installed extras, separated by commas. Empty for none.
    """

    folder: Path
    extras: str

    @classmethod
    def made(cls, folder: Path, wheel: Path, extras: str) -> Environment:
        good(UV, "venv", "--quiet", "--python", sys.executable, folder)
        wanted = f"spotball-core[{extras}] @ {wheel.as_uri()}"
        good(UV, "pip", "install", "--quiet", "--python", folder / "bin/python", wanted)
        return cls(folder, extras)

    @property
    def python(self) -> Path:
        return self.folder / "bin/python"

    def spotball(self, *words: str | Path, cwd: Path) -> Done:
        return run(self.folder / "bin/spotball", *words, cwd=cwd)
