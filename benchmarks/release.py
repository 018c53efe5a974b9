"""Write synthetic data in the release's layout and size, including free text."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from spotball_core import Grid, Scene
from spotball_core.release.tables import ball_columns

GRID = Grid.standard()
SPORTS = ("soccer", "basketball", "volleyball")
MODELS = ("gemini", "gpt", "llama", "qwen")
SAMPLES = (50, 50, 20)
PEOPLE, GUESSES = 50, 3
TEXT = "They all look to the left, where the one in white has just lifted an arm. " * 5


def write(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> int:
    """Write a CSV file, and return its number of rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    listed = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(listed)
    return len(listed)


def write_release(folder: Path, scenes: tuple[Scene, ...]) -> int:
    """Write scenes and random answers in the release's layout, and return the number of answers."""
    data, draw, n = folder / "data", np.random.default_rng(0), 0
    boxes: list[tuple[object, ...]] = []
    for sport in SPORTS:
        mine = [scene for scene in scenes if scene.sport == f"synthetic-{sport}"]
        ending = ".jpg" if sport == "soccer" else ".png"
        names = {scene.image: f"{scene.image}{'_wball' * scene.control}{ending}" for scene in mine}
        truths = []
        for scene in mine:
            columns = ball_columns(sport, scene.ball_box or (0.0, 0.0, 1.0, 1.0))
            truths.append((scene.image, *columns, ";".join(scene.ball_cells or ())))
            place = f"/drive/{sport}/{names[scene.image]}"
            boxes += [(sport, place, i, *box.corners) for i, box in enumerate(scene.players or ())]
        write(data / f"images/{sport}/{sport}_gt.csv", ("image", "x", "y", "width", "height", "cell"), truths)
        seen = [scene.image for scene in mine if not scene.control]
        clicks = [
            (person, order, image, click, draw.integers(1, 7), draw.integers(1, 11))
            for person in range(1, PEOPLE + 1)
            for order, image in enumerate(seen, start=1)
            for click in range(1, GUESSES + 1)
        ]
        n += write(
            data / f"responses/humans/{sport}_clicks.csv", ("id", "order", "image", "click", "row", "col"), clicks
        )
        for model in MODELS:
            for level, samples in enumerate(SAMPLES):
                answers = [
                    (names[scene.image], i, TEXT, GRID.label(int(draw.integers(GRID.n_cells))))
                    for scene in mine
                    for i in range(1, samples + 1)
                ]
                path = data / f"responses/models/{model}/level{level}_{sport}.csv"
                n += write(path, ("image", "iteration", "reasoning", "cell"), answers)
    columns = ("sport", "image", "box_idx", "x1", "y1", "x2", "y2")
    write(data / "analysis/player_proximity/filtered_people_boxes_long.csv", columns, boxes)
    return n
