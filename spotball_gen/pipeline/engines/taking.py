"""Convert the frames of a video to items: skip near duplicates, write images, and store all in the ledger.

An index over groups of bits (bands) of the perceptual hashes avoids comparing all pairs of frames.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.service.paths import output_name
from spotball_gen.items.frames import Mark, VideoFrame, digest
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.pictures import PictureFile, opencv
from spotball_gen.items.stage import Failure, Reject
from spotball_gen.pipeline.config import StageChoice
from spotball_gen.pipeline.engines.work import settings_digest
from spotball_gen.pipeline.ledger import FRAMES, Ledger, State, TakenFrame

_BITS = 256
_RECENT = 2048
"""Number of hashes that are compared one by one before they are sorted into the index."""
_MOST_BANDS = 17
"""Maximum number of bands. If more were needed, they would have too few bits, so all hashes are compared instead."""
_WIDEST = 32
"""Maximum number of bits of a band in the index. Of wider bands, only the first bits are used."""


@dataclass(frozen=True, slots=True)
class _Level:
    """A part of the index: some of the hashes, with the sorted keys of their bands.

    Attributes:
        keys: sorted keys, each composed of a band's number and the bits of that band of one hash.
        places: index of the hash of each key.
        size: number of hashes.
    """

    keys: NDArray[np.int64]
    places: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, keys: NDArray[np.int64], places: NDArray[np.int64], size: int) -> _Level:
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], places[order], size)

    def agreeing(self, keys: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return arrays with the indices of the hashes that have one of these keys."""
        first, last = (np.searchsorted(self.keys, keys, side=side) for side in ("left", "right"))
        return [self.places[start:end] for start, end in zip(first.tolist(), last.tolist(), strict=True) if end > start]


class Seen:
    """Index of the perceptual hashes of all previous frames, to find near duplicates.

    The bits of a hash are divided into `bits + 1` bands. Two hashes that differ in at most `bits` bits agree in at
    least one band, so only hashes that agree in a band are compared. The bands are stored in sorted arrays of doubling
    sizes, so looking up a band takes about log(n) binary searches.

    Args:
        bits: maximum number of bits in which near duplicates differ.
        known: ids and hashes of earlier frames.

    Source:
        Norouzi, Punjani, Fleet (2012). Fast search in Hamming space with multi-index hashing. CVPR.

    Examples:
        >>> seen = Seen(2, [("a", bytes(32))])
        >>> seen.near(bytes(31) + b"\\x03"), seen.near(bytes(31) + b"\\x07")
        (('a', 2), None)
    """

    def __init__(self, bits: int, known: Iterable[tuple[str, bytes]] = ()) -> None:
        self._cv2, self._bits = opencv(), bits
        self._names: list[str] = []
        self._hashes: NDArray[np.uint8] = np.empty((_RECENT, _BITS // 8), dtype=np.uint8)
        self._levels: list[_Level] = []
        self._sorted = 0
        self._weights = _band_weights(bits + 1) if bits < _MOST_BANDS else None
        for name, frame_hash in known:
            self.add(name, frame_hash)

    def add(self, name: str, frame_hash: bytes) -> None:
        """Add a frame's hash."""
        count = len(self._names)
        if count == len(self._hashes):
            self._hashes = np.concatenate([self._hashes, np.empty_like(self._hashes)])
        self._hashes[count] = np.frombuffer(frame_hash, dtype=np.uint8)
        self._names.append(name)
        if self._weights is not None and count + 1 - self._sorted == _RECENT:
            self._sort()

    def near(self, frame_hash: bytes) -> tuple[str, int] | None:
        """Return the frame whose hash differs in the fewest bits (the first if tied), and the number of these bits.

        Return None if all frames differ in more than `bits` bits.
        """
        query = np.frombuffer(frame_hash, dtype=np.uint8)[None]
        recent = np.arange(self._sorted, len(self._names))
        places = recent
        if self._levels:
            keys = self._keys(query)[0]
            agreeing = [part for level in self._levels for part in level.agreeing(keys)]
            places = np.concatenate([np.unique(np.concatenate(agreeing)), recent]) if agreeing else recent
        if not len(places):
            return None
        hashes = self._hashes[places] if len(places) > len(recent) else self._hashes[self._sorted : len(self._names)]
        distance, place = self._cv2.batchDistance(query, hashes, self._cv2.CV_32S, normType=self._cv2.NORM_HAMMING, K=1)
        bits = int(distance[0, 0])
        return (self._names[int(places[place[0, 0]])], bits) if bits <= self._bits else None

    def _sort(self) -> None:
        """Sort the recent hashes into the index, and merge levels of equal size."""
        new = np.arange(self._sorted, len(self._names))
        keys = self._keys(self._hashes[new[0] : new[-1] + 1])
        level = _Level.of(keys.ravel(), np.repeat(new, keys.shape[1]), len(new))
        while self._levels and self._levels[-1].size == level.size:
            before = self._levels.pop()
            both = np.concatenate([before.keys, level.keys]), np.concatenate([before.places, level.places])
            level = _Level.of(*both, before.size + level.size)
        self._levels.append(level)
        self._sorted = len(self._names)

    def _keys(self, hashes: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the key of each band of each hash, shape (n, bands)."""
        assert self._weights is not None
        bits = np.unpackbits(hashes, axis=1).astype(np.float64)
        # Sums of powers of two below 2**32 are exact.
        values = (bits @ self._weights).astype(np.int64)
        keys: NDArray[np.int64] = values + (np.arange(values.shape[1], dtype=np.int64) << _WIDEST)
        return keys


def _band_weights(bands: int) -> NDArray[np.float64]:
    """Return the matrix that maps the bits of a hash to the values of its bands, shape (256, bands)."""
    weights = np.zeros((_BITS, bands))
    for band, bits in enumerate(np.array_split(np.arange(_BITS), bands)):
        bits = bits[:_WIDEST]
        weights[bits, band] = 2.0 ** np.arange(len(bits))
    return weights


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
