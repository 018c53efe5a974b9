"""Read and write stimuli: photos of one person who looks at one of several objects on a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, get_args

from pydantic import Field, model_validator

from spotball_core.errors import Problem
from spotball_core.gaze.data.rows import Rows, ignore_assumed, quoted
from spotball_core.io.sources import not_a_name
from spotball_core.schema.record import NAME_RULE, Name, Record, RelativePath
from spotball_core.service.files import replacing
from spotball_core.service.paths import PATH_RULE, is_relative
from spotball_core.service.safe_text import csv_frame

if TYPE_CHECKING:
    import polars as pl

View = Literal["front", "left", "right"]
Condition = Literal["natural", "congruent", "incongruent"]
VIEWS: Final[tuple[View, ...]] = get_args(View)
CONDITIONS: Final[tuple[Condition, ...]] = get_args(Condition)
PROXIMITIES: Final = (1, 2, 3)
SEPARATOR: Final = "+"
MOST_OBJECTS: Final = 9

Point = tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]]

STIMULI: Final = "stimuli.csv"
"""Name of the file of stimuli in a folder."""

COLUMNS: Final = (
    *("stimulus_id", "condition", "view", "proximity", "objects", "gaze_target", "head_target"),
    *("image", "points", "actor", "scene", "attention_check", "list_id"),
)
"""The columns of a stimuli file, in the order in which they are written."""

_STUDY: Final = {
    "Stimulus_ID": "stimulus_id",
    "Angle": "view",
    "Proximity": "proximity",
    "Candidates": "objects",
    "label": "gaze_target",
    "HeadTarget": "head_target",
    "path": "image",
    "Actor": "actor",
    "Site": "scene",
}
"""Column names of the published study's files, with the corresponding names in `COLUMNS`."""

_CHECKS_LIST: Final = "-1"
"""The study's `list_id` for attention checks, which are part of every list."""


class Stimulus(Record):
    """One photo of a person who looks at one of several objects.

    Attributes:
        stimulus_id: unique name of the photo.
        objects: names of the objects in their order along the table, without duplicates.
        view: the camera position.
        proximity: how close the objects are to each other, from 1 (farthest) to 3 (closest).
        gaze_target: the object that the person looks at.
        head_target: the object that the head points to; None if the head was free (natural condition).
        image: relative path of the image file.
        points: position of each object, as shares of the image's width and height; None for an object whose position is
            unknown.
        actor: the person in the photo.
        scene: the place where the photo was taken (the study's site).
        attention_check: whether the photo only checks that participants pay attention.
        list_id: number of the list of photos that contains this photo (each participant sees one list); None if no list
            contains it.
    """

    stimulus_id: Name
    objects: tuple[Name, ...] = Field(min_length=2, max_length=MOST_OBJECTS)
    view: View
    proximity: int = Field(ge=1, le=3)
    gaze_target: Name
    head_target: Name | None = None
    image: RelativePath | None = None
    points: tuple[Point | None, ...] | None = None
    actor: str | None = None
    scene: str | None = None
    attention_check: bool = False
    list_id: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _agree(self) -> Stimulus:
        if len(set(self.objects)) < len(self.objects):
            raise ValueError(f"two of the objects {self.objects} have the same name")
        for name in (self.gaze_target, *([self.head_target] if self.head_target else [])):
            if name not in self.objects:
                raise ValueError(f"target {name!r} is not one of the objects {self.objects}")
        if self.points is not None and len(self.points) != len(self.objects):
            raise ValueError(f"{len(self.points)} points for {len(self.objects)} objects")
        return self

    @property
    def condition(self) -> Condition:
        """The condition: natural without a head target, congruent if both targets are the same, else incongruent."""
        if self.head_target is None:
            return "natural"
        return "congruent" if self.head_target == self.gaze_target else "incongruent"

    @property
    def gaze(self) -> int:
        """Index of the gaze target among the objects, from 0."""
        return self.objects.index(self.gaze_target)

    @property
    def head(self) -> int | None:
        """Index of the head target among the objects, from 0; None in the natural condition."""
        return None if self.head_target is None else self.objects.index(self.head_target)


def read_stimuli(path: str | Path, *, on_assumed: Callable[[Problem], None] = ignore_assumed) -> tuple[Stimulus, ...]:
    """Read stimuli from a CSV file in the format of the published study, or with columns from `COLUMNS`.

    In the study's files, a `HeadTarget` of -1 means that there is no head target, a `list_id` of -1 marks an attention
    check, and the points are `option1_x`, `option1_y` and so on, with -1 for unknown points. In files with columns from
    `COLUMNS`, objects are joined by `+`, points are `x y` pairs joined by `;`, and `condition`, if it is given, must
    agree with the targets. Without `stimulus_id`, the ID is the image's name without its extension. Without `view` or
    `proximity`, all photos are read as seen from the front or with proximity 1, which is reported.

    Args:
        path: the file, or a folder with the file `stimuli.csv`.
        on_assumed: called with each assumption about the format of the file, such as semicolons between fields.

    Raises:
        InputError: if the file cannot be read or has invalid values. It lists all problems, each with its file, line
            and field, the invalid value, and what is expected.
    """
    rows = Rows(path, in_folder=STIMULI, on_assumed=on_assumed)
    _renamed(rows)
    rows.know(COLUMNS)
    rows.need(("objects", "gaze_target", *([] if "image" in rows.frame.columns else ["stimulus_id"])))
    _fill_missing(rows, on_assumed)
    check_scene(rows)
    _check_points(rows)
    import polars as pl

    rows.check(pl.col("stimulus_id").is_duplicated(), "stimulus_id", quoted("stimulus_id"), "each stimulus once")
    check_yes_no(rows, "attention_check")
    numbered = pl.col("list_id").cast(pl.UInt32, strict=False).is_not_null()
    rows.check(pl.col("list_id").is_not_null() & ~numbered, "list_id", quoted("list_id"), "a whole number from 0")
    unsafe = pl.col("image").map_elements(lambda text: not is_relative(text), return_dtype=pl.Boolean)
    rows.check(unsafe, "image", quoted("image"), PATH_RULE)
    rows.settle()
    return tuple(_stimulus(row) for row in rows.frame.iter_rows(named=True))


def _fill_missing(rows: Rows, on_assumed: Callable[[Problem], None]) -> None:
    """Add the missing columns, with default values for view and proximity, and with IDs that are names of images."""
    import polars as pl

    for name, value in (("view", VIEWS[0]), ("proximity", str(PROXIMITIES[0]))):
        if name not in rows.frame.columns:
            on_assumed(Problem("assumed-format", str(rows.path), 1, name, "no column", f"a column. {value} is used"))
            rows.frame = rows.frame.with_columns(pl.lit(value).alias(name))
    if "stimulus_id" not in rows.frame.columns:
        rows.frame = rows.frame.with_columns(stimulus_id=pl.col("image").str.replace(r"\.[A-Za-z0-9]+$", ""))
    rows.optional(COLUMNS)


def check_scene(rows: Rows) -> None:
    """Add checks of the columns that describe a photo: view, proximity, objects, targets and condition."""
    import polars as pl

    tidy_objects(rows)
    objects = pl.col("objects").str.split(SEPARATOR)
    rows.check(pl.col("stimulus_id").is_null(), "stimulus_id", "nothing", "a name")
    rows.names(("stimulus_id", "actor", "scene"))
    rows.check(~_known("view", VIEWS), "view", quoted("view"), "front, left or right")
    near = [str(proximity) for proximity in PROXIMITIES]
    rows.check(~_known("proximity", near), "proximity", quoted("proximity"), "1, 2 or 3")
    each_once = objects.list.n_unique() == objects.list.len()
    filled = objects.list.eval(pl.element() != "").list.all()
    enough = objects.list.len().is_between(2, MOST_OBJECTS)
    expected = f"2 to {MOST_OBJECTS} different names, joined by {SEPARATOR}"
    unfit = objects.list.eval(not_a_name(pl.element())).list.any()
    rows.check(unfit, "objects", quoted("objects"), f"each {NAME_RULE}")
    rows.check(~(each_once & filled & enough).fill_null(False), "objects", quoted("objects"), expected)
    one_of = pl.format("one of {}", objects.list.join(", "))
    for target in ("gaze_target", "head_target"):
        is_listed = objects.list.contains(pl.col(target)).fill_null(False)
        needed = pl.lit(True) if target == "gaze_target" else pl.col(target).is_not_null()
        rows.check(needed & ~is_listed, target, quoted(target), one_of)
    stated = pl.col("condition").is_not_null()
    rows.check(stated & ~_known("condition", CONDITIONS), "condition", quoted("condition"), ", ".join(CONDITIONS))
    follows = condition_of()
    expected_of = pl.format("{}, which follows from gaze_target and head_target", follows)
    rows.check(stated & (pl.col("condition") != follows), "condition", quoted("condition"), expected_of)


def check_yes_no(rows: Rows, column: str) -> None:
    """Add a check that the values of a column are `true`, `false` or empty."""
    import polars as pl

    rows.check(~pl.col(column).is_in(["true", "false"]), column, quoted(column), "true or false")


def tidy_objects(rows: Rows) -> None:
    """Remove spaces around the names of objects in the column `objects`."""
    import polars as pl

    rows.frame = rows.frame.with_columns(pl.col("objects").str.replace_all(r"\s*\+\s*", SEPARATOR))


def condition_of() -> pl.Expr:
    """Return a Polars expression that derives the condition from gaze target and head target."""
    import polars as pl

    congruent = pl.when(pl.col("gaze_target") == pl.col("head_target")).then(pl.lit("congruent"))
    return (
        pl.when(pl.col("head_target").is_null())
        .then(pl.lit("natural"))
        .otherwise(congruent.otherwise(pl.lit("incongruent")))
    )


def stimuli_frame(stimuli: Iterable[Stimulus]) -> pl.DataFrame:
    """Return a table of stimuli with the columns `COLUMNS`.

    `proximity` and `list_id` are integers, `attention_check` is Boolean, and all other columns are text.
    """
    import polars as pl

    schema = dict.fromkeys(COLUMNS, pl.String) | {
        "proximity": pl.Int64,
        "attention_check": pl.Boolean,
        "list_id": pl.Int64,
    }
    rows = [
        {
            **stimulus.model_dump(exclude={"objects", "points"}),
            "condition": stimulus.condition,
            "objects": SEPARATOR.join(stimulus.objects),
            "points": _written(stimulus.points),
        }
        for stimulus in stimuli
    ]
    return pl.DataFrame(rows, schema=schema)


def write_stimuli(stimuli: Sequence[Stimulus], path: str | Path) -> None:
    """Write stimuli as CSV with `COLUMNS`. If writing fails, no partial file remains."""
    with replacing(path) as beside:
        csv_frame(stimuli_frame(stimuli)).write_csv(beside)


def _known(column: str, values: Iterable[str]) -> pl.Expr:
    import polars as pl

    return pl.col(column).is_in(list(values)).fill_null(False)


def _renamed(rows: Rows) -> None:
    """Convert the columns of the published study to `COLUMNS`; leave other files unchanged."""
    import polars as pl

    frame = rows.frame
    if not {"Stimulus_ID", "Candidates"} <= set(frame.columns):
        return
    frame = frame.rename({old: new for old, new in _STUDY.items() if old in frame.columns})
    list_id = pl.col("list_id") if "list_id" in frame.columns else pl.lit(None, pl.String)
    is_check = pl.when(list_id == _CHECKS_LIST).then(pl.lit("true")).otherwise(pl.lit("false"))
    frame = frame.with_columns(attention_check=is_check, list_id=pl.when(list_id != _CHECKS_LIST).then(list_id))
    if "head_target" in frame.columns:
        frame = frame.with_columns(head_target=pl.when(pl.col("head_target") != "-1").then("head_target"))
    if "option1_x" in frame.columns:
        frame = frame.with_columns(points=_study_points(frame.columns))
    rows.frame = frame


def _study_points(columns: Sequence[str]) -> pl.Expr:
    """Return an expression for the study's points as pairs joined by `;`, one pair per object."""
    import polars as pl

    def point(place: int) -> pl.Expr:
        x, y = (f"option{place}_{axis}" for axis in "xy")
        if x not in columns or y not in columns:
            return pl.lit("")
        is_given = (pl.col(x).cast(pl.Float64, strict=False) >= 0).fill_null(False)
        return pl.when(is_given).then(pl.format("{} {}", x, y)).otherwise(pl.lit(""))

    every = pl.concat_list([point(place + 1) for place in range(MOST_OBJECTS)])
    own_points = every.list.head(pl.col("objects").str.split(SEPARATOR).list.len())
    return pl.when(own_points.list.join("") != "").then(own_points.list.join(";"))


def _check_points(rows: Rows) -> None:
    import polars as pl

    def unreadable(text: str) -> bool:
        return _points(text) is None

    wrong = pl.col("points").map_elements(unreadable, return_dtype=pl.Boolean)
    rows.check(wrong, "points", quoted("points"), "pairs 'x y' of numbers from 0 to 1, joined by `;`")
    number = pl.col("points").str.count_matches(";") + 1 != pl.col("objects").str.split(SEPARATOR).list.len()
    rows.check(
        number,
        "points",
        quoted("points"),
        "one pair 'x y' per object, joined by `;` (write no pair if the position is unknown, but keep the `;`)",
    )


def _points(text: str) -> tuple[Point | None, ...] | None:
    """Parse points; return None if they are malformed."""
    try:
        pairs = [tuple(float(value) for value in pair.split()) if pair.strip() else None for pair in text.split(";")]
    except ValueError:
        return None
    points: list[Point | None] = []
    for pair in pairs:
        if pair is None:
            points.append(None)
        elif len(pair) == 2 and all(0 <= value <= 1 for value in pair):
            points.append((pair[0], pair[1]))
        else:
            return None
    return tuple(points)


def _written(points: tuple[Point | None, ...] | None) -> str | None:
    return (
        None if points is None else ";".join("" if point is None else f"{point[0]:g} {point[1]:g}" for point in points)
    )


def _stimulus(row: dict[str, str | None]) -> Stimulus:
    objects, points = row["objects"], row["points"]
    assert objects is not None
    fields = ("stimulus_id", "view", "proximity", "gaze_target", "head_target", "image", "actor", "scene", "list_id")
    return Stimulus.model_validate(
        {field: row[field] for field in fields}
        | {
            "objects": tuple(objects.split(SEPARATOR)),
            "points": None if points is None else _points(points),
            "attention_check": row["attention_check"] == "true",
        }
    )
