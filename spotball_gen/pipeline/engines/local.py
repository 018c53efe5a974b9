"""Run the stages on one machine, with parallel threads for decoding, for writing frames and for each stage.

Decoding, OpenCV and models release the interpreter lock while they compute. Items pass each stage in order, and each
result is stored in the ledger before the item continues.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from typing import Any, Generic, TypeVar

from spotball_gen.items.frames import FrameReader, VideoFrame
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.stage import Reject, Stage
from spotball_gen.pipeline.config import GenerationPlan
from spotball_gen.pipeline.engines.taking import GenerationTally, Taker, drop_pictures, settle
from spotball_gen.pipeline.engines.work import CircuitBreaker, End, frames_left, parts, process
from spotball_gen.pipeline.ledger import FRAMES, Ledger, State

T = TypeVar("T")


class Stopped(Exception):
    """Raised by a channel in the threads that wait for it, if the engine stops before all items are processed."""


class Channel(Generic[T]):
    """A queue between threads, from which a single thread takes batches.

    Args:
        room: maximum number of items. A thread that would add more items waits.
        stop: once this event is set, threads that wait for items or add them raise `Stopped`.
        patience: maximum time in seconds that an incomplete batch waits for more items.
    """

    def __init__(self, room: int, stop: threading.Event, *, patience: float = 0.5) -> None:
        self._room, self._stop, self._patience = room, stop, patience
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        # Number of items for which the reading thread waits. Waking it for fewer costs more than many items do.
        self._wanted = 1

    def put(self, item: T) -> None:
        """Add an item, and wait for room if necessary."""
        with self._changed:
            self._until(lambda: len(self._waiting) < self._room, None)
            self._waiting.append(item)
            if len(self._waiting) >= self._wanted:
                self._changed.notify_all()

    def close(self) -> None:
        """State that no more items will be added, so that `batches` ends after the remaining items."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake waiting threads, so that they notice that the engine is stopping."""
        with self._changed:
            self._changed.notify_all()

    def batches(self, size: int) -> Iterator[list[T]]:
        """Yield all items in the order in which they were added, in batches of `size` items.

        A batch has fewer items if no more items arrive within the channel's `patience`, or if no more will be added.
        """
        while True:
            with self._changed:
                self._await_items(1, None)
                self._await_items(min(size, self._room), self._patience)
                batch = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
                self._changed.notify_all()
            if not batch:
                return
            yield batch

    def _await_items(self, wanted: int, patience: float | None) -> None:
        """Wait for this number of items or the end of the channel; see `_until`."""
        self._wanted = wanted
        self._until(lambda: len(self._waiting) >= wanted or self._closed, patience)

    def _until(self, ready: Callable[[], bool], patience: float | None) -> None:
        """Wait until a condition holds, at most `patience` seconds, or without limit if it is None.

        The caller must hold the lock.

        Raises:
            Stopped: if the engine stops.
        """
        end = None if patience is None else time.monotonic() + patience
        while not self._stop.is_set() and not ready():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            self._changed.wait(left)
        if self._stop.is_set():
            raise Stopped


_FRAMES_AHEAD, _TOGETHER = 32, 16
"""Maximum number of frames that wait to be written, and number of frames per transaction."""


class LocalEngine:
    """Process the remaining videos and items of a run on one machine.

    Args:
        plan: the configuration.
        ledger: the dataset's ledger, which already contains the videos.
    """

    name = "local"

    def __init__(self, plan: GenerationPlan, ledger: Ledger) -> None:
        self._plan, self._ledger = plan, ledger
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._gpu = threading.Lock()
        self._channels: list[Channel[Any]] = []
        self.tally = GenerationTally.of(ledger, [choice.stage for choice in plan.stages])

    def run(self, on_progress: Callable[[], None]) -> None:
        """Process all remaining videos and items.

        If the run is interrupted, store the batches in progress and raise the exception again.

        Args:
            on_progress: called often while the counts in `tally` change.

        Raises:
            SpotballError, OSError, MemoryError: if a stage or the ledger cannot continue.
        """
        context = self._plan.context(self._ledger.work)
        reader: FrameReader = self._plan.frames.make(self._plan.frames.settings, context)
        stages = [choice.make(choice.settings, context) for choice in self._plan.stages]
        frames: Channel[tuple[VideoSource, VideoFrame | End]] = Channel(_FRAMES_AHEAD, self._stop)
        ways: list[Channel[Item]] = [Channel(2 * stage.batch_size, self._stop) for stage in stages]
        self._channels = [frames, *ways]
        taker = Taker(self._ledger, self._plan.frames)
        before = [FRAMES, *(choice.stage for choice in self._plan.stages)]
        # Read these before the threads start, so that items from the previous stage are not counted twice.
        left = [self._ledger.ids("going", stage) for stage in before[:-1]]
        threads = [
            self._thread("decode", lambda: self._decode(reader, taker, frames)),
            self._thread("frames", lambda: self._take(taker, frames, ways)),
            *(
                self._thread(stage.name, partial(self._work, number, stage, left[number], ways))
                for number, stage in enumerate(stages)
            ),
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.1)
                    on_progress()
        except BaseException:
            self._end()
            for thread in threads:
                thread.join()
            raise
        if self._error:
            raise self._error

    def _thread(self, name: str, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except Stopped:
                pass
            except BaseException as error:
                # Keep the first error, because it stopped the run.
                self._error = self._error or error
                self._end()

        # A daemon thread, so that a second interrupt ends the process without waiting for it.
        return threading.Thread(target=run, name=f"spotball-{name}", daemon=True)

    def _end(self) -> None:
        self._stop.set()
        for channel in self._channels:
            channel.wake()

    # Threads --------------------------------------------------------------------------------------------------------

    def _decode(self, reader: FrameReader, taker: Taker, frames: Channel[tuple[VideoSource, VideoFrame | End]]) -> None:
        for video in self._ledger.videos():
            if video.state == "waiting":
                for part in frames_left(reader, video.source, taker.mark(video.source)):
                    frames.put((video.source, part))
        frames.close()

    def _take(
        self, taker: Taker, frames: Channel[tuple[VideoSource, VideoFrame | End]], ways: Sequence[Channel[Item]]
    ) -> None:
        for batch in frames.batches(_TOGETHER):
            for source, group in groupby(batch, key=lambda pair: pair[0]):
                video_parts = [part for _, part in group]
                decoded = [part for part in video_parts if isinstance(part, VideoFrame)]
                items = taker.take(source, decoded)
                self.tally.count(FRAMES, len(decoded), len(items), sum(bool(frame.error) for frame in decoded))
                for item in items:
                    ways[0].put(item)
                for part in video_parts:
                    if isinstance(part, End):
                        self._ledger.end_video(source.video, part.detail, failed=part.failed)
                        self.tally.videos_done += 1
        ways[0].close()

    def _work(self, number: int, stage: Stage, left: Sequence[str], ways: Sequence[Channel[Item]]) -> None:
        choice, last = self._plan.stages[number], number + 1 == len(ways)
        settles = bool(getattr(stage, "settles", False))
        after: State = "passed" if last else "going"
        breaker = CircuitBreaker(choice)
        waiting = (self._load(ids) for ids in parts(left, stage.batch_size))
        for batch in chain(waiting, ways[number].batches(stage.batch_size)):
            with self._gpu if stage.device == "gpu" else contextlib.nullcontext():
                outcome = process(stage, choice, batch)
            self._ledger.keep(choice.stage, outcome, "held" if settles else after)
            self.tally.count(choice.stage, len(batch), len(outcome.items), len(outcome.failures))
            breaker.see(outcome)
            self._drop(batch, outcome.rejects)
            if not settles and not last:
                self._pass_on(outcome.items, ways[number + 1])
        if settles:
            keep_pictures = self._plan.run.keep_rejected
            settled = settle(self._ledger, stage, choice, after, self.tally, keep_pictures=keep_pictures)
            if not last:
                self._pass_on((self._ledger.item(name) for name in settled), ways[number + 1])
        if not last:
            ways[number + 1].close()

    def _load(self, ids: Sequence[str]) -> list[Item]:
        if self._stop.is_set():
            raise Stopped
        return [self._ledger.item(name) for name in ids]

    def _pass_on(self, items: Iterable[Item], way: Channel[Item]) -> None:
        for item in items:
            way.put(item)

    def _drop(self, items: Iterable[Item], rejects: Sequence[Reject]) -> None:
        if not self._plan.run.keep_rejected:
            rejected = {reject.item for reject in rejects}
            drop_pictures(item for item in items if item.id in rejected)
