"""Which list a participant sees, and in which order: drawn from seeds that are recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from spotball_adapters.study.events import StudyTrial
from spotball_adapters.study.setup.config import ListConfig
from spotball_core.random import generator_for


def seed_of(study_seed: int, participant: str) -> int:
    """A participant's own seed, from the study's and their label: at least 0, below 2**63."""
    return int(generator_for(study_seed, "participant", participant).integers(2**63))


def choose_list(holding: Mapping[str, int], seed: int) -> str:
    """The list that the fewest hold a place in; among several, one at random.

    Args:
        holding: by list, how many finished it or are at it now. At least one list.
        seed: the participant's.

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
    """What a participant sees: practice as it is listed, then images and checks in random order.

    Every order in which no check is first and no two checks are neighbors is equally likely.

    Args:
        study_list: the list, with no more checks than images.
        seed: the participant's.
        explanations: of how many images, drawn at random, an explanation is asked; of all if there are fewer.
        options: of an image, by its identity; drawn into an order of their own.

    Examples:
        >>> few = ListConfig(name="soccer", sport="soccer", images=("1", "2", "3"), checks=("9",))
        >>> [trial.image for trial in draw_trials(few, 1, explanations=1)]
        ['2', '1', '9', '3']
    """
    rng = generator_for(seed, "order")
    images = [study_list.images[i] for i in rng.permutation(len(study_list.images))]
    checks = [study_list.checks[i] for i in rng.permutation(len(study_list.checks))]
    # Each check right behind another image: so it is not first, and its neighbors are no checks.
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
