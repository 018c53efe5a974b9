"""A run from its settings to its responses: what is asked of whom, and what `spotball run` does with it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from spotball_adapters.picture import Pictures
from spotball_adapters.plan import Plan
from spotball_adapters.progress import watch
from spotball_adapters.prompts import Prompt
from spotball_adapters.providers.protocol import Provider, Settings
from spotball_adapters.responses import PROMPT, Reading, read_replies, write_reading
from spotball_adapters.runner import Options, Runner, Tally
from spotball_adapters.store import SCENES, Store, StoreError
from spotball_core.errors import OptionError
from spotball_core.io.scenes import write_scenes
from spotball_core.overlay import layout
from spotball_core.schema.scene import Scene

BASELINE = "baseline"
"""The provider whose respondents are baselines: they answer from the scenes, and are shown no picture."""

PICTURES = "pictures"
"""The folder of a run that keeps the pictures as they were shown."""

INTERRUPTED = "interrupted"
"""Why a run ended that was told to."""


@dataclass(frozen=True)
class Job:
    """Who is asked what.

    Attributes:
        dataset: the folder.
        scenes: all of the dataset's.
        asked: those that are asked about, in order.
        prompts: each with the number of its samples.
        base_url: where the provider's server is; None for the provider's own.
        respondent: the name that the responses bear.

    Raises:
        OptionError: for prompts or samples that make no plan.
    """

    dataset: Path
    scenes: tuple[Scene, ...]
    asked: tuple[Scene, ...]
    prompts: tuple[tuple[Prompt, int], ...]
    provider: Provider
    base_url: str | None
    settings: Settings
    respondent: str

    def __post_init__(self) -> None:
        self.plan({})

    @property
    def kind(self) -> str:
        """The kind of respondent."""
        return "model" if self.looks else "baseline"

    def plan(self, done: Mapping[tuple[str, str, str, int], int]) -> Plan:
        """What is left to ask, given what is stored."""
        return Plan(self.asked, self.prompts, done)

    @property
    def looks(self) -> bool:
        """Whether the provider is shown pictures."""
        return self.provider.name != BASELINE

    def pictures(self, cache: Path | None) -> Pictures | None:
        """The images with their grids; None where nobody looks at them."""
        return Pictures(self.dataset, cache) if self.looks else None

    def image_tokens(self, scene: Scene) -> int | None:
        """What showing a scene's picture costs; None where no rule is known."""
        return self.provider.image_tokens(*layout(scene.layout).size)

    def identity(self) -> dict[str, Any]:
        """What makes answers belong together: under another one of these, a run does not go on."""
        scenes = sorted(scene.model_dump_json() for scene in self.scenes)
        prompts = {
            f"{PROMPT}{prompt.name}": {
                "version": prompt.version,
                "digest": prompt.digest,
                "questions": len(prompt.questions),
            }
            for prompt, _ in self.prompts
        }
        return {
            "provider": self.provider.name,
            "model": self.provider.model,
            "base_url": without_secrets(self.base_url),
            "respondent": self.respondent,
            "kind": self.kind,
            **asdict(self.settings),
            "scenes": hashlib.sha256("\n".join(scenes).encode()).hexdigest(),
            **prompts,
        }


@dataclass(frozen=True)
class Ended:
    """How a start of a run ended.

    Attributes:
        why: it stopped before the end; None if it did not.
        error: what stopped it, if an error did.
        reading: of all replies that are stored.
        path: the file of responses; None where there are no replies.
    """

    tally: Tally
    why: str | None
    error: BaseException | None
    reading: Reading
    path: Path | None


Progress = Callable[[Iterable[Scene]], Iterable[Scene]]


def launch(
    job: Job, out: Path, options: Options, *, format: str = "jsonl", progress: Progress = iter, quiet: bool = False
) -> Ended:
    """Ask what is missing, and write the responses to all that is stored.

    The first interrupt (Ctrl-C, or a request to terminate) lets what is under way be answered, the second does not.

    Args:
        out: the run's folder.
        progress: wraps the images while their pictures are drawn.

    Raises:
        OptionError: if the folder holds something else or answers given under other settings, or another process has
            it.
        InputError: if an image cannot be used.
        StoreError: if the store cannot be read or written.
    """
    with Store(out) as store:
        store.claim(job.identity())
        done = store.done()
        if not done or not (out / SCENES).exists():
            write_scenes(job.scenes, out / SCENES)
        pictures = job.pictures(out / PICTURES)
        digests = {}
        if pictures:
            # All of them before the first request: what cannot be drawn should cost nothing.
            digests = {s.key: hashlib.sha256(pictures.of(s).data).hexdigest() for s in progress(job.asked)}
            check_pictures(out, store.pictures(), digests)
        session = store.start_session(_options_of(job, options), _packages(job.provider))
        runner = Runner(job.provider, job.plan(done), pictures, digests, store, session, job.settings, options)
        asyncio.run(_asking(runner, job.provider, quiet=quiet))
        if isinstance(runner.error, StoreError):
            raise runner.error
        store.end_session(session, runner.why or "finished")
        return Ended(runner.tally, runner.why, runner.error, *export(store, job.scenes, out, format))


def export(store: Store, scenes: Iterable[Scene], out: Path, format: str) -> tuple[Reading, Path | None]:
    """Read all stored replies, and write the responses if there are any."""
    reading = read_replies(store, tuple(scenes))
    return reading, write_reading(reading, out, format) if len(reading.rows) else None


def without_secrets(url: str | None) -> str | None:
    """An address without what may be secret in it.

    Examples:
        >>> without_secrets("https://me:key@host:8000/v1?key=abc#d")
        'https://host:8000/v1'
    """
    if url is None:
        return None
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


async def _asking(runner: Runner, provider: Provider, *, quiet: bool) -> None:
    watching = asyncio.create_task(watch(runner.tally, quiet=quiet))
    try:
        with _interrupts(runner):
            await runner.run()
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        await provider.close()


@contextlib.contextmanager
def _interrupts(runner: Runner) -> Iterator[None]:
    """Ctrl-C and requests to terminate stop the runner."""
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


def check_pictures(out: Path, shown: Mapping[tuple[str, str], set[str]], now: Mapping[tuple[str, str], str]) -> None:
    """See that the pictures are those that a run's answers were given to.

    Args:
        out: the run's folder.
        shown: digests of the pictures that were shown, by image.
        now: digest of the picture that is to be shown, by image.

    Raises:
        OptionError: naming images with another one.
    """
    other = ["/".join(key) for key, digest in now.items() if shown.get(key, {digest}) != {digest}]
    if other:
        listed = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")
        raise OptionError(
            f"{out} holds answers to other pictures of {listed}: the images have changed since, or the way their grid "
            "is drawn. Take another folder with --out."
        )


def _options_of(job: Job, options: Options) -> dict[str, Any]:
    samples = {prompt.name: samples for prompt, samples in job.prompts}
    return {"images": len(job.asked), "samples": samples, **asdict(options)}


def _packages(provider: Provider) -> dict[str, str]:
    from importlib.metadata import version

    return {"spotball-core": version("spotball-core"), **provider.versions()}
