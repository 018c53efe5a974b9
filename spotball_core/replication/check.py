"""Check all published figures against a copy of the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from spotball_core.replication import alignment, ground_truth, images, players, scores, thresholds
from spotball_core.replication.material import Material
from spotball_core.replication.record import ReplicatedFigure, Replication
from spotball_core.service.progress import OnProgress, counted, ignore_progress

Check = Callable[[Material], Iterator[ReplicatedFigure]]

CHECKS: tuple[Check, ...] = (
    scores.check_numbers,
    images.check,
    ground_truth.check,
    scores.check_errors,
    scores.check_accuracy,
    players.check,
    alignment.check,
    scores.check_center,
    thresholds.check,
)
"""The functions that check the figures; each checks one group of figures."""


def replicate(folder: str | Path, *, on_progress: OnProgress = ignore_progress) -> Replication:
    """Check every published figure that can be computed from a copy of the release.

    Args:
        folder: the release's folder, or the `data` folder in it. A partial copy is enough if it has ground truth.
        on_progress: called with the number of checked groups of figures, and the total number of groups.

    Returns:
        One item per figure, in the order of the paper: the published value, the value reproduced in the published way,
        the value under the standard policy, and whether the first two agree.

    Raises:
        InputError: if there is no ground truth, or a file cannot be read or has invalid content.
    """
    material = Material.read(folder)
    items = [item for check in counted(CHECKS, len(CHECKS), on_progress) for item in check(material)]
    places = list(material.catalog.titles)
    return Replication(
        items=tuple(sorted(items, key=lambda item: places.index(item.where))),
        signature=str(material.standard.signature()),
        signature_reproduced=str(material.paper.signature()),
    )
