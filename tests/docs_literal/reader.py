"""Simulate a reader who copies the blocks of a page, in order, into a shell and a Python session."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from queue import Empty, Queue
from subprocess import DEVNULL, PIPE, STDOUT
from types import TracebackType
from typing import Any

from scripts.docs_blocks import Block
from tests.conftest import ROOT
from tests.sharing import Prepared

PACKAGES = ("spotball_core", "spotball_adapters", "spotball_gen")

SERVERS = re.compile(r"^spotball (?:study serve|gen review)\b(?!.* --status)", re.MULTILINE)
"""Commands that run until the reader stops them."""

LOCAL_PIP = re.compile(r"^pip install (?:--editable )?(\./\S+|(?<=--editable )\.)$", re.MULTILINE)
"""Commands that install the reader's own package from a folder. Other packages are already installed."""

READY_SECONDS = 120

_ISOLATE = """
import os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if path == here or not os.path.isdir(os.path.join(path, "spotball_core"))]
"""
"""Removes checkouts from the module search path: a reader has the packages, but not `scripts` or `tests`."""

_SHELL = """
cd "$(cat {state}/folder)"
if [ -f {state}/variables ]; then . {state}/variables; fi
trap 'code=$?; pwd > {state}/folder; export -p > {state}/variables; exit $code' EXIT
set -e
{commands}
"""

_PYTHON = """
import sys, traceback
names = {"__name__": "__main__"}
for path in sys.stdin:
    path = path.rstrip("\\n")
    try:
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), names)
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    print("done", file=sys.stderr, flush=True)
"""


class NotLiteralError(AssertionError):
    """Raised if a block does not work as the page states."""


class Reader:
    """Run blocks in a folder. As a context manager, it stops servers at the end.

    Args:
        folder: an empty folder to run the blocks in.
        state: a separate folder for the state of the reader's terminal.
        environment: additional environment variables, such as the addresses of services.
        prepared: the folders of slow commands on many pages, which run once for all pages. Without it, each page runs
            them.
    """

    def __init__(
        self,
        folder: Path,
        state: Path,
        environment: Mapping[str, str] | None = None,
        prepared: Prepared | None = None,
    ) -> None:
        self._prepared = prepared
        self._state = state
        modules, self._installed = state / "modules", state / "installed"
        modules.mkdir()
        self._installed.mkdir()
        for name in PACKAGES:
            (modules / name).symlink_to(ROOT / name)
        (modules / "sitecustomize.py").write_text(_ISOLATE, encoding="utf-8")
        (state / "folder").write_text(str(folder), encoding="utf-8")
        variables = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{modules}{os.pathsep}{self._installed}",
            "COLUMNS": "100",
            # Do not open a browser.
            "BROWSER": "true",
            **(environment or {}),
        }
        self._place: dict[str, Any] = {"cwd": folder, "env": variables, "text": True}
        self._python: subprocess.Popen[str] | None = None
        self._servers: list[tuple[Block, subprocess.Popen[str]]] = []
        self._n = 0

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        ended = [block for block, server in self._servers if server.poll() is not None]
        for server in (server for _block, server in self._servers):
            server.terminate()
            server.wait(timeout=60)
            assert server.stderr is not None
            server.stderr.close()
        if self._python is not None:
            self._python.communicate(timeout=60)
        if error is None and ended:
            raise NotLiteralError(f"line {ended[0].line}: the server ended by itself")

    def read(self, blocks: Iterable[Block]) -> None:
        """Run the visible blocks.

        Raises:
            NotLiteralError: at the first block that fails.
        """
        for block in blocks:
            if not block.is_visible:
                continue
            if block.file is not None:
                path = Path((self._state / "folder").read_text(encoding="utf-8").strip(), block.file)
                path.parent.mkdir(exist_ok=True)
                path.write_text(block.visible_text + "\n", encoding="utf-8")
                if block.is_run:
                    self._run(block, f"python {block.file}")
            elif block.language in ("bash", "console") and block.commands.strip():
                self._shell(block)
            elif block.language == "python":
                self._run_python(block)

    def _shell(self, block: Block) -> None:
        commands = block.commands
        for server in SERVERS.finditer(commands):
            line = commands[server.start() :].partition("\n")[0]
            self._serve(block, line)
            commands = commands.replace(line, "")
        for installation in LOCAL_PIP.finditer(commands):
            self._install(block, installation[1])
        commands = LOCAL_PIP.sub("", commands)
        self._run(block, self._prepared.commands(commands) if self._prepared else commands)

    def _install(self, block: Block, folder: str) -> None:
        """Install a folder with a pyproject.toml without pip, because pip needs a network to get its build tools."""
        package = Path((self._state / "folder").read_text(encoding="utf-8").strip(), folder)
        if not (package / "pyproject.toml").is_file():
            raise NotLiteralError(f"line {block.line}: {folder} has no pyproject.toml")
        described = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
        project = described["project"]
        for module in described["tool"]["setuptools"]["py-modules"]:
            shutil.copy(package / f"{module}.py", self._installed)
        info = self._installed / f"{project['name']}-{project['version']}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        lines = []
        for group, entries in project["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {target}" for name, target in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _run(self, block: Block, commands: str) -> None:
        script = _SHELL.format(state=self._state, commands=commands)
        command = ["bash", "-c", script]
        done = subprocess.run(command, **self._place, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, check=False)
        if done.returncode != int(block.options.get("returncode", "0")):
            raise NotLiteralError(f"line {block.line}: exit status {done.returncode}\n{commands}\n{done.stdout}")

    def _serve(self, block: Block, line: str) -> None:
        # The default port 8000 may be in use on this machine.
        script = _SHELL.format(state=self._state, commands=f"exec {line} --port 0")
        command = ["bash", "-c", script]
        server = subprocess.Popen(command, **self._place, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)
        self._servers.append((block, server))
        assert server.stderr is not None
        said = _lines_of(server.stderr)
        before: list[str] = []
        while True:
            try:
                text = said.get(timeout=READY_SECONDS)
            except Empty:
                text = None
            if text is None:
                raise NotLiteralError(f"line {block.line}: {line} printed no address\n{''.join(before)}")
            before.append(text)
            if "http://" in text:
                return

    def _run_python(self, block: Block) -> None:
        if self._python is None:
            command = [sys.executable, "-c", _PYTHON]
            self._python = subprocess.Popen(command, **self._place, stdin=PIPE, stdout=DEVNULL, stderr=PIPE)
        python = self._python
        assert python.stdin is not None
        assert python.stderr is not None
        self._n += 1
        path = self._state / f"block-{self._n}.py"
        path.write_text(block.visible_text + "\n", encoding="utf-8")
        python.stdin.write(f"{path}\n")
        python.stdin.flush()
        said = ""
        for text in python.stderr:
            if text == "done\n":
                return
            said += text
        raise NotLiteralError(f"line {block.line}: Python failed\n{said}")


def _lines_of(stream: Iterable[str]) -> Queue[str | None]:
    """Read a stream in a thread, and return a queue of its lines followed by None."""
    lines: Queue[str | None] = Queue()

    def read() -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines
