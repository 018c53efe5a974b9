"""Convert the frames of a video to items: skip near duplicates, write images, and store all in the ledger."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from spotball_core.service.paths import output_name
from spotball_gen.items.duplicates import Seen
from spotball_gen.items.frames import Mark, VideoFrame, digest
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.stage import Failure, Reject
from spotball_gen.pipeline.config import StageChoice
from spotball_gen.pipeline.engines.work import settings_digest
from spotball_gen.pipeline.ledger import FRAMES, Ledger, State, TakenFrame

DUPLICATE = "near duplicate"

_WRITERS = 4
"""Number of images that are converted and written in parallel."""


def item_id(source: VideoSource, ms: int) -> str:
    """Return the id of the item made from a video's frame at the time stamp `ms`, in milliseconds.

    If the ids of a video's items are sorted, the items are in the order of their time stamps.
    """
    return f"{source.video}-{ms:09d}"


def frame_path(work: Path, source: VideoSource, ms: int) -> Path:
    """Return the path of the image file for a video's frame at the time stamp `ms`, in milliseconds."""
    # The format of the file changes from PPM to PNG when the item is selected.
    return work / output_name(FRAMES, source.video, item_id(source, ms), ending=".image")


class Taker:
    """Convert frames to items in a fixed order of videos and frames, also if the run is interrupted and resumed."""

    def __init__(self, ledger: Ledger, choice: StageChoice) -> None:
        self._ledger, self._choice = ledger, choice
        bits = choice.settings.model_dump().get("duplicate_bits", -1)
        self._seen = Seen(bits, ledger.digests()) if bits >= 0 else None
        self._writers = ThreadPoolExecutor(max_workers=_WRITERS)
        self._notes = {"kind": choice.kind, "version": choice.make.version, "settings": settings_digest(choice)}

    def mark(self, source: VideoSource) -> Mark | None:
        """Return the position up to which a video was read, or None if no frame was read."""
        last = self._ledger.last(source.video)
        return last and Mark(*last)

    def take(self, source: VideoSource, frames: Sequence[VideoFrame]) -> tuple[Item, ...]:
        """Write the images of frames, store the frames in the ledger, and return those that become items."""
        usable = [frame for frame in frames if not frame.error]
        failures = [Failure(item_id(source, frame.ms), FRAMES, frame.error) for frame in frames if frame.error]
        taken_frames = [self._judged(source, frame) for frame in usable]
        # Images of near duplicates are not kept, so they are not converted.
        kept = [place for place, frame in enumerate(taken_frames) if not frame.reject]
        pictures = self._writers.map(lambda place: _saved(taken_frames[place].item.frame, usable[place]), kept)
        for place, picture in zip(kept, pictures, strict=True):
            taken = taken_frames[place]
            taken_frames[place] = replace(taken, item=replace(taken.item, frame=picture))
        drop_pictures(frame.item for frame in taken_frames if frame.reject)
        self._ledger.take(source.video, taken_frames, failures)
        return tuple(frame.item for frame in taken_frames if not frame.reject)

    def _judged(self, source: VideoSource, frame: VideoFrame) -> TakenFrame:
        name, frame_hash = item_id(source, frame.ms), frame.digest
        if frame_hash is None:
            image = frame.image
            assert image is not None
            frame_hash = digest(image)
        near = self._seen.near(frame_hash) if self._seen else None
        if self._seen and near is None:
            self._seen.add(name, frame_hash)
        picture = PictureFile(frame_path(self._ledger.work, source, frame.ms))
        place = {"number": frame.number, "size": list(frame.size), "window": list(frame.window)}
        item = Item(name, source, frame.ms / 1000, frame.shot, picture, notes={FRAMES: {**self._notes, **place}})
        reject = near and Reject(name, FRAMES, DUPLICATE, f"{near[1]} bits from {near[0]}", {"bits": float(near[1])})
        return TakenFrame(item, frame.number, frame_hash, reject or None)


def _saved(picture: PictureFile, frame: VideoFrame) -> PictureFile:
    """Write a frame's image to the file of `picture`, and return the written picture.

    If the frame contains no image, the reader or a worker has already written the file, and `picture` is returned.
    """
    image = frame.image
    # Most frames are rejected later, so images are compressed only when the dataset is written.
    return picture if image is None else PictureFile.write(picture.path, image, packed=False)


def drop_pictures(items: Iterable[Item]) -> None:
    """Delete the images of items that do not continue."""
    for item in items:
        for picture in (item.frame, item.mask, item.painted):
            if picture is not None:
                picture.path.unlink(missing_ok=True)


class GenerationTally:
    """Count the videos and, by stage, the items of a run. Several threads may update the counts.

    Args:
        videos: number of videos.
        videos_done: number of finished videos.
        seen: number of items that each stage has decided on.
        kept: number of items that each stage has kept.
        failed: number of items and frames that failed, at any stage.
    """

    def __init__(self, videos: int, videos_done: int, seen: Counter[str], kept: Counter[str], failed: int = 0) -> None:
        self.videos, self.videos_done = videos, videos_done
        self.seen, self.kept, self.failed = seen, kept, failed
        self._turn = threading.Lock()

    @classmethod
    def of(cls, ledger: Ledger, stages: Sequence[str]) -> GenerationTally:
        """Return the counts of the videos and items that a ledger currently contains, for the named stages."""
        videos = ledger.videos()
        steps = ledger.funnel([FRAMES, *stages])
        return cls(
            len(videos),
            sum(video.state != "waiting" for video in videos),
            Counter({step.stage: step.entered for step in steps}),
            Counter({step.stage: step.kept for step in steps}),
            sum(step.failed for step in steps),
        )

    def count(self, stage: str, seen: int, kept: int, failed: int) -> None:
        """Add to a stage's counts."""
        with self._turn:
            self.seen[stage] += seen
            self.kept[stage] += kept
            self.failed += failed


def settle(
    ledger: Ledger, stage: Any, choice: StageChoice, after: State, tally: GenerationTally, *, keep_pictures: bool
) -> list[str]:
    """Let a stage decide on all items that wait for its decision, and return the ids of the items that continue.

    Args:
        after: the new state of the items that continue.
        keep_pictures: whether to keep the images of rejected items.
    """
    held = ledger.held(choice.stage)
    if not held:
        return []
    items = {name: ledger.item(name) for name in held}
    rejects = stage.settle(held, {name: item.sport for name, item in items.items()})
    ledger.settle(choice.stage, rejects, after)
    rejected = {reject.item for reject in rejects}
    if not keep_pictures:
        drop_pictures(items[name] for name in rejected)
    tally.count(choice.stage, 0, -len(rejects), 0)
    return [name for name in held if name not in rejected]
