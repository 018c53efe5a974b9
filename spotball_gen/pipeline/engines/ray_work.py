"""Functions that Ray's workers run: decode a video, or process items. Images are written to the run's work folder."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from spotball_core.errors import SpotballError
from spotball_gen.items.frames import FrameReader, Mark, VideoFrame, digest
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.stage import Outcome, Stage
from spotball_gen.pipeline.config import GenerationPlan, StageChoice
from spotball_gen.pipeline.engines.taking import frame_path
from spotball_gen.pipeline.engines.work import End, frames_left, parts, process

COLUMN = "packed"
"""Column of the tables that workers receive and return."""


@dataclass(frozen=True)
class RayJob:
    """The configuration and work folder of a run, which all workers need.

    Attributes:
        plan: the plan, whose folder is an absolute path.
        work: the work folder, at the same absolute path on all machines.
    """

    plan: GenerationPlan
    work: Path


@dataclass(frozen=True)
class VideoToDecode:
    """A video to read.

    Attributes:
        number: index among the videos to read.
        source: the video.
        mark: the position up to which the video was read before, or None.
    """

    number: int
    source: VideoSource
    mark: Mark | None


@dataclass(frozen=True)
class DecodedVideo:
    """A video that was read.

    Attributes:
        number: as in `VideoToDecode`.
        frames: the frames, whose images are in the work folder, and finally an `End`.
        error: an error that would also affect the next video, or None.
    """

    number: int
    frames: tuple[VideoFrame | End, ...]
    error: Exception | None = None


@dataclass(frozen=True)
class Passage:
    """An item with its results so far, which workers receive and return.

    Attributes:
        item: the item after the last stage that it passed.
        at: number of the next stage.
        outcomes: name and result of each stage that workers have run on the item.
        error: an error that would also affect the next item, or None.
    """

    item: Item
    at: int
    outcomes: tuple[tuple[str, Outcome], ...] = ()
    error: Exception | None = None

    @property
    def going(self) -> bool:
        """Return whether the item continues to the next stage."""
        return self.error is None and (not self.outcomes or bool(self.outcomes[-1][1].items))

    def after(self, stage: str, outcome: Outcome) -> Passage:
        """Return a copy of this object with the result of one more stage."""
        item = outcome.items[0] if outcome.items else self.item
        return replace(self, item=item, at=self.at + 1, outcomes=(*self.outcomes, (stage, outcome)))


def read_video(row: dict[str, Any], job: bytes) -> dict[str, Any]:
    """Read the video in a row of a table, write the images of its frames, and return a row with the `DecodedVideo`."""
    reading: VideoToDecode = pickle.loads(row[COLUMN])
    entries: list[VideoFrame | End] = []
    try:
        at, reader = _reader(job)
        for entry in frames_left(reader, reading.source, reading.mark):
            frame = _written(entry, reading.source, at.work) if isinstance(entry, VideoFrame) else entry
            entries.append(frame)
    except Exception as error:
        return {COLUMN: pickle.dumps(DecodedVideo(reading.number, (), portable(error)))}
    return {COLUMN: pickle.dumps(DecodedVideo(reading.number, tuple(entries)))}


def _written(frame: VideoFrame, source: VideoSource, work: Path) -> VideoFrame:
    """Write a frame's image to a file, and return the frame without pixels."""
    image = frame.image
    if image is None:
        return frame
    PictureFile.write(frame_path(work, source, frame.ms), image, packed=False)
    return replace(frame, picture=None, digest=frame.digest or digest(image))


@cache
def _reader(job: bytes) -> tuple[RayJob, FrameReader]:
    """Return the job and the frame reader that this process uses for all videos."""
    ray_job: RayJob = pickle.loads(job)
    choice = ray_job.plan.frames
    return ray_job, choice.make(choice.settings, ray_job.plan.context(ray_job.work))


class Stretch:
    """Run consecutive stages in one process. Ray calls an instance with tables of passages.

    Args:
        job: a pickled `RayJob`.
        numbers: numbers of these stages in the plan.
    """

    def __init__(self, job: bytes, numbers: Sequence[int]) -> None:
        self._job, self._numbers = job, numbers

    @cached_property
    def _stages(self) -> list[tuple[int, StageChoice, Stage]]:
        job: RayJob = pickle.loads(self._job)
        context = job.plan.context(job.work)
        choices = [(number, job.plan.stages[number]) for number in self._numbers]
        return [(number, choice, choice.make(choice.settings, context)) for number, choice in choices]

    def __call__(self, table: Any) -> Any:
        """Run the stages on the items in a table of packed `Passage` objects, and return a table with their results."""
        passages = [pickle.loads(packed) for packed in table[COLUMN].to_pylist()]
        return packed_table(self.passed(passages))

    def passed(self, passages: Sequence[Passage]) -> list[Passage]:
        """Run the stages on the items of the given passages, and return the passages with the results added."""
        passages = list(passages)
        try:
            for number, choice, stage in self._stages:
                coming = [place for place, passage in enumerate(passages) if passage.going and passage.at == number]
                for places in parts(coming, stage.batch_size):
                    outcome = process(stage, choice, [passages[place].item for place in places])
                    by_item = _by_item(outcome)
                    for place in places:
                        passages[place] = passages[place].after(choice.stage, by_item[passages[place].item.id])
        except Exception as error:
            return [replace(passage, error=passage.error or portable(error)) for passage in passages]
        return passages


@cache
def stretch(job: bytes, numbers: tuple[int, ...]) -> Stretch:
    """Return an object that runs these stages. Each process caches it, so that models are loaded once."""
    return Stretch(job, numbers)


def through(table: Any, job: bytes, numbers: tuple[int, ...]) -> Any:
    """Run stages on a table of packed `Passage` objects without a Ray actor, and return the resulting table."""
    return stretch(job, numbers)(table)


def packed_table(passages: Sequence[Passage]) -> Any:
    """Return an Arrow table with the given passages, pickled."""
    import pyarrow

    return pyarrow.table(
        {COLUMN: pyarrow.array([pickle.dumps(passage) for passage in passages], pyarrow.large_binary())}
    )


def portable(error: Exception) -> Exception:
    """Return an error that can be pickled: the same error, or one with the same message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return SpotballError(str(error), code="worker-failed")
    return error


def _by_item(outcome: Outcome) -> dict[str, Outcome]:
    return {
        **{item.id: Outcome(items=(item,)) for item in outcome.items},
        **{reject.item: Outcome(rejects=(reject,)) for reject in outcome.rejects},
        **{failure.item: Outcome(failures=(failure,)) for failure in outcome.failures},
    }
