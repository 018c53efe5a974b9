"""Lists of a study of choices: each photo in one of them, so that all are shown equally often."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from spotball_adapters.study.setup.config import ListConfig
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.random import generator_for

PER_LIST = 45
"""Photos of a list of the gaze study."""

PRACTICE = 3
"""Practice items of the gaze study: checks, which come again later."""


def lists_of_stimuli(stimuli: Sequence[Stimulus], *, per_list: int | None = None, seed: int = 0) -> list[ListConfig]:
    """The lists of some photos, with all attention checks in each, of which the first three are practice.

    Args:
        stimuli: with attention checks, if there are any.
        per_list: photos of a list, at most, in lists made here. None takes the lists that the stimuli name; where they
            name none, it is 45.
        seed: of the lists that are made here.
    """
    checks = tuple(stimulus.stimulus_id for stimulus in stimuli if stimulus.attention_check)
    photos = [stimulus for stimulus in stimuli if not stimulus.attention_check]
    if per_list is None and any(stimulus.list_id is not None for stimulus in photos):
        by_list: defaultdict[int, list[str]] = defaultdict(list)
        for stimulus in photos:
            if stimulus.list_id is not None:
                by_list[stimulus.list_id].append(stimulus.stimulus_id)
        lists = dict(sorted(by_list.items()))
    else:
        lists = dict(enumerate(dealt(photos, per_list or PER_LIST, seed)))
    return [
        ListConfig(name=f"list-{number}", images=tuple(images), checks=checks, practice=checks[:PRACTICE])
        for number, images in lists.items()
    ]


def dealt(photos: Sequence[Stimulus], per_list: int, seed: int = 0) -> list[list[str]]:
    """Photos in as few lists as it takes, like cards: kind by kind, each kind shuffled, one list after the other.

    So lists differ by one photo at most, and by one of a kind at most, where a kind is a condition, a number of
    objects, a proximity and a view.

    Args:
        photos: without attention checks.
        per_list: photos of a list, at most.
        seed: of the shuffling.

    Returns:
        Names of stimuli, list by list.
    """
    kinds: defaultdict[tuple[str, int, int, str], list[str]] = defaultdict(list)
    for stimulus in photos:
        kinds[stimulus.condition, len(stimulus.objects), stimulus.proximity, stimulus.view].append(stimulus.stimulus_id)
    rng = generator_for(seed, "lists")
    cards = [names[i] for _, names in sorted(kinds.items()) for i in rng.permutation(len(names))]
    n = math.ceil(len(cards) / per_list)
    return [cards[number::n] for number in range(n)]
