"""Run the stages on a cluster: Ray Data distributes videos and items, and this process writes the ledger.

First, workers read the videos, one worker per video. This process detects near duplicates in the order of the videos,
independent of which is read first. Then the stages process items, several at a time, so that CPUs and GPUs work
in parallel. This process stores the results in the ledger, like the local engine. If a worker dies, another one repeats
its current work.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from spotball_core.counting.engines.ray_cluster import connected, ray_errors, require
from spotball_gen.items.frames import VideoFrame
from spotball_gen.items.stage import Outcome, Stage
from spotball_gen.pipeline.config import GenerationPlan
from spotball_gen.pipeline.engines.ray_work import (
    COLUMN,
    DecodedVideo,
    Passage,
    RayJob,
    Stretch,
    VideoToDecode,
    packed_table,
    read_video,
    through,
)
from spotball_gen.pipeline.engines.taking import GenerationTally, Taker, drop_pictures, settle
from spotball_gen.pipeline.engines.work import CircuitBreaker, End, parts, wants_gpu
from spotball_gen.pipeline.ledger import FRAMES, Ledger, State, Video

TOGETHER = 16
"""Number of items per task. If a worker dies, these items are repeated."""

AT_ONCE = 10_000
"""Maximum number of items passed to Ray in one call. With more items, more memory is needed; with fewer items,
the models are loaded more often.
"""

NOTED_TOGETHER = 500
"""Maximum number of frames per transaction."""


class GenerationRayEngine:
    """Process the remaining videos and items of a run on Ray Data.

    Args:
        plan: the configuration.
        ledger: the dataset's ledger, which already contains the videos. All machines need its folder and the videos at
            the same paths.
        address: address of a running Ray cluster; None starts a local one, which ends with the run.
        debug: whether to show Ray's log.

    Raises:
        MissingExtraError: if Ray is not installed.
    """

    name = "ray"

    def __init__(
        self, plan: GenerationPlan, ledger: Ledger, address: str | None = None, *, debug: bool = False
    ) -> None:
        require("generating items with Ray")
        # Workers have other working directories.
        self._plan, self._ledger = replace(plan, folder=plan.folder.absolute()), ledger
        self._address, self._debug = address, debug
        self.tally = GenerationTally.of(ledger, [choice.stage for choice in plan.stages])
        self._job = RayJob(self._plan, ledger.work.absolute())
        self._packed = pickle.dumps(self._job)
        self._on_progress: Callable[[], None] = lambda: None

    def run(self, on_progress: Callable[[], None]) -> None:
        """Process all remaining videos and items.

        If the run is interrupted, keep the received results and raise the exception again.

        Args:
            on_progress: called when the counts in `tally` have changed.

        Raises:
            OptionError: if no cluster answers at the address.
            SpotballError, OSError, MemoryError: if a stage, the ledger or Ray cannot continue.
        """
        context = self._plan.context(self._job.work)
        stages: list[Stage] = [choice.make(choice.settings, context) for choice in self._plan.stages]
        with connected(self._address, debug=self._debug), ray_errors("generate items"):
            self._on_progress = on_progress
            self._read()
            start = 0
            for number, stage in enumerate(stages):
                settles, last = bool(getattr(stage, "settles", False)), number + 1 == len(stages)
                if settles or last:
                    self._pass(range(start, number + 1), stages, "held" if settles else "passed")
                    start = number + 1
                if settles:
                    settle(
                        self._ledger,
                        stage,
                        self._plan.stages[number],
                        "passed" if last else "going",
                        self.tally,
                        keep_pictures=self._plan.run.keep_rejected,
                    )
                    self._on_progress()

    # Frames -------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Read all remaining videos."""
        import ray.data

        videos = [video for video in self._ledger.videos() if video.state == "waiting"]
        if not videos:
            return
        taker = Taker(self._ledger, self._plan.frames)
        readings = [VideoToDecode(at, video.source, taker.mark(video.source)) for at, video in enumerate(videos)]
        rows = [{COLUMN: pickle.dumps(reading)} for reading in readings]
        dataset = ray.data.from_items(rows, override_num_blocks=len(rows))
        early: dict[int, DecodedVideo] = {}
        due = 0
        for row in dataset.map(partial(read_video, job=self._packed)).iter_rows():
            read: DecodedVideo = pickle.loads(row[COLUMN])
            if read.error:
                raise read.error
            early[read.number] = read
            while due in early:
                self._take(taker, videos[due], early.pop(due).frames)
                due += 1

    def _take(self, taker: Taker, video: Video, entries: Sequence[VideoFrame | End]) -> None:
        frames = [frame for frame in entries if isinstance(frame, VideoFrame)]
        for lot in parts(frames, NOTED_TOGETHER):
            items = taker.take(video.source, lot)
            self.tally.count(FRAMES, len(lot), len(items), sum(bool(frame.error) for frame in lot))
            self._on_progress()
        for end in entries:
            if isinstance(end, End):
                self._ledger.end_video(video.source.video, end.detail, failed=end.failed)
                self.tally.videos_done += 1
        self._on_progress()

    # Items --------------------------------------------------------------------------------------------------------

    def _pass(self, numbers: range, stages: Sequence[Stage], after: State) -> None:
        """Process all items that are waiting for the stages `numbers`. Items that pass them get the state `after`."""
        before = [FRAMES, *(choice.stage for choice in self._plan.stages)]
        breakers = {choice.stage: CircuitBreaker(choice) for choice in self._plan.stages}
        left = [(name, number) for number in numbers for name in self._ledger.ids("going", before[number])]
        for lot in parts(left, AT_ONCE):
            for passages in self._passed(lot, numbers, stages):
                self._note(passages, before[numbers[-1] + 1], after, breakers)

    def _passed(
        self, left: Sequence[tuple[str, int]], numbers: range, stages: Sequence[Stage]
    ) -> Iterator[list[Passage]]:
        """Yield lists of processed items, in the order in which Ray returns them.

        Args:
            left: id of each item to process, and number of its next stage.
            numbers: numbers of the stages to run.
            stages: all stages of the run.
        """
        import ray.data

        tables = [
            packed_table([Passage(self._ledger.item(name), number) for name, number in lot])
            for lot in parts(left, TOGETHER)
        ]
        dataset: Any = ray.data.from_arrow(tables)
        ray_api: Any = ray
        gpus = float(ray_api.cluster_resources().get("GPU", 0))
        on_gpu = [bool(gpus) and wants_gpu(stage, self._plan, at) for at, stage in enumerate(stages)]
        stretches = _stretches(numbers, on_gpu)
        pools = sum(gpu for _, gpu in stretches)
        for members, gpu in stretches:
            of = partial(dataset.map_batches, batch_size=TOGETHER, batch_format="pyarrow")
            if gpu:
                dataset = of(
                    Stretch,
                    fn_constructor_args=(self._packed, members),
                    # Several kinds of actors share the GPUs, and none reserves a CPU that other stages need.
                    num_gpus=min(1.0, gpus / pools),
                    num_cpus=0,
                    concurrency=(1, max(1, int(gpus) - pools + 1)),
                )
            else:
                dataset = of(through, fn_args=(self._packed, members))
        for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
            yield [pickle.loads(packed) for packed in table[COLUMN].to_pylist()]

    def _note(self, passages: Sequence[Passage], last: str, after: State, breakers: dict[str, CircuitBreaker]) -> None:
        for choice in self._plan.stages:
            outcomes = [outcome for passage in passages for stage, outcome in passage.outcomes if stage == choice.stage]
            if not outcomes:
                continue
            outcome = Outcome(
                tuple(item for outcome_of_item in outcomes for item in outcome_of_item.items),
                tuple(reject for outcome_of_item in outcomes for reject in outcome_of_item.rejects),
                tuple(failure for outcome_of_item in outcomes for failure in outcome_of_item.failures),
            )
            self._ledger.keep(choice.stage, outcome, after if choice.stage == last else "going")
            self.tally.count(choice.stage, len(outcomes), len(outcome.items), len(outcome.failures))
            if not self._plan.run.keep_rejected:
                rejected = {reject.item for reject in outcome.rejects}
                drop_pictures(passage.item for passage in passages if passage.item.id in rejected)
            breakers[choice.stage].see(outcome)
        self._on_progress()
        for passage in passages:
            if passage.error:
                raise passage.error


def _stretches(numbers: Sequence[int], on_gpu: Sequence[bool]) -> list[tuple[tuple[int, ...], bool]]:
    """Return groups of consecutive stages that run in one process: their numbers, and whether they run on a GPU."""
    return [(tuple(group), gpu) for gpu, group in groupby(numbers, key=lambda number: on_gpu[number])]
