"""Small copies of the release's layout, of which a test says all that matters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from spotball_core.replication import ReplicatedFigure, Replication, replicate
from tests.release_layout import write_csv

Truth = tuple[float, float, float, float, str]


def write_truth(folder: Path, sport: str, truths: Mapping[str, Truth]) -> None:
    """x, y, width and height as the release has them in that sport, and the cells, by image."""
    rows = [
        (image, x, y, width, height, 1.25 * (x + width / 2), 0.703125 * (y + height / 2), cells)
        for image, (x, y, width, height, cells) in truths.items()
    ]
    header = ("image", "x", "y", "width", "height", "gt_x", "gt_y", "cell")
    write_csv(folder / f"data/images/{sport}/{sport}_gt.csv", header, rows)


def write_answers(folder: Path, model: str, level: int, sport: str, answers: Mapping[str, Iterable[str]]) -> None:
    """Cells named for each image, under the name that the file gives it."""
    rows = [(name, i, cell) for name, cells in answers.items() for i, cell in enumerate(cells, start=1)]
    write_csv(folder / f"data/responses/models/{model}/level{level}_{sport}.csv", ("image", "iteration", "cell"), rows)


def write_clicks(folder: Path, sport: str, people: int, images: Iterable[str], cell: tuple[int, int] = (4, 5)) -> None:
    """People who click three times on the same cell of each image."""
    rows = [
        (person, 1, image, click, *cell) for person in range(1, people + 1) for image in images for click in (1, 2, 3)
    ]
    path = folder / f"data/responses/humans/{sport}_clicks.csv"
    write_csv(path, ("id", "order", "image", "click", "row", "col"), rows)


def write_boxes(folder: Path, boxes: Iterable[tuple[str, str, float, float, float, float]]) -> None:
    """Sport, file name and corners of each player."""
    path = folder / "data/analysis/player_proximity/filtered_people_boxes_long.csv"
    write_csv(path, ("sport", "image", "x1", "y1", "x2", "y2"), boxes)


def write_proximity(folder: Path, *rows: tuple[object, ...]) -> None:
    """Sport, model, level, n, near-player and overlap rate of each row of the release's own file."""
    path = folder / "data/analysis/player_proximity/proximity_summary.csv"
    write_csv(path, ("sport", "model", "level", "n", "near_dist_rate", "near_overlap_rate"), rows)


def write_accuracy(folder: Path, *rows: tuple[object, ...]) -> None:
    """Sport, model, level, number of responses and accuracy of each row of the release's own file."""
    path = folder / "data/processed/accuracy_by_condition.csv"
    write_csv(path, ("sport", "model", "level", "n_responses", "accuracy"), rows)


def write_all_matching(folder: Path) -> Path:
    """Ground truth of soccer alone, made so that whatever is published of it comes out."""
    # 200 images, 173 with two cells and 27 with four, are 454 cells; 108 + 56 + 1 of them are in the center window.
    # (gt_x, gt_y) and the cells around it; distances to (320, 180) are 64, 30, 194.332 and 151.387, 122.81 on average.
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
    """The items of a replication, or of a folder's, with some fields."""
    replication = replicate(found) if isinstance(found, Path) else found
    return [item for item in replication.items if all(getattr(item, key) == value for key, value in chosen.items())]


def item(found: Replication | Path, **chosen: object) -> ReplicatedFigure:
    """The one item with some fields."""
    (only,) = items(found, **chosen)
    return only
