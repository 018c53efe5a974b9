"""Run the stages on one machine, with parallel threads for decoding, for writing frames and for each stage.

Decoding, OpenCV and models release the interpreter lock while they compute. Items pass each stage in order, and each
result is stored in the ledger before the item continues.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, groupby
from typing import Any

from spotball_gen.items.frames import FrameReader, VideoFrame
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.stage import Reject, Stage
from spotball_gen.pipeline.config import GenerationPlan
from spotball_gen.pipeline.engines.channel import Channel, Stopped
from spotball_gen.pipeline.engines.decoding import End, frames_left
from spotball_gen.pipeline.engines.settling import settle
from spotball_gen.pipeline.engines.taking import Taker, drop_pictures
from spotball_gen.pipeline.engines.tally import GenerationTally
from spotball_gen.pipeline.engines.work import CircuitBreaker, parts, process
from spotball_gen.pipeline.ledger import FRAMES, Ledger, State

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
