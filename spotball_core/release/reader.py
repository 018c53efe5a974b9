"""Read the files of the published release, one kind of file after the other, and note irregularities."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from spotball_core.errors import InputError, Problem
from spotball_core.io.frames import COLUMNS
from spotball_core.release.tables import (
    FRAME,
    GRID,
    HAS_IMAGE,
    HAS_PERSON,
    HAS_SPORT,
    SCALED_SPORT,
    SPORTS,
    Demand,
    Reading,
    ball_box,
    broken,
    check,
    clicked_cell,
    listed,
    named_cell,
    parsed_number,
    read_table,
    truth_cells,
    whole_number,
)
from spotball_core.schema.scene import PlayerBox, Scene
from spotball_core.service.paths import data_file, output_name

Key = tuple[str, str]

PROMPTS = {"0": "base", "1": "cue", "2": "cot"}
"""The prompt for each level in the names of the models' files."""

TRUTH_NUMBERS = ("x", "y", "width", "height", "gt_x", "gt_y")
"""The columns of numbers in the ground truth; the last two are optional."""

_BOXES = "filtered_people_boxes_long.csv"
_IMAGE_ENDINGS = (".jpg", ".jpeg", ".png")
_TRUTH_FILE = re.compile(r"(\w+)_gt\.csv", re.ASCII)
_RESPONSE_FILES = (
    re.compile(r"(?P<who>humans)/(?P<sport>\w+)_(?P<part>clicks|explanations)\.csv", re.ASCII),
    re.compile(r"models/(?!human/)(?P<who>[^/]+)/level(?P<part>[012])_(?P<sport>\w+)\.csv", re.ASCII),
)
_NO_CLICKS = pl.DataFrame(
    schema={
        "in_sport": pl.String,
        "number": pl.String,
        "sample": pl.Int64,
        "participant": pl.String,
        "cell": pl.String,
        "reasoning": pl.String,
    }
)


class ReleaseReader:
    """Read the release's files, and collect their data and problems.

    After all files were read, `finished` returns the data, or raises an error that lists the problems of all files.
    """

    def __init__(self, data: Path) -> None:
        self.data = data
        self.truths: dict[Key, dict[str, object]] = {}
        names, numbers = dict.fromkeys(("sport", "image"), pl.String), dict.fromkeys(TRUTH_NUMBERS, pl.Float64)
        self.ground_truth = [pl.DataFrame(schema={**names, **numbers})]
        self.image_files: dict[Key, Path] = {}
        self.players: dict[Key, tuple[PlayerBox, ...]] = {}
        self.keys: set[Key] = set()
        self.controls: set[Key] = set()
        schema = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
        self.responses = [pl.DataFrame(schema=schema)]
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.problems: list[Problem] = []

    def finished(self) -> tuple[tuple[Scene, ...], pl.DataFrame, dict[Key, Path], tuple[str, ...], pl.DataFrame]:
        """Return the fields of a `Release`; raise InputError with the problems of all files if there are any."""
        if self.problems:
            raise InputError(self.problems)
        scenes = tuple(self._scene(key) for key in sorted(self.keys, key=_by_number))
        self._note_scenes(scenes)
        if self.left_out:
            self.notes.append(
                f"these files are excluded, because they are not part of the release layout: {listed(self.left_out)}"
            )
        image_files = {scene.key: self.image_files[scene.key] for scene in scenes if scene.path}
        return scenes, pl.concat(self.responses), image_files, tuple(self.notes), pl.concat(self.ground_truth)

    def _scene(self, key: Key) -> Scene:
        sport, image = key
        file = self.image_files.get(key)
        return Scene.model_validate(
            {
                "sport": sport,
                "image": image,
                "grid": GRID,
                "players": self.players.get(key),
                "control": key in self.controls,
                "path": output_name("images", sport, image, ending=file.suffix.lower()) if file else None,
                **self.truths.get(key, {}),
            }
        )

    def _note_scenes(self, scenes: tuple[Scene, ...]) -> None:
        for sport in dict.fromkeys(SPORTS.values()):
            of_sport = [scene for scene in scenes if scene.sport == sport]
            lacking = {
                "without ground truth": [scene.image for scene in of_sport if scene.ball_cells is None],
                "without an image file": [scene.image for scene in of_sport if scene.path is None],
                "without known players": [scene.image for scene in of_sport if scene.players is None],
            }
            self.notes += [
                f"{sport}: images {problem}: {listed(images)}" for problem, images in lacking.items() if images
            ]

    def _note(self, path: Path, text: str) -> None:
        self.notes.append(f"{self._where(path)}: {text}")

    def _where(self, path: Path) -> str:
        return path.relative_to(self.data).as_posix()

    def _check_file(self, path: Path) -> None:
        """Raise InputError unless the path is a regular file in the release's folder."""
        data_file(self.data, self._where(path), field="file", description="a file of the release")

    def _leave_out(self, path: Path) -> None:
        """Record that a file is not part of the release layout; raise InputError for a link to a folder."""
        if path.is_symlink() and path.is_dir():
            raise broken("wrong-file", path, "folder", "a link to a folder", "a folder. Replace the link by the folder")
        if not path.is_dir():
            self.left_out.append(self._where(path))

    @contextmanager
    def _collecting(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            self.problems += error.problems

    def _accept(self, path: Path, rows: pl.DataFrame, *demands: Demand) -> pl.DataFrame:
        """Return the rows, and add their images to the scenes.

        Raise InputError if a row does not name an image or does not satisfy all demands (see `Demand`).
        """
        check(path, rows, HAS_IMAGE, *demands)
        for sport, image, control in rows.select("in_sport", "number", "control").unique().iter_rows():
            self.keys.add((sport, image))
            if control:
                self.controls.add((sport, image))
        return rows

    # Images and ground truth ---------------------------------------------------------------------------------

    def read_images(self) -> None:
        """Read the image files and the ground truth from every sport's folder of images."""
        truth_files = 0
        for path in _entries_below(self.data / "images"):
            sport = SPORTS.get(path.parent.name.lower())
            number, truth = re.match(r"[0-9]+", path.name), _TRUTH_FILE.fullmatch(path.name)
            with self._collecting():
                if sport and number and path.suffix.lower() in _IMAGE_ENDINGS:
                    self._check_file(path)
                    self._add_image_file((sport, number[0]), path)
                elif sport and truth and (truth_sport := SPORTS.get(truth[1].lower())):
                    truth_files += 1
                    self._check_file(path)
                    if truth_sport != sport:
                        raise broken("wrong-file", path, "file name", path.name, f"the ground truth of {sport}")
                    self._read_truth(path, sport)
                else:
                    self._leave_out(path)
        with self._collecting():
            if not truth_files:
                expected = "at least one file such as images/soccer/soccer_gt.csv"
                raise broken(
                    "wrong-file",
                    self.data,
                    "ground truth",
                    "none",
                    f"{expected}. Give the folder of the downloaded release",
                )

    def _add_image_file(self, key: Key, path: Path) -> None:
        self.keys.add(key)
        existing = self.image_files.setdefault(key, path)
        if "wball" in path.name.lower():
            self.controls.add(key)
            # If a control has two files, the file with the visible ball is the one that was shown.
            self.image_files[key] = path
        if existing != path:
            dropped = existing if self.image_files[key] == path else path
            self._note(
                dropped, f"this file is excluded, because {self.image_files[key].name} is used for the same image"
            )

    def _read_truth(self, path: Path, sport: str) -> None:
        sides, centers = TRUTH_NUMBERS[:4], TRUTH_NUMBERS[4:]
        rows = read_table(path, ("image", *sides, "cell"), optional=centers, sport=sport)
        rows = rows.with_columns(map(parsed_number, TRUTH_NUMBERS))
        cells = {text: truth_cells(text) for text in rows["cell"].unique()}
        readable = [text for text, labels in cells.items() if labels]
        earlier = [image for in_sport, image in self.truths if in_sport == sport]
        image = pl.col("number")
        rows = self._accept(
            path,
            rows,
            ("image", image.is_null() | (image.is_first_distinct() & ~image.is_in(earlier)), "each image once"),
            *((side, pl.col(f"{side}_number").is_not_null(), "a number") for side in ("x", "y")),
            *((side, pl.col(f"{side}_number") > 0, "a number above 0") for side in ("width", "height")),
            ("cell", pl.col("cell").is_in(readable), "one or more cells from A1 to F10, joined by ;"),
        )
        for number, text, *numbers in rows.select("number", "cell", *(f"{side}_number" for side in sides)).iter_rows():
            self.truths[sport, number] = {"ball_cells": cells[text], "ball_box": ball_box(sport, *numbers)}
        numbered = {name: f"{name}_number" for name in TRUTH_NUMBERS}
        self.ground_truth.append(rows.select(sport="in_sport", image="number", **numbered))
        self._note_balls(path, sport, rows["number"].to_list())

    def _note_balls(self, path: Path, sport: str, images: list[str]) -> None:
        """Note how the balls' boxes were converted, and which boxes have unexpected positions."""
        if sport == SCALED_SPORT:
            how = f"ball boxes were converted from pixels of a {FRAME} x {FRAME} frame to pixels of the image"
        else:
            how = "`x` and `y` are read as the center of the ball's box in pixels; `gt_x` and `gt_y` are not used"
        self._note(path, how)
        beyond, apart = [], []
        for image in images:
            scene = self._scene((sport, image))
            x1, y1, x2, y2 = scene.ball_box or (0.0, 0.0, 0.0, 0.0)
            if x1 < 0 or y1 < 0 or x2 > GRID.width or y2 > GRID.height:
                beyond.append(image)
            if not set(GRID.cells_in((x1, y1, x2, y2))) & set(scene.ball_cells or ()):
                apart.append(image)
        if beyond:
            self._note(
                path, f"the ball's box extends beyond the edge of these images, and is not clipped: {listed(beyond)}"
            )
        if apart:
            self._note(
                path,
                f"the ball's box is outside the annotated cells in these images: {listed(apart)}. Scores use the "
                "annotated cells",
            )

    # Players -------------------------------------------------------------------------------------------------

    def read_players(self) -> None:
        """Read the players' boxes, and the list of images without players."""
        folder = self.data / "analysis" / "player_proximity"
        for name, read in (
            (_BOXES, self._read_boxes),
            ("filtered_people_image_summary.csv", self._read_summary),
        ):
            with self._collecting():
                if os.path.lexists(folder / name):
                    self._check_file(folder / name)
                    read(folder / name)

    def _read_boxes(self, path: Path) -> None:
        corners = ("x1", "y1", "x2", "y2")
        rows = read_table(path, ("image", *corners), optional=("sport",), may_be_empty=True)
        rows = rows.with_columns(map(parsed_number, corners))
        parsed = [f"{corner}_number" for corner in corners]
        rows = self._accept(
            path,
            rows,
            *HAS_SPORT,
            *((corner, pl.col(f"{corner}_number").is_not_null(), "a number of pixels") for corner in corners),
            ("x2", (pl.col("x2_number") >= pl.col("x1_number")).fill_null(True), "at least x1"),
            ("y2", (pl.col("y2_number") >= pl.col("y1_number")).fill_null(True), "at least y1"),
        )
        for (sport, image), boxes in rows.group_by("in_sport", "number", maintain_order=True):
            self.players[str(sport), str(image)] = tuple(
                PlayerBox.model_validate(box) for box in boxes.select(parsed).iter_rows()
            )

    def _read_summary(self, path: Path) -> None:
        rows = self._accept(
            path,
            read_table(path, ("image", "n_person_kept"), optional=("sport",)).with_columns(
                kept=whole_number("n_person_kept")
            ),
            *HAS_SPORT,
            ("n_person_kept", pl.col("kept") >= 0, "a whole number from 0"),
        )
        for sport, image, n_players in rows.select("in_sport", "number", "kept").iter_rows():
            if n_players == 0:
                self.players.setdefault((sport, image), ())
            if n_players != (n_boxes := len(self.players.get((sport, image), ()))):
                self._note(
                    path,
                    f"{sport} {image} has {n_players} players in this file, but {n_boxes} boxes in {_BOXES}. Scores "
                    "use these boxes",
                )

    # Responses -----------------------------------------------------------------------------------------------

    def read_responses(self) -> None:
        """Read the answers of people and models."""
        folder = self.data / "responses"
        files: dict[tuple[str, str, str], Path] = {}
        for path in _entries_below(folder):
            name = path.relative_to(folder).as_posix()
            match = next(filter(None, (pattern.fullmatch(name) for pattern in _RESPONSE_FILES)), None)
            sport = SPORTS.get(match["sport"].lower()) if match else None
            with self._collecting():
                if match is None or sport is None:
                    self._leave_out(path)
                    continue
                self._check_file(path)
                place = (match["who"], match["part"], sport)
                if place in files:
                    raise broken(
                        "wrong-file",
                        path,
                        "file name",
                        f"a second file of {sport}, next to {files[place].name}",
                        "one file per sport",
                    )
                files[place] = path
        for sport in dict.fromkeys(SPORTS.values()):
            self._read_people(
                files.get(("humans", "clicks", sport)), files.get(("humans", "explanations", sport)), sport
            )
        for (respondent, part, sport), path in files.items():
            if part in PROMPTS:
                with self._collecting():
                    self._read_model(path, sport, respondent, PROMPTS[part])

    def _read_people(self, clicks: Path | None, explanations: Path | None, sport: str) -> None:
        rows = _NO_CLICKS
        with self._collecting():
            if clicks:
                rows = self._read_clicks(clicks, sport)
        with self._collecting():
            if explanations:
                rows = self._explained(rows, explanations, sport)
        self._add(rows, respondent="human", kind="human", prompt=PROMPTS["0"])

    def _read_clicks(self, path: Path, sport: str) -> pl.DataFrame:
        rows = read_table(path, ("id", "image", "click", "row", "col"), sport=sport).with_columns(
            participant=pl.col("id").str.strip_chars(),
            sample=whole_number("click"),
            answer=pl.format("row {}, column {}", pl.col("row").str.strip_chars(), pl.col("col").str.strip_chars()),
            reasoning=pl.lit(None, dtype=pl.String),
        )
        rows = self._accept(path, rows, HAS_PERSON, ("click", pl.col("sample").is_not_null(), "a whole number"))
        return self._parsed(path, self._numbered(path, rows), clicked_cell)

    def _explained(self, clicks: pl.DataFrame, path: Path, sport: str) -> pl.DataFrame:
        """Return the clicks; each explanation of an image becomes the `reasoning` of the person's first click on it."""
        person = ("participant", "number")
        rows = read_table(path, ("id", "image", "response"), sport=sport).with_columns(
            participant=pl.col("id").str.strip_chars()
        )
        rows = self._accept(path, rows, HAS_PERSON)
        explanations = rows.filter(pl.col("response").str.strip_chars() != "").select(*person, "response")
        first_ones = explanations.unique(person, keep="first", maintain_order=True)
        if repeated := len(explanations) - len(first_ones):
            self._note(
                path,
                (
                    f"{repeated} of {len(explanations)} explanations are excluded, because the participant had "
                    "already explained the image"
                ),
            )
        if homeless := len(first_ones.join(clicks, on=person, how="anti")):
            self._note(
                path,
                f"{homeless} of {len(explanations)} explanations are excluded, because the participant did not click "
                "on the image",
            )
        is_first = pl.col("sample") == pl.col("sample").min().over(person)
        joined = clicks.join(first_ones, on=person, how="left", maintain_order="left")
        return joined.with_columns(reasoning=pl.when(is_first).then("response"))

    def _read_model(self, path: Path, sport: str, model: str, prompt: str) -> None:
        rows = read_table(path, ("image", "iteration", "cell"), optional=("reasoning",), sport=sport)
        rows = rows.rename({"cell": "answer"}).with_columns(
            participant=pl.lit(None, dtype=pl.String), sample=whole_number("iteration")
        )
        rows = self._accept(path, rows, ("iteration", pl.col("sample").is_not_null(), "a whole number"))
        rows = self._parsed(path, self._numbered(path, rows), named_cell)
        self._add(rows, respondent=model, kind="model", prompt=prompt)

    def _numbered(self, path: Path, rows: pl.DataFrame) -> pl.DataFrame:
        """Return the rows with sample numbers that differ between a participant's answers to the same image.

        If numbers repeat or are below 1, all rows are renumbered from 1 in the order of the file.
        """
        person_image = ("participant", "number")
        repeats = int(rows.select(*person_image, "sample").is_duplicated().sum())
        if not repeats and not (rows["sample"] < 1).any():
            return rows
        reason = (
            f"{repeats} rows have a sample number that occurs more than once"
            if repeats
            else "samples are not numbered from 1"
        )
        self._note(
            path,
            f"{reason}. All rows are kept, and the samples of each image are renumbered in the order of the file",
        )
        return rows.with_columns(sample=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(person_image))

    def _parsed(self, path: Path, rows: pl.DataFrame, read: Callable[[str], Reading]) -> pl.DataFrame:
        """Return rows with a `cell` read from `answer`; note answers without a cell, and uneven numbers of samples."""
        # Read each distinct answer once: there are few of them, even if there are many rows.
        readings = [(answer, *(read(answer) if answer else (None, "empty"))) for answer in rows["answer"].unique()]
        schema = {"answer": pl.String, "cell": pl.String, "fault": pl.String}
        cells = pl.DataFrame(readings, schema=schema, orient="row")
        rows = rows.join(cells, on="answer", how="left", nulls_equal=True, maintain_order="left")
        faults = rows.drop_nulls("fault").group_by("fault").agg(pl.len(), pl.col("answer").first()).sort("fault")
        if unparsed := int(faults["len"].sum()):
            details = [
                f"{n} {fault}, such as {answer[:40]!r}" if answer and answer.strip() else f"{n} {fault}"
                for fault, n, answer in faults.iter_rows()
            ]
            self._note(
                path, f"{unparsed} of {len(rows)} responses name no cell and count as unparsed ({'; '.join(details)})"
            )
        sizes = rows.group_by("number").len("size")["size"].value_counts().sort("count", "size", descending=True)
        if len(sizes) > 1:
            details = [f"{size} on {images} image{'s' if images > 1 else ''}" for size, images in sizes.iter_rows()]
            self._note(path, f"the number of responses differs between images: {listed(details)}")
        return rows

    def _add(self, rows: pl.DataFrame, *, respondent: str, kind: str, prompt: str) -> None:
        labels = {"respondent": pl.lit(respondent), "kind": pl.lit(kind), "prompt": pl.lit(prompt)}
        self.responses.append(rows.with_columns(sport="in_sport", image="number", **labels).select(COLUMNS))


def _entries_below(folder: Path) -> list[Path]:
    """Return all files and folders below a folder, in a fixed order, except the hidden ones that systems create.

    Special files, such as a FIFO or a broken link, are included: if they were skipped, their respondent would be
    silently missing.
    """
    paths = (Path(root, name) for root, folders, files in os.walk(folder) for name in (*folders, *files))
    return sorted((path for path in paths if not path.name.startswith(".")), key=Path.as_posix)


def _by_number(key: Key) -> tuple[int, int, str]:
    sport, image = key
    return list(SPORTS.values()).index(sport), len(image), image
