"""Work in several processes: in order, and ended when it fails or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spotball_core.service.parallel import in_processes


def squared(n: int) -> int:
    if n < 0:
        raise ValueError("below 0")
    return n * n


def forever(folder: str) -> None:
    """Says that it began, and never ends."""
    Path(folder, str(os.getpid())).touch()
    while True:
        time.sleep(0.05)


def test_in_order() -> None:
    assert list(in_processes(squared, range(5), 2)) == list(in_processes(squared, range(5), 1)) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_fails_is_raised(jobs: int) -> None:
    with pytest.raises(ValueError, match="below 0"):
        list(in_processes(squared, [1, -1, 2], jobs))


def test_an_interrupt_ends_all_without_a_word_of_theirs(tmp_path: Path) -> None:
    code = (
        "from spotball_core.service.parallel import in_processes\n"
        "from tests.service.test_parallel import forever\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        f"        list(in_processes(forever, [{str(tmp_path)!r}] * 3, 2))\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while len(list(tmp_path.iterdir())) < 2 and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert (stdout, stderr) == ("interrupted\n", "")
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)
