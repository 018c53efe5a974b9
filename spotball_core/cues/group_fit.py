"""Fit models of the guesses of one group: with all cues, subsets of them, mirrored keypoints, and held-out images."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.cue_maps.cue import Cue
from spotball_core.cue_maps.registry import CueScores, cue_scores
from spotball_core.cues.logit import ChoiceData, LogitFit, fit_logit, held_out_likelihood
from spotball_core.cues.mixture_weights import fit_weights
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.random import generator_for
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import Scoring
from spotball_core.typing import BoolArray, FloatArray, IntArray

LEAVE_ONE_OUT = 100
"""Up to this number of images, each image is its own fold."""

FOLDS = 20
"""Number of folds if there are more than `LEAVE_ONE_OUT` images."""

MOST_GROUPS = 10
"""Maximum number of groups of cues, because all their subsets are fitted."""

BITS = 1 / math.log(2)
"""Bits per nat."""


@dataclass(frozen=True, slots=True)
class SubsetGains:
    """Held-out gains over uniform guessing, for the model with each subset of the groups of cues.

    Attributes:
        groups: names of the groups.
        gains: gains summed over each image's guesses, in bits, shape (2 ** n_groups, n_images). Bit k of a subset's
            index states whether group k is in it.
    """

    groups: tuple[str, ...]
    gains: FloatArray

    def of(self, groups: Sequence[str]) -> FloatArray:
        """Return the gain of the model with the given groups, shape (n_images,). Unknown groups are ignored."""
        gain: FloatArray = self.gains[sum(1 << k for k, group in enumerate(self.groups) if group in groups)]
        return gain

    @property
    def whole(self) -> FloatArray:
        """Return the gain of the model with all groups, shape (n_images,)."""
        gain: FloatArray = self.gains[-1]
        return gain

    def shapley(self) -> FloatArray:
        """Return each group's Shapley value: its contribution to the gain, averaged over all orders of adding groups.

        Shapley values are linear in the gains, so they can be computed per image. They sum to the gain of the whole
        model.

        Returns:
            The Shapley values in bits, shape (n_groups, n_images).

        Examples:
            >>> SubsetGains(("a", "b"), np.array([[0.0], [1.0], [3.0], [5.0]])).shapley().tolist()
            [[1.5], [3.5]]
        """
        n, every = len(self.groups), np.arange(len(self.gains))
        sizes = (every[:, None] >> np.arange(n) & 1).sum(axis=-1)
        values = np.empty((n, self.gains.shape[1]))
        for group in range(n):
            without = every[every >> group & 1 == 0]
            shares = np.array(
                [math.factorial(k) * math.factorial(n - k - 1) / math.factorial(n) for k in sizes[without]]
            )
            values[group] = shares @ (self.gains[without | 1 << group] - self.gains[without])
        return values


def folds_of(n_images: int) -> IntArray:
    """Return the fold of each image, from 0, shape (n_images,): one per image, or 20 folds for many images."""
    folds: IntArray = np.arange(n_images) % (n_images if n_images <= LEAVE_ONE_OUT else FOLDS)
    return folds


def subset_gains(data: ChoiceData, groups: Sequence[str], *, ridge: float) -> SubsetGains:
    """Compute the held-out gains of the models with each subset of the groups of cues.

    Args:
        data: guesses to at least two images, and the cues' scores.
        groups: the group of each cue, shape (n_cues,).
        ridge: strength of the penalty, as in `fit_logit`.

    Raises:
        OptionError: for more than 10 groups, fewer than two images, or a negative ridge, or if the maximum is not
            reached.
    """
    names = tuple(dict.fromkeys(groups))
    if len(names) > MOST_GROUPS:
        raise OptionError(f"found {len(names)} groups of cues, expected at most {MOST_GROUPS}. Use fewer cues")
    fold = folds_of(len(data.counts))
    member = np.array([names.index(group) for group in groups], dtype=int)
    uniform = -data.sizes * np.log(data.counts.shape[1])
    gains = np.zeros((2 ** len(names), len(data.counts)))
    for subset in range(1, len(gains)):
        cues = np.flatnonzero(subset >> member & 1)
        gains[subset] = held_out_likelihood(data.of_cues(cues), fold, ridge=ridge) - uniform
    return SubsetGains(names, BITS * gains)


_OTHER_SIDE = [
    KEYPOINT_NAMES.index(name.replace("left", "right") if "left" in name else name.replace("right", "left"))
    for name in KEYPOINT_NAMES
]
"""For each keypoint, the index of its counterpart on the other side of the body."""


def mirrored(scene: Scene, which: BoolArray) -> Scene:
    """Return a scene in which the keypoints of the selected players are mirrored about the middles of their boxes.

    Args:
        scene: a scene with players.
        which: whether to mirror each player, shape (n_players,).

    Examples:
        >>> from spotball_core.synthetic.poses import synthetic_poses
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> (scene,) = synthetic_poses(synthetic_scenes(1))
        >>> both = np.ones(len(scene.players), dtype=bool)
        >>> float(np.abs(mirrored(mirrored(scene, both), both).keypoints - scene.keypoints).max().round(6))
        0.0
    """
    keypoints = scene.keypoints.copy()
    turned = keypoints[which][:, _OTHER_SIDE]
    boxes = scene.boxes[which]
    x = boxes[:, None, 0] + boxes[:, None, 2] - turned[..., 0]
    turned[..., 0] = np.where(turned[..., 2] > 0, x, turned[..., 0])
    keypoints[which] = turned
    return scene.with_keypoints(keypoints)


def mirrored_scores(scenes: Sequence[Scene], cues: Sequence[Cue], n: int, seed: int) -> Iterator[CueScores]:
    """Yield the scores of cues on scenes in which each player with keypoints is mirrored with probability 1/2.

    Args:
        scenes: scenes of one sport.
        cues: the cues.
        n: number of random draws of players.
        seed: seed of the draws.
    """
    keys = [cue.key for cue in cues]
    generator = generator_for(seed, "mirror", scenes[0].sport)
    for _ in range(n):
        drawn = [generator.random(len(scene.players or ())) < 0.5 for scene in scenes]
        turned = [mirrored(scene, which) if which.any() else scene for scene, which in zip(scenes, drawn, strict=True)]
        yield cue_scores(turned, keys)


SPREADS = (0.5, 1.0)
"""Standard deviations of the Gaussians that smooth a respondent's other guesses to an image, in cells."""


def explainable_gain(mass: FloatArray, grid: Grid) -> FloatArray:
    """Estimate how well guesses are predicted by the same respondent's other guesses to the same image.

    Each guess is predicted by a mixture of five distributions that exclude it: the other guesses to the image; these
    guesses, smoothed by Gaussians with standard deviations of 0.5 and of 1 cell; the guesses to all other images; and
    the uniform distribution. The mixture has one set of weights for all images, chosen by maximum likelihood. For
    people, all guesses of a participant are predicted by those of the other participants.

    The result is a lower bound of the explainable gain, because a small number of other guesses predicts worse than the
    respondent's true distribution would. The bound rises with the number of guesses per image.

    Args:
        mass: counts of cells named by each unit, shape (n_units, n_images, n_cells). A unit is a participant, whose
            guesses are held out together. If there is only one unit, one guess at a time is held out.
        grid: the grid of the cells.

    Returns:
        The gain over uniform guessing, summed over each image's guesses, in bits, shape (n_images,).

    Examples:
        On each of two images, all guesses name one of the two cells. The ceiling is close to 1 bit per guess:

        >>> grid = Grid(1, 2, 20, 10)
        >>> mass = np.array([[[100.0, 0.0], [0.0, 100.0]]])
        >>> (explainable_gain(mass, grid) / 100).round(2).tolist()
        [1.0, 1.0]
    """
    total = mass.sum(axis=0)
    unit, image, cell = np.nonzero(mass)
    counts = mass[unit, image, cell]
    held_out: FloatArray = mass.sum(axis=-1)[unit, image] if len(mass) > 1 else np.minimum(1.0, counts)
    n_cells, n_others = mass.shape[-1], total.sum(axis=-1)[image] - held_out
    elsewhere = (total.sum(axis=0) - total)[image, cell]
    n_elsewhere = (total.sum() - total.sum(axis=-1))[image]
    if len(mass) > 1:
        elsewhere -= (mass.sum(axis=1, keepdims=True) - mass)[unit, image, cell]
        n_elsewhere -= (mass.sum(axis=(1, 2))[:, None] - mass.sum(axis=-1))[unit, image]
    parts = [np.full(len(cell), 1 / n_cells), _share(elsewhere, n_elsewhere, n_cells)]
    for spread in (0.0, *SPREADS):
        kernel = np.eye(n_cells) if spread == 0 else np.exp(-((grid.cell_distances / spread) ** 2) / 2)
        kernel /= kernel.sum(axis=-1, keepdims=True)
        own = (mass @ kernel)[unit, image, cell] if len(mass) > 1 else held_out * kernel[cell, cell]
        parts.append(_share((total @ kernel)[image, cell] - own, n_others, n_cells))
    table = np.stack(parts, axis=-1)
    weights, _ = fit_weights(counts[None], table, np.ones((1, table.shape[1]), dtype=bool))
    bits = counts * np.log2(n_cells * (table @ weights[0]))
    return np.bincount(image, weights=bits, minlength=mass.shape[1]).astype(float)


def _share(mass: FloatArray, total: FloatArray, n_cells: int) -> FloatArray:
    """Return each mass divided by its total, or uniform shares if the total is 0.

    Negative rounding errors are set to 0.
    """
    some = total > 1e-9
    shares: FloatArray = np.where(some, np.maximum(mass, 0.0) / np.where(some, total, 1.0), 1 / n_cells)
    return shares


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
