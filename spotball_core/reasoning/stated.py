"""Compare stated and followed cues, for example whether guesses follow gaze on images whose rationales mention gaze."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from spotball_core.cues.explanation_record import StatedCue
from spotball_core.cues.group_fit import LEAST_IMAGES, GroupFit, fit_group, mirrored_body, scores_of_sport
from spotball_core.cues.logit import RIDGE
from spotball_core.errors import OptionError
from spotball_core.random import generator_for
from spotball_core.reasoning.rationales import Rationales
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.typing import FloatArray, IntArray

FOLLOWED: Mapping[str, tuple[str, ...]] = MappingProxyType({"gaze": ("head", "view"), "pose": ("torso", "limbs")})
"""The groups of cues that correspond to each category of rationales."""

PERMUTATIONS = 10_000
"""Default number of permutations of images."""

_LEAST = 8
"""Minimum number of images with rationales for a test."""


def stated_cues(
    scoring: Scoring,
    rationales: Rationales,
    category: IntArray,
    names: Sequence[str],
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> tuple[StatedCue, ...]:
    """Test, for each group and category, whether stating a cue is associated with following it.

    Two numbers per image are compared: the share of the group's rationales with this category, and how much the
    category's cues (`FOLLOWED`) improve the prediction of the group's guesses on this image, compared with positions
    and players alone, in held-out bits per guess. The statistic is Spearman's rank correlation over images, with a
    two-sided p value from permutations of images.

    Args:
        scoring: groups by sport, respondent and prompt.
        rationales: responses to the same scenes, with their texts.
        category: category of each text, as a position in `names`, or below 0 for none, shape (n_texts,).
        names: names of the categories; those in `FOLLOWED` are tested.
        permutations: number of permutations.
        seed: seed of the permutations.

    Returns:
        One record for each group with rationales and each tested category.

    Raises:
        OptionError: if the numbers of categories and texts differ, or for fewer than one permutation.
    """
    if len(category) != len(rationales.texts):
        raise OptionError(f"{len(category)} categories for {len(rationales.texts)} texts", code="wrong-shape")
    if permutations < 1:
        raise OptionError(f"found {permutations}, expected at least 1", field="permutations")
    by_group = _shares(scoring, rationales, category, len(names))
    sports = dict.fromkeys(str(group.sport) for group in by_group)
    by_sport = {sport: scores_of_sport(scoring, sport, None) for sport in sports}
    turned = {sport: mirrored_body(scoring, *by_sport[sport], 0) for sport in sports}
    tests: list[StatedCue] = []
    for group, (number, shares) in by_group.items():
        fit = fit_group((scoring, by_sport, turned, RIDGE), scoring.groups.index(group))
        for place, name in enumerate(names):
            if name in FOLLOWED:
                test = _Test(group, name, permutations, seed)
                tests.append(test.of(fit, number, shares[:, place]))
    return tuple(tests)


class _Test:
    def __init__(self, group: Group, category: str, permutations: int, seed: int) -> None:
        self.group, self.category, self.permutations = group, category, permutations
        self.generator = generator_for(seed, "stated", group.name, category)

    def of(self, fit: GroupFit | None, number: FloatArray, share: FloatArray) -> StatedCue:
        """Run the test, given the number of rationales for each scene and the share of these with the category."""
        if fit is None:
            return self._record(0, 0, None, reason=f"fewer than {LEAST_IMAGES} images have guesses")
        use = number[fit.scenes] > 0
        n_images, n_rationales = int(use.sum()), int(number[fit.scenes].sum())
        cues = [cue for cue in FOLLOWED[self.category] if cue in fit.subsets.groups]
        stated = share[fit.scenes][use]
        mean = float(stated.mean()) if use.any() else None
        if not cues:
            return self._record(n_images, n_rationales, mean, reason="no cue of this category applies to these images")
        if n_images < _LEAST:
            return self._record(n_images, n_rationales, mean, reason=f"fewer than {_LEAST} images have rationales")
        gain = fit.subsets.of([*fit.base, *cues]) - fit.subsets.of(fit.base)
        first, second = _ranks(stated), _ranks((gain / fit.sizes)[use])
        if not first.any() or not second.any():
            return self._record(
                n_images, n_rationales, mean, reason="the share of rationales or the gain is the same on all images"
            )
        value = float(first @ second)
        drawn = self.generator.permuted(np.tile(second, (self.permutations, 1)), axis=1) @ first
        # The observed order counts as one more permutation, so that a test at level alpha has an error rate of at most
        # alpha.
        p = (1 + int((np.abs(drawn) >= abs(value) - 1e-12).sum())) / (1 + self.permutations)
        return self._record(n_images, n_rationales, mean, correlation=value, p=p, cues=tuple(cues))

    def _record(
        self,
        n_images: int,
        n_rationales: int,
        share: float | None,
        *,
        correlation: float | None = None,
        p: float | None = None,
        cues: tuple[str, ...] = (),
        reason: str | None = None,
    ) -> StatedCue:
        return StatedCue(
            sport=self.group.sport,
            respondent=self.group.respondent,
            prompt=self.group.prompt,
            category=self.category,
            cues=cues,
            n_images=n_images,
            n_rationales=n_rationales,
            share=share,
            correlation=correlation,
            p=p,
            reason=reason,
        )


def _shares(
    scoring: Scoring, rationales: Rationales, category: IntArray, n_categories: int
) -> dict[Group, tuple[FloatArray, FloatArray]]:
    """Return, for each group with rationales, their number per scene, and each category's share of them."""
    rows = rationales.rows.filter(rationales.rows["text"].is_not_null())
    position = {key: place for place, key in enumerate(scoring.arrays.keys)}
    places = np.array([position[sport, image] for sport, image in rows.select("sport", "image").iter_rows()], dtype=int)
    kinds = category[rows["text"].to_numpy()]
    by_group = {}
    for group in scoring.groups:
        of_group = ((rows["sport"] == group.sport) & (rows["respondent"] == group.respondent)).to_numpy()
        of_group &= (rows["prompt"] == group.prompt).to_numpy()
        if of_group.any():
            number = np.bincount(places[of_group], minlength=len(position)).astype(float)
            counts = np.stack(list(_counts(places[of_group], kinds[of_group], n_categories, len(position))), axis=-1)
            by_group[group] = (number, counts / np.maximum(number, 1)[:, None])
    return by_group


def _counts(places: IntArray, kinds: IntArray, n_categories: int, n_scenes: int) -> Iterator[FloatArray]:
    for kind in range(n_categories):
        yield np.bincount(places[kinds == kind], minlength=n_scenes).astype(float)


def _ranks(values: FloatArray) -> FloatArray:
    """Return centered ranks, scaled to length 1, with mean ranks for ties; 0 if all values are equal."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    centered = ranks - ranks.mean()
    length = float(np.sqrt(centered @ centered))
    normalized: FloatArray = centered / length if length > 0 else np.zeros_like(centered)
    return normalized
