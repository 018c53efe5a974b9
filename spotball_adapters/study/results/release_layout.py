"""Export a study's answers in the layout of the published release, for `spotball import-release` and `replicate`."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spotball_adapters.study.results.participations import Participation
from spotball_adapters.study.setup.design import StudyDesign
from spotball_core.errors import OptionError
from spotball_core.release.tables import GRID, SPORTS, ball_columns
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_cells
from spotball_core.text.words import plural

CLICK_HEADS = ("id", "order", "image", "click", "row", "col")
EXPLANATION_HEADS = ("id", "order", "image", "response")
TRUTH_HEADS = ("image", "x", "y", "width", "height", "gt_x", "gt_y", "cell")


def write_release(people: Sequence[Participation], design: StudyDesign, folder: Path) -> list[str]:
    """Write the clicks, explanations and ground truth of each sport to files below FOLDER/data.

    As in the release, clicks on attention checks are excluded, but attention checks count toward the position in the
    column `order`. `id` is the participant's label. In the ground truth, images with a visible ball (controls) are
    named `NUMBER_wball.jpg`, by which the import recognizes them. gt_x and gt_y are the ball's center in every sport;
    in the published files, they are the center only for soccer.

    Returns:
        For each sport whose exported ground truth lacks images, a sentence that states their number. An image is
        missing if its `ball_box` is unknown.

    Raises:
        OptionError: if participants of the study choose objects instead of cells; if the layout does not support a
            sport, an image's id or a grid; or if FOLDER/data contains files that this export does not write.
    """
    scenes = list(design.scenes.values())
    _check(design, scenes)
    sports = dict.fromkeys(study_list.sport for study_list in design.config.lists)
    notes: list[str] = []
    files: dict[str, tuple[tuple[str, ...], list[tuple[object, ...]]]] = {}
    for sport in sports:
        truth = [scene for scene in scenes if scene.sport == sport and scene.ball_cells]
        if lacking := [scene.image for scene in truth if scene.ball_box is None]:
            notes.append(
                f"{sport}: the exported ground truth does not contain {plural(len(lacking), 'image')} without a "
                "`ball_box` in scenes.jsonl"
            )
        files[f"images/{sport}/{sport}_gt.csv"] = (TRUTH_HEADS, list(_truth_rows(truth)))
        files[f"responses/humans/{sport}_clicks.csv"] = (CLICK_HEADS, list(_click_rows(people, sport)))
        files[f"responses/humans/{sport}_explanations.csv"] = (EXPLANATION_HEADS, list(_explanations(people, sport)))
    # The reader rejects a file without rows as incomplete.
    files = {name: (heads, rows) for name, (heads, rows) in files.items() if rows}
    data = folder / "data"
    if other_files := sorted(
        str(p) for p in data.rglob("*") if p.is_file() and p.relative_to(data).as_posix() not in files
    ):
        raise OptionError(
            f"{folder} contains other files of a release, such as {other_files[0]}. Use another folder",
            code="output-exists",
            field="--out",
        )
    for name, (heads, rows) in files.items():
        with replacing(data / name) as beside, beside.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(heads)
            writer.writerows(map(csv_cells, rows))
    return notes


def _check(design: StudyDesign, scenes: Iterable[Scene]) -> None:
    if design.config.task != "clicks":
        raise OptionError(
            "--format release: the release format stores clicks, but this study collects choices. Use --format csv"
        )
    for scene in scenes:
        if scene.sport not in SPORTS.values():
            names = ", ".join(dict.fromkeys(SPORTS.values()))
            raise OptionError(
                f"--format release does not support the sport {scene.sport!r}, only {names}. Use another format"
            )
        if scene.layout != GRID:
            raise OptionError(
                f"--format release: {scene.sport}/{scene.image} has the grid {scene.layout}, but the release format "
                f"requires {GRID}. Use another format",
                code="different-grids",
            )
        if not (scene.image.isascii() and scene.image.isdigit()):
            raise OptionError(
                f"--format release: the image id {scene.image!r} is not a number, which "
                "the release format requires. Use another format",
                code="invalid-value",
            )


def _click_rows(people: Iterable[Participation], sport: str) -> Iterator[tuple[object, ...]]:
    for person in people:
        for answer in person.answers:
            if answer.sport == sport and not answer.check:
                for number, click in enumerate(answer.clicks, start=1):
                    yield person.participant, answer.order, answer.image, number, click.row, click.col


def _explanations(people: Iterable[Participation], sport: str) -> Iterator[tuple[object, ...]]:
    for person in people:
        for answer in person.answers:
            if answer.sport == sport and answer.explanation is not None:
                yield person.participant, answer.order, answer.image, answer.explanation


def _truth_rows(scenes: Iterable[Scene]) -> Iterator[tuple[object, ...]]:
    for scene in scenes:
        if scene.ball_box is None:
            continue
        x1, y1, x2, y2 = scene.ball_box
        columns = ball_columns(scene.sport, scene.ball_box)
        name = f"{scene.image}_wball.jpg" if scene.control else scene.image
        yield name, *columns, (x1 + x2) / 2, (y1 + y2) / 2, ";".join(scene.ball_cells or ())
