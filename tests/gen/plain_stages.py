"""Define small and fast stages for tests, which fail in the ways that their settings select.

They are installed by entry points like the stages of another package: see `tests.gen.runs`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from spotball_core.errors import SpotballError
from spotball_gen.items.item import Box, Item
from spotball_gen.items.stage import Context, Device, Outcome, Reject, StageSettings, one_by_one


class PlainSettings(StageSettings):
    """Set how a stage rejects, fails and waits.

    Attributes:
        reject_every: reject each item whose second is a multiple of this.
        fail_at: the seconds at which an item fails.
        break_batch: whether a failing item breaks its batch.
        break_run: fail for all items: with a `SpotballError` if this is `spotball`, or else with this message.
        seconds: the time per item.
    """

    reject_every: int = 0
    fail_at: tuple[int, ...] = ()
    break_batch: bool = False
    break_run: str = ""
    seconds: float = 0.0
    batch_size: int = 4


class Plain:
    """Accept items, and store the mean pixel value of each image as its score."""

    Settings: ClassVar[type[StageSettings]] = PlainSettings
    packages: ClassVar[tuple[str, ...]] = ("numpy", "no-such-package")
    name = "filter"
    kind = "plain"
    version = "1"
    device: Device = "cpu"

    def __init__(self, settings: Any, context: Context) -> None:
        self.settings, self.context = settings, context
        self.batch_size = settings.batch_size

    def process(self, items: Sequence[Item]) -> Outcome:
        if self.settings.break_run == "spotball":
            raise SpotballError("no weights there")
        if self.settings.break_run:
            raise ValueError(self.settings.break_run)
        if self.settings.break_batch and any(self._fails(item) for item in items):
            raise RuntimeError("an odd image in this batch")
        return one_by_one(self.name, items, self._one)

    def _fails(self, item: Item) -> bool:
        return round(item.time) in self.settings.fail_at

    def _one(self, item: Item) -> Item | Reject:
        time.sleep(self.settings.seconds)
        if self._fails(item):
            raise RuntimeError("an odd image")
        score = float(item.image.mean())
        if self.settings.reject_every and round(item.time) % self.settings.reject_every == 0:
            return Reject(item.id, self.name, "that second", f"at {item.time:.3f} s", {"mean": score})
        return self.change(item.scored(**{self.name: score}))

    def change(self, item: Item) -> Item:
        return item


class Detect(Plain):
    """Detect a ball and two players, one with an outline and one with a nose, at places given by the seed."""

    name = "detect"

    def change(self, item: Item) -> Item:
        rng = np.random.default_rng(item.seed(self.context.seed, self.name))
        x, y = rng.uniform(20, [self.context.grid.width - 20, self.context.grid.height - 20])
        ball = Box(x - 5, y - 5, x + 5, y + 5, 0.9)
        # The first player has an outline, which may reach beyond the image as boxes do.
        outline = (((x + 8, y - 20), (x + 18, y - 20), (x + 13, y + 20)),)
        keypoints = ((float(x + 45), float(y - 18), 0.9), *[(0.0, 0.0, 0.0)] * 16)
        players = (
            Box(x + 8, y - 20, x + 18, y + 20, 0.8, "player", outline),
            Box(x + 40, y - 20, x + 50, y + 20, 0.8, "player", keypoints=keypoints),
        )
        return replace(item, boxes=(ball, *players), ball=ball, players=players)


class Paint(Plain):
    """Fill the ball's box with a color."""

    name = "inpaint"
    device: Device = "gpu"

    def change(self, item: Item) -> Item:
        assert item.ball
        x1, y1, x2, y2 = (round(edge) for edge in item.ball.corners)
        mask = np.zeros(item.image.shape[:2], np.uint8)
        mask[y1:y2, x1:x2] = 255
        painted = np.where(mask[..., None] > 0, np.uint8(128), item.image)
        return replace(
            item, mask=self.context.keep(item, "masks", mask), painted=self.context.keep(item, "painted", painted)
        ).noted(self.name, seed=item.seed(self.context.seed, self.name))


class Label(Plain):
    """Label the cells that the ball covers."""

    name = "label"

    def change(self, item: Item) -> Item:
        assert item.ball
        return replace(item, cells=tuple(self.context.grid.cells_in(item.ball.corners)))


class Best(Plain):
    """Wait for all items, and accept the better half."""

    kind = "best"
    settles = True

    def settle(self, scores: Mapping[str, Mapping[str, float]], sports: Mapping[str, str]) -> Sequence[Reject]:
        assert set(scores) == set(sports)
        ordered = sorted(scores, key=lambda name: (scores[name]["filter"], name))
        return [Reject(name, "filter", "not of the better half") for name in ordered[: len(ordered) // 2]]


class Forgets(Plain):
    """Return no outcome for any item."""

    def process(self, items: Sequence[Item]) -> Outcome:
        return Outcome()
