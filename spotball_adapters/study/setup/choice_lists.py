"""Create the lists of photos for a study in which participants choose objects.

Apart from attention checks, no photo is in two lists, so all photos are shown about equally often.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from spotball_adapters.study.setup.config import ListConfig
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.random import generator_for

PER_LIST = 45
"""Default maximum number of photos per list, as in the gaze paper."""

PRACTICE = 3
"""Number of practice photos, as in the gaze paper. They are attention checks, which appear again later."""


def lists_of_stimuli(stimuli: Sequence[Stimulus], *, per_list: int | None = None, seed: int = 0) -> list[ListConfig]:
    """Return the lists of photos. Each list contains all attention checks; the first three of them are also its
    practice items.

    Args:
        stimuli: stimuli, including attention checks if there are any.
        per_list: maximum number of photos per list. If it is None, the `list_id` of the stimuli is used, and photos
            without a `list_id` are excluded; if no photo has a `list_id`, the maximum is 45.
        seed: seed for distributing photos to lists.
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
    """Distribute photos to as few lists as possible, like cards: photos are sorted by kind, shuffled within each kind,
    and dealt to one list after the other.

    The sizes of two lists therefore differ by at most one, in total and for each kind. Photos are of the same kind if
    they have the same condition, number of objects, proximity and view.

    Args:
        photos: stimuli without attention checks.
        per_list: maximum number of photos per list.
        seed: seed of the shuffling.

    Returns:
        For each list, the ids of its stimuli.
    """
    kinds: defaultdict[tuple[str, int, int, str], list[str]] = defaultdict(list)
    for stimulus in photos:
        kinds[stimulus.condition, len(stimulus.objects), stimulus.proximity, stimulus.view].append(stimulus.stimulus_id)
    rng = generator_for(seed, "lists")
    cards = [names[i] for _, names in sorted(kinds.items()) for i in rng.permutation(len(names))]
    n = math.ceil(len(cards) / per_list)
    return [cards[number::n] for number in range(n)]
