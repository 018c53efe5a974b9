"""Test work in several processes: results are in order, and failures and interrupts end the work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from spotball_core.errors import WorkerError
from spotball_core.service import parallel
from spotball_core.service.parallel import Workers, in_processes
from tests.failures import raises
from tests.waiting import until


def squared(n: int) -> int:
    if n < 0:
        raise ValueError("below 0")
    return n * n


def to_the_power(exponent: int, n: int) -> int:
    return int(n**exponent)


def killed(n: int) -> int:
    """Kill this process unless it is the process of the test."""
    if multiprocessing.parent_process():
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return n


def process_of(_: int) -> int:
    return os.getpid()


def met(folder: str) -> int:
    """Wait until another process runs this function, and return the id of this process."""
    Path(folder, str(os.getpid())).touch()
    until(lambda: len(list(Path(folder).iterdir())) >= 2)
    return os.getpid()


def forever(folder: str) -> None:
    """Create a file named after this process, and wait for a signal."""
    Path(folder, str(os.getpid())).touch()
    signal.pause()


@pytest.mark.slow
def test_in_processes_returns_results_in_order() -> None:
    assert list(in_processes(squared, range(5), 2)) == list(in_processes(squared, range(5), 1)) == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_return_results_of_several_maps_in_order(jobs: int) -> None:
    with Workers(jobs) as workers:
        squares, cubes = workers.map(squared, range(5)), workers.map_with(to_the_power, 3, range(20))
        assert list(cubes) == [n**3 for n in range(20)]
        assert list(squares) == [0, 1, 4, 9, 16]
        assert list(workers.map_with(to_the_power, 3, [])) == []
        assert (set(workers.map(process_of, range(9))) == {os.getpid()}) == (jobs == 1)


def test_workers_use_the_calling_process_if_no_process_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a system without semaphores, or one that has reached its limit of processes."""

    def refuse(jobs: int, _: Sequence[str]) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(parallel, "_started", refuse)
    with Workers(2) as workers:
        assert list(workers.map(process_of, [1, 2])) == [os.getpid()] * 2


def test_workers_map_with_a_killed_worker_and_later_maps_raise_worker_error() -> None:
    with Workers(2) as workers:
        with raises(WorkerError, "worker-failed"):
            list(workers.map(killed, range(200)))
        with pytest.raises(WorkerError):
            list(workers.map(squared, range(4)))


def test_workers_map_also_runs_in_the_calling_process_and_completes_if_results_are_not_read(tmp_path: Path) -> None:
    with Workers(2) as workers:
        processes = set(workers.map(met, [str(tmp_path)] * 4))
    assert len(processes) == 2
    assert os.getpid() in processes
    paths = [tmp_path / "new" / str(n) for n in range(30)]
    (tmp_path / "new").mkdir()
    with Workers(2) as workers:
        workers.map(Path.touch, paths)
    assert sorted((tmp_path / "new").iterdir()) == sorted(paths)


@pytest.mark.parametrize("jobs", [1, 2])
def test_in_processes_raises_the_error_of_the_function(jobs: int) -> None:
    with pytest.raises(ValueError, match="below 0"):
        list(in_processes(squared, [1, -1, 2], jobs))


def waiting(folder: Path) -> subprocess.Popen[str]:
    """Start a process and a worker that create files named after them in a folder, and then wait for a signal."""
    code = (
        "from spotball_core.service.parallel import in_processes\n"
        "from tests.service.test_parallel import forever\n"
        "if __name__ == '__main__':\n"
        "    try:\n"
        f"        list(in_processes(forever, [{str(folder)!r}] * 3, 2))\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    until(lambda: len(list(folder.iterdir())) >= 2 or process.poll() is not None)
    return process


@pytest.mark.slow
def test_interrupt_ends_all_workers_and_prints_no_traceback(tmp_path: Path) -> None:
    process = waiting(tmp_path)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert (stdout, stderr) == ("interrupted\n", "")
    for path in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name), 0)


@pytest.mark.slow
def test_workers_end_if_their_parent_is_killed(tmp_path: Path) -> None:
    process = waiting(tmp_path)
    process.kill()
    # The pipes are at their end only when the worker has ended, too.
    process.communicate(timeout=60)
    assert len(list(tmp_path.iterdir())) == 2
