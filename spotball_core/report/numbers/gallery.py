"""Compute the numbers of the gallery: every image with all answers, and the number of images with each failure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from spotball_core.grid import Grid
from spotball_core.metrics.inputs import ratio, share
from spotball_core.metrics.task import euclidean_error
from spotball_core.report.numbers.cases import Case, cases, modes, ranked
from spotball_core.report.numbers.records import (
    CaseNumbers,
    FailedImages,
    FailureMode,
    GalleryNumbers,
    GroupFailures,
    ShownImage,
)
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.typing import FloatArray

MOST = 240
"""Default maximum number of images in a gallery."""

LISTED = 60
"""Maximum number of listed images per group and failure mode."""

CaseKey = tuple[str, str, str | None, str | None]
"""Sport, image, respondent and prompt."""


def gallery_numbers(
    scoring: Scoring,
    groups: Sequence[Group],
    *,
    most: int | None = MOST,
    rationales: Mapping[CaseKey, Sequence[str]] | None = None,
) -> GalleryNumbers | None:
    """Collect the images with the answers of the given groups and of the reference, and count the groups' failures.

    Args:
        scoring: the scored groups.
        groups: groups in the order in which they are shown.
        most: maximum number of images; None for all. If there are more, half of the shown images are those on which
            respondents are farthest from the reference (without distances, those on which the ball is found least
            often), and the others are spread evenly over the rest.
        rationales: examples of each group's rationales for each image.

    Returns:
        The numbers; None if there is no image to show. If no group can be compared with the reference, the images show
        the reference alone.
    """
    all_cases = cases(scoring, groups)
    by_scene: dict[int, list[Case]] = {}
    if not all_cases and (reference := scoring.policy.reference):
        alone = [group for group in scoring.groups if group.respondent == reference]
        by_scene = {scene: [] for group in alone for scene in scoring.images(group)}
    by_group: dict[int, list[Case]] = {}
    for case in all_cases:
        by_scene.setdefault(case.scene, []).append(case)
        by_group.setdefault(case.group.number, []).append(case)
    if not by_scene:
        return None
    apart = {scene: _disagreement(some) for scene, some in by_scene.items()}
    mass = scoring.reference_mass(list(by_scene))
    reference_mass = {} if mass is None else dict(zip(by_scene, mass, strict=True))
    ease = {scene: _ease(scoring, scene, some, reference_mass.get(scene)) for scene, some in by_scene.items()}
    # Unknown values come last.
    far = sorted(by_scene, key=lambda scene: (np.nan_to_num(-apart[scene]), np.nan_to_num(ease[scene], nan=1.0)))
    sports = list(dict.fromkeys(scoring.arrays.sports[scene] for scene in by_scene))
    chosen = sorted(_spread(far, most), key=lambda scene: sports.index(scoring.arrays.sports[scene]))
    known = modes(scoring) if all_cases else ()
    of_sport: dict[str, list[float]] = {}
    for scene in by_scene:
        of_sport.setdefault(scoring.arrays.sports[scene], []).append(apart[scene])
    typical = {sport: float(np.median(values)) for sport, values in of_sport.items()}
    shown = (
        _shown(
            scoring,
            scene,
            by_scene[scene],
            reference_mass.get(scene),
            ease=ease[scene],
            typical=typical[scoring.arrays.sports[scene]],
            known=known,
            rationales=rationales or {},
        )
        for scene in chosen
    )
    return GalleryNumbers(
        modes=known,
        failures=tuple(_failures(scoring, some, known) for some in by_group.values()),
        images=tuple(shown),
        n_images=len(by_scene),
    )


def _disagreement(some: Sequence[Case]) -> float:
    """Return the mean distance of the groups' answers to the reference's on an image; NaN if there are no distances."""
    return float(np.mean([case.distance for case in some])) if some else math.nan


def _ease(scoring: Scoring, place: int, some: Sequence[Case], mass: FloatArray | None) -> float:
    """Return the share of the reference's guesses on an image that find the ball; NaN if its cells are not known.

    Without a reference, return the mean of this share over the groups.
    """
    if not scoring.arrays.has_truth[place]:
        return math.nan
    if mass is None:
        return float(np.mean([case.right for case in some]))
    return float(share(mass, scoring.arrays.truth[place]))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _spread(far: Sequence[int], most: int | None) -> list[int]:
    """Choose at most `most` images: half are those with the most disagreement, half are spread evenly over the rest."""
    if most is None or len(far) <= most:
        return list(far)
    first, rest = list(far[: most // 2]), far[most // 2 :]
    places = np.linspace(0, len(rest) - 1, most - len(first)).round().astype(int)
    return [*first, *(rest[place] for place in places)]


def _failures(scoring: Scoring, some: Sequence[Case], known: Sequence[FailureMode]) -> GroupFailures:
    group, failed = some[0].group, {}
    for mode in known:
        fails = ranked([case for case in some if mode.key in case.failures])
        images = tuple(scoring.arrays.scenes[case.scene].image for case in fails[:LISTED])
        failed[mode.key] = FailedImages(n=len(fails), images=images)
    return GroupFailures(
        sport=group.sport, respondent=group.respondent, prompt=group.prompt, n_images=len(some), failed=failed
    )


def _case(
    scoring: Scoring, case: Case, known: Sequence[FailureMode], rationales: Mapping[CaseKey, Sequence[str]]
) -> CaseNumbers:
    scene, group = scoring.arrays.scenes[case.scene], case.group
    return CaseNumbers(
        sport=group.sport,
        respondent=group.respondent,
        prompt=group.prompt,
        image=scene.image,
        distance=_known(case.distance),
        uniform=_known(case.uniform),
        right=_known(case.right),
        error=_known(case.error),
        n_answers=float(case.mass.sum()),
        answers=_by_label(case.mass, scene.layout),
        failures=tuple(mode.key for mode in known if mode.key in case.failures),
        rationales=tuple(rationales.get((*scene.key, group.respondent, group.prompt), ())),
    )


def _shown(
    scoring: Scoring,
    place: int,
    some: Sequence[Case],
    counts: FloatArray | None,
    *,
    ease: float,
    typical: float,
    known: Sequence[FailureMode],
    rationales: Mapping[CaseKey, Sequence[str]],
) -> ShownImage:
    scene = scoring.arrays.scenes[place]
    mass = np.zeros(scene.layout.n_cells) if counts is None else counts
    right = None if counts is None else _known(ease)
    shares: FloatArray = np.nan_to_num(ratio(mass, mass.sum()))
    best = max((case.right for case in some), default=math.nan)
    return ShownImage(
        scene=scene,
        n_reference=float(mass.sum()),
        reference=_by_label(shares, scene.layout),
        reference_right=right,
        reference_error=None if counts is None else _known(float(euclidean_error(mass, scene))),
        ease=_known(ease),
        disagreement=_known(_disagreement(some)),
        from_typical=_known(abs(_disagreement(some) - typical)),
        leak=None if right is None or math.isnan(best) else best - right,
        cases=tuple(_case(scoring, case, known, rationales) for case in some),
    )


def _by_label(values: FloatArray, grid: Grid) -> dict[str, float]:
    return {grid.labels[cell]: float(values[cell]) for cell in np.flatnonzero(values)}
