"""Compute the numbers of the gallery: every image with all answers, and the number of images with each failure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from spotball_core.grid import Grid
from spotball_core.metrics.inputs import ratio, share
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
"""Maximum number of images in a report."""

LISTED = 60
"""Maximum number of listed images per failure mode."""

CaseKey = tuple[str, str, str | None, str | None]
"""Sport, image, respondent and prompt."""


def gallery_numbers(
    scoring: Scoring,
    groups: Sequence[Group],
    *,
    most: int | None = MOST,
    rationales: Mapping[CaseKey, Sequence[str]] | None = None,
) -> GalleryNumbers | None:
    """Collect the images with the answers of some groups, and count the groups' failures.

    Args:
        scoring: the scored groups.
        groups: groups in the order in which they are shown.
        most: maximum number of images; None for all. If there are more, half of the shown images are those on which
            respondents are farthest from the reference, and the others are spread evenly over the rest.
        rationales: some of each group's rationales for an image.

    Returns:
        The numbers; None without a reference, or if no group answered an image that the reference answered.
    """
    all_cases = cases(scoring, groups) if scoring.policy.reference is not None else []
    if not all_cases:
        return None
    by_scene: dict[int, list[Case]] = {}
    by_group: dict[int, list[Case]] = {}
    for case in all_cases:
        by_scene.setdefault(case.scene, []).append(case)
        by_group.setdefault(case.group.number, []).append(case)
    far = sorted(by_scene, key=lambda scene: -_disagreement(by_scene[scene]))
    sports = list(dict.fromkeys(case.group.sport for case in all_cases))
    chosen = sorted(_spread(far, most), key=lambda scene: sports.index(scoring.arrays.sports[scene]))
    known = modes(scoring)
    apart: dict[str, list[float]] = {}
    for scene, some in by_scene.items():
        apart.setdefault(scoring.arrays.sports[scene], []).append(_disagreement(some))
    typical = {sport: float(np.median(values)) for sport, values in apart.items()}
    shown = (
        _shown(scoring, scene, by_scene[scene], typical[scoring.arrays.sports[scene]], known, rationales or {})
        for scene in chosen
    )
    return GalleryNumbers(
        modes=known,
        failures=tuple(_failures(scoring, some, known) for some in by_group.values()),
        images=tuple(shown),
        n_images=len(by_scene),
    )


def _disagreement(some: Sequence[Case]) -> float:
    """Return the mean distance of an image's answers to the reference's."""
    return float(np.mean([case.distance for case in some]))


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
        distance=case.distance,
        uniform=case.uniform,
        right=None if math.isnan(case.right) else case.right,
        n_answers=float(case.mass.sum()),
        answers=_by_label(case.mass, scene.layout),
        failures=tuple(mode.key for mode in known if mode.key in case.failures),
        rationales=tuple(rationales.get((*scene.key, group.respondent, group.prompt), ())),
    )


def _shown(
    scoring: Scoring,
    place: int,
    some: Sequence[Case],
    typical: float,
    known: Sequence[FailureMode],
    rationales: Mapping[CaseKey, Sequence[str]],
) -> ShownImage:
    arrays, scene = scoring.arrays, scoring.arrays.scenes[place]
    mass = scoring.reference_mass([place])
    assert mass is not None  # Cases are compared with the reference.
    has_truth = bool(arrays.has_truth[place])
    right = float(share(mass, arrays.truth[[place]])[0]) if has_truth else None
    shares: FloatArray = np.nan_to_num(ratio(mass[0], mass[0].sum()))
    best = max((case.right for case in some), default=math.nan)
    return ShownImage(
        scene=scene,
        n_reference=float(mass.sum()),
        reference=_by_label(shares, scene.layout),
        reference_right=right,
        disagreement=_disagreement(some),
        from_typical=abs(_disagreement(some) - typical),
        leak=None if right is None or math.isnan(best) else best - right,
        cases=tuple(_case(scoring, case, known, rationales) for case in some),
    )


def _by_label(values: FloatArray, grid: Grid) -> dict[str, float]:
    return {grid.labels[cell]: float(values[cell]) for cell in np.flatnonzero(values)}
