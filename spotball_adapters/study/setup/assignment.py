"""Assign a list and an order of trials to each participant at random, from recorded seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from spotball_adapters.study.events import StudyTrial
from spotball_adapters.study.setup.config import ListConfig
from spotball_core.random import generator_for


def seed_of(study_seed: int, participant: str) -> int:
    """Return a participant's seed: an integer from 0 to 2**63 - 1, determined by the study's seed and the participant's
    label.
    """
    return int(generator_for(study_seed, "participant", participant).integers(2**63))


def choose_list(holding: Mapping[str, int], seed: int) -> str:
    """Return the name of the list with the fewest participants, or of a random one of these if several lists are tied.

    Args:
        holding: number of participants by list name, for at least one list.
        seed: the participant's seed.

    Examples:
        >>> choose_list({"soccer": 2, "basketball": 1, "volleyball": 2}, seed=0)
        'basketball'
    """
    fewest = min(holding.values())
    tied = [name for name, number in holding.items() if number == fewest]
    return tied[generator_for(seed, "list").integers(len(tied))]


def draw_trials(
    study_list: ListConfig,
    seed: int,
    *,
    explanations: int,
    options: Callable[[tuple[str, str]], Sequence[str]] = lambda key: (),
) -> tuple[StudyTrial, ...]:
    """Return a participant's trials: practice in the listed order, then images and attention checks in random order.

    An attention check is neither the first image nor next to another check. All orders that meet this condition are
    equally likely.

    Args:
        study_list: the list, with at most as many checks as images.
        seed: the participant's seed.
        explanations: number of images, chosen at random, that the participant is asked to explain; all images if the
            list has fewer.
        options: function that returns the options of an image, given (sport, image). The trials list them in random
            order.

    Examples:
        >>> few = ListConfig(name="soccer", sport="soccer", images=("1", "2", "3"), checks=("9",))
        >>> [trial.image for trial in draw_trials(few, 1, explanations=1)]
        ['2', '1', '9', '3']
    """
    rng = generator_for(seed, "order")
    images = [study_list.images[i] for i in rng.permutation(len(study_list.images))]
    checks = [study_list.checks[i] for i in rng.permutation(len(study_list.checks))]
    # Place each check directly after a different image, so that it is not first and not next to another check.
    behind = set(rng.choice(len(images), size=len(checks), replace=False).tolist())
    explained = set(rng.choice(len(images), size=min(explanations, len(images)), replace=False).tolist())
    remaining_checks = iter(checks)
    order: list[tuple[str, bool, bool]] = []
    for i, image in enumerate(images):
        order.append((image, False, i in explained))
        if i in behind:
            order.append((next(remaining_checks), True, False))
    practice = [(image, False, False) for image in study_list.practice]
    numbered = [*((-1 - i, row) for i, row in enumerate(practice)), *enumerate(order)]
    return tuple(
        StudyTrial(number, study_list.sport, image, check, explain, _shuffled(options((study_list.sport, image)), rng))
        for number, (image, check, explain) in numbered
    )


def _shuffled(options: Sequence[str], rng: np.random.Generator) -> tuple[str, ...]:
    return tuple(options[i] for i in rng.permutation(len(options)))
