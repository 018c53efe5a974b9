"""Score responses: return a report of every metric for every group.

Responses are reduced to counts. Each metric computes one statistic per image from the counts, and its value and
interval from these statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from spotball_core.counting.counts import Counts
from spotball_core.errors import InputError, OptionError, unknown_name
from spotball_core.schema.faults import expected_of
from spotball_core.schema.policy import Images, ScorePolicy
from spotball_core.schema.report import ScoreReport
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    from spotball_core.counting.engines import Engine
    from spotball_core.io.sources import Responses

from spotball_core.scoring.ceiling import noise_ceiling
from spotball_core.scoring.groups import PARTS, Part, Scoring


def score(
    responses: Responses | Counts,
    scenes: str | Path | Sequence[Scene] | None = None,
    *,
    policy: ScorePolicy | Literal["standard", "paper"] = "standard",
    reference: str | None = None,
    images: Images | None = None,
    by: Sequence[Part] | None = None,
    wasserstein_unit: Literal["px", "cell", "diagonal"] | None = None,
    cluster: Literal["image", "participant"] | None = None,
    bootstrap: int | None = None,
    seed: int | None = None,
    ceiling: bool = False,
    engine: Engine | None = None,
    pool: bool = False,
    strict: bool = False,
) -> ScoreReport:
    """Score responses: compute every metric for every group, with confidence intervals and a signature.

    Args:
        responses: dataset folders, response files, counts, a data frame, or records.
        scenes: the scenes that the responses refer to, or a file of them. A dataset folder contains its scenes.
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
        engine: the engine that counts files, from `spotball_core.counting.engines.engine_named`. Default: this process.
        pool: merge a respondent's answers to the same images from independent files, instead of raising an error.
        strict: raise InputError for signs that a file was misread, instead of listing them in the report's warnings.

    Raises:
        InputError: for files that cannot be read or contain invalid rows.
        OptionError: for unusable options, such as a reference without responses, or an argument that differs from the
            ScorePolicy.
    """
    if by is not None:
        parts = [by] if isinstance(by, str) else by
        if unknown := set(parts) - set(PARTS):
            raise OptionError(f"by: {unknown_name('part', min(unknown), PARTS)}")
        by = tuple(part for part in PARTS if part in parts)
    choices = {
        "reference": reference,
        "images": images,
        "by": by,
        "wasserstein_unit": wasserstein_unit,
        "cluster": cluster,
        "bootstrap": bootstrap,
        "seed": seed,
    }
    policy = _refined(policy, {name: choice for name, choice in choices.items() if choice is not None})
    apart = ceiling or policy.cluster == "participant"
    counts, known = load_counts(responses, scenes, participants=apart, engine=engine, pool=pool, strict=strict)
    scoring = Scoring(counts, known, policy)
    limit = noise_ceiling(scoring, seed=policy.seed) if ceiling else None
    report = scoring.report(limit.ceilings if limit else ())
    missing = list(limit.warnings) if limit else []
    if policy.cluster == "participant" and not (counts.has_participants and counts.table["participant"].count()):
        missing.append(
            "the responses have no participants, so images were resampled instead. Add a column `participant` to them"
        )
    return report.model_copy(update={"warnings": (*report.warnings, *missing)}) if missing else report


def _refined(policy: ScorePolicy | str, choices: dict[str, object]) -> ScorePolicy:
    """Return the named policy with these choices, or the given ScorePolicy, which must not differ from them."""
    if isinstance(policy, ScorePolicy):
        for name, choice in choices.items():
            if choice != (has := getattr(policy, name)):
                raise OptionError(
                    f"{name}: found {choice!r} as an argument, but {has!r} in the ScorePolicy. Remove the argument, or "
                    "change the policy"
                )
        return policy
    if policy not in ("standard", "paper"):
        raise OptionError(f"policy: {unknown_name('policy', str(policy), ('standard', 'paper'))}")
    try:
        return (ScorePolicy.paper if policy == "paper" else ScorePolicy.standard)(**choices)  # type: ignore[arg-type]
    except ValidationError as error:
        wrong = (
            f"{'.'.join(map(str, detail['loc']))}: found {detail['input']!r}, expected {expected_of(detail)}"
            for detail in error.errors()
        )
        raise OptionError("; ".join(wrong)) from None


def load_counts(
    responses: Responses | Counts,
    scenes: str | Path | Sequence[Scene] | None,
    *,
    participants: bool,
    engine: Engine | None = None,
    pool: bool = False,
    strict: bool = False,
) -> tuple[Counts, Sequence[Scene]]:
    """Return counts and scenes for any input that `score` accepts; the counts are by participant if requested."""
    from spotball_core.counting.responses import common_grid, read_counts
    from spotball_core.io.dataset import read_dataset, response_files
    from spotball_core.io.scenes import read_scenes

    paths = [responses] if isinstance(responses, (str, Path)) else responses
    are_paths = isinstance(paths, list | tuple) and paths and all(isinstance(path, (str, Path)) for path in paths)
    if are_paths and (scenes is None or isinstance(scenes, (str, Path))):
        dataset = read_dataset(paths, scenes)  # type: ignore[arg-type]
        known: Sequence[Scene] = dataset.scenes
        counts = _counted(dataset.response_files, known, participants, engine, pool)
    else:
        if scenes is None:
            raise OptionError("scenes: found none. Pass `scenes`, or a dataset folder as `responses`")
        known = read_scenes(scenes) if isinstance(scenes, (str, Path)) else list(scenes)
        if others := {type(scene).__name__ for scene in known if not isinstance(scene, Scene)}:
            raise OptionError(
                f"scenes: found items of type {min(others)}, expected Scene records. Pass the path of scenes.jsonl, or "
                "convert each dictionary with Scene.model_validate"
            )
        if engine is not None and not are_paths:
            raise OptionError(
                "engine: an engine counts files, but no files were given. Pass paths, or remove the engine"
            )
        if isinstance(responses, Counts):
            counts = responses
        elif are_paths:
            counts = _counted(response_files(paths), known, participants, engine, pool)  # type: ignore[arg-type]
        else:
            counts = read_counts(responses, known, participants=participants)
    if counts.table.is_empty():
        raise OptionError("there are no responses to score. Add at least one")
    grid = common_grid(known)
    if (grid.rows, grid.cols) != (counts.rows, counts.cols):
        raise OptionError(
            f"the counts have a grid of {counts.rows} x {counts.cols}, but the scenes have a grid of {grid.rows} x "
            f"{grid.cols}. Use the scenes with which the responses were counted"
        )
    if strict and counts.warnings:
        raise InputError(counts.warnings)
    return counts, known


def _counted(
    files: Sequence[Path], scenes: Sequence[Scene], participants: bool, engine: Engine | None, pool: bool
) -> Counts:
    """Return the merged counts of response files and counts files."""
    from spotball_core.counting.counts_file import merged, read_counts_file
    from spotball_core.counting.misread import warnings_of_counts
    from spotball_core.counting.parse_record import read_parse_policies
    from spotball_core.counting.pooling import check_counts
    from spotball_core.counting.responses import read_counts
    from spotball_core.io.compressed import as_given, plain_files
    from spotball_core.io.sources import COUNTS_ENDING

    rows = [file for file in files if file.suffix != COUNTS_ENDING]
    counted = [file for file in files if file.suffix == COUNTS_ENDING]
    parts = []
    if rows:
        policies = read_parse_policies(rows)
        with plain_files(rows) as plain:
            counts = (engine or read_counts)(plain, scenes, participants=participants, pool=pool)
        warnings = as_given(counts.warnings, rows, plain)
        parts.append(replace(counts, parse_policies=policies, warnings=warnings))
    if counted:
        counts = merged((read_counts_file(file) for file in counted), participants=participants)
        parts.append(replace(counts, warnings=warnings_of_counts(counts, scenes, counted)))
    if len(parts) == 2 and not pool:
        check_counts(parts[0], parts[1], rows, counted)
    return merged(parts, participants=participants)
