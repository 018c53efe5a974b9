"""The engine of one machine: a thread decodes, one writes frames, one runs each stage, so that their work overlaps.

Decoding, OpenCV and models let go of the interpreter while they compute. Items go through each stage in order, and are
noted in the ledger before they go on.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from typing import Any

from spotball_gen.config import Choice, Plan
from spotball_gen.engines.channel import Channel, Stopped
from spotball_gen.engines.taking import Taker, drop_pictures
from spotball_gen.engines.work import Storm, process
from spotball_gen.frames import Frame, FrameReader, VideoError
from spotball_gen.items import Item, Source
from spotball_gen.ledger import FRAMES, Ledger, State, Video
from spotball_gen.stage import Reject, Stage, said, spares_no_other

_FRAMES_AHEAD, _TOGETHER = 16, 8
"""Frames that wait to be written, and that one transaction has."""


@dataclass(frozen=True, slots=True)
class _End:
    """A video has no more frames."""

    detail: str | None = None
    failed: bool = False


@dataclass
class Tally:
    """What there is, by stage, while a run goes on.

    Attributes:
        videos: how many there are, and how many are done.
        seen: items that each stage decided on.
        kept: those of them that it kept.
        failed: items and frames that failed, at any stage.
    """

    videos: int
    videos_done: int
    seen: Counter[str]
    kept: Counter[str]
    failed: int = 0


class LocalEngine:
    """Takes what is left of a run through its stages.

    Args:
        plan: the configuration.
        ledger: of the dataset; its videos are known.
    """

    def __init__(self, plan: Plan, ledger: Ledger) -> None:
        self._plan, self._ledger = plan, ledger
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._gpu, self._counting = threading.Lock(), threading.Lock()
        self._channels: list[Channel[Any]] = []
        videos = ledger.videos()
        self._waiting = [video for video in videos if video.state == "waiting"]
        steps = ledger.funnel([FRAMES, *(choice.stage for choice in plan.stages)])
        self.tally = Tally(
            len(videos),
            len(videos) - len(self._waiting),
            Counter({step.stage: step.entered for step in steps}),
            Counter({step.stage: step.kept for step in steps}),
            sum(step.failed for step in steps),
        )

    @property
    def left(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self._waiting or self._ledger.ids("going") or self._ledger.ids("held"))

    def run(self, watch: Callable[[Tally], contextlib.AbstractContextManager[Callable[[], None]]]) -> None:
        """Do what is left to do. On an interrupt, what is under way is noted, and the interrupt raised.

        Args:
            watch: shows how far it is: a context that gives what is called every now and then.

        Raises:
            SpotballError, OSError, MemoryError: where a stage or the ledger cannot go on.
        """
        context = self._plan.context(self._ledger.work)
        reader: FrameReader = self._plan.frames.make(self._plan.frames.settings, context)
        stages = [choice.make(choice.settings, context) for choice in self._plan.stages]
        frames: Channel[tuple[Source, Frame | _End]] = Channel(_FRAMES_AHEAD, self._stop)
        ways: list[Channel[Item]] = [Channel(2 * stage.batch_size, self._stop) for stage in stages]
        self._channels = [frames, *ways]
        taker = Taker(self._ledger, self._plan.frames)
        before = [FRAMES, *(choice.stage for choice in self._plan.stages)]
        # Before anything moves: what a stage is handed by the one before it is not among these.
        left = [self._ledger.ids("going", stage) for stage in before[:-1]]
        threads = [
            self._thread("decode", lambda: self._decode(reader, taker, frames)),
            self._thread("frames", lambda: self._take(taker, frames, ways)),
            *(
                self._thread(stage.name, partial(self._work, number, stage, left[number], ways))
                for number, stage in enumerate(stages)
            ),
        ]
        with watch(self.tally) as show:
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    while thread.is_alive():
                        thread.join(0.1)
                        show()
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
                # The first one is what stopped the run.
                self._error = self._error or error
                self._end()

        # Not waited for if the user does not want to wait, by a second interrupt.
        return threading.Thread(target=run, name=f"spotball-{name}", daemon=True)

    def _end(self) -> None:
        self._stop.set()
        for channel in self._channels:
            channel.wake()

    # Threads --------------------------------------------------------------------------------------------------------

    def _decode(self, reader: FrameReader, taker: Taker, frames: Channel[tuple[Source, Frame | _End]]) -> None:
        for video in self._waiting:
            end = self._read(video, reader, taker, frames)
            frames.put((video.source, end))
        frames.close()

    def _read(
        self, video: Video, reader: FrameReader, taker: Taker, frames: Channel[tuple[Source, Frame | _End]]
    ) -> _End:
        """Put all frames of a video that are left; how it ended."""
        mark = taker.mark(video.source)
        some = mark is not None
        try:
            for frame in reader.read(video.source, mark):
                some = True
                frames.put((video.source, frame))
        except VideoError as error:
            return _End(str(error), failed=not some)
        except Exception as error:
            if isinstance(error, Stopped) or spares_no_other(error):
                raise
            return _End(said(error), failed=not some)
        return _End()

    def _take(self, taker: Taker, frames: Channel[tuple[Source, Frame | _End]], ways: Sequence[Channel[Item]]) -> None:
        for batch in frames.batches(_TOGETHER):
            for source, group in groupby(batch, key=lambda pair: pair[0]):
                parts = [part for _, part in group]
                taken = [part for part in parts if isinstance(part, Frame)]
                items = taker.take(source, taken)
                self._count(FRAMES, len(taken), len(items), sum(frame.image is None for frame in taken))
                for item in items:
                    ways[0].put(item)
                for part in parts:
                    if isinstance(part, _End):
                        self._ledger.end_video(source.video, part.detail, failed=part.failed)
                        self.tally.videos_done += 1
        ways[0].close()

    def _work(self, number: int, stage: Stage, left: Sequence[str], ways: Sequence[Channel[Item]]) -> None:
        choice, last = self._plan.stages[number], number + 1 == len(ways)
        settles = bool(getattr(stage, "settles", False))
        after: State = "passed" if last else "going"
        storm = Storm(choice)
        waiting = (self._load(ids) for ids in _parts(left, stage.batch_size))
        for batch in chain(waiting, ways[number].batches(stage.batch_size)):
            with self._gpu if stage.device == "gpu" else contextlib.nullcontext():
                outcome = process(stage, choice, batch)
            self._ledger.keep(choice.stage, outcome, "held" if settles else after)
            self._count(choice.stage, len(batch), len(outcome.items), len(outcome.failures))
            storm.see(outcome)
            self._drop(batch, outcome.rejects)
            if not settles and not last:
                self._pass_on(outcome.items, ways[number + 1])
        if settles:
            settled = self._settle(stage, choice, after)
            if not last:
                self._pass_on((self._ledger.item(name) for name in settled), ways[number + 1])
        if not last:
            ways[number + 1].close()

    def _settle(self, stage: Any, choice: Choice, after: State) -> list[str]:
        """Let a stage decide on all items that it held; the ids of those that go on."""
        held = self._ledger.held(choice.stage)
        if not held:
            return []
        items = {name: self._ledger.item(name) for name in held}
        rejects = stage.settle(held, {name: item.sport for name, item in items.items()})
        self._ledger.settle(choice.stage, rejects, after)
        self._drop(items.values(), rejects)
        self._count(choice.stage, 0, -len(rejects), 0)
        gone = {reject.item for reject in rejects}
        return [name for name in held if name not in gone]

    def _load(self, ids: Sequence[str]) -> list[Item]:
        if self._stop.is_set():
            raise Stopped
        return [self._ledger.item(name) for name in ids]

    def _pass_on(self, items: Iterable[Item], way: Channel[Item]) -> None:
        for item in items:
            way.put(item)

    def _drop(self, items: Iterable[Item], rejects: Sequence[Reject]) -> None:
        if not self._plan.run.keep_rejected:
            gone = {reject.item for reject in rejects}
            drop_pictures(item for item in items if item.id in gone)

    def _count(self, stage: str, seen: int, kept: int, failed: int) -> None:
        with self._counting:
            self.tally.seen[stage] += seen
            self.tally.kept[stage] += kept
            self.tally.failed += failed


def _parts(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
