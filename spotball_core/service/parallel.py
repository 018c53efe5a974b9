"""Call a function with many items in several processes (only through `Workers`), and limit threads of libraries."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock, Thread
from types import TracebackType
from typing import Any, Final, TypeVar

from spotball_core.errors import WorkerError

BLAS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that limit the threads of NumPy's and SciPy's matrix products."""

POLARS: Final = "POLARS_MAX_THREADS"


@contextmanager
def one_thread(*variables: str) -> Iterator[None]:
    """Limit libraries loaded and processes started within the `with` statement to one thread each.

    If several processes share the processors, threads of their libraries would wait for each other.

    Args:
        variables: environment variables that set the numbers of threads.
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(dict.fromkeys(variables, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

_PARTS: Final = 4
"""Number of parts per process into which `Workers.map_with` divides the items."""


@dataclass(frozen=True, slots=True)
class _Task:
    """A function, the item to call it with, and the future that receives its result."""

    work: Callable[[Any], Any]
    item: Any
    outcome: Future[Any]

    def do(self) -> None:
        """Do the work in this process."""
        try:
            self.outcome.set_result(self.work(self.item))
        except Exception as error:  # Raised where the result is used, like errors of other processes.
            self.outcome.set_exception(error)


class Workers:
    """Processes that share work, started and ended by a `with` statement.

    The current process also works: while it waits for a result, it does work that no other process has started. It does
    all the work if `jobs` is 1, outside of a `with` statement, or if the system cannot start processes.

    Args:
        jobs: number of processes, including this one.
        modules: names of modules that other processes import when they start, before their first work.
    """

    def __init__(self, jobs: int, modules: Sequence[str] = ()) -> None:
        self._jobs = jobs
        self._modules = modules
        self._pool: ProcessPoolExecutor | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._open: deque[_Task] = deque()
        self._sent = 0
        self._lock = RLock()

    def __enter__(self) -> Workers:
        if self._jobs > 1:
            try:
                self._pool = _started(self._jobs - 1, self._modules)
            except (ImportError, NotImplementedError, OSError):
                self._pool = None  # The system has no semaphores, or does not allow further processes.
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            with self._lock:
                rest = list(self._open)
                self._open.clear()
                # Idle processes are ended, too: each would take up to a second to exit by itself.
                at_once = error is not None or not (rest or self._sent)
            for task in rest if error is None else ():
                task.do()
            _end(pool, at_once=at_once)
        if self._folder is not None:
            self._folder.cleanup()

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """Return the results of calling `work` with each item, in the items' order.

        Other processes start to work during this call; this process works while the results are read.

        Args:
            work: a module-level function. It must not leave partial files if its process is ended.
            items: the function's arguments, one per call.

        Raises:
            WorkerError: if the operating system or a user kills a process.
        """
        if self._pool is None:
            return map(work, items)
        tasks = [_Task(work, item, Future()) for item in items]
        self._open += tasks
        self._send()
        return self._results(tasks)

    def map_with(
        self, work: Callable[[Shared, Item], Result], shared: Shared, items: Sequence[Item]
    ) -> Iterator[Result]:
        """Return the same as `map` for a function whose first argument is large and the same for all items.

        Each process reads the argument from a file once. Later changes to the argument do not affect the results.
        """
        if self._pool is None:
            return (work(shared, item) for item in items)
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="spotball-")
        file = Path(self._folder.name, str(len(list(Path(self._folder.name).iterdir()))))
        file.write_bytes(pickle.dumps(shared))
        size = -(-len(items) // (_PARTS * self._jobs)) or 1
        parts = [items[start : start + size] for start in range(0, len(items), size)]
        return (result for part in self.map(partial(_each, work, file), parts) for result in part)

    def _results(self, tasks: Sequence[_Task]) -> Iterator[Any]:
        for task in tasks:
            while not task.outcome.done():
                other = self._next()
                if other is None:
                    wait([task.outcome])
                else:
                    other.do()
            try:
                yield task.outcome.result()
            except BrokenProcessPool:
                raise _ended() from None

    def _next(self) -> _Task | None:
        """Return the next task that no process has started, or None if all are started."""
        try:
            return self._open.popleft()
        except IndexError:
            return None

    def _send(self) -> None:
        """Send up to two tasks to each of the other processes: one to work on, and one to continue with."""
        with self._lock:
            while self._pool is not None and self._sent < 2 * (self._jobs - 1) and (task := self._next()):
                try:
                    sent = self._pool.submit(task.work, task.item)
                except BrokenProcessPool as error:
                    task.outcome.set_exception(error)
                else:
                    self._sent += 1
                    sent.add_done_callback(partial(self._received, task))

    def _received(self, task: _Task, sent: Future[Any]) -> None:
        """Record the outcome of a task from another process; called in a thread of the pool."""
        with self._lock:
            self._sent -= 1
        self._send()
        if error := sent.exception():
            task.outcome.set_exception(error)
        else:
            task.outcome.set_result(sent.result())


THIS_PROCESS: Final = Workers(1)
"""A `Workers` object that does all work in this process."""


def in_processes(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """Yield the results of calling `work` with each item in separate processes, like `Workers.map`.

    If one process fails, or the user interrupts, the other processes are ended immediately.

    Args:
        work: a module-level function.
        items: the function's arguments, one per call.
        jobs: number of processes; with 1, or one item, the work is done in this process.
    """
    with Workers(min(jobs, len(items))) as workers:
        yield from workers.map(work, items)


def processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _started(jobs: int, modules: Sequence[str]) -> ProcessPoolExecutor:
    # Forked processes would inherit locks that other threads hold.
    context = multiprocessing.get_context("spawn")
    with one_thread(*BLAS, POLARS):
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(modules,))
        try:
            # A pool starts its processes with its first tasks. They import this package while this process continues.
            for _ in range(jobs):
                pool.submit(os.getpid)
        except BaseException:
            _end(pool, at_once=True)
            raise
    return pool


def _end(pool: ProcessPoolExecutor, *, at_once: bool) -> None:
    if at_once:
        # From Python 3.14 on, the pool can do this itself. Cancelling work first would make its thread fail.
        for process in list((pool._processes or {}).values()):
            process.terminate()
    pool.shutdown()


def _ended() -> WorkerError:
    return WorkerError(
        "the operating system or a user killed a worker process, probably because memory ran out. Close other "
        "programs, or use one process (--jobs 1)"
    )


def _each(work: Callable[[Any, Item], Result], file: Path, items: Sequence[Item]) -> list[Result]:
    shared = _read(file)
    return [work(shared, item) for item in items]


@lru_cache(maxsize=1)
def _read(file: Path) -> Any:
    """Return the argument that `Workers.map_with` stored in a file.

    Each process reads the file only once, unless it reads another file meanwhile.
    """
    return pickle.loads(file.read_bytes())


def _start(modules: Sequence[str]) -> None:
    """Import the modules, and ignore interrupts from the terminal: the parent process ends its worker processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    for module in modules:
        import_module(module)


def _end_with_parent() -> None:
    """End this process when the parent process has ended. A killed parent cannot end its worker processes."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os._exit(1)
