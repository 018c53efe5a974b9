"""Start or resume a run: request the missing replies, and process the stored ones."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar

from spotball_adapters.providers.protocol import Provider, Ready
from spotball_adapters.runs.job import RunJob
from spotball_adapters.runs.plan import ItemT, SamplePlan
from spotball_adapters.runs.runner import Options, Runner, RunTally
from spotball_adapters.runs.store import Question, ReplyStore, peek
from spotball_core.errors import OptionError, SpotballError
from spotball_core.service.progress import OnProgress, counted, ignore_progress, progress_display, span
from spotball_core.service.safe_text import show
from spotball_core.service.sqlite_file import StoreError
from spotball_core.text.words import plural

_WINDOW = 60.0
"""Time window over which `ReplyRate` measures, in seconds."""


class ReplyRate:
    """Measure the number of replies per second over the last minute."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def at(self, now: float, done: int) -> float:
        """Return the replies per second, given that `done` replies are stored at time `now`, in seconds."""
        self._marks.append((now, done))
        while now - self._marks[0][0] > _WINDOW:
            self._marks.popleft()
        start, before = self._marks[0]
        return (done - before) / (now - start) if now > start else 0.0


def line(tally: RunTally, rate: float) -> str:
    """Return the progress of a run as one line.

    Examples:
        >>> from spotball_adapters.runs.runner import RunTally
        >>> line(RunTally(total=18000, done=1200, faults=1, input_tokens=90_000), 4)
        '1,200 of 18,000 replies, 4.0 per second, 90,000 tokens, 1 failed request, 1 h 10 min left'
    """
    parts = [
        f"{tally.done:,} of {tally.total:,} replies",
        f"{rate:.1f} per second",
        f"{plural(tally.tokens, 'token')}",
    ]
    parts.append(f"{tally.faults:,} failed request{'' if tally.faults == 1 else 's'}")
    if tally.refused:
        images = len({question[:2] for question in tally.refused})
        parts.append(f"{images:,} image{'' if images == 1 else 's'} refused")
    if rate and tally.done < tally.total:
        parts.append(f"{span((tally.total - tally.done) / rate)} left")
    return ", ".join(parts)


async def show_progress(tally: RunTally, *, quiet: bool) -> None:
    """Display the progress of a run until canceled."""
    on_terminal, rate, last_fault = sys.stderr.isatty(), ReplyRate(), ""

    def sentence() -> str:
        nonlocal last_fault
        text = line(tally, rate.at(time.monotonic(), tally.done))
        if on_terminal:
            return f"{text}\n{tally.last_fault}".rstrip()
        # Plain lines show a failure once. A progress bar keeps showing it.
        new = tally.last_fault != last_fault
        last_fault = tally.last_fault
        return f"{text}; last error: {last_fault}" if new else text

    rate.at(time.monotonic(), tally.done)
    with progress_display(sentence, quiet=quiet) as on_progress:
        while True:
            on_progress(tally.done, tally.total)
            await asyncio.sleep(0.25)


T = TypeVar("T")

PICTURES = "pictures"
"""Name of the run's subfolder for the images that are sent."""

INTERRUPTED = "interrupted"
"""Value of `RunResult.why` if the user interrupted the run."""

NO_MEMORY = "not enough memory to continue"
"""Value of `RunResult.why` if the run ran out of memory; `RunResult.error` begins with these words."""


@dataclass(frozen=True)
class RunResult(Generic[T]):
    """The result of starting or resuming a run.

    Attributes:
        why: why the run stopped early, or None if it finished.
        error: the error that stopped the run, or None.
        left: number of replies that are still missing.
        excluded: number of replies that are missing because the provider refuses the images; not counted in `left`.
        refused: the provider's message for each image and prompt that it refused, in this or an earlier session.
        output: the result of `make` for all stored replies.
    """

    tally: RunTally
    why: str | None
    error: BaseException | None
    left: int
    excluded: int
    refused: Mapping[Question, str]
    output: T


def launch(
    job: RunJob[ItemT],
    out: Path,
    options: Options,
    make: Callable[[ReplyStore], T],
    *,
    on_progress: OnProgress = ignore_progress,
    quiet: bool = False,
) -> RunResult[T]:
    """Request the missing replies, and return what `make` computes from all stored replies.

    After the first interrupt (Ctrl-C or SIGTERM), requests in progress may finish. A second interrupt cancels them.

    Args:
        out: the run's folder.
        make: called with the store after this session's last reply is stored.
        on_progress: called with the number of drawn images and their total.

    Raises:
        OptionError: if the folder contains other files but no run, if its run has different settings or images, or if
            another process uses it.
        PermanentError: if the provider cannot send requests, for example without a key. It is raised before anything is
            written.
        InputError: if an image is missing or invalid.
        StoreError: if the store cannot be read or written.
    """
    if isinstance(job.provider, Ready) and any(plan_of(job, out, options).chains(1)):
        job.provider.ready()
    with ReplyStore(out) as store:
        store.claim(job.identity())
        done = store.done()
        if not done or not (out / job.kept_file).exists():
            job.keep(out)
        pictures = job.pictures(out / PICTURES)
        digests = {}
        if pictures:
            # Draw all images before the first request, so that an image that cannot be drawn costs nothing.
            drawing = counted(job.items, len(job.items), on_progress)
            digests = {item.key: hashlib.sha256(pictures.of(item).data).hexdigest() for item in drawing}
            check_pictures(out, store.pictures(), digests)
        session = store.start_session(_options_of(job, options), _packages(job.provider))
        plan = job.plan(done, store.refused() if options.skip_refused else ())
        arguments = (job.provider, plan, pictures, digests, store, session, job.settings, options)
        runner = Runner(*arguments, tell=lambda line: None if quiet else show(line, err=True))
        asyncio.run(_asking(runner, job.provider, quiet=quiet))
        if isinstance(runner.error, StoreError):
            raise runner.error
        store.end_session(runner.why or "finished")
        return _ended(job, store, runner, options, make(store))


def plan_of(job: RunJob[ItemT], out: Path, options: Options) -> SamplePlan[ItemT]:
    """Return the remaining samples of a run, without locking the run."""
    done, refused = peek(out)
    return job.plan(done, refused if options.skip_refused else ())


def _ended(job: RunJob[ItemT], store: ReplyStore, runner: Runner[ItemT], options: Options, output: T) -> RunResult[T]:
    refused, tally = store.refused(), runner.tally
    missing: Counter[Question] = Counter()
    for ask in job.plan(store.done()).asks(1) if refused else ():
        sport, image = ask.item.key
        missing[sport, image, ask.prompt.name] += len(ask.samples)
    refused = {question: message for question, message in refused.items() if missing[question]}
    left, excluded = tally.total - tally.done, 0
    if options.skip_refused:
        # Samples that were refused in earlier sessions are not among this session's replies.
        left -= sum(missing[question] for question in refused if question in tally.refused)
        excluded = sum(missing[question] for question in refused)
    return RunResult(tally, runner.why, runner.error, left, excluded, refused, output)


async def _asking(runner: Runner[ItemT], provider: Provider, *, quiet: bool) -> None:
    def failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), MemoryError):
            loop.default_exception_handler(context)
            return
        # The error is in a callback, for example one that reads from a connection, so no waiting task would receive it.
        runner.stop(
            NO_MEMORY, SpotballError(f"{NO_MEMORY}. Lower --concurrency or --max-response-mb", code="out-of-memory")
        )
        runner.stop(NO_MEMORY)

    asyncio.get_running_loop().set_exception_handler(failed)
    showing = asyncio.create_task(show_progress(runner.tally, quiet=quiet))
    try:
        with _interrupts(runner):
            await runner.run()
    finally:
        showing.cancel()
        await asyncio.wait([showing])
        await provider.close()


@contextlib.contextmanager
def _interrupts(runner: Runner[ItemT]) -> Iterator[None]:
    """Stop the runner on Ctrl-C and SIGTERM."""
    loop = asyncio.get_running_loop()

    def stop(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(runner.stop, INTERRUPTED)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def check_pictures(out: Path, before: Mapping[tuple[str, str], set[str]], now: Mapping[tuple[str, str], str]) -> None:
    """Check that the images are those that were sent earlier in the run.

    Args:
        out: the run's folder.
        before: digests of the images that were sent, by image id.
        now: digest of the image to send, by image id.

    Raises:
        OptionError: if an image differs. The message names the images.
    """
    changed = ["/".join(key) for key, digest in now.items() if before.get(key, {digest}) != {digest}]
    if changed:
        listed = ", ".join(changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")
        raise OptionError(
            f"{out} contains replies about earlier versions of these images: {listed}. The image files have "
            "changed since that run. Use another folder",
            code="different-settings",
            field="--out",
        )


def _options_of(job: RunJob[ItemT], options: Options) -> dict[str, Any]:
    samples = {prompt.name: samples for prompt, samples in job.prompts}
    return {"images": len(job.items), "samples": samples, **asdict(options)}


def _packages(provider: Provider) -> dict[str, str]:
    from importlib.metadata import version

    return {"spotball-core": version("spotball-core"), **provider.versions()}
