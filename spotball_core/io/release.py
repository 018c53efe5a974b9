"""Reading the published release of Spot the Ball, as it is, into scenes and responses.

The release's layout, of which every part but the ground truth may be missing:

    data/images/SPORT/SPORT_gt.csv, *.jpg, *.png
    data/responses/humans/SPORT_clicks.csv, SPORT_explanations.csv
    data/responses/models/MODEL/levelN_SPORT.csv
    data/analysis/player_proximity/filtered_people_boxes_long.csv, filtered_people_image_summary.csv

SPORT is soccer, basketball (or bb) or volleyball (or vball); levels 0, 1, 2 are the prompts base, cue, cot. Files name
an image `163`, `163.jpg`, `302_wball.jpg` or `347_wballjpg.jpg`: the number in front is the image's id within its
sport, and an image that any file names with `wball` is a control. The images are 640 x 360 pixels and so are the
players' boxes; the ball's boxes are in a frame of 640 x 640.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from spotball_core.errors import SHOWN_PROBLEMS, GridError, InputError, OptionError, Problem
from spotball_core.grid import Grid, parse_label
from spotball_core.io.dataset import SCENES
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.io.sources import line_numbers, unreadable
from spotball_core.schema.scene import PlayerBox, Scene

Key = tuple[str, str]
ImageFile = tuple[Key, Path]
Progress = Callable[[Iterable[ImageFile]], Iterable[ImageFile]]

GRID = Grid.standard()

SPORTS = {
    "soccer": "soccer",
    "basketball": "basketball",
    "bb": "basketball",
    "volleyball": "volleyball",
    "vball": "volleyball",
}
"""What files and folders call the sports, and what they are called here."""

PROMPTS = {"0": "base", "1": "cue", "2": "cot"}
"""The prompt that each level of the models' files is."""

_TRUTH_TO_IMAGE_Y = GRID.height / 640

_IMAGE_ENDINGS = (".jpg", ".jpeg", ".png")
_TRUTH_FILE = re.compile(r"(\w+)_gt\.csv", re.ASCII)
_RESPONSE_FILES = (
    re.compile(r"(?P<who>humans)/(?P<sport>\w+)_(?P<part>clicks|explanations)\.csv", re.ASCII),
    re.compile(r"models/(?!human/)(?P<who>[^/]+)/level(?P<part>[012])_(?P<sport>\w+)\.csv", re.ASCII),
)
_CLICK = re.compile(r"row ([0-9]{1,9})(?:\.0*)?, column ([0-9]{1,9})(?:\.0*)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Release:
    """The published release, read.

    Attributes:
        scenes: by sport, and by number within it.
        responses: rows with the columns of `spotball_core.io.frames.COLUMNS`.
        image_files: the file of each image that has one, by (sport, image).
        notes: what was met and how it was handled, in words, one matter a line.
    """

    scenes: tuple[Scene, ...]
    responses: pl.DataFrame
    image_files: dict[Key, Path]
    notes: tuple[str, ...]

    def write(self, out: str | Path, *, progress: Progress = iter) -> None:
        """Write a dataset: `scenes.jsonl`, the images, and `responses-RESPONDENT.jsonl` for each respondent.

        The folder is whole or not there: it is written beside `out` and renamed. An earlier import at `out` is
        replaced, provided that nothing in it would be lost.

        Args:
            out: the dataset's folder.
            progress: wraps the images while they are copied, to show how far that is.

        Raises:
            OptionError: if `out` holds anything but an earlier import, or cannot be written.
        """
        out = Path(out).resolve()
        self._check_replaceable(out)
        try:
            with _replacing_folder(out) as beside:
                self._fill(beside, progress)
        except OSError as error:
            raise OptionError(f"{out}: the dataset cannot be written: {error}") from error

    def _response_files(self) -> dict[str, pl.DataFrame]:
        parts = self.responses.partition_by("respondent", as_dict=True)
        return {f"responses-{respondent}.jsonl": rows for (respondent,), rows in sorted(parts.items())}

    def _fill(self, folder: Path, progress: Progress) -> None:
        paths = {scene.key: scene.path for scene in self.scenes if scene.path}
        for key, file in progress(self.image_files.items()):
            copy = folder / paths[key]
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        for name, rows in self._response_files().items():
            write_responses(rows, folder / name)
        write_scenes(self.scenes, folder / SCENES)

    def _check_replaceable(self, out: Path) -> None:
        if not out.exists():
            return
        if not out.is_dir():
            raise OptionError(f"{out} is a file, expected a folder for the dataset")
        if not any(out.iterdir()):
            return
        refusal = OptionError(f"{out} is neither empty nor an earlier import: give another folder, or empty it")
        held = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()}
        if SCENES not in held:
            raise refusal
        # What others have put there, their own responses above all, must not go with the old dataset.
        written = {SCENES, *self._response_files(), *(scene.path for scene in self.scenes if scene.path)}
        if others := sorted(held - written):
            raise OptionError(
                f"{out} holds files that this import would not write again and so would lose: {_listed(others)}. "
                "Move them away, or give another folder"
            )
        try:
            old = {scene.key for scene in read_scenes(out / SCENES)}
        except InputError as error:
            raise refusal from error
        if not old <= {scene.key for scene in self.scenes}:
            raise refusal


def import_release(folder: str | Path) -> Release:
    """Read the published release, or a part of it.

    What the release is known for is handled and noted: controls, images named in several ways, cells that cannot be
    read (they become unparsed responses), iterations that a file repeats (its samples are numbered anew), runs that
    are short, explanations of images that their writer did not click on.

    Args:
        folder: the release's folder, or the `data` folder in it.

    Raises:
        InputError: if there is no ground truth, or a file is broken; with what is wrong in all of them.
    """
    reader = _Reader(_data_folder(Path(folder)))
    reader.read_images()
    reader.read_players()
    reader.read_responses()
    return reader.release()


class _Reader:
    """What has been met so far, and the problems: all files are read before the first problem is reported."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.truths: dict[Key, dict[str, object]] = {}
        self.image_files: dict[Key, Path] = {}
        self.players: dict[Key, tuple[PlayerBox, ...]] = {}
        self.named: set[Key] = set()
        self.controls: set[Key] = set()
        schema = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
        self.responses = [pl.DataFrame(schema=schema)]
        self.notes: list[str] = []
        self.left_out: list[str] = []
        self.problems: list[Problem] = []
        self.n_problems = 0

    def release(self) -> Release:
        """All that was read; raises InputError for all that was wrong."""
        if self.problems:
            raise InputError(self.problems, self.n_problems)
        scenes = tuple(self._scene(key) for key in sorted(self.named, key=_by_number))
        self._note_scenes(scenes)
        if self.left_out:
            self.notes.append(f"left out, as no part of the release's layout: {_listed(self.left_out)}")
        image_files = {scene.key: self.image_files[scene.key] for scene in scenes if scene.path}
        return Release(scenes, pl.concat(self.responses), image_files, tuple(self.notes))

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
                "path": f"images/{sport}/{image}{file.suffix.lower()}" if file else None,
                **self.truths.get(key, {}),
            }
        )

    def _note_scenes(self, scenes: tuple[Scene, ...]) -> None:
        for sport in dict.fromkeys(SPORTS.values()):
            mine = [scene for scene in scenes if scene.sport == sport]
            lacking = {
                "without ground truth": [scene.image for scene in mine if scene.ball_cells is None],
                "without an image file": [scene.image for scene in mine if scene.path is None],
                "whose players are not known": [scene.image for scene in mine if scene.players is None],
            }
            self.notes += [f"{sport}: images {what}: {_listed(images)}" for what, images in lacking.items() if images]

    def _note(self, path: Path, text: str) -> None:
        self.notes.append(f"{self._where(path)}: {text}")

    def _where(self, path: Path) -> str:
        return path.relative_to(self.data).as_posix()

    @contextmanager
    def _collecting(self) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            self.problems += error.problems
            self.n_problems += error.total

    def _accept(self, path: Path, rows: pl.DataFrame, *demands: Demand) -> pl.DataFrame:
        """The rows, if all name an image and meet the demands; the images they name are scenes from then on."""
        _check(path, rows, _HAS_IMAGE, *demands)
        for sport, image, control in rows.select("in_sport", "number", "control").unique().iter_rows():
            self.named.add((sport, image))
            if control:
                self.controls.add((sport, image))
        return rows

    # Images and ground truth ---------------------------------------------------------------------------------

    def read_images(self) -> None:
        """The image files and the ground truth, from every sport's folder of images."""
        truth_files = 0
        for path in _files(self.data / "images"):
            sport = SPORTS.get(path.parent.name.lower())
            number, truth = re.match(r"[0-9]+", path.name), _TRUTH_FILE.fullmatch(path.name)
            if sport and number and path.suffix.lower() in _IMAGE_ENDINGS:
                self._add_image_file((sport, number[0]), path)
            elif sport and truth and (named := SPORTS.get(truth[1].lower())):
                truth_files += 1
                with self._collecting():
                    if named != sport:
                        raise _broken(path, "file name", path.name, f"the ground truth of {sport}")
                    self._read_truth(path, sport)
            else:
                self.left_out.append(self._where(path))
        with self._collecting():
            if not truth_files:
                expected = "at least one file such as images/soccer/soccer_gt.csv"
                raise _broken(self.data, "ground truth", "none", expected)

    def _add_image_file(self, key: Key, path: Path) -> None:
        self.named.add(key)
        taken = self.image_files.setdefault(key, path)
        if "wball" in path.name.lower():
            self.controls.add(key)
            # Of two files of a control, the one with the ball in sight is what was shown.
            self.image_files[key] = path
        if taken != path:
            other = taken if self.image_files[key] == path else path
            self._note(other, f"left out, as {self.image_files[key].name} is taken for the same image")

    def _read_truth(self, path: Path, sport: str) -> None:
        sides = ("x", "y", "width", "height")
        rows = _table(path, ("image", *sides, "cell"), sport=sport).with_columns(map(_parsed_number, sides))
        if rows.is_empty():
            raise _broken(path, "file", "no rows", "at least one image")
        cells = {text: _truth_cells(text) for text in rows["cell"].unique()}
        readable = [text for text, named in cells.items() if named]
        known = [image for in_sport, image in self.truths if in_sport == sport]
        image = pl.col("number")
        rows = self._accept(
            path,
            rows,
            ("image", image.is_null() | (image.is_first_distinct() & ~image.is_in(known)), "each image once"),
            *((side, pl.col(f"{side}_number").is_not_null(), "a number") for side in ("x", "y")),
            *((side, pl.col(f"{side}_number") > 0, "a number above 0") for side in ("width", "height")),
            ("cell", pl.col("cell").is_in(readable), "cells from A1 to F10, joined by ; where they are several"),
        )
        columns = ("number", "cell", *(f"{side}_number" for side in sides))
        for number, text, x, y, width, height in rows.select(columns).iter_rows():
            box = (x, y * _TRUTH_TO_IMAGE_Y, x + width, (y + height) * _TRUTH_TO_IMAGE_Y)
            self.truths[sport, number] = {"ball_cells": cells[text], "ball_box": box}

    # Players -------------------------------------------------------------------------------------------------

    def read_players(self) -> None:
        """The players' boxes, and the images on which none were found."""
        folder = self.data / "analysis" / "player_proximity"
        for name, read in (
            ("filtered_people_boxes_long.csv", self._read_boxes),
            ("filtered_people_image_summary.csv", self._read_summary),
        ):
            with self._collecting():
                if (folder / name).exists():
                    read(folder / name)

    def _read_boxes(self, path: Path) -> None:
        corners = ("x1", "y1", "x2", "y2")
        rows = _table(path, ("image", *corners), optional=("sport",)).with_columns(map(_parsed_number, corners))
        parsed = [f"{corner}_number" for corner in corners]
        rows = self._accept(
            path,
            rows,
            *_HAS_SPORT,
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
            _table(path, ("image", "n_person_kept"), optional=("sport",)).with_columns(kept=_whole("n_person_kept")),
            *_HAS_SPORT,
            ("n_person_kept", pl.col("kept") >= 0, "a whole number from 0"),
        )
        for sport, image, kept in rows.select("in_sport", "number", "kept").iter_rows():
            if kept == 0:
                self.players.setdefault((sport, image), ())
            if kept != (n_boxes := len(self.players.get((sport, image), ()))):
                self._note(path, f"{kept} players on {sport} {image}, but {n_boxes} boxes: the boxes count")

    # Responses -----------------------------------------------------------------------------------------------

    def read_responses(self) -> None:
        """The answers of people and models."""
        folder = self.data / "responses"
        files: dict[tuple[str, str, str], Path] = {}
        for path in _files(folder):
            name = path.relative_to(folder).as_posix()
            match = next(filter(None, (pattern.fullmatch(name) for pattern in _RESPONSE_FILES)), None)
            sport = SPORTS.get(match["sport"].lower()) if match else None
            if match is None or sport is None:
                self.left_out.append(self._where(path))
                continue
            place = (match["who"], match["part"], sport)
            with self._collecting():
                if place in files:
                    raise _broken(path, "file name", f"{sport} again, as {files[place].name} is", "one file a sport")
                files[place] = path
        for sport in dict.fromkeys(SPORTS.values()):
            self._read_people(
                files.get(("humans", "clicks", sport)), files.get(("humans", "explanations", sport)), sport
            )
        for (who, part, sport), path in files.items():
            if part in PROMPTS:
                with self._collecting():
                    self._read_model(path, sport, who, PROMPTS[part])

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
        rows = _table(path, ("id", "image", "click", "row", "col"), sport=sport).with_columns(
            participant=pl.col("id").str.strip_chars(),
            sample=_whole("click"),
            answer=pl.format("row {}, column {}", pl.col("row").str.strip_chars(), pl.col("col").str.strip_chars()),
            reasoning=pl.lit(None, dtype=pl.String),
        )
        rows = self._accept(path, rows, _HAS_PERSON, ("click", pl.col("sample").is_not_null(), "a whole number"))
        return self._parsed(path, self._numbered(path, rows), _clicked)

    def _explained(self, clicks: pl.DataFrame, path: Path, sport: str) -> pl.DataFrame:
        """Clicks, with what people wrote of an image as the reasoning of their first click on it."""
        person = ("participant", "number")
        rows = _table(path, ("id", "image", "response"), sport=sport).with_columns(
            participant=pl.col("id").str.strip_chars()
        )
        rows = self._accept(path, rows, _HAS_PERSON)
        written = rows.filter(pl.col("response").str.strip_chars() != "").select(*person, "response")
        once = written.unique(person, keep="first", maintain_order=True)
        if again := len(written) - len(once):
            self._note(path, f"{again} of {len(written)} explanations are left out: their writer gave one before")
        if homeless := len(once.join(clicks, on=person, how="anti")):
            self._note(
                path, f"{homeless} of {len(written)} explanations are left out: their writer did not click there"
            )
        is_first = pl.col("sample") == pl.col("sample").min().over(person)
        joined = clicks.join(once, on=person, how="left", maintain_order="left")
        return joined.with_columns(reasoning=pl.when(is_first).then("response"))

    def _read_model(self, path: Path, sport: str, model: str, prompt: str) -> None:
        rows = _table(path, ("image", "iteration", "cell"), optional=("reasoning",), sport=sport)
        rows = rows.rename({"cell": "answer"}).with_columns(
            participant=pl.lit(None, dtype=pl.String), sample=_whole("iteration")
        )
        rows = self._accept(path, rows, ("iteration", pl.col("sample").is_not_null(), "a whole number"))
        rows = self._parsed(path, self._numbered(path, rows), _named)
        self._add(rows, respondent=model, kind="model", prompt=prompt)

    def _numbered(self, path: Path, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows whose samples number somebody's answers to an image, each once and from 1."""
        who = ("participant", "number")
        repeats = int(rows.select(*who, "sample").is_duplicated().sum())
        if not repeats and not (rows["sample"] < 1).any():
            return rows
        reason = f"{repeats} rows have the number of another" if repeats else "samples are not numbered from 1"
        self._note(path, f"{reason}; all are kept, each image's samples numbered anew in the file's order")
        return rows.with_columns(sample=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(who))

    def _parsed(self, path: Path, rows: pl.DataFrame, read: Callable[[str], Reading]) -> pl.DataFrame:
        """Rows with their `answer` read to a `cell`; notes those without one, and uneven numbers of samples."""
        # Each distinct answer is read once: there are few of them, however many rows there are.
        readings = [(answer, *(read(answer) if answer else (None, "empty"))) for answer in rows["answer"].unique()]
        schema = {"answer": pl.String, "cell": pl.String, "fault": pl.String}
        cells = pl.DataFrame(readings, schema=schema, orient="row")
        rows = rows.join(cells, on="answer", how="left", nulls_equal=True, maintain_order="left")
        faults = rows.drop_nulls("fault").group_by("fault").agg(pl.len(), pl.col("answer").first()).sort("fault")
        if unparsed := int(faults["len"].sum()):
            found = [
                f"{n} {fault}, such as {answer[:40]!r}" if answer and answer.strip() else f"{n} {fault}"
                for fault, n, answer in faults.iter_rows()
            ]
            self._note(path, f"{unparsed} of {len(rows)} responses name no cell, and are unparsed ({'; '.join(found)})")
        sizes = rows.group_by("number").len("size")["size"].value_counts().sort("count", "size", descending=True)
        if len(sizes) > 1:
            found = [f"{size} on {images} image{'s' if images > 1 else ''}" for size, images in sizes.iter_rows()]
            self._note(path, f"uneven numbers of responses: {_listed(found)}")
        return rows

    def _add(self, rows: pl.DataFrame, *, respondent: str, kind: str, prompt: str) -> None:
        named = {"respondent": pl.lit(respondent), "kind": pl.lit(kind), "prompt": pl.lit(prompt)}
        self.responses.append(rows.with_columns(sport="in_sport", image="number", **named).select(COLUMNS))


# Tables ------------------------------------------------------------------------------------------------------

Demand = tuple[str, pl.Expr, str]
"""A column, what must hold of it, and that in words."""

_HAS_IMAGE: Demand = (
    "image",
    pl.col("number").is_not_null(),
    "a name that starts with the image's number, such as 163.jpg",
)
_HAS_PERSON: Demand = ("id", pl.col("participant") != "", "the participant's id")
_HAS_SPORT: tuple[Demand, ...] = (
    ("sport", pl.col("in_sport").is_not_null(), f"one of {', '.join(SPORTS)}, here or as the image's folder"),
    ("image", (pl.col("folder_sport") == pl.col("in_sport")).fill_null(True), "a folder of its row's sport"),
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


def _table(
    path: Path, needed: tuple[str, ...], *, optional: tuple[str, ...] = (), sport: str | None = None
) -> pl.DataFrame:
    """The columns of a CSV file as text, without its blank lines.

    Beside them: `record`, the row's number from 0; `number`, the image's id within its sport; `control`; `in_sport`,
    the row's sport: `sport` if that is given, else what the column `sport` says, else `folder_sport`, the last folder
    of the image's path. What cannot be told is null.

    Raises:
        InputError: if the file cannot be read, or lacks a column.
    """
    try:
        rows = pl.read_csv(path, infer_schema=False, row_index_name="record")
    except OSError as error:
        raise _broken(path, "file", str(error), "a readable csv file") from error
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error
    columns = rows.columns[1:]
    if missing := [column for column in needed if column not in columns]:
        found = f"the columns {', '.join(columns)}"
        raise InputError([Problem(str(path), 1, column, found, f"a column {column}") for column in missing])
    absent = [pl.lit(None, dtype=pl.String).alias(column) for column in optional if column not in columns]
    name = pl.col("image").str.extract(r"([^/\\]+)$")
    rows = (
        rows.filter(pl.any_horizontal(pl.col(columns).is_not_null()))
        .with_columns(absent)
        .select("record", *needed, *optional)
        .with_columns(
            number=name.str.extract(r"^\s*([0-9]+)"),
            control=name.str.to_lowercase().str.contains("wball", literal=True),
        )
    )
    if sport:
        return rows.with_columns(in_sport=pl.lit(sport))
    said = pl.col("sport").str.strip_chars()
    return rows.with_columns(folder_sport=_sport(pl.col("image").str.extract(r"([^/\\]+)[/\\][^/\\]+$"))).with_columns(
        in_sport=pl.when(said != "").then(_sport(said)).otherwise("folder_sport")
    )


def _sport(name: pl.Expr) -> pl.Expr:
    return name.str.to_lowercase().replace_strict(SPORTS, default=None, return_dtype=pl.String)


def _parsed_number(column: str) -> pl.Expr:
    """A column's finite numbers, under the column's name and `_number`; null where there is none."""
    number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number).alias(f"{column}_number")


def _whole(column: str) -> pl.Expr:
    """A column's whole numbers, also those that were once written as floats (`3.0`)."""
    return pl.col(column).str.strip_chars().str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)


def _check(path: Path, rows: pl.DataFrame, *demands: Demand) -> None:
    faults: list[tuple[int, str, str | None, str]] = []
    total = 0
    for field, holds, expected in demands:
        failing = rows.filter(~holds.fill_null(False)).select("record", field)
        total += len(failing)
        faults += [(record, field, found, expected) for record, found in failing.head(SHOWN_PROBLEMS).iter_rows()]
    if faults:
        faults = sorted(faults, key=lambda fault: fault[0])[:SHOWN_PROBLEMS]
        lines = line_numbers(path, (record for record, *_ in faults))
        problems = [
            Problem(str(path), lines.get(record), field, "nothing" if found is None else repr(found)[:80], expected)
            for record, field, found, expected in faults
        ]
        raise InputError(problems, total)


# Cells -------------------------------------------------------------------------------------------------------

Reading = tuple[str | None, str | None]
"""A cell's label, or why there is none."""


def _truth_cells(text: str | None) -> tuple[str, ...] | None:
    """The cells that the ground truth names; None if they cannot be read.

    Examples:
        >>> _truth_cells("D10;D9"), _truth_cells("G1")
        (('D10', 'D9'), None)
    """
    try:
        return tuple(GRID.label(label) for label in (text or "").split(";"))
    except GridError:
        return None


def _named(answer: str) -> Reading:
    """The cell that a model's answer names.

    Examples:
        >>> _named("5d"), _named("ERROR"), _named("G1")
        (('D5', None), (None, 'unreadable'), (None, 'outside the grid'))
    """
    if not answer.strip():
        return None, "empty"
    try:
        return _on_grid(parse_label(answer))
    except GridError:
        return None, "unreadable"


def _clicked(answer: str) -> Reading:
    """The cell of a person's click.

    Examples:
        >>> _clicked("row 4, column 5"), _clicked("row 7, column 5")
        (('D5', None), (None, 'outside the grid'))
    """
    match = _CLICK.fullmatch(answer)
    return _on_grid((int(match[1]), int(match[2]))) if match else (None, "unreadable")


def _on_grid(position: tuple[int, int]) -> Reading:
    try:
        return GRID.label(position), None
    except GridError:
        return None, "outside the grid"


# Files -------------------------------------------------------------------------------------------------------


def _data_folder(folder: Path) -> Path:
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing there"
        raise _broken(folder, "folder", found, "the release's folder, or its data folder")
    return folder / "data" if (folder / "data").is_dir() else folder


def _files(folder: Path) -> list[Path]:
    """All files below a folder, in one order everywhere, but for the hidden ones that systems leave there."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(found, key=Path.as_posix)


@contextmanager
def _replacing_folder(out: Path) -> Iterator[Path]:
    """A folder to fill that becomes `out` at the end, and is removed if anything goes wrong."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as beside:
        new, old = Path(beside, "new"), Path(beside, "old")
        new.mkdir()
        yield new
        try:
            if out.exists():
                out.rename(old)
            new.rename(out)
        except BaseException:
            if old.exists() and not out.exists():
                old.rename(out)
            raise


def _broken(path: Path, field: str, found: str, expected: str) -> InputError:
    return InputError([Problem(str(path), None, field, found, expected)])


def _by_number(key: Key) -> tuple[int, int, str]:
    sport, image = key
    return list(SPORTS.values()).index(sport), len(image), image


def _listed(items: list[str], most: int = 8) -> str:
    shown = ", ".join(items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
