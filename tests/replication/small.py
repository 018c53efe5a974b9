"""Write small copies of the release's layout with contents that each test specifies."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

from spotball_core.replication import ReplicatedFigure, Replication, replicate
from tests.release_layout import write_csv

Truth = tuple[float, float, float, float, str]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_truth(folder: Path, sport: str, truths: Mapping[str, Truth]) -> None:
    """Write the ball's x, y, width and height in the units that the release uses, and its cells, for each image."""
    rows = [
        (image, x, y, width, height, 1.25 * (x + width / 2), 0.703125 * (y + height / 2), cells)
        for image, (x, y, width, height, cells) in truths.items()
    ]
    header = ("image", "x", "y", "width", "height", "gt_x", "gt_y", "cell")
    write_csv(folder / f"data/images/{sport}/{sport}_gt.csv", header, rows)


def write_answers(folder: Path, model: str, level: int, sport: str, answers: Mapping[str, Iterable[str]]) -> None:
    """Write the cells that a model named. The keys of `answers` are the image names that the file contains."""
    rows = [(name, i, cell) for name, cells in answers.items() for i, cell in enumerate(cells, start=1)]
    write_csv(folder / f"data/responses/models/{model}/level{level}_{sport}.csv", ("image", "iteration", "cell"), rows)


def write_clicks(folder: Path, sport: str, people: int, images: Iterable[str], cell: tuple[int, int] = (4, 5)) -> None:
    """Write responses of people who click three times on the same cell of each image."""
    rows = [
        (person, 1, image, click, *cell) for person in range(1, people + 1) for image in images for click in (1, 2, 3)
    ]
    path = folder / f"data/responses/humans/{sport}_clicks.csv"
    write_csv(path, ("id", "order", "image", "click", "row", "col"), rows)


def write_boxes(folder: Path, boxes: Iterable[tuple[str, str, float, float, float, float]]) -> None:
    """Write the sport, file name and corners of each player."""
    path = folder / "data/analysis/player_proximity/filtered_people_boxes_long.csv"
    write_csv(path, ("sport", "image", "x1", "y1", "x2", "y2"), boxes)


def write_proximity(folder: Path, *rows: tuple[object, ...]) -> None:
    """Write rows of the release's proximity file: sport, model, level, n, near-player rate and overlap rate."""
    path = folder / "data/analysis/player_proximity/proximity_summary.csv"
    write_csv(path, ("sport", "model", "level", "n", "near_dist_rate", "near_overlap_rate"), rows)


def write_accuracy(folder: Path, *rows: tuple[object, ...]) -> None:
    """Write rows of the release's accuracy file: sport, model, level, number of responses and accuracy."""
    path = folder / "data/processed/accuracy_by_condition.csv"
    write_csv(path, ("sport", "model", "level", "n_responses", "accuracy"), rows)


def write_all_matching(folder: Path) -> Path:
    """Write a release with only soccer ground truth, which reproduces all values that were published for it."""
    # 173 images with two cells and 27 with four have 454 cells in total; 108 + 56 + 1 of them are in the center window.
    # Each row is n, gt_x, gt_y and the cells. The distances to (320, 180) are 64, 30, 194.332 and 151.387, and their
    # mean is 122.81.
    kinds = [
        (27, 256.0, 180.0, "C4;C5;D4;D5"),
        (28, 320.0, 150.0, "C5;C6"),
        (1, 128.0, 150.0, "C2;C3"),
        (144, 320.0, 331.387, "F5;F6"),
    ]
    places = [(x / 1.25, y / 0.703125, cells) for n, x, y, cells in kinds for _ in range(n)]
    side = 785.37**0.5
    truths = {str(i): (x - side / 2, y - side / 2, side, side, cells) for i, (x, y, cells) in enumerate(places)}
    write_truth(folder, "soccer", truths)
    return folder


def items(found: Replication | Path, **chosen: object) -> list[ReplicatedFigure]:
    """Return the items that have the chosen field values, in a replication or in the replication of a folder."""
    replication = replicate(found) if isinstance(found, Path) else found
    return [item for item in replication.items if all(getattr(item, key) == value for key, value in chosen.items())]


def item(found: Replication | Path, **chosen: object) -> ReplicatedFigure:
    """Return the only item with the chosen field values."""
    (only,) = items(found, **chosen)
    return only
