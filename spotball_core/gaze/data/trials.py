"""Read and write trials, which record the object that a respondent chose in a photo."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.gaze.data.rows import Rows, ignore_assumed, quoted
from spotball_core.gaze.data.stimuli import (
    SEPARATOR,
    Stimulus,
    check_scene,
    check_yes_no,
    condition_of,
    stimuli_frame,
    tidy_objects,
)
from spotball_core.schema.record import Name, Record
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_frame

if TYPE_CHECKING:
    import polars as pl

COLUMNS: Final = (
    *("respondent", "stimulus_id", "prompt_id", "condition", "view", "proximity", "objects"),
    *("gaze_target", "head_target", "choice", "participant", "sample", "response_time"),
)
"""The columns of a trials file, in the order of writing; each of the last three is omitted if it has no values."""

_SHOWN: Final = ("condition", "view", "proximity", "objects", "gaze_target", "head_target")
"""The columns of a trial that describe its photo."""

_OF_STIMULI: Final = ("actor", "scene", "attention_check")

TRIALS: Final = "trials.csv"
"""Name of the file of trials in a folder."""

GROUP: Final = "group"
"""Column of `Trials.frame` with the participant's group, if the trials are read with groups."""

PARTICIPANT_FILES: Final = ("participants.csv", "questionnaires.csv")
"""Names of the files with properties of participants in a folder with trials, as a study exports them."""

TimeUnit = Literal["s", "ms"]

LONGEST_TIME: Final = 120.0
"""If the median response time is longer, in seconds, the times are certainly milliseconds."""

FEWEST_TIMES: Final = 5
"""Minimum number of response times that show their unit."""

_IDENTITY: Final = ("respondent", "stimulus_id", "prompt_id", "participant", "sample")

PROMPT: Final = "base"
"""The default prompt of trials."""


class Trial(Record):
    """One answer to one photo.

    Attributes:
        respondent: the respondent: a model, `human`, or a baseline.
        stimulus_id: the photo.
        prompt_id: the prompt.
        choice: name of the chosen object; None if the reply matches no object.
        participant: the person who answered, if the respondent is a group of people.
        sample: number of this answer among repeated answers to the same photo and prompt, from 1.
        response_time: response time in seconds; None if unknown.
    """

    respondent: Name
    stimulus_id: Name
    prompt_id: Name = PROMPT
    choice: Name | None = None
    participant: str | None = None
    sample: int | None = None
    response_time: float | None = None


@dataclass(frozen=True)
class Trials:
    """A table of trials in which each row also describes the photo.

    Attributes:
        frame: one row per trial, with `respondent`, `stimulus_id`, `prompt_id`, `participant`, `sample`,
            `response_time`, `condition`, `view`, `proximity`, `objects` (joined by `+`), `n_objects`, the 0-based
            positions of the objects `gaze`, `head` (null in the natural condition) and `choice` (null if unmatched),
            and `actor` and `scene` (null if unknown). With groups of participants, also `group`.
        n_checks: number of trials with photos that are attention checks; `frame` excludes them.
    """

    frame: pl.DataFrame
    n_checks: int = 0

    @property
    def respondents(self) -> list[str]:
        """The names of all respondents, in the order of the file."""
        names: list[str] = self.frame["respondent"].unique(maintain_order=True).to_list()
        return names

    def of(self, respondent: str) -> pl.DataFrame:
        """Return one respondent's trials."""
        import polars as pl

        return self.frame.filter(pl.col("respondent") == respondent)

    def digest(self) -> str:
        """Return the SHA-256 of all trials, which does not depend on their order."""
        columns = [*_IDENTITY, "condition", "view", "proximity", "objects", "gaze", "head", "choice", "response_time"]
        columns += [column for column in ("actor", "scene") if self.frame[column].null_count() < len(self.frame)]
        ordered = self.frame.select(columns).sort(columns, nulls_last=True)
        return hashlib.sha256(ordered.write_csv(float_precision=9).encode()).hexdigest()


def read_trials(
    path: str | Path,
    stimuli: Sequence[Stimulus] = (),
    *,
    time_unit: TimeUnit | None = None,
    by: str | None = None,
    on_assumed: Callable[[Problem], None] = ignore_assumed,
) -> Trials:
    """Read trials from a CSV file with columns from `COLUMNS`.

    Without `stimuli`, the file must describe each photo. With `stimuli`, the file may omit these descriptions; those
    that it has must agree with `stimuli`. By default, `respondent` is the file's name without its extension, and
    `prompt_id` is `base`.

    Args:
        path: the file, or a folder with the file `trials.csv`, such as that of a run.
        stimuli: the photos.
        time_unit: unit of the response times. With None, it is seconds, but times that are certainly in milliseconds
            raise an error.
        by: a column of the file, or of `PARTICIPANT_FILES` in its folder, with the group of each participant; trials
            without a value have no group.
        on_assumed: called with each assumption about the format of the file, such as semicolons between fields.

    Raises:
        InputError: if the file cannot be read, or for a missing, duplicate or misspelled column, a choice that is not
            one of the objects, an unknown stimulus, a stimulus with two descriptions, a duplicate trial, or an invalid
            value. It lists problems, each with its file, line and field, the invalid value, and what is expected.
    """
    rows = Rows(path, in_folder=TRIALS, on_assumed=on_assumed)
    rows.know((*COLUMNS, *_OF_STIMULI, *([by] if by else [])))
    rows.need(("stimulus_id", "choice"))
    if not stimuli:
        rows.need(
            ("view", "proximity", "objects", "gaze_target"),
            fix="Add --stimuli FILE to name a file that describes the photos, or add the column",
        )
    rows.optional((*COLUMNS, *_OF_STIMULI))
    if by is not None and by not in rows.frame.columns:
        _add_group(rows, by)
    if stimuli:
        _joined(rows, stimuli)
    check_scene(rows)
    _check_answers(rows)
    rows.settle()
    _time_in_seconds(rows, time_unit)
    _filled(rows)
    _check_whole(rows)
    rows.settle()
    return _numbered(rows.frame, by)


def together(parts: Sequence[Trials]) -> Trials:
    """Combine the trials of several files into one table.

    Raises:
        OptionError: if two files contain the same trial, or describe a stimulus differently.
    """
    import polars as pl

    frame = pl.concat([part.frame for part in parts])
    repeated = frame.filter(pl.struct(_IDENTITY).is_duplicated())
    if len(repeated):
        respondent, stimulus, prompt, *_ = repeated.select(_IDENTITY).row(0)
        raise OptionError(
            f"two files contain the trial of {respondent} with stimulus "
            f"{stimulus} and prompt {prompt}. Remove it from one file",
            code="duplicate",
        )
    columns = ["stimulus_id", "view", "proximity", "objects", "gaze", "head"]
    ways = frame.select(columns).unique().filter(pl.col("stimulus_id").is_duplicated())
    if len(ways):
        raise OptionError(
            f"two files describe the stimulus {ways['stimulus_id'].sort()[0]} differently. Correct one of them",
            code="incompatible-data",
        )
    return Trials(frame, sum(part.n_checks for part in parts))


def make_trials(trials: Sequence[Trial], stimuli: Sequence[Stimulus]) -> Trials:
    """Convert records of trials and their stimuli to a table.

    Raises:
        OptionError: for a trial with an unknown stimulus, or a choice that is not one of its objects.
    """
    import polars as pl

    by_id = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
    for trial in trials:
        if trial.stimulus_id not in by_id:
            raise OptionError(
                f"the stimuli do not contain {trial.stimulus_id!r}. Use ids of the stimuli file", code="unknown-image"
            )
        if trial.choice is not None and trial.choice not in by_id[trial.stimulus_id].objects:
            raise OptionError(
                f"choice {trial.choice!r} is not an object of stimulus {trial.stimulus_id!r}. Correct the column "
                "`choice`",
                code="unknown-image",
            )
    text = ("respondent", "stimulus_id", "prompt_id", "choice", "participant", "sample")
    schema: dict[str, pl.DataType] = {**dict.fromkeys(text, pl.String()), "response_time": pl.Float64()}
    rows = pl.DataFrame([trial.model_dump() for trial in trials], schema=schema, strict=False)
    return _numbered(rows.join(stimuli_frame(stimuli), on="stimulus_id", maintain_order="left"))


def write_trials(trials: Trials, path: str | Path) -> None:
    """Write trials as CSV with `COLUMNS`. If writing fails, no partial file remains."""
    import polars as pl

    objects = pl.col("objects").str.split(SEPARATOR)
    names = {
        name: objects.list.get(pl.col(place))
        for name, place in (("gaze_target", "gaze"), ("head_target", "head"), ("choice", "choice"))
    }
    frame = trials.frame.with_columns(**names)
    also = [name for name in COLUMNS[-3:] if frame[name].null_count() < len(frame)]
    with replacing(path) as beside:
        csv_frame(frame.select(*COLUMNS[:-3], *also)).write_csv(beside)


def _add_group(rows: Rows, by: str) -> None:
    """Add each participant's value in the column `by` of a file in the same folder; null without this column."""
    for path in (rows.path.with_name(name) for name in PARTICIPANT_FILES):
        people = Rows(path).frame if path.is_file() else None
        if people is not None and {"participant", by} <= set(people.columns):
            groups = people.select("participant", by).unique("participant", maintain_order=True)
            rows.frame = rows.frame.join(groups, on="participant", how="left", maintain_order="left")
            return
    rows.optional((by,))


def _joined(rows: Rows, stimuli: Sequence[Stimulus]) -> None:
    """Add the description of the photo from `stimuli` to each trial, and check that it agrees with the trial's own."""
    import polars as pl

    tidy_objects(rows)
    stimulus_rows = stimuli_frame(stimuli).with_columns(pl.col("proximity", "attention_check").cast(pl.String))
    stimulus_rows = stimulus_rows.select("stimulus_id", *_SHOWN, *_OF_STIMULI, _known=pl.lit(True))
    frame = rows.frame.join(stimulus_rows, on="stimulus_id", how="left", suffix="_of_stimulus", maintain_order="left")
    rows.frame = frame
    expected = f"an id from the stimuli file, such as '{stimuli[0].stimulus_id}'"
    rows.check(pl.col("_known").is_null(), "stimulus_id", quoted("stimulus_id"), expected, "unknown-image")
    for name in _SHOWN:
        stimulus_column = f"{name}_of_stimulus"
        differs = pl.col(name).is_not_null() & pl.col(name).ne_missing(pl.col(stimulus_column))
        rows.check(
            differs,
            name,
            quoted(name),
            pl.format("'{}', as in the stimuli file", pl.col(stimulus_column).fill_null("")),
        )
    rows.settle()
    columns = [pl.col(f"{name}_of_stimulus").alias(name) for name in (*_SHOWN, *_OF_STIMULI)]
    rows.frame = frame.with_columns(columns).select(pl.exclude("_known", "^.*_of_stimulus$"))


def _check_answers(rows: Rows) -> None:
    import polars as pl

    check_yes_no(rows, "attention_check")
    rows.names(("respondent", "prompt_id", "participant"))
    _spell_as_objects(rows)
    objects = pl.col("objects").str.split(SEPARATOR)
    unknown_choice = pl.col("choice").is_not_null() & ~objects.list.contains(pl.col("choice")).fill_null(False)
    expected = pl.format("one of {}, or an empty cell if no choice could be matched", objects.list.join(", "))
    rows.check(unknown_choice, "choice", quoted("choice"), expected)
    seconds = pl.col("response_time").cast(pl.Float64, strict=False)
    wrong = pl.col("response_time").is_not_null() & ~((seconds >= 0) & seconds.is_finite()).fill_null(False)
    rows.check(wrong, "response_time", quoted("response_time"), "seconds, at least 0")


def _spell_as_objects(rows: Rows) -> None:
    """Write each choice in upper and lower case as the object that it names."""
    import polars as pl

    names = rows.frame.select("objects").unique().with_columns(_object=pl.col("objects").str.split(SEPARATOR))
    names = names.explode("_object").with_columns(_spelling=pl.col("_object").str.to_lowercase())
    # Objects that differ only in case keep their spelling.
    names = names.filter(pl.struct("objects", "_spelling").is_duplicated().not_())
    spelling = pl.col("choice").str.to_lowercase()
    frame = rows.frame.with_columns(_spelling=spelling)
    frame = frame.join(names, on=["objects", "_spelling"], how="left", maintain_order="left")
    rows.frame = frame.with_columns(choice=pl.coalesce("_object", "choice")).drop("_object", "_spelling")


def _time_in_seconds(rows: Rows, unit: TimeUnit | None) -> None:
    """Convert milliseconds to seconds.

    Raises:
        InputError: if `unit` is None, but the times are certainly milliseconds.
    """
    import polars as pl

    seconds = rows.frame["response_time"].cast(pl.Float64)
    timed = seconds.drop_nulls()
    middle = timed.median()
    if unit is None and len(timed) >= FEWEST_TIMES and isinstance(middle, float) and middle > LONGEST_TIME:
        shown = rows.frame.filter(seconds > LONGEST_TIME).head(3).select("_record", "response_time")
        lines = rows.lines(shown["_record"])
        values = [f"line {lines[record]}: {value}" for record, value in shown.iter_rows()]
        raise InputError.of(
            "misread-answers",
            rows.path,
            "response_time",
            f"a median of {middle:,.0f} ({'; '.join(values)})",
            "seconds",
            line=lines[shown["_record"][0]],
            fix="Add --time-unit ms (in Python: time_unit='ms'), or --time-unit s if these are seconds",
        )
    if unit == "ms":
        rows.frame = rows.frame.with_columns(response_time=seconds / 1000)


def _filled(rows: Rows) -> None:
    """Fill in the default values of missing cells."""
    import polars as pl

    rows.frame = rows.frame.with_columns(
        respondent=pl.col("respondent").fill_null(rows.path.stem),
        prompt_id=pl.col("prompt_id").fill_null(PROMPT),
        condition=condition_of(),
    )


def _check_whole(rows: Rows) -> None:
    """Add checks for duplicate trials, and for photos that two rows describe differently."""
    import polars as pl

    identity = pl.format("{}, {}, {}", "respondent", "stimulus_id", "prompt_id")
    repeated = pl.struct(_IDENTITY).is_first_distinct().not_()
    expected = f"each ({', '.join(_IDENTITY)}) once"
    rows.check(repeated, "stimulus_id", pl.format("a second trial of {}", identity), expected, "duplicate")
    for name in _SHOWN:
        first = pl.col(name).first().over("stimulus_id")
        differs = pl.col(name).ne_missing(first)
        as_before = pl.format("'{}', as in an earlier trial with stimulus {}", first.fill_null(""), "stimulus_id")
        rows.check(differs, name, pl.format("'{}'", pl.col(name).fill_null("")), as_before, "incompatible-data")


def _numbered(frame: pl.DataFrame, by: str | None = None) -> Trials:
    """Return trials with positions of objects instead of names, and without attention checks."""
    import polars as pl

    objects = pl.col("objects").str.split(SEPARATOR)
    codes = frame.select("objects").unique().with_columns(name=objects, n_objects=objects.list.len().cast(pl.Int64))
    places = codes.explode("name").with_columns(place=pl.int_range(pl.len()).over("objects").cast(pl.Int64))
    for target, name in (("gaze_target", "gaze"), ("head_target", "head"), ("choice", "choice")):
        look_up = places.select("objects", pl.col("name").alias(target), pl.col("place").alias(f"_{name}"))
        frame = frame.join(look_up, on=["objects", target], how="left", maintain_order="left")
    frame = frame.join(codes.select("objects", "n_objects"), on="objects", maintain_order="left")
    is_check = pl.col("attention_check").cast(pl.String).fill_null("false") == "true"
    remaining = frame.filter(~is_check)
    return Trials(
        remaining.select(
            *("respondent", "stimulus_id", "prompt_id", "participant", "sample"),
            pl.col("response_time").cast(pl.Float64),
            *("condition", "view", pl.col("proximity").cast(pl.Int64), "objects", "n_objects"),
            *(pl.col(f"_{name}").alias(name) for name in ("gaze", "head", "choice")),
            *("actor", "scene"),
            *([pl.col(by).alias(GROUP)] if by else []),
        ),
        n_checks=len(frame) - len(remaining),
    )
