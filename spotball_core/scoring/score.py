"""Score responses: return a report of every metric for every group.

Responses are reduced to counts. Each metric computes one statistic per image from the counts, and its value and
interval from these statistics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from pydantic import ValidationError

from spotball_core.counting.counts import Counts
from spotball_core.errors import InputError, OptionError, Problem, unknown_name
from spotball_core.grid import Grid
from spotball_core.interchange import ArrowFrame, PolarsDataset
from spotball_core.io.plain_files import paths_of
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.faults import expected_of
from spotball_core.schema.policy import Images, ScorePolicy
from spotball_core.schema.report import ScoreReport
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    from spotball_core.counting.engines import Engine
    from spotball_core.io.answer_options import AnswerOptions, FirstIndex, PointScale
    from spotball_core.io.columns import ReadOptions
    from spotball_core.io.sources import Responses

from spotball_core.scoring.ceiling import noise_ceiling
from spotball_core.scoring.groups import PARTS, Part, Scoring

PolicyName = Literal["standard", "paper"]

Scenes: TypeAlias = (
    str
    | Path
    | ArrowFrame
    | PolarsDataset
    | Sequence[Scene]
    | Sequence[Mapping[str, Any]]
    | Mapping[str, Any]
    | Mapping[int, Any]
)
"""Scenes or a truth table: a path, a frame, Scene records, dictionaries, or a mapping from image to truth."""


def score(
    data: Responses | Counts,
    scenes: Scenes | None = None,
    *,
    truth: Scenes | None = None,
    columns: Mapping[str, str] | None = None,
    grid: Grid | None = None,
    policy: ScorePolicy | PolicyName = "standard",
    reference: str | None = None,
    images: Images | None = None,
    by: Sequence[Part] | None = None,
    wasserstein_unit: Literal["px", "cell", "diagonal"] | None = None,
    cluster: Literal["image", "participant"] | None = None,
    bootstrap: int | None = None,
    seed: int | None = None,
    ceiling: bool = False,
    metrics: Iterable[str] | None = None,
    engine: Engine | None = None,
    pool: bool = False,
    strict: bool = False,
    point_scale: PointScale | None = None,
    first_index: FirstIndex | None = None,
    accept_signs: bool = False,
) -> ScoreReport:
    """Score responses: compute every metric for every group, with confidence intervals and a signature.

    `score(data, ...)` is the short form of `load(data).score(...)`.

    Args:
        data: dataset folders, response files, counts, a data frame, records, dictionaries, or a mapping from image to
            answer.
        scenes: the scenes that the responses refer to: a scenes file, records, dictionaries or a data frame. A dataset
            folder contains its scenes.
        truth: instead of scenes, a table of the ball's position in each image: a path (CSV, JSON Lines, JSON or
            Parquet), a data frame, dictionaries, or a mapping from image to truth.
        columns: the names of the tables' columns, such as `{"image": "image_id", "cell": "prediction"}`.
        grid: the grid and the image size of a truth table that does not name them. Default: `Grid.standard()`.
        policy: a named policy, whose choices the arguments from `reference` to `seed` replace, or a ScorePolicy, which
            already contains all these choices. An argument that is None keeps the policy's choice.
        reference: the respondent that others are compared with, usually "human".
        images: "shared" to score each sport's groups on the images that all of them answered, or "all". Default:
            "shared" under `standard` with a reference, else "all".
        by: the fields that define a group. Default: sport, respondent and prompt.
        wasserstein_unit: pixels (default), cells, or shares of the image's diagonal.
        cluster: the unit of the bootstrap: images (default) or participants.
        bootstrap: number of resamples (default 1000); 0 for no intervals.
        seed: seed of the resamples (default 0).
        ceiling: whether to add the noise ceiling: how close a respondent can get to the people of the reference.
        metrics: keys of the metrics to compute, such as `["accuracy"]`. Default: all.
        engine: the engine that counts files, from `spotball_core.counting.engines.engine_named`. Default: this process.
        pool: merge a respondent's answers to the same images from independent files, instead of raising an error.
        strict: raise InputError for signs that a file was misread, instead of listing them in the report's warnings.
        point_scale: the scale of points, such as "1" or "1000"; see `read_counts`. Default: pixels.
        first_index: the number of the first row, column and cell, 0 or 1; see `read_counts`.
        accept_signs: if it is certain that answers were misread, give a warning instead of an error.

    Raises:
        InputError: for files that cannot be read or contain invalid rows.
        OptionError: for unusable options, such as a reference without responses, or an argument that differs from the
            ScorePolicy.

    Examples:
        >>> report = score({"1": "D5", "2": "A1"}, truth={"1": "D5", "2": "D5"}, bootstrap=0)
        >>> report.groups[0].metrics["accuracy"].value
        0.5
    """
    chosen = chosen_policy(
        policy,
        reference=reference,
        images=images,
        by=by,
        wasserstein_unit=wasserstein_unit,
        cluster=cluster,
        bootstrap=bootstrap,
        seed=seed,
    )
    wanted = chosen_metrics(metrics)
    counts, known = load_counts(
        data,
        scenes,
        truth=truth,
        columns=columns,
        grid=grid,
        participants=needs_participants(chosen, ceiling=ceiling),
        engine=engine,
        pool=pool,
        strict=strict,
        point_scale=point_scale,
        first_index=first_index,
        accept_signs=accept_signs,
    )
    return score_counts(counts, known, chosen, ceiling=ceiling, metrics=wanted, engine=engine)


def needs_participants(policy: ScorePolicy, *, ceiling: bool) -> bool:
    """Return whether `score_counts` needs counts by participant."""
    return ceiling or policy.cluster == "participant"


def score_counts(
    counts: Counts,
    scenes: Sequence[Scene],
    policy: ScorePolicy,
    *,
    ceiling: bool = False,
    metrics: Iterable[str] | None = None,
    engine: Engine | None = None,
) -> ScoreReport:
    """Score counts; see `score`."""
    from spotball_core.counting.engines import MappingEngine

    scoring = Scoring(counts, scenes, policy, metrics)
    if isinstance(engine, MappingEngine):
        scoring.compute_with(engine.map)
    limit = noise_ceiling(scoring, seed=policy.seed) if ceiling else None
    report = scoring.report(limit.ceilings if limit else ())
    missing = list(limit.warnings) if limit else []
    if policy.cluster == "participant" and not (counts.has_participants and counts.table["participant"].count()):
        missing.append(
            "the responses have no participants, so images were resampled instead. Add a column `participant` to them"
        )
    return report.model_copy(update={"warnings": (*report.warnings, *missing)}) if missing else report


def chosen_metrics(keys: Iterable[str] | None, field: str = "metrics") -> tuple[str, ...] | None:
    """Return the given keys of metrics, in the order of the registry; None for all.

    Raises:
        OptionError: for an unknown key, or no key at all.
    """
    if keys is None:
        return None
    listed = [keys] if isinstance(keys, str) else list(keys)
    if unknown := [key for key in listed if key not in METRICS] or ([] if listed else [""]):
        raise OptionError(unknown_name("metric", str(unknown[0]), METRICS), code="unknown-name", field=field)
    return tuple(key for key in METRICS if key in listed)


def chosen_policy(policy: ScorePolicy | str, *, by: Sequence[Part] | None = None, **choices: object) -> ScorePolicy:
    """Return the named policy with these choices, or the given ScorePolicy, which must not differ from them.

    Choices that are None keep the policy's choice.

    Raises:
        OptionError: for invalid choices, or choices that differ from the given ScorePolicy.
    """
    if by is not None:
        parts = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
        if unknown := [part for part in parts if part not in PARTS]:
            raise OptionError(unknown_name("part", str(unknown[0]), PARTS), code="unknown-name", field="by")
        choices["by"] = tuple(part for part in PARTS if part in parts)
    choices = {name: choice for name, choice in choices.items() if choice is not None}
    if isinstance(policy, ScorePolicy):
        for name, choice in choices.items():
            if choice != (has := getattr(policy, name)):
                raise OptionError(
                    f"found {choice!r} as an argument, but {has!r} in the ScorePolicy. Remove the argument, or "
                    "change the policy",
                    code="conflicting-options",
                    field=name,
                )
        return policy
    if policy not in ("standard", "paper"):
        raise OptionError(
            unknown_name("policy", str(policy), ("standard", "paper")), code="unknown-name", field="policy"
        )
    try:
        return (ScorePolicy.paper if policy == "paper" else ScorePolicy.standard)(**choices)  # type: ignore[arg-type]
    except ValidationError as error:
        wrong = (
            f"{'.'.join(map(str, detail['loc']))}: found {detail['input']!r}, expected {expected_of(detail)}"
            for detail in error.errors()
        )
        raise OptionError("; ".join(wrong)) from None


def load_counts(
    data: Responses | Counts,
    scenes: Scenes | None,
    *,
    participants: bool,
    truth: Scenes | None = None,
    columns: Mapping[str, str] | None = None,
    grid: Grid | None = None,
    engine: Engine | None = None,
    pool: bool = False,
    strict: bool = False,
    **options: Unpack[AnswerOptions],
) -> tuple[Counts, tuple[Scene, ...]]:
    """Return counts and scenes for any input that `score` accepts; the counts are by participant if requested."""
    from spotball_core.counting.read import read_counts
    from spotball_core.counting.responses import common_grid
    from spotball_core.io.columns import ColumnNames
    from spotball_core.io.dataset import response_files

    # The tables of responses and of the truth share the names, and each name must occur in one of them.
    columns = ColumnNames.of(columns)
    paths = paths_of(data)
    files = response_files(paths) if paths else ()
    if isinstance(truth, (str, Path)) and "cells" not in columns:
        _check_not_both(Path(truth), paths)
    known = _scenes(data, paths, scenes, truth, columns, grid)
    if engine is not None and not paths:
        raise OptionError(
            "an engine counts files, but no files were given. Pass paths, or remove the engine",
            code="missing-option",
            field="engine",
        )
    if isinstance(data, Counts):
        counts = data
    elif paths:
        counts = _counted(files, known, participants, engine, pool, columns=columns, **options)
    else:
        counts = read_counts(data, known, participants=participants, columns=columns, **options)
    columns.check()
    if columns.assumed:
        counts = replace(counts, warnings=(*columns.assumed, *counts.warnings))
    if counts.table.is_empty():
        raise OptionError("there are no responses to score. Add at least one", code="no-data")
    shared = common_grid(known)
    if (shared.rows, shared.cols) != (counts.rows, counts.cols):
        raise OptionError(
            f"the counts have a grid of {counts.rows} x {counts.cols}, but the scenes have a grid of {shared.rows} x "
            f"{shared.cols}. Use the scenes with which the responses were counted",
            code="different-grids",
        )
    if strict and counts.warnings:
        raise InputError(counts.warnings)
    return counts, known


def _check_not_both(truth: Path, predictions: Sequence[Path]) -> None:
    """Raise OptionError if a file is both the truth and the predictions, because one column would be read as both."""
    if any(path.resolve() == truth.resolve() for path in predictions if path.is_file()):
        raise OptionError(
            "this file contains the predictions as well. Name both columns: --columns cell=PREDICTION,cells=TRUTH (in "
            "Python: columns={'cell': 'PREDICTION', 'cells': 'TRUTH'})",
            code="ambiguous-name",
            file=truth,
            field="truth",
        )


def _scenes(
    data: object,
    paths: Sequence[Path],
    scenes: Scenes | None,
    truth: Scenes | None,
    columns: Mapping[str, str] | None,
    grid: Grid | None,
) -> tuple[Scene, ...]:
    """Return the scenes of a scenes file, of records, of a truth table, or of dataset folders."""
    from spotball_core.io.dataset import read_dataset
    from spotball_core.io.scenes import read_scenes
    from spotball_core.io.sources import missing_file

    if scenes is not None and truth is not None:
        raise OptionError(
            "found values for both `scenes` and `truth`. Pass only one of them",
            code="conflicting-options",
            field="truth",
        )
    if grid is not None and not isinstance(grid, Grid):
        raise OptionError(
            f"found {type(grid).__name__}, expected a Grid, such as Grid(8, 8, 800, 600)",
            code="wrong-type",
            field="grid",
        )
    have_grids = truth is None and (scenes is None or isinstance(scenes, (str, Path)))
    if grid is not None and have_grids:
        raise OptionError(
            "each scene already has a grid. Remove `grid`, or pass a truth table as `truth`",
            code="conflicting-options",
            field="grid",
        )
    if isinstance(scenes, (str, Path)):
        return read_scenes(scenes)
    if (source := scenes if truth is None else truth) is not None:
        from spotball_core.io.truth import scenes_of

        return scenes_of(source, grid=grid, columns=columns)
    if missing := [path for path in paths if not path.exists()]:
        raise InputError(missing_file(path, "a dataset folder or a file of responses") for path in missing)
    if paths and not any(path.is_dir() for path in paths):
        expected = "a dataset folder, a scenes file or a truth table"
        fix = "Add --scenes FILE (the scenes.jsonl of a dataset) or --truth FILE (a table of the ball's cells)"
        raise InputError([Problem("missing-truth", str(paths[0]), None, "scenes", "none", expected, fix=fix)])
    if paths:
        return read_dataset(paths).scenes
    raise OptionError(
        f"found none for data of type {type(data).__name__}. Pass the scenes or a truth table as `scenes` or "
        "`truth`, or the path of a dataset folder as the data",
        code="missing-truth",
        field="scenes",
    )


def _counted(
    files: Sequence[Path],
    scenes: Sequence[Scene],
    participants: bool,
    engine: Engine | None,
    pool: bool,
    **options: Unpack[ReadOptions],
) -> Counts:
    """Return the merged counts of response files and counts files."""
    from spotball_core.counting.counts_file import merged, read_counts_file
    from spotball_core.counting.misread import warnings_of_counts
    from spotball_core.counting.parse_record import is_adaptive, read_parse_policies
    from spotball_core.counting.pooling import check_counts
    from spotball_core.counting.read import read_counts
    from spotball_core.io.sources import COUNTS_ENDING

    rows = [file for file in files if file.suffix != COUNTS_ENDING]
    counted = [file for file in files if file.suffix == COUNTS_ENDING]
    parts = []
    if rows:
        policies = read_parse_policies(rows)
        counts = (engine or read_counts)(rows, scenes, participants=participants, pool=pool, **options)
        adaptive = tuple(_adaptive(path) for path in rows if is_adaptive(path))
        parts.append(replace(counts, parse_policies=policies, warnings=(*counts.warnings, *adaptive)))
    if counted:
        counts = merged((read_counts_file(file) for file in counted), participants=participants)
        parts.append(replace(counts, warnings=warnings_of_counts(counts, scenes, counted)))
    if len(parts) == 2 and not pool:
        check_counts(parts[0], parts[1], rows, counted)
    return merged(parts, participants=participants)


def _adaptive(path: Path) -> Problem:
    """Return the warning about responses of an adaptive run."""
    return Problem(
        "adaptive-answers",
        str(path),
        None,
        "sample",
        "numbers of answers that depend on earlier answers",
        "equal numbers",
        fix="Scores are biased. Use the estimate that `spotball run --adaptive` printed",
    )
