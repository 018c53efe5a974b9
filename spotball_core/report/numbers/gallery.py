"""The numbers of the gallery: which images are shown, and on how many images each failure happens."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from spotball_core.grid import Grid
from spotball_core.metrics.inputs import ratio
from spotball_core.report.numbers.cases import Case, cases, chosen, modes, ranked
from spotball_core.report.numbers.records import (
    Album,
    CaseNumbers,
    FailedImages,
    FailureMode,
    GalleryNumbers,
    GroupFailures,
    ShownImage,
)
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.typing import FloatArray

SHOWN = 12
"""Cards of each respondent and sport, at most."""

OF_EACH = 2
"""Cards of each mode among them, at least, where there are so many."""

MOST = 240
"""Cards on a page, at most."""

LISTED = 60
"""Images that fail in one way that are named, at most."""


def gallery_numbers(
    scoring: Scoring, groups: Sequence[Group], *, shown: int = SHOWN, most: int = MOST
) -> GalleryNumbers | None:
    """Choose the images to show of some groups, and count their failures.

    Args:
        scoring: what is scored.
        groups: in the order in which they are shown.
        shown: cards of each respondent and sport, at most; fewer where there would be more than `most` in all.
        most: cards in all.

    Returns:
        None without a reference, or if no group answered an image that the reference answered.
    """
    found = cases(scoring, groups) if scoring.policy.reference is not None else []
    if not found:
        return None
    by_album: dict[tuple[str | None, str | None], list[Case]] = {}
    by_group: dict[int, list[Case]] = {}
    for case in found:
        by_album.setdefault((case.group.respondent, case.group.sport), []).append(case)
        by_group.setdefault(case.group.number, []).append(case)
    some = dict(list(by_album.items())[:most])
    shown = max(1, min(shown, most // len(some)))
    picks = {key: chosen(mine, shown, OF_EACH) for key, mine in some.items()}
    known = modes(scoring)
    scenes = dict.fromkeys(case.scene for mine in picks.values() for case in mine)
    return GalleryNumbers(
        modes=known,
        failures=tuple(_failures(scoring, mine, known) for mine in by_group.values()),
        albums=tuple(
            Album(
                sport=sport,
                respondent=respondent,
                n_images=len({case.scene for case in some[respondent, sport]}),
                cards=tuple(_case(scoring, case, known) for case in mine),
            )
            for (respondent, sport), mine in picks.items()
        ),
        images=tuple(_shown(scoring, scene) for scene in scenes),
        n_images=sum(len({case.scene for case in mine}) for mine in by_album.values()),
        n_shown=sum(map(len, picks.values())),
        n_left_out=len(by_album) - len(picks),
        of_each=OF_EACH,
    )


def _failures(scoring: Scoring, mine: Sequence[Case], known: Sequence[FailureMode]) -> GroupFailures:
    group, failed = mine[0].group, {}
    for mode in known:
        fails = ranked([case for case in mine if mode.key in case.failures])
        images = tuple(scoring.arrays.scenes[case.scene].image for case in fails[:LISTED])
        failed[mode.key] = FailedImages(n=len(fails), images=images)
    return GroupFailures(
        sport=group.sport, respondent=group.respondent, prompt=group.prompt, n_images=len(mine), failed=failed
    )


def _case(scoring: Scoring, case: Case, known: Sequence[FailureMode]) -> CaseNumbers:
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
        shares=_by_label(_shares(case.mass), scene.layout),
        failures=tuple(mode.key for mode in known if mode.key in case.failures),
    )


def _shown(scoring: Scoring, place: int) -> ShownImage:
    scene = scoring.arrays.scenes[place]
    mass = scoring.reference_mass([place])
    assert mass is not None
    return ShownImage(scene=scene, reference=_by_label(_shares(mass[0]), scene.layout))


def _shares(mass: FloatArray) -> FloatArray:
    shares: FloatArray = np.nan_to_num(ratio(mass, mass.sum()))
    return shares


def _by_label(values: FloatArray, grid: Grid) -> dict[str, float]:
    return {grid.label(int(cell)): float(values[cell]) for cell in np.flatnonzero(values)}
