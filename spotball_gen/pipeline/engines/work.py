"""Process a batch of items with a stage, for all engines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from spotball_core.errors import SpotballError
from spotball_gen.items.frames import FrameReader, Mark, VideoError, VideoFrame
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.stage import Failure, Outcome, Stage, said, spares_no_other
from spotball_gen.pipeline.config import GenerationPlan, StageChoice

T = TypeVar("T")

STORM = 25
"""Number of failures, as counted by `CircuitBreaker`, at which the run stops, because the stage is probably broken."""


class StageError(SpotballError):
    """Raised if a stage itself is broken. A failure that concerns only one item does not raise this error."""

    code = "stage-failed"


def process(stage: Stage, choice: StageChoice, items: Sequence[Item]) -> Outcome:
    """Return a stage's result for a batch. If the stage raises an error, the items are processed one by one.

    Raises:
        SpotballError, OSError, MemoryError: if the stage raises this error, and it would also affect the next item.
        StageError: if the stage does not return exactly one result per item.
    """
    try:
        outcome = stage.process(items)
    except Exception as error:
        if spares_no_other(error):
            raise
        if len(items) == 1:
            return Outcome(failures=(Failure(items[0].id, choice.stage, said(error)),))
        parts = [process(stage, choice, [item]) for item in items]
        return Outcome(
            tuple(item for part in parts for item in part.items),
            tuple(reject for part in parts for reject in part.rejects),
            tuple(failure for part in parts for failure in part.failures),
        )
    ids = [item.id for item in outcome.items]
    ids += [reject.item for reject in outcome.rejects]
    ids += [failure.item for failure in outcome.failures]
    if sorted(ids) != sorted(item.id for item in items):
        raise StageError(
            f"{choice.stage} {choice.kind!r} returned {len(ids)} results for {len(items)} items, expected one result "
            "per item. Correct the method `process` of this kind"
        )
    notes = {"kind": choice.kind, "version": choice.make.version, "settings": settings_digest(choice)}
    noted = tuple(item.noted(choice.stage, **notes) for item in outcome.items)
    return replace(outcome, items=noted)


def settings_digest(choice: StageChoice) -> str:
    """Return a short digest of a stage's settings, which distinguishes items made with different settings."""
    settings = json.dumps(choice.settings.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(settings.encode()).hexdigest()[:12]


class CircuitBreaker:
    """Count the items on which a stage fails, and stop the run if there are too many.

    The count starts again at zero with each batch in which the stage keeps or rejects at least one item.
    """

    def __init__(self, choice: StageChoice) -> None:
        self._choice, self._row = choice, 0

    def see(self, outcome: Outcome) -> None:
        """Add the failures in a batch to the count, after the batch is stored in the ledger.

        Raises:
            StageError: if the count is `STORM` or more.
        """
        if outcome.items or outcome.rejects:
            self._row = 0
        self._row += len(outcome.failures)
        if self._row >= STORM:
            raise StageError(
                f"{self._choice.stage} {self._choice.kind!r} failed on the last {self._row} items; the last error: "
                f"{outcome.failures[-1].error}\nFix the cause and run again with --retry-failed."
            )


def wants_gpu(stage: Stage, plan: GenerationPlan, number: int) -> bool:
    """Return whether a stage would use a GPU on a machine that has one. This machine may have none.

    Args:
        stage: the stage, created on this machine.
        plan: the plan.
        number: number of the stage in the plan.
    """
    # A stage that calls the detector again runs on the detector's device.
    choice = plan.stages[number]
    detects_again = getattr(choice.settings, "detect_again", False) or getattr(choice.make, "detects", False)
    with_it = [choice for choice in plan.stages if detects_again and choice.stage == "detect"]
    devices = [getattr(choice.settings, "device", "cpu") for choice in (plan.stages[number], *with_it)]
    return stage.device == "gpu" or any(device != "cpu" for device in devices)


def parts(sequence: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield consecutive slices of at most `size` elements.

    Examples:
        >>> list(parts("abcde", 2))
        ['ab', 'cd', 'e']
    """
    for start in range(0, len(sequence), size):
        yield sequence[start : start + size]


@dataclass(frozen=True, slots=True)
class End:
    """The end of a video's frames, with the problem if reading the video failed.

    Attributes:
        detail: problem with the video, or None if there was none.
        failed: whether no frame could be read.
    """

    detail: str | None = None
    failed: bool = False


def frames_left(reader: FrameReader, source: VideoSource, mark: Mark | None) -> Iterator[VideoFrame | End]:
    """Yield the frames after the position `mark` (None: all frames), and finally an `End`, which reports any problem.

    Raises:
        Exception: if reading fails with an error that would also affect the next video.
    """
    any_read = mark is not None
    try:
        for frame in reader.read(source, mark):
            any_read = True
            yield frame
    except VideoError as error:
        yield End(str(error), failed=not any_read)
    except Exception as error:
        if spares_no_other(error):
            raise
        yield End(said(error), failed=not any_read)
    else:
        yield End()
