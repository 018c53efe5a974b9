"""Claim: on one core, all stages that need no trained model take less than twice as long per item as decoding one
second of video. `track` is excluded because it decodes the video again.

Times are CPU times. The video is H.264 with 1280x720 pixels at 30 frames per second. The items have 640x360 pixels,
come from a synthetic match and pass every stage, so each stage does all of its work. `detect` uses the detector
`color`, which finds only synthetic balls; no detector with a trained model is measured. `track` reads the frames around
each item from the video; its detections are given and take no time. Frames are written as PNG. The frames and the
results of the stages are recorded in the ledger. The benchmark writes docs/assets/gen-stages.json, from which the
documentation computes the time for a million items.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import cv2
import numpy as np
from gen_decode import RATE, SECONDS, bare, write_video
from measure import figure
from results import here_and_now

from spotball_core.grid import Grid
from spotball_gen.demo.match import LOOKS, Play, Shot
from spotball_gen.demo.video import Painter
from spotball_gen.items.frames import digest
from spotball_gen.items.item import Box, Item, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.stage import ORDER, Context, Device, Outcome, StageSettings
from spotball_gen.pipeline.config import DEFAULT_KINDS, find
from spotball_gen.pipeline.engines.taking import Seen
from spotball_gen.pipeline.ledger import FRAMES, Ledger, TakenFrame, Video

OUT = Path(__file__).parents[1] / "docs/assets/gen-stages.json"
ITEMS, ROUNDS = 24, 3
KNOWN = 1_000_000
"""Number of frames among which near duplicates are searched."""
SPORT = "synthetic-soccer"
ALL_PASS = {
    "filter": {"min_sharpness": 0, "min_contrast": 0},
    "plausibility": {
        "min_players": 0,
        "max_overlap": 1,
        "max_distance": 1,
        "edge": 0,
        "max_aspect": 9,
        "min_distance": 0,
    },
}
"""Settings under which no item is rejected."""
KINDS = {**DEFAULT_KINDS, "inpaint": "patches"}
"""Kinds of stages. The items' images are synthetic and not in the video, so `inpaint` uses patches."""


class Known:
    """A detector that takes no time, because it returns the known position of the ball."""

    Settings: ClassVar[type[StageSettings]] = StageSettings
    packages: ClassVar[tuple[str, ...]] = ()
    name, kind, version = "detect", "known", "1"
    batch_size = 8
    device: Device = "cpu"
    balls: ClassVar[dict[str, Box]] = {}

    def __init__(self, settings: StageSettings, context: Context) -> None:
        self.settings = settings

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return each item with its known ball, which is stored under the first 24 characters of the item's id."""
        return Outcome(tuple(replace(item, boxes=(self.balls[item.id[:24]],)) for item in items))


def items_of(work: Path, video: Path) -> list[Item]:
    """Return images with a visible ball, as the stage `frames` creates them. The video shows other images at these
    times.
    """
    look = LOOKS[SPORT]
    painter, play = Painter(look, 640, 360, 0), Play(Shot("play", 10 * ITEMS, 1), look, 640, 360)
    source = VideoSource("match-00000000", str(video), SPORT, "synthetic", "match.mp4", "")
    found: list[Item] = []
    number = 0
    while len(found) < ITEMS:
        image, truth = painter.draw(play.at(float(number)), number)
        if len(truth.balls) == 1:
            name = f"match-00000000-{number * 1000:09d}"
            note = {FRAMES: {"number": number, "size": [1280, 720], "window": [0, 0, 1280, 720]}}
            found.append(Item(name, source, number, 0, PictureFile(work / f"{name}.png", image), notes=note))
        number += 1
    return found


def seconds(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of a function, the minimum over rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def written(items: Sequence[Item], folder: Path) -> None:
    """Write frames to files and into a ledger."""
    with tempfile.TemporaryDirectory(dir=folder) as name, Ledger(Path(name) / "dataset") as ledger:
        ledger.claim({"stages": list(ORDER)})
        ledger.add_videos([Video(items[0].source, 0, 0)])
        taken = []
        for item in items:
            picture = PictureFile.write(ledger.work / FRAMES / f"{item.id}.png", item.image)
            taken.append(TakenFrame(replace(item, frame=picture), 0, digest(item.image)))
        ledger.take(items[0].source.video, taken, ())


def noted(items: Sequence[Item], folder: Path) -> None:
    """Write a stage's results for items into a ledger."""
    with tempfile.TemporaryDirectory(dir=folder) as name, Ledger(Path(name) / "dataset") as ledger:
        ledger.claim({"stages": list(ORDER)})
        ledger.add_videos([Video(items[0].source, 0, 0)])
        bare = [replace(item, frame=PictureFile(ledger.work / "a.png"), mask=None, painted=None) for item in items]
        ledger.take(items[0].source.video, [TakenFrame(item, 0, b"") for item in bare], ())
        ledger.keep(ORDER[0], Outcome(tuple(bare)))


def searched() -> float:
    """Return the CPU seconds for adding one perceptual hash and searching its near duplicates."""
    hashes = np.random.default_rng(0).integers(0, 256, (KNOWN + 1, 32), dtype=np.uint8)
    start = time.process_time()
    seen = Seen(10, ((str(number), found.tobytes()) for number, found in enumerate(hashes[:-1])))
    added = (time.process_time() - start) / KNOWN
    queries = np.random.default_rng(1).integers(0, 256, (500, 32), dtype=np.uint8)
    return added + seconds(lambda: [seen.near(query.tobytes()) for query in queries]) / len(queries)


def main() -> None:
    """Print the figures."""
    setting = here_and_now()
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        video = folder / "match.mp4"
        write_video(video, grain=True)
        decoding = seconds(lambda: bare(video)) / SECONDS
        figure("decoding a second of video", decoding * 1000, "ms", note=f"1280x720, {RATE} frames/s")
        items: Sequence[Item] = items_of(folder, video)
        each = {"frames": seconds(lambda: written(items, folder)) / len(items)}
        context = Context(folder, Grid.standard(), sports={}, detector=(Known, StageSettings()))
        for stage in ORDER:
            make = find(stage, KINDS.get(stage, "color"))
            made = make(make.Settings(**ALL_PASS.get(stage, {})), context)
            outcome = made.process(items)
            assert len(outcome.items) >= ITEMS // 2, (outcome.rejects, outcome.failures)
            kept = {item.id for item in outcome.items}
            before = [item for item in items if item.id in kept]
            if stage == "detect":
                boxes = ((item.id, box) for item in outcome.items for box in item.boxes)
                Known.balls.update((name, box) for name, box in boxes if box.label == "ball")
            each[stage] = seconds(lambda made=made, before=before: made.process(before)) / len(before)  # type: ignore[misc]
            items = outcome.items
        ledger = seconds(lambda: noted(items, folder)) / len(items)
        pictures = [picture.path for item in items for picture in (item.painted, item.mask) if picture]
        sizes = [PictureFile.write(folder / "frame.png", item.image).path.stat().st_size for item in items]
        size = (sum(sizes) + sum(path.stat().st_size for path in pictures)) / len(items)
    for stage, took in each.items():
        figure(f"stage {stage}", took * 1000, "ms", note="per item")
    whole = sum(each.values()) - each["track"]
    figure("all stages but track", whole * 1000, "ms", note="per item")
    figure("all stages but track relative to decoding", whole / decoding, "times", below=2)
    search = searched()
    figure("search for near duplicates", search * 1e6, "us", note=f"per frame, among {KNOWN:,} other frames")
    record = {
        "setting": asdict(setting),
        "decoding": decoding,
        "stages": each,
        "ledger": ledger,
        "search": search,
        "known": KNOWN,
        "bytes": size,
    }
    OUT.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
