"""Read the configuration CONFIG.toml: videos, kind of each stage, and targets. Errors list all problems in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field, PositiveInt, ValidationError, model_validator

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, OptionError, Problem, did_you_mean
from spotball_core.grid import Grid
from spotball_core.schema.faults import problems_of_record
from spotball_core.service.plugins import load_registered, registered_names
from spotball_core.service.toml_file import read_toml
from spotball_gen.items.item import Sport, known_sports
from spotball_gen.items.stage import ORDER, Context, StageSettings
from spotball_gen.pipeline.quotas import Targets

GROUP = "spotball.stages"


def kinds(stage: str) -> tuple[str, ...]:
    """Return the sorted names of the installed kinds of a stage."""
    return registered_names(GROUP, f"{stage}.")


def find(stage: str, kind: str) -> Any:
    """Return the class of a stage's kind.

    Raises:
        OptionError: if the kind is unknown, if two packages define it, or if it cannot be loaded.
    """
    return load_registered(GROUP, f"kind of the stage {stage}", kind, prefix=f"{stage}.")


M = TypeVar("M", bound=BaseModel)

DEFAULT_KINDS: Mapping[str, str] = {
    "frames": "pyav",
    "filter": "sharpness",
    "track": "kalman",
    "plausibility": "rules",
    "inpaint": "temporal",
    "check": "artifacts",
    "label": "cells",
}
"""Default kind of each stage. The detector has no default, because the choice depends on the footage."""


class RunSettings(StageSettings):
    """Settings in the table `[run]`.

    Attributes:
        seed: random seed.
        width: width of the items' images, in pixels.
        height: height of the items' images, in pixels.
        rows: rows of the grid.
        cols: columns of the grid.
        keep_rejected: whether to keep the images of rejected items in the work folder, so that you can examine the
            effect of the settings.
    """

    seed: int = Field(0, ge=0)
    width: PositiveInt = 640
    height: PositiveInt = 360
    rows: PositiveInt = 6
    cols: PositiveInt = 10
    keep_rejected: bool = False

    @property
    def grid(self) -> Grid:
        """Return the grid over the items' images."""
        return Grid(self.rows, self.cols, self.width, self.height)


class SourceSettings(StageSettings):
    """A table `[[sources]]`: video files, or a search for videos. With neither, the sport's search queries are used.

    Attributes:
        sport: sport of the videos.
        path: a video, or a folder with videos at any depth.
        query: search query for YouTube with yt-dlp, or the address of a video or playlist.
        count: number of videos per search.
        match: filter in the syntax of yt-dlp's `--match-filters`, such as `license ~= 'Creative Commons'`.
        license: license of local videos, and of downloaded videos whose site does not state a license.
    """

    sport: str = Field(min_length=1, pattern=r"^[\w-]+$")
    path: str | None = None
    query: str | None = None
    count: PositiveInt = 10
    match: str | None = None
    license: str = ""

    @model_validator(mode="after")
    def _one_place(self) -> SourceSettings:
        if self.path is not None:
            searched = {"query", "count", "match"} & self.model_fields_set
            if searched:
                raise ValueError(f"expected path without {', '.join(sorted(searched))}")
        return self


@dataclass(frozen=True)
class StageChoice:
    """A stage in the configuration: the class of its kind, and its settings."""

    stage: str
    kind: str
    make: Any
    settings: StageSettings

    def identity(self) -> dict[str, Any]:
        """Return the values that the stage's results depend on: its kind, version and settings."""
        return {"kind": self.kind, "version": self.make.version, **self.settings.model_dump(mode="json")}


@dataclass(frozen=True)
class GenerationPlan:
    """A validated configuration.

    Attributes:
        folder: folder that the paths in the configuration are relative to.
        frames: the stage that creates items.
        stages: the stages after `frames`, in the order in which items pass them.
    """

    folder: Path
    run: RunSettings
    sources: tuple[SourceSettings, ...]
    sports: Mapping[str, Sport]
    frames: StageChoice
    stages: tuple[StageChoice, ...]
    targets: Targets

    def context(self, work: Path) -> Context:
        """Return the context that the stages receive: the given work folder, and values of the configuration."""
        detectors = [(choice.make, choice.settings) for choice in self.stages if choice.stage == "detect"]
        return Context(
            work, self.run.grid, self.run.seed, self.sports, self.folder, detectors[0] if detectors else None
        )

    def identity(self) -> dict[str, Any]:
        """Return the values that all items of a dataset must share, by name. A run resumes only if they are
        unchanged.
        """
        parts: dict[str, Any] = {
            "run": self.run.model_dump(exclude={"keep_rejected"}),
            **{f"sports.{name}": sport.model_dump(mode="json") for name, sport in self.sports.items()},
            **{choice.stage: choice.identity() for choice in (self.frames, *self.stages)},
            "targets": self.targets.model_dump(mode="json"),
        }
        flat = {f"{table}.{name}": value for table, entries in parts.items() for name, value in entries.items()}
        sources = {
            f"sources.{number}": source.model_dump(mode="json") for number, source in enumerate(self.sources, start=1)
        }
        return {"stages": [choice.stage for choice in self.stages], **sources, **flat}


def read_config(path: Path) -> GenerationPlan:
    """Read a configuration.

    Raises:
        InputError: if the configuration is invalid. The error lists all problems.
    """
    return _ConfigReader(path, read_toml(path, "a configuration")).plan()


class _ConfigReader:
    """Read one configuration, and collect all errors in it."""

    def __init__(self, path: Path, tables: dict[str, Any]) -> None:
        self._path, self._tables = path, tables
        self._problems: list[Problem] = []

    def plan(self) -> GenerationPlan:
        tables = {"run", "sources", "sports", "frames", *ORDER, "targets"}
        for name in sorted(set(self._tables) - tables):
            fix = f"Correct its spelling or remove it.{did_you_mean(name, sorted(tables))}".removesuffix(".")
            self._wrong(name, "an unknown table", f"one of {', '.join(sorted(tables))}", fix, code="unknown-key")
        run = self._model(RunSettings, "run", self._table("run"))
        sources = self._sources()
        sports = self._sports({source.sport for source in sources})
        self._check_queries(sources, sports)
        choices = {stage: self._choice(stage) for stage in ("frames", *ORDER)}
        self._check_bounds(sports, choices["plausibility"])
        targets = self._model(Targets, "targets", self._table("targets"))
        if self._problems:
            raise InputError(self._problems)
        stages = [choice for choice in choices.values() if choice]
        assert run
        assert targets
        return GenerationPlan(self._path.parent, run, sources, sports, stages[0], tuple(stages[1:]), targets)

    def _sources(self) -> tuple[SourceSettings, ...]:
        entries = self._tables.get("sources", [])
        if not isinstance(entries, list) or not entries:
            self._wrong(
                "sources", "none", "a table [[sources]] with `sport`, and with `path` or `query`", code="missing-value"
            )
            return ()
        sources = []
        for number, entry in enumerate(entries, start=1):
            where = f"sources.{number}"
            source = self._model(SourceSettings, where, entry)
            if source is None:
                continue
            sources.append(source)
            if source.path is not None and not (self._path.parent / source.path).exists():
                fix = f"Correct the path; it is relative to the folder of {self._path.name}"
                self._wrong(
                    f"{where}.path", f"{source.path!r}, which does not exist", "a video or a folder of videos", fix
                )
        return tuple(sources)

    def _sports(self, played: set[str]) -> dict[str, Sport]:
        entries = self._table("sports")
        by_name: dict[str, Sport] = {}
        for name, entry in entries.items():
            sport = self._model(Sport, f"sports.{name}", entry)
            if sport and name in played:
                by_name[name] = sport
        for name in played - set(entries):
            by_name[name] = known_sports().get(name, Sport())
        return dict(sorted(by_name.items()))

    def _check_queries(self, sources: Sequence[SourceSettings], sports: Mapping[str, Sport]) -> None:
        """Check that the sport of a source without path and query has queries."""
        for source in sources:
            unspecified = source.path is None and source.query is None
            if unspecified and source.sport in sports and not sports[source.sport].queries:
                expected = f"`path` or `query`, or `queries` in [sports.{source.sport}]"
                self._wrong("sources", f"a source of {source.sport} without `path` and `query`", expected)

    def _choice(self, stage: str) -> StageChoice | None:
        table = dict(self._table(stage))
        kind = table.pop("kind", DEFAULT_KINDS.get(stage))
        if kind not in kinds(stage):
            actual, fix = repr(kind), did_you_mean(str(kind), kinds(stage)).strip()
            if kind is None:
                actual, fix = "nothing", f'Add kind = "..." to the table [{stage}]'
            self._wrong(f"{stage}.kind", actual, f"one of {', '.join(kinds(stage))}", fix)
            return None
        try:
            make = find(stage, kind)
        except OptionError as error:
            self._wrong(f"{stage}.kind", f"{kind!r} ({error})", "a kind that can be loaded")
            return None
        settings = self._model(make.Settings, stage, table)
        return settings and StageChoice(stage, kind, make, settings)

    def _check_bounds(self, sports: Mapping[str, Sport], choice: StageChoice | None) -> None:
        """Check that each sport's bounds are valid settings of the stage `plausibility`."""
        for name, sport in sports.items() if choice else ():
            assert choice
            together = {**choice.settings.model_dump(), **sport.bounds}
            self._model(choice.make.Settings, f"sports.{name}.bounds", together)

    def _table(self, name: str) -> dict[str, Any]:
        table = self._tables.get(name, {})
        if not isinstance(table, dict):
            self._wrong(name, repr(table)[:80], f"a table [{name}]")
            return {}
        return table

    def _model(self, make: type[M], where: str, table: object) -> M | None:
        """Return a validated model of the table. If the table is invalid, collect the errors and return None."""
        try:
            return make.model_validate(table)
        except ValidationError as error:
            self._problems += problems_of_record(error, str(self._path), model=make, where=where)
        return None

    def _wrong(self, field: str, actual: str, expected: str, fix: str = "", *, code: Code = "invalid-value") -> None:
        self._problems.append(Problem(code, str(self._path), None, field, actual, expected, fix=fix))
