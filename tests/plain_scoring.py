"""Score answers with plain loops, as an independent reference for the package.

The code follows the paper's equations and the project's policies. It shares no code with the package: geometry, optimal
transport (a linear program), ties and quantiles are computed independently, one answer at a time. An image may be
listed several times, because a bootstrap resamples images with replacement.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linprog

from spotball_core.schema import Scene

Key = tuple[str, str]
Cells = list[int | None]
Answers = Mapping[Key, Cells]

ROWS, COLS = 6, 10
N = ROWS * COLS
POOLED = ("center_ratio", "symmetric_center_bias", "normalized_entropy")
TAU, THETA, TOP_K, SMOOTHING = 0.08, 0.02, 3, 0.01


def index(label: str) -> int:
    return (ord(label[0]) - ord("A")) * COLS + int(label[1:]) - 1


def center(scene: Scene, cell: int) -> tuple[float, float]:
    row, col = divmod(cell, COLS)
    return (col + 0.5) * scene.width / COLS, (row + 0.5) * scene.height / ROWS


def distance(scene: Scene, one: int, other: int) -> float:
    return math.dist(center(scene, one), center(scene, other))


def is_near(scene: Scene, cell: int) -> bool:
    """Return whether the cell is near a player (equations 4 and 5)."""
    x, y = center(scene, cell)
    for box in scene.players or ():
        dx, dy = max(box.x1 - x, 0, x - box.x2), max(box.y1 - y, 0, y - box.y2)
        if math.hypot(dx, dy) <= TAU * math.hypot(scene.width, scene.height):
            return True
    return False


def overlaps(scene: Scene, cell: int) -> bool:
    """Return whether the cell overlaps a player (equation 6)."""
    row, col = divmod(cell, COLS)
    width, height = scene.width / COLS, scene.height / ROWS
    left, top = col * width, row * height
    for box in scene.players or ():
        wide = min(left + width, box.x2) - max(left, box.x1)
        high = min(top + height, box.y2) - max(top, box.y1)
        if wide > 0 and high > 0 and wide * high / (width * height) >= THETA:
            return True
    return False


def shares(cells: Iterable[int]) -> dict[int, float]:
    found: defaultdict[int, float] = defaultdict(float)
    named = list(cells)
    for cell in named:
        found[cell] += 1 / len(named)
    return dict(found)


def transport(scene: Scene, p: Mapping[int, float], q: Mapping[int, float]) -> float:
    """Return the Wasserstein distance (equation 3), solved as a linear program over the cells with probability mass."""
    sources, sinks = sorted(p), sorted(q)
    cost = [distance(scene, one, other) for one in sources for other in sinks]
    rows = [[float(i == j) for j in range(len(sources)) for _ in sinks] for i in range(len(sources))]
    rows += [[float(i == j) for _ in sources for j in range(len(sinks))] for i in range(len(sinks))]
    solved = linprog(cost, A_eq=np.array(rows), b_eq=[p[i] for i in sources] + [q[i] for i in sinks])
    return float(solved.fun)


def transport_1d(scene: Scene, p: Mapping[int, float], q: Mapping[int, float]) -> float:
    total = 0.0
    for axis, count, size in ((1, COLS, scene.width / COLS), (0, ROWS, scene.height / ROWS)):
        ahead = 0.0
        for place in range(count):
            here = lambda cells: sum(v for cell, v in cells.items() if divmod(cell, COLS)[axis] == place)  # noqa: B023, E731
            ahead += here(p) - here(q)
            total += abs(ahead) * size
    return total / 2


def top_k(p: Mapping[int, float], truth: set[int]) -> float:
    """Return the probability that a ball cell is among the k most frequent cells, over all ways to break ties."""
    k = min(TOP_K, len(p))
    ranks = sorted(p.values(), reverse=True)
    sure = {cell for cell, v in p.items() if v > ranks[k - 1] + 1e-12}
    tied = [cell for cell, v in p.items() if abs(v - ranks[k - 1]) <= 1e-12]
    choices = list(itertools.combinations(tied, k - len(sure)))
    return sum(bool((sure | set(chosen)) & truth) for chosen in choices) / len(choices)


def entropy(p: Mapping[int, float]) -> float:
    return -sum(v * math.log(v) for v in p.values()) / math.log(N)


@dataclass
class Plain:
    """Compute one group's metrics on a list of images."""

    scenes: Mapping[Key, Scene]
    answers: Answers
    reference: Answers | None = None
    is_reference: bool = False
    prior: Sequence[Scene] | None = None
    memory: dict[Any, Any] = field(default_factory=dict)

    def parsed(self, key: Key) -> list[int]:
        return [cell for cell in self.answers.get(key, ()) if cell is not None]

    def truth(self, key: Key) -> set[int]:
        return {index(label) for label in self.scenes[key].ball_cells or ()}

    def image_value(self, name: str, key: Key) -> float | None:
        """Return one image's value of a metric that is a mean over images, or None where it is undefined."""
        if (name, key) not in self.memory:
            self.memory[name, key] = self._image_value(name, key)
        value: float | None = self.memory[name, key]
        return value

    def _image_value(self, name: str, key: Key) -> float | None:
        scene, cells, truth = self.scenes[key], self.parsed(key), self.truth(key)
        if not cells:
            return None
        p = shares(cells)
        if name == "image_entropy":
            return entropy(p)
        if name in ("wasserstein", "wasserstein_1d"):
            others = [cell for cell in (self.reference or {}).get(key, ()) if cell is not None]
            if self.is_reference or not others:
                return None
            return {"wasserstein": transport, "wasserstein_1d": transport_1d}[name](scene, p, shares(others))
        if not truth:
            return None
        q = {cell: 1 / len(truth) for cell in truth}
        expected = sum(v * q[g] * distance(scene, cell, g) for cell, v in p.items() for g in q)
        by_name: dict[str, Callable[[], float]] = {
            "euclidean_error": lambda: sum(min(distance(scene, cell, g) for g in truth) for cell in cells) / len(cells),
            "expected_error": lambda: expected,
            "energy_score": lambda: (
                expected - sum(v * w * distance(scene, a, b) for a, v in p.items() for b, w in p.items()) / 2
            ),
            "brier_score": lambda: sum((p.get(cell, 0) - q.get(cell, 0)) ** 2 for cell in range(N)),
            "log_score": lambda: -math.log(sum((1 - SMOOTHING) * p.get(cell, 0) + SMOOTHING / N for cell in truth)),
            "top_k_accuracy": lambda: top_k(p, truth),
        }
        return by_name[name]()

    def metric(self, name: str, images: Sequence[Key]) -> tuple[float | None, float | None, int]:
        """Return the value, the standard deviation over images, and the number of images, including repetitions."""
        if name in ("accuracy", "near_player_rate", "overlap_rate"):
            return self._over_responses(name, images)
        if name in POOLED:
            return self._pooled(name, images), None, len(images)
        values = [value for key in images if (value := self.image_value(name, key)) is not None]
        if not values:
            return None, None, 0
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else None
        return mean, spread, len(values)

    def without_each(self, name: str, images: Sequence[Key]) -> list[float]:
        """Return the metric with each image that has a value excluded in turn; NaN where the metric is undefined."""
        entering = [key for key in images if name in POOLED or self.metric(name, [key])[0] is not None]
        values = (self.metric(name, [other for other in entering if other != key])[0] for key in entering)
        return [math.nan if value is None else value for value in values]

    def _over_responses(self, name: str, images: Sequence[Key]) -> tuple[float | None, None, int]:
        good = total = entered = 0
        for key in images:
            scene = self.scenes[key]
            if name == "accuracy":
                cells, counts = list(self.answers.get(key, ())), bool(self.truth(key))
                hits = [cell in self.truth(key) for cell in cells]
            else:
                cells, counts = list(self.parsed(key)), bool(scene.players)
                test = is_near if name == "near_player_rate" else overlaps
                hits = [test(scene, cell) for cell in self.parsed(key)]
            if counts and cells:
                good, total, entered = good + sum(hits), total + len(cells), entered + 1
        return (good / total if total else None), None, entered

    def _pooled(self, name: str, images: Sequence[Key]) -> float | None:
        cells = [cell for key in images for cell in self.parsed(key)]
        if not cells:
            return None
        if name == "normalized_entropy":
            return entropy(shares(cells))
        truths = [self.truth(key) for key in images]
        if self.prior is not None:
            truths = [{index(label) for label in scene.ball_cells or ()} for scene in self.prior]
        balls = [cell for truth in truths for cell in truth]
        if not balls:
            return None
        if name == "center_ratio":
            window = {row * COLS + col for row in (1, 2, 3) for col in (2, 3, 4, 5, 6)}
            p, q = (sum(cell in window for cell in some) / len(some) for some in (cells, balls))
        else:
            sizes = {(self.scenes[key].width, self.scenes[key].height) for key in images}
            if len(sizes) > 1:
                return None
            scene = self.scenes[images[0]]
            middle = (scene.width / 2, scene.height / 2)
            p, q = (sum(math.dist(center(scene, cell), middle) for cell in some) / len(some) for some in (cells, balls))
        return p / q if q else None
