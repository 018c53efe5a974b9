"""Check the rule that gives the ball's cells from its published box, and which figures a box in pixels would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spotball_core.release.reader import Key
from spotball_core.release.tables import GRID, SCALED_SPORT, Box, ball_box, listed
from spotball_core.replication.images import mean_cells, window_share
from spotball_core.replication.material import WAYS, Ball, Material, Way, mean
from spotball_core.replication.published import PAPER_PROMPTS, PAPER_SPORTS, PEOPLE, Condition, Published
from spotball_core.replication.record import ReplicatedFigure, judge

WHERE = "ground truth"

RULE = (
    "rule: the ball's cells are those that a rectangle touches, including its edges. The rectangle's center is "
    "(`gt_x`, `gt_y`) in soccer and (`x`, `y`) in the other sports, and its size is the unconverted `width` and "
    "`height`. The standard value is the number of images in which the ball's box in pixels gives the same cells"
)
EFFECT = (
    "the reproduced value uses the published cells, as the scores do; the standard value uses the cells of the ball's "
    "box in pixels. Entropy, near-player rate, overlap rate and Wasserstein distance do not depend on these cells"
)

Cells = tuple[str, ...]


@dataclass(frozen=True)
class _Truth:
    """The ball cells of one sport's images: as published, as given by the rule, and as given by the box in pixels."""

    published: dict[Key, Cells]
    by_rule: dict[Key, Cells]
    in_pixels: dict[Key, Cells]

    def differing(self, cells: Mapping[Key, Cells]) -> list[Key]:
        """Return the images whose published cells differ from the given cells."""
        return [key for key, published_cells in self.published.items() if cells.get(key) != published_cells]


def check(material: Material) -> Iterator[ReplicatedFigure]:
    """Check the rule for the ball's cells, and report the images and figures that a box in pixels would change."""
    truths = {sport: truth for sport in PAPER_SPORTS if (truth := _truth(material, sport)).published}
    for sport, truth in truths.items():
        yield _rule([truth], sport)
    if len(truths) > 1:
        yield _rule(list(truths.values()), None)
    for sport, truth in truths.items():
        yield _changed(truth, sport)
    for sport, truth in truths.items():
        if changed := truth.differing(truth.in_pixels):
            yield from _effects(material, sport, {key: truth.in_pixels[key] for key in changed})


def touched_cells(box: Box) -> Cells:
    """Return the labels of the cells that a box touches, edges included, on the standard grid.

    A point on the border of two cells belongs to the cell to its right or below.

    Examples:
        >>> touched_cells((256.0, 52.5, 298.0, 60.0))
        ('A5', 'B5')
    """
    x1, y1, x2, y2 = box
    left, top, right, bottom = GRID.rectangles.T
    touched = (left <= x2) & (right > x1) & (top <= y2) & (bottom > y1)
    return tuple(GRID.labels[cell] for cell in np.flatnonzero(touched))


def _truth(material: Material, sport: str) -> _Truth:
    balls = {key: ball for key, ball in material.balls.items() if key[0] == sport}
    published = {scene.key: scene.ball_cells for scene in material.scenes(sport) if scene.ball_cells}
    boxes = {key: box for key, ball in balls.items() if (box := _box_of_the_rule(sport, ball))}
    return _Truth(
        {key: cells for key, cells in published.items() if key in balls},
        {key: touched_cells(box) for key, box in boxes.items()},
        {key: touched_cells(ball_box(sport, *ball[:4])) for key, ball in balls.items()},
    )


def _box_of_the_rule(sport: str, ball: Ball) -> Box | None:
    """Return the rectangle that the published cells were made from; None if the file does not have its center."""
    center = ball.point if sport == SCALED_SPORT else (ball.x, ball.y)
    if center is None:
        return None
    (x, y), across, down = center, ball.width / 2, ball.height / 2
    return x - across, y - down, x + across, y + down


def _rule(truths: list[_Truth], sport: str | None) -> ReplicatedFigure:
    n = sum(len(truth.published) for truth in truths)
    exceptions = [image for truth in truths for _, image in truth.differing(truth.by_rule)]
    n_same = n - sum(len(truth.differing(truth.in_pixels)) for truth in truths)
    note = f"{RULE}. The rule does not hold in images {listed(exceptions)}" if exceptions else RULE
    figure = _figure("images whose cells follow from the rule", sport, value=str(n))
    return judge(figure, float(n - len(exceptions)), float(n_same), note=note)


def _changed(truth: _Truth, sport: str) -> ReplicatedFigure:
    changed = truth.differing(truth.in_pixels)
    changes = [f"{key[1]}: {_joined(truth.published[key])} to {_joined(truth.in_pixels[key])}" for key in changed]
    n = float(len(changed))
    figure = _figure("images whose cells differ from the cells of the ball's box in pixels", sport)
    return judge(figure, n, n, note=listed(changes, most=len(changes)) or None)


def _joined(cells: Cells) -> str:
    return ";".join(cells) or "none"


def _effects(material: Material, sport: str, cells: Mapping[Key, Cells]) -> Iterator[ReplicatedFigure]:
    """Compute every figure that depends on a sport's ball cells, with the published cells and with the given cells."""
    corrected = material.with_ball_cells(cells)
    for quantity, statistic in (("cells the ball spans", mean_cells), ("truth in the center window (%)", window_share)):
        before, after = (statistic(version.scenes(sport)) for version in (material, corrected))
        yield judge(_figure(quantity, sport), before, after, note=EFFECT)
    conditions = [condition for condition in material.conditions if condition[0] == sport]
    for way in WAYS:
        for quantity in ("accuracy", "mean error (px)", "sd of the error (px)", "center ratio"):
            for condition in conditions:
                before, after = (_value(version, way, quantity, condition) for version in (material, corrected))
                yield judge(_figure(f"{quantity}, policy {way}", *condition), before, after, note=EFFECT)
        for model in dict.fromkeys(model for _, model, _ in conditions if model != PEOPLE):
            prompts = [(sport, model, prompt) for prompt in PAPER_PROMPTS]
            if set(prompts) <= set(conditions):
                ratios = (
                    [_value(version, way, "center ratio", prompt_condition) for prompt_condition in prompts]
                    for version in (material, corrected)
                )
                before, after = map(mean, ratios)
                yield judge(_figure(f"center ratio, policy {way}", sport, model), before, after, note=EFFECT)


def _value(material: Material, way: Way, quantity: str, condition: Condition) -> float | None:
    keys = {"accuracy": "accuracy", "center ratio": "center_ratio"}
    metric = material.metric(way, keys.get(quantity, "euclidean_error"), condition)
    if metric is None:
        return None
    return metric.sd if quantity.startswith("sd") else metric.value


def _figure(
    quantity: str,
    sport: str | None,
    respondent: str | None = None,
    prompt: str | None = None,
    *,
    value: str | None = None,
) -> Published:
    return Published(
        where=WHERE,
        quantity=quantity,
        value=value,
        read_from="the release's ground truth, column cell",
        sport=sport,
        respondent=respondent,
        prompt=prompt,
    )
