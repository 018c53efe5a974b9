"""Run the command in this process, in a separate process, or on a terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from unittest import mock

from spotball_core.cli.app import main

MODULE = [sys.executable, "-m", "spotball_core"]
SCRIPT = [str(Path(sys.executable).parent / "spotball")]

Done = subprocess.CompletedProcess[str]


def spotball(*arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
    """Run the command in this process, because starting Python and loading libraries would be slow."""
    stdout, stderr = io.StringIO(), io.StringIO()
    status = 0
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "argv", ["spotball", *map(str, arguments)]))
        stack.enter_context(mock.patch.dict(os.environ, env or {}))
        stack.enter_context(redirect_stdout(stdout))
        stack.enter_context(redirect_stderr(stderr))
        if cwd is not None:
            stack.enter_context(chdir(cwd))
        try:
            main()
        except SystemExit as exit:
            status = int(exit.code or 0)
    return subprocess.CompletedProcess(arguments, status, stdout.getvalue(), stderr.getvalue())


def spotball_process(*arguments: str | Path, start: list[str] = MODULE, env: Mapping[str, str] | None = None) -> Done:
    """Run the command in a separate process whose output is not a terminal."""
    command = [*start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})


def on_terminal(*arguments: str | Path, columns: int = 80) -> tuple[int, str]:
    """Run the command on a terminal and return its exit status and output."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR", "CI")}
    with subprocess.Popen(
        [*MODULE, *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner, env={**kept, "TERM": "xterm-256color"}
    ) as process:
        os.close(inner)
        said = b""
        # Linux raises this error after the other end is closed.
        with suppress(OSError):
            while more := os.read(outer, 65536):
                said += more
    os.close(outer)
    return process.returncode, said.decode().replace("\r\n", "\n")
