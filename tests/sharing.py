"""Share folders between tests: each is made once per run of pytest, also if test processes run in parallel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMANDS = {"demo": "spotball demo --out", "items": "spotball gen run --demo --out"}
"""Slow commands on many pages, without the name of the folder that they write. The same command always writes the same
folder, so it runs once, and each page gets a copy."""

_LINE = re.compile(rf"^(?P<command>{'|'.join(map(re.escape, COMMANDS.values()))}) (?P<out>[\w-]+)$", re.MULTILINE)


def shared_folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder that all tests of this run share.

    Args:
        factory: the fixture `tmp_path_factory`.
        name: name of the folder.
        make: writes the folder at a path that does not exist yet. It is called only by the first test that needs it.
    """
    import fcntl

    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / name
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = factory.mktemp(name) / name
            make(unfinished)
            unfinished.rename(folder)
    return folder


class Prepared:
    """Provide the folders that `COMMANDS` write.

    Args:
        factory: the fixture `tmp_path_factory`.
    """

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory

    def folder(self, name: str) -> Path:
        """Return the shared folder that a command wrote. Copy it before you change it.

        Args:
            name: a key of `COMMANDS`.
        """

        def make(path: Path) -> None:
            program, *words = COMMANDS[name].split()
            command = [str(Path(sys.executable).parent / program), *words, path.name]
            done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr

        return shared_folder(self._factory, f"prepared-{name}", make)

    def commands(self, text: str) -> str:
        """Return shell commands in which each of `COMMANDS` is replaced by a copy of the shared folder."""
        names = {command: name for name, command in COMMANDS.items()}
        return _LINE.sub(lambda line: f"cp -R {self.folder(names[line['command']])} {line['out']}", text)
