"""Generate a dataset from a configuration, as `spotball gen run` does."""

from __future__ import annotations

import platform
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from spotball_core.counting.engines import EngineName, check_engine
from spotball_core.counting.engines.ray_cluster import require
from spotball_core.service.files import remove_leftovers
from spotball_core.service.json_file import parse_json
from spotball_core.service.progress import OnProgress, ignore_progress, progress_display
from spotball_core.service.sqlite_file import StoreError
from spotball_core.text.words import plural
from spotball_gen.dataset.finish import CARD
from spotball_gen.dataset.output import Written, write_dataset
from spotball_gen.demo.video import write_demo_config
from spotball_gen.items.stage import Failure, said
from spotball_gen.pipeline.config import GenerationPlan, read_config
from spotball_gen.pipeline.engines.local import LocalEngine
from spotball_gen.pipeline.engines.ray_data import GenerationRayEngine
from spotball_gen.pipeline.ledger import FRAMES, Ledger
from spotball_gen.quality.leak_result import verdict
from spotball_gen.review.apply import apply_review, put_back, send_back
from spotball_gen.review.store import Key
from spotball_gen.video.sources import settle_videos

if TYPE_CHECKING:
    from spotball_gen.pipeline.engines.taking import GenerationTally


def line(tally: GenerationTally, stages: Sequence[str]) -> str:
    """Return the progress as one line, with the number of items that each stage kept.

    Examples:
        >>> from collections import Counter
        >>> from spotball_gen.pipeline.engines.taking import GenerationTally
        >>> tally = GenerationTally(3, 1, Counter(frames=40, filter=38), Counter(frames=39, filter=30), failed=1)
        >>> line(tally, ["filter", "detect"])
        '1 of 3 videos, 39 of 40 frames, filter 30 of 38, detect 0 of 0, 1 failed'
    """
    parts = [f"{tally.videos_done:,} of {tally.videos:,} videos"]
    parts.append(f"{tally.kept[FRAMES]:,} of {tally.seen[FRAMES]:,} frames")
    parts += [f"{stage} {tally.kept[stage]:,} of {tally.seen[stage]:,}" for stage in stages]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    return ", ".join(parts)


@contextmanager
def show_progress(tally: GenerationTally, stages: Sequence[str], *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Yield a callback that displays the progress. Call it often."""
    with progress_display(lambda: line(tally, stages), quiet=quiet) as on_progress:
        yield lambda: on_progress(tally.videos_done, tally.videos)


DEMO = "demo"
"""Subfolder of the work folder that contains the synthetic videos of the demo."""

INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class GenerationResult:
    """The result of a generation that was started or resumed.

    Attributes:
        written: summary of the written dataset.
        failures: videos, frames and items that failed, including those of earlier sessions of the same run.
        verdict: verdict of the leak test, as a sentence; empty if the dataset has no items.
    """

    written: Written
    failures: tuple[Failure, ...]
    verdict: str = ""


def generate(
    config: Path | None,
    out: Path,
    *,
    retry_failed: bool = False,
    repaint: bool = False,
    tell: Callable[[str], None] = lambda line: None,
    on_progress: OnProgress = ignore_progress,
    quiet: bool = True,
    engine: EngineName = "local",
    ray_address: str | None = None,
    debug: bool = False,
) -> GenerationResult:
    """Generate a dataset, or resume an interrupted generation.

    After an interrupt (Ctrl-C or SIGTERM), the work in progress is stored before the function ends.

    Args:
        config: the configuration file, or None for the demo with synthetic matches.
        out: the dataset's folder.
        retry_failed: whether to retry the stages at which items failed.
        repaint: whether to inpaint again the images that reviewers marked for this. They are then reviewed again.
        tell: called with each message for the user.
        on_progress: called with the number of videos read and their total.
        quiet: whether to hide the progress.
        engine: `local` runs the stages in this process, `ray` runs them on Ray Data. The results are the same.
        ray_address: address of a running Ray cluster; None starts a local cluster, which ends with the run.
        debug: whether to show Ray's log.

    Raises:
        InputError: if the configuration is invalid, or if a video is missing or has changed since the start of the run.
        OptionError: if `out` contains other files or was created with another configuration, if another process uses
            it, or if `ray_address` is given without the engine `ray`.
        MissingExtraError: if a required package, such as Ray, is not installed.
        KeyboardInterrupt: if the run is interrupted with Ctrl-C or SIGTERM.
    """
    check_engine(engine, ray_address)
    if engine == "ray":
        require("generating items with Ray")
        # Workers have other working directories.
        out = out.absolute()
    plan = read_config(config) if config else None
    with _terminated_as_interrupted(), Ledger(out) as ledger:
        if plan is None:
            tell("This dataset is synthetic: it shows simulated matches of three sports.")
            plan = read_config(write_demo_config(ledger.work / DEMO))
        ledger.claim(plan.identity())
        if ledger.killed:
            remove_leftovers(ledger.work)
            remove_leftovers(out, below=False)
        settle_videos(plan, ledger, tell, on_progress)
        packages = _packages(plan)
        ledger.start_session(engine, packages)
        if retry_failed:
            tell(f"Retrying {plural(ledger.forget_failures(), 'failed item')}.")
        to_repaint: tuple[Key, ...] = ()
        if repaint:
            to_repaint, sent = send_back(ledger)
            tell(f"Inpainting {plural(sent, 'image')} again.")
        review = _review(out)
        try:
            if ledger.unfinished:
                on_ray = partial(GenerationRayEngine, address=ray_address, debug=debug)
                runner = (on_ray if engine == "ray" else LocalEngine)(plan, ledger)
                stages = [choice.stage for choice in plan.stages]
                with show_progress(runner.tally, stages, quiet=quiet) as on_count:
                    runner.run(on_count)
            written = write_dataset(ledger, plan, packages)
            if to_repaint:
                put_back(ledger, to_repaint)
        except KeyboardInterrupt:
            ledger.end_session(INTERRUPTED)
            raise
        except Exception as error:
            with suppress(StoreError):  # The store itself may be damaged.
                ledger.end_session(said(error))
            raise
        ledger.end_session("finished")
        ended = GenerationResult(written, ledger.failures(), _verdict(out) if written.chosen else "")
    if written.fresh and review is not None:
        apply_review(out, only_accepted=bool(review.get("only_accepted")))
        tell("The review was applied again: the images it excluded stay excluded.")
    return ended


def _review(dataset: Path) -> dict[str, Any] | None:
    """Return the review in the dataset's card, or None if no review was applied."""
    card = dataset / CARD
    return parse_json(card.read_text(encoding="utf-8")).get("review") if card.is_file() else None


def _verdict(dataset: Path) -> str:
    """Return the verdict of the leak test in the dataset's card."""
    return verdict(parse_json((dataset / CARD).read_text(encoding="utf-8"))["leak_test"])


def _packages(plan: GenerationPlan) -> dict[str, str]:
    """Return the versions of Python and of the installed packages that the results depend on."""
    versions = {"python": platform.python_version()}
    packages = {name for choice in (plan.frames, *plan.stages) for name in choice.make.packages}
    for name in sorted({"spotball-core", *packages}):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue  # A stage may use one of several packages.
    return versions


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
