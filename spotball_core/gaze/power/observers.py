r"""Simulate observers with given cue weights, to test whether the battery of tests assigns the correct type.

Objects are at the positions 0, 1, ..., n - 1. An observer has an internal position x, with noise for each photo and for
each trial, and chooses the closest object:

- `eye`: x is the gaze target.
- `head`: x is where the head points.
- `compromise`: x is between the two, at $w$ of the way from the eyes to the head.
- `coin`: on a share $w$ of the trials like `head`, on the others like `eye`.
- `shift`: on a share $w$ of the trials like `head`; on the others an object that is not the head target: the gaze
  target, or a neighbor of the head target if both targets are the same. The head target is therefore chosen equally
  often, wherever the eyes look.
- `guess`: each object is equally likely.

In the natural condition, the head turns a part (`TURN`) of the way from the middle of the table to the gaze target.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from spotball_core.errors import OptionError, unknown_name
from spotball_core.gaze.data.stimuli import (
    CONDITIONS,
    PROXIMITIES,
    VIEWS,
    Condition,
    Stimulus,
    View,
    stimuli_frame,
)
from spotball_core.gaze.data.trials import Trials
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

Cue = Literal["eye", "head", "compromise", "coin", "shift", "guess"]
CUES: Final[tuple[Cue, ...]] = get_args(Cue)

TURN: Final = 0.4
"""In the natural condition, the head turns this share of the way from the middle of the table to the gaze target."""

PROMPTS: Final = 16

_SIZES: Final = (4, 4, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2)
STUDY_SETS: Final = tuple(
    tuple(f"object {chr(97 + (number + step) % 11)}" for step in range(size)) for number, size in enumerate(_SIZES)
)
"""Sets of objects like those of the main study, with letters as names."""

STUDY_SITES: Final = (0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1)
"""The site of each set in `STUDY_SETS`."""


@dataclass(frozen=True)
class Observer:
    """A simulated observer that chooses objects by a rule.

    Attributes:
        cue: the rule, as described in the module.
        weight: weight of the head from 0 to 1, for rules that use both cues.
        noise: standard deviation of the internal position from trial to trial, in distances between neighboring objects
            at proximity 1.
        stimulus_noise: standard deviation of the internal position from photo to photo, in the same unit; all trials
            with the same photo share this noise.
        closeness: increase of both kinds of noise with each step of proximity, as a share of the noise at proximity 1.
        side: increase of both kinds of noise for photos from the left or right, as a share of the noise from the front.
        lapse: share of trials that are answered at random.
        prompt_spread: standard deviation of the lapse rate's log odds over prompts.
    """

    cue: Cue
    weight: float = 0.5
    noise: float = 0.3
    stimulus_noise: float = 0.2
    closeness: float = 0.0
    side: float = 0.0
    lapse: float = 0.02
    prompt_spread: float = 0.3

    def __post_init__(self) -> None:
        if self.cue not in CUES:
            raise OptionError(unknown_name("observer", self.cue, CUES), code="unknown-name")
        for name in ("weight", "lapse"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"found {getattr(self, name):g}, expected a share from 0 to 1", field=name)
        for name in ("noise", "stimulus_noise", "prompt_spread"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"found {getattr(self, name):g}, expected at least 0", field=name)


def simulate(
    observer: Observer,
    stimuli: Sequence[Stimulus],
    *,
    prompts: int = PROMPTS,
    respondent: str | None = None,
    seed: int | np.random.Generator = 0,
) -> Trials:
    """Simulate one respondent's trials: one per photo and prompt, except for attention checks.

    Args:
        observer: the simulated observer.
        stimuli: the photos.
        prompts: number of prompts, at least 1.
        respondent: name of the respondent (default: the cue).
        seed: seed of all random draws.
    """
    import polars as pl

    if prompts < 1:
        raise OptionError(f"found {prompts}, expected at least 1", field="prompts")
    frame = stimuli_frame(stimulus for stimulus in stimuli if not stimulus.attention_check)
    places = {
        name: [getattr(stimulus, name) for stimulus in stimuli if not stimulus.attention_check]
        for name in ("gaze", "head")
    }
    frame = frame.with_columns(
        n_objects=pl.col("objects").str.count_matches(r"\+").cast(pl.Int64) + 1,
        gaze=pl.Series(places["gaze"], dtype=pl.Int64),
        head=pl.Series(places["head"], dtype=pl.Int64),
    )
    choices = _choices(observer, frame, prompts, np.random.default_rng(seed))
    trials = frame.select(pl.all().repeat_by(prompts).explode()).with_columns(
        respondent=pl.lit(respondent or observer.cue),
        prompt_id=pl.Series([str(prompt + 1) for prompt in range(prompts)] * len(frame)),
        choice=pl.Series(choices.ravel()),
        participant=pl.lit(None, pl.String),
        sample=pl.lit(None, pl.String),
        response_time=pl.lit(None, pl.Float64),
    )
    return Trials(
        trials.select(
            *("respondent", "stimulus_id", "prompt_id", "participant", "sample", "response_time", "condition", "view"),
            *("proximity", "objects", "n_objects", "gaze", "head", "choice", "actor", "scene"),
        )
    )


def factorial_design(
    sets: Sequence[Sequence[str]] = STUDY_SETS,
    *,
    views: Sequence[View] = VIEWS,
    proximities: Sequence[int] = PROXIMITIES,
    conditions: Collection[Condition] = CONDITIONS,
) -> tuple[Stimulus, ...]:
    """Return stimuli without images: all combinations of the given properties with head directions and gaze targets.

    The head is free, or directed to one of the objects. By default, the design is like that of the main study, with
    four sets of four objects, three sets of three objects, and six sets of two objects. This gives 1,368 stimuli, of
    which the study lost 2 and used 6 as attention checks. The two sites have different objects.

    Args:
        sets: the names of the objects of each set, in their order along the table.
        views: the camera positions.
        proximities: the distances between objects, from 1 (farthest) to 3 (closest).
        conditions: the conditions.
    """
    stimuli: list[Stimulus] = []
    for number, objects in enumerate(sets):
        scene = f"site {STUDY_SITES[number] + 1}" if sets is STUDY_SETS else None
        for proximity, view, head, gaze in product(proximities, views, (None, *objects), objects):
            stimulus = Stimulus(
                stimulus_id=str(len(stimuli)),
                objects=tuple(objects),
                view=view,
                proximity=proximity,
                gaze_target=gaze,
                head_target=head,
                scene=scene,
            )
            if stimulus.condition in conditions:
                stimuli.append(stimulus)
    return tuple(stimuli)


def _choices(observer: Observer, frame: pl.DataFrame, prompts: int, generator: np.random.Generator) -> IntArray:
    """Return the chosen positions, shape (n_stimuli, prompts)."""
    n, gaze = (frame[name].to_numpy()[:, None] for name in ("n_objects", "gaze"))
    middle = (n - 1) / 2
    head = frame["head"].to_numpy()[:, None]
    head = np.where(np.isnan(head), middle + TURN * (gaze - middle), head)
    shape = (len(frame), prompts)
    in_mind = _in_mind(observer, gaze, head, n, shape, generator)
    spread = 1 + observer.closeness * (frame["proximity"].to_numpy()[:, None] - 1)
    spread = spread * (1 + observer.side * (frame["view"] != "front").to_numpy()[:, None])
    noise = observer.noise * generator.standard_normal(shape)
    noise = noise + observer.stimulus_noise * generator.standard_normal((len(frame), 1))
    # Ties are broken at random.
    tie = 1e-9 * generator.choice([-1, 1], size=shape)
    nearest = np.clip(np.rint(in_mind + spread * noise + tie), 0, n - 1).astype(int)
    guessed = np.asarray(generator.integers(0, np.broadcast_to(n, shape)))
    if observer.cue == "guess":
        return guessed
    return np.where(generator.random(shape) < _lapses(observer, prompts, generator), guessed, nearest)


def _in_mind(
    observer: Observer,
    gaze: IntArray,
    head: FloatArray,
    n: IntArray,
    shape: tuple[int, int],
    generator: np.random.Generator,
) -> FloatArray:
    """Return the internal position before noise, shape (n_stimuli, prompts)."""
    if observer.cue in ("eye", "guess"):
        return np.broadcast_to(gaze.astype(float), shape)
    if observer.cue == "head":
        return np.broadcast_to(head, shape)
    if observer.cue == "compromise":
        return np.broadcast_to(gaze + observer.weight * (head - gaze), shape)
    follows = generator.random(shape) < observer.weight
    if observer.cue == "coin":
        return np.where(follows, head, gaze)
    inward = np.where(head > (n - 1) / 2, -1, 1)
    return np.where(follows, head, np.where(np.rint(head) == gaze, gaze + inward, gaze))


def _lapses(observer: Observer, prompts: int, generator: np.random.Generator) -> FloatArray:
    """Return the share of lapses for each prompt, shape (prompts,)."""
    if observer.lapse in (0, 1):
        return np.full(prompts, observer.lapse)
    odds = np.log(observer.lapse / (1 - observer.lapse)) + observer.prompt_spread * generator.standard_normal(prompts)
    return np.asarray(1 / (1 + np.exp(-odds)))
