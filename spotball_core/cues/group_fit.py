"""Fit models of the guesses of one group: with all cues, with subsets of the cues, and with mirrored keypoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.cue_maps.cue import Cue
from spotball_core.cue_maps.scores import CueScores, cue_scores
from spotball_core.cues.explainable import explainable_gain
from spotball_core.cues.held_out import BITS, SubsetGains, folds_of, subset_gains
from spotball_core.cues.logit import ChoiceData, LogitFit, fit_logit, held_out_likelihood
from spotball_core.cues.mirror import mirrored_scores
from spotball_core.scoring.groups import Scoring
from spotball_core.typing import BoolArray, FloatArray, IntArray

LEAST_IMAGES = 8
"""Minimum number of images with guesses; a group of guesses to fewer images is not explained."""

SportScores = tuple[list[int], CueScores]
"""Positions of a sport's scenes in the list of all scenes, and the cues' scores on these scenes."""


@dataclass(frozen=True)
class GroupFit:
    """The fitted models of a group's guesses.

    Attributes:
        scenes: positions of the images in the list of all scenes.
        sizes: number of guesses to each image.
        keys: the cues of the model.
        groups: the group to which each cue belongs.
        fit: the fit with all cues.
        subsets: held-out gains of the models with each subset of the cues' groups.
        explainable: each image's explainable gain, in bits.
        base: the groups to which the base cues belong.
        turned: held-out gains of all cues with mirrored keypoints, in bits, shape (mirrors, n_images).
        notes: sentences about excluded images and about cues that do not apply.
    """

    scenes: IntArray
    sizes: FloatArray
    keys: tuple[str, ...]
    groups: tuple[str, ...]
    fit: LogitFit
    subsets: SubsetGains
    explainable: FloatArray
    base: tuple[str, ...]
    turned: FloatArray
    notes: tuple[str, ...]

    @property
    def body(self) -> tuple[str, ...]:
        """The groups to which the body cues belong."""
        return tuple(group for group in self.subsets.groups if group not in self.base)


def scores_of_sport(scoring: Scoring, sport: str, keys: Sequence[str] | None) -> SportScores:
    """Return the positions of a sport's scenes among all scenes, and the scores of cues on these scenes."""
    places = [place for place, name in enumerate(scoring.arrays.sports) if name == sport]
    return places, cue_scores([scoring.arrays.scenes[place] for place in places], keys)


def mirrored_body(scoring: Scoring, places: list[int], scores: CueScores, mirrors: int) -> FloatArray:
    """Return standardized scores of body cues with mirrored keypoints, shape (mirrors, n_scenes, n_cells, n_cues).

    The first axis is empty if no player has keypoints.
    """
    body = [cue for cue in scores.cues if not cue.is_base]
    scenes = [scoring.arrays.scenes[place] for place in places]
    if not body or not mirrors or not any(scene.player_keypoints for scene in scenes):
        return np.empty((0, len(scenes), scores.values.shape[1], len(body)))
    seed = scoring.policy.seed
    return np.stack([turned.standardized() for turned in mirrored_scores(scenes, body, mirrors, seed)])


Shared = tuple[Scoring, dict[str, SportScores], dict[str, FloatArray], float]


def fit_group(shared: Shared, number: int) -> GroupFit | None:
    """Fit the model of one group; return None if it has guesses to fewer than `LEAST_IMAGES` images."""
    scoring, by_sport, turned, ridge = shared
    group = scoring.groups[number]
    places, scores = by_sport[str(group.sport)]
    scenes = np.array(scoring.images(group), dtype=int)
    mass = scoring.estimator(group).answers.mass if len(scenes) else np.zeros((0, 1))
    answered: BoolArray = mass.sum(axis=-1) > 0
    if answered.sum() < LEAST_IMAGES:
        return None
    notes = []
    if n_silent := int((~answered).sum()):
        notes.append(
            f"{n_silent} image{'s' if n_silent > 1 else ''} without a parsed guess "
            f"{'are' if n_silent > 1 else 'is'} excluded"
        )
    scenes, mass = scenes[answered], mass[answered]
    rows = np.searchsorted(places, scenes)
    standardized = scores.standardized()[rows]
    usable: BoolArray = np.abs(standardized).max(axis=(0, 1)) > 0
    for place, cue in enumerate(scores.cues):
        n_applies = int(scores.applies[rows, place].sum())
        if not usable[place]:
            notes.append(
                f"the cue {cue.key} is excluded, because it applies to none of the images (it needs {cue.needs})"
            )
        elif n_applies < len(rows):
            notes.append(
                f"the cue {cue.key} applies to {n_applies} of {len(rows)} images and has no effect on the others"
            )
    cues = [cue for cue, use in zip(scores.cues, usable, strict=True) if use]
    data = ChoiceData(standardized[:, :, usable], mass)
    people = scoring.people(group, scenes.tolist())
    held_out = people[0] if people is not None and len(people[0]) > 1 else mass[None]
    return GroupFit(
        scenes=scenes,
        sizes=data.sizes,
        keys=tuple(cue.key for cue in cues),
        groups=tuple(cue.group for cue in cues),
        fit=fit_logit(data, ridge=ridge),
        subsets=subset_gains(data, [cue.group for cue in cues], ridge=ridge),
        explainable=explainable_gain(held_out, scoring.arrays.scenes[places[0]].layout),
        base=tuple(dict.fromkeys(cue.group for cue in cues if cue.is_base)),
        turned=_turned_gains(data, cues, turned[str(group.sport)][:, rows], scores.cues, ridge),
        notes=tuple(notes),
    )


def _turned_gains(
    data: ChoiceData, cues: Sequence[Cue], turned: FloatArray, every: Sequence[Cue], ridge: float
) -> FloatArray:
    """Return the gains of all cues with mirrored body cues, in bits, shape (mirrors, n_images)."""
    is_body = np.array([not cue.is_base for cue in cues], dtype=bool)
    of_body = [place for place, cue in enumerate([cue for cue in every if not cue.is_base]) if cue in cues]
    fold, gains = folds_of(len(data.counts)), np.empty((len(turned), len(data.counts)))
    for number, scores in enumerate(turned):
        mixed = data.scores.copy()
        mixed[:, :, is_body] = scores[:, :, of_body]
        gains[number] = BITS * held_out_likelihood(ChoiceData(mixed, data.counts), fold, ridge=ridge)
    over_uniform: FloatArray = gains + BITS * data.sizes * np.log(data.counts.shape[1])
    return over_uniform
