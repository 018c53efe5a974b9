"""A generation from its configuration to its dataset: what `spotball gen run` does."""

from __future__ import annotations

import platform
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any

from spotball_core.counting.engines import EngineName, check_engine
from spotball_core.counting.engines.ray_cluster import require
from spotball_core.service.files import remove_leftovers
from spotball_core.service.json_file import parse_json
from spotball_core.service.progress import OnProgress, ignore_progress
from spotball_core.service.sqlite_file import StoreError
from spotball_gen.dataset.finish import CARD
from spotball_gen.dataset.output import Written, write_dataset
from spotball_gen.demo.config import write_demo_config
from spotball_gen.items.stage import Failure, said
from spotball_gen.pipeline.config import GenerationPlan, read_config
from spotball_gen.pipeline.engines.local import LocalEngine
from spotball_gen.pipeline.engines.ray_data import GenerationRayEngine
from spotball_gen.pipeline.ledger import Ledger
from spotball_gen.pipeline.progress import show_progress
from spotball_gen.quality.leak import verdict
from spotball_gen.review.apply import apply_review
from spotball_gen.review.repaint import put_back, send_back
from spotball_gen.review.store import Key
from spotball_gen.video.sources import settle_videos

DEMO = "demo"
"""The folder, in the work folder, that the synthetic match is written to."""

INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class GenerationResult:
    """How a start of a generation ended.

    Attributes:
        written: the dataset.
        failures: of all starts.
        verdict: of the leak test, in a sentence; empty without items.
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
    """Make a dataset, or go on with one that was begun.

    On an interrupt (Ctrl-C, or a request to terminate), what is under way is noted before it ends.

    Args:
        config: the configuration; None for the demo's, with a synthetic match.
        out: the dataset's folder.
        retry_failed: whether items that failed before try their stage again.
        repaint: whether what reviewers marked is painted over, too; these images are then put back to review.
        tell: called with what the user should know.
        on_progress: called with how many videos are read, and of how many.
        quiet: whether nothing is shown while items are made.
        engine: `local` runs the stages in this process, `ray` on Ray Data. What they make is the same.
        ray_address: of a Ray cluster that is there already; without it one is started here, and ended.
        debug: lets Ray say what it does.

    Raises:
        InputError: for a configuration or videos that cannot be used.
        OptionError: if the folder holds something else or was begun under another configuration, or another process
            has it; or for an address without Ray.
        MissingExtraError: without Ray.
        KeyboardInterrupt: when interrupted.
    """
    check_engine(engine, ray_address)
    if engine == "ray":
        require("making items on Ray")
        # Workers have folders of their own.
        out = out.absolute()
    plan = read_config(config) if config else None
    with _terminated_as_interrupted(), Ledger(out) as ledger:
        if plan is None:
            tell("This dataset is synthetic: it shows drawn matches of three sports.")
            plan = read_config(write_demo_config(ledger.work / DEMO))
        ledger.claim(plan.identity())
        if ledger.killed:
            remove_leftovers(ledger.work)
            remove_leftovers(out, below=False)
        settle_videos(plan, ledger, tell, on_progress)
        packages = _packages(plan)
        ledger.start_session(engine, packages)
        if retry_failed:
            tell(f"{ledger.forget_failures():,} failed items are retried")
        to_repaint: tuple[Key, ...] = ()
        if repaint:
            to_repaint, sent = send_back(ledger)
            tell(f"{sent:,} images are inpainted again")
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
            with suppress(StoreError):  # It may be what is broken.
                ledger.end_session(said(error))
            raise
        ledger.end_session("finished")
        ended = GenerationResult(written, ledger.failures(), _verdict(out) if written.chosen else "")
    if written.fresh and review is not None:
        apply_review(out, only_accepted=bool(review.get("only_accepted")))
        tell("The review was applied again: the images it excluded stay excluded.")
    return ended


def _review(dataset: Path) -> dict[str, Any] | None:
    """What the dataset's card says of the review that took effect in it, if one did."""
    card = dataset / CARD
    return parse_json(card.read_text(encoding="utf-8")).get("review") if card.is_file() else None


def _verdict(dataset: Path) -> str:
    """The verdict of the leak test that the dataset's card reports."""
    return verdict(parse_json((dataset / CARD).read_text(encoding="utf-8"))["leak_test"])


def _packages(plan: GenerationPlan) -> dict[str, str]:
    """Versions of what results depend on, as far as it is installed."""
    versions = {"python": platform.python_version()}
    packages = {name for choice in (plan.frames, *plan.stages) for name in choice.make.packages}
    for name in sorted({"spotball-core", *packages}):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue  # One of several that a stage may use.
    return versions


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Requests to terminate do what Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
