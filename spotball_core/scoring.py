"""Scoring: responses and scenes in, a report of every metric of every group out.

Responses become counts, counts become one statistic per image and metric, and those become values and intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from spotball_core.counts import Counts
from spotball_core.errors import OptionError
from spotball_core.schema.policy import Images, ScorePolicy
from spotball_core.schema.report import ScoreReport
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.engines import Engine
    from spotball_core.schema.response import PredictionDistribution, Response

from spotball_core.groups import PARTS, Part, Scoring
from spotball_core.stats.ceiling import noise_ceiling


def score(
    responses: str | Path | Counts | pl.DataFrame | Sequence[str | Path] | Sequence[Response | PredictionDistribution],
    scenes: str | Path | Sequence[Scene] | None = None,
    *,
    policy: ScorePolicy | Literal["standard", "paper"] = "standard",
    reference: str | None = None,
    images: Images | None = None,
    by: Sequence[Part] = PARTS,
    wasserstein_unit: Literal["px", "cell", "diagonal"] = "px",
    cluster: Literal["image", "participant"] = "image",
    bootstrap: int = 1000,
    seed: int = 0,
    ceiling: bool = False,
    engine: Engine | None = None,
) -> ScoreReport:
    """Score responses: every metric for every group, with intervals and a signature.

    Args:
        responses: dataset folders or response files; or counts; or a frame; or records.
        scenes: the scenes answered to, or a file of them; a dataset folder brings its own.
        policy: a named policy that the other arguments refine, or a whole ScorePolicy to use as it is, for the choices
            that have no argument here.
        reference: the respondent that others are compared with, usually "human".
        images: "shared" or "all"; by default shared under `standard` with a reference, else all.
        by: what makes a group.
        wasserstein_unit: pixels, cells, or shares of the image's diagonal.
        cluster: what the bootstrap draws.
        bootstrap: how many resamples; 0 for no intervals.
        seed: seed of the resamples.
        ceiling: add the noise ceiling, how close anyone can get to the reference's people.
        engine: what counts files, as `spotball_core.engines.engine_named` gives it; by default this process.

    Raises:
        InputError: for files that cannot be used.
        OptionError: for options that cannot be used, such as a reference that nobody is called.
    """
    parts: Sequence[str] = [by] if isinstance(by, str) else by
    if not isinstance(policy, ScorePolicy):
        named = ScorePolicy.paper if policy == "paper" else ScorePolicy.standard
        if policy not in ("standard", "paper"):
            raise OptionError(f"policy is {policy!r}, expected standard or paper")
        if unknown := set(parts) - set(PARTS):
            raise OptionError(f"groups cannot be made by {', '.join(sorted(unknown))}, only by {', '.join(PARTS)}")
        try:
            policy = named(
                reference=reference,
                images=images,
                by=tuple(part for part in PARTS if part in parts),
                wasserstein_unit=wasserstein_unit,
                cluster=cluster,
                bootstrap=bootstrap,
                seed=seed,
            )
        except ValidationError as error:
            wrong = (f"{'.'.join(map(str, one['loc']))} is {one['input']!r}: {one['msg']}" for one in error.errors())
            raise OptionError("; ".join(wrong)) from None
    elif (reference, images, tuple(parts), wasserstein_unit, cluster, bootstrap, seed) != (
        None,
        None,
        PARTS,
        "px",
        "image",
        1000,
        0,
    ):
        raise OptionError("choices are given both in a ScorePolicy and as arguments")
    apart = ceiling or policy.cluster == "participant"
    counts, known = load(responses, scenes, participants=apart, engine=engine)
    scoring = Scoring(counts, known, policy)
    if not ceiling:
        return scoring.report()
    ceilings = noise_ceiling(scoring, seed=policy.seed)
    report = scoring.report(ceilings)
    if ceilings:
        return report
    missing = f"no noise ceiling: the answers of {policy.reference} do not tell two participants apart"
    return report.model_copy(update={"warnings": (*report.warnings, missing)})


def load(
    responses: object, scenes: object, *, participants: bool, engine: Engine | None = None
) -> tuple[Counts, Sequence[Scene]]:
    """Counts and scenes from whatever `score` takes, told apart by participant where that is asked."""
    from spotball_core.io.dataset import read_dataset, response_files
    from spotball_core.io.responses import common_grid, read_counts
    from spotball_core.io.scenes import read_scenes

    paths = [responses] if isinstance(responses, (str, Path)) else responses
    are_paths = isinstance(paths, list | tuple) and paths and all(isinstance(path, (str, Path)) for path in paths)
    if are_paths and (scenes is None or isinstance(scenes, (str, Path))):
        dataset = read_dataset(paths, scenes)  # type: ignore[arg-type]
        known: Sequence[Scene] = dataset.scenes
        counts = _counted(dataset.response_files, known, participants, engine)
    else:
        if scenes is None:
            raise OptionError("scenes are needed where the responses are no dataset folder")
        known = read_scenes(scenes) if isinstance(scenes, (str, Path)) else list(scenes)  # type: ignore[call-overload]
        if engine is not None and not are_paths:
            raise OptionError("an engine counts files, and none were given")
        if isinstance(responses, Counts):
            counts = responses
        elif are_paths:
            counts = _counted(response_files(paths), known, participants, engine)  # type: ignore[arg-type]
        else:
            counts = read_counts(responses, known, participants=participants)  # type: ignore[arg-type]
    if counts.table.is_empty():
        raise OptionError("the counts hold no responses")
    grid = common_grid(known)
    if (grid.rows, grid.cols) != (counts.rows, counts.cols):
        raise OptionError(
            f"counts are of a grid of {counts.rows} x {counts.cols}, the scenes' is {grid.rows} x {grid.cols}"
        )
    return counts, known


def _counted(files: Sequence[Path], scenes: Sequence[Scene], participants: bool, engine: Engine | None) -> Counts:
    """The counts of files of responses and of counts together."""
    from spotball_core.io.counts_file import ENDING, merged, read_counts_file
    from spotball_core.io.responses import read_counts

    rows = [file for file in files if file.suffix != ENDING]
    read = [(engine or read_counts)(rows, scenes, participants=participants)] if rows else []
    parts = (read_counts_file(file) for file in files if file.suffix == ENDING)
    return merged(chain(read, parts), participants=participants)
