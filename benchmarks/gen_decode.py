"""Claim: a frame a second of a video, with all that belongs to it (size, shots, near duplicates, pictures, the ledger),
takes at most 1.3 times as long as a loop that does nothing but decode the video.

The video is a synthetic match, 1280x720 at 30 frames a second, in H.264 as downloads are. Both use as many threads for
decoding as FFmpeg wants.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import av
import cv2
from measure import figure, in_turn

from spotball_gen.config import Choice, Plan, RunSettings
from spotball_gen.demo.draw import Painter
from spotball_gen.demo.look import LOOKS
from spotball_gen.demo.match import Play, Shot
from spotball_gen.engines.local import LocalEngine
from spotball_gen.items import Item, Source
from spotball_gen.ledger import Ledger, Video
from spotball_gen.stage import Context, Device, Outcome, StageSettings
from spotball_gen.stages.frames_opencv import OpenCV, OpenCVSettings
from spotball_gen.targets import Targets

ROUNDS = 5
SECONDS, RATE, WIDTH, HEIGHT = 40, 30, 1280, 720


class Pass:
    """The one stage, which lets all pass: what is measured is how items come about."""

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
        """All of them."""
        return Outcome(tuple(items))


def write_video(path: Path) -> None:
    """A match as H.264."""
    sport = "synthetic-soccer"
    painter, play = Painter(LOOKS[sport], WIDTH, HEIGHT, 0), Play(Shot("play", SECONDS, 1), LOOKS[sport], WIDTH, HEIGHT)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE, options={"preset": "veryfast", "crf": "23"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(SECONDS * RATE):
            image, _ = painter.draw(play.at(number / RATE), number)
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def bare(path: Path) -> int:
    """How many frames a loop decodes that does nothing else."""
    video, count = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG), 0
    while video.grab():
        count += 1
    return count


def every_picture(path: Path) -> int:
    """The loop that is often written: each frame is turned into a picture, of which one a second is used."""
    video, count = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG), 0
    while video.read()[0]:
        count += 1
    return count


def by_engine(path: Path, folder: Path) -> None:
    """The frames by the engine, into a dataset's work folder."""
    with tempfile.TemporaryDirectory(dir=folder) as name, Ledger(Path(name) / "dataset") as ledger:
        choices = [Choice(make.name, make.kind, make, settings) for make, settings in _made()]
        plan = Plan(folder, RunSettings(), (), {}, choices[0], tuple(choices[1:]), Targets())
        ledger.claim(plan.identity())
        ledger.add_videos([Video(Source("match-00000000", str(path), "soccer", "", path.name, ""), 0, 0)])
        ledger.start_session("local", {})
        LocalEngine(plan, ledger).run(lambda tally: nullcontext(lambda: None))
        assert len(ledger.ids("passed")) >= SECONDS - 2, ledger.progress()


def _made() -> tuple[tuple[Any, StageSettings], ...]:
    return (OpenCV, OpenCVSettings()), (Pass, StageSettings())


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "match.mp4"
        write_video(path)
        assert bare(path) == SECONDS * RATE
        ways = {
            "bare": lambda: bare(path),
            "engine": lambda: by_engine(path, folder),
            "every picture": lambda: every_picture(path),
        }
        times = in_turn(ways, ROUNDS)
    frames = SECONDS * RATE
    for way, said in (("bare", "decoding alone"), ("every picture", "a picture of every frame")):
        figure(f"{said}", frames / times[way], "frames/s", note=f"{WIDTH}x{HEIGHT}")
    figure("one frame a second, into the ledger", frames / times["engine"], "frames/s", note=f"{SECONDS} items")
    figure("one frame a second over decoding alone", times["engine"] / times["bare"], "times", below=1.3)
    figure("a picture of every frame over decoding alone", times["every picture"] / times["bare"], "times")


if __name__ == "__main__":
    main()
