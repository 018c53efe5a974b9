"""The result of the leak test, as JSON values and as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spotball_core.text.words import plural
from spotball_gen.quality.decoys import DECOYS

LEVEL = 0.05
"""Significance level of the test. The joint p value covers accuracy and AUC, so it needs no further correction."""


@dataclass(frozen=True)
class Measured:
    """A statistic of the leak test (accuracy or AUC), compared with chance.

    Attributes:
        value: mean of the statistic over the images.
        interval: 95% confidence interval of `value` from resampling videos; None with fewer than three videos.
        chance: mean of the statistic over random permutations of the balls; see `spotball_gen.quality.leak.exchanged`.
        chance_range: 2.5th and 97.5th percentiles of the statistic over these permutations.
        p: share of the permutations (including the actual assignment) with at least `value`.
    """

    value: float
    interval: tuple[float, float] | None
    chance: float
    chance_range: tuple[float, float]
    p: float


@dataclass(frozen=True)
class Leak:
    """The result of the leak test.

    Attributes:
        accuracy: share of images whose most suspicious cell is a ball cell.
        auc: mean over images of the share of pairs (a ball cell, another cell) in which the ball cell is more
            suspicious.
        weights: weights of the features, learned from all images, sorted from the largest absolute value. They show
            which features reveal balls. They apply to features scaled to variance 1, and their absolute values sum to
            1.
        images: number of images.
        videos: number of videos.
        folds: number of cross-validation folds. Each video is in one fold only.
        permutations: number of random permutations of the balls.
        p: joint p value of accuracy and AUC; see `joint_p`.
        decoys: the result of the test against decoys only. None if this test cannot be done, and in this nested result
            itself.
    """

    accuracy: Measured
    auc: Measured
    weights: Mapping[str, float]
    images: int
    videos: int
    folds: int
    permutations: int
    p: float
    decoys: Leak | None = None

    @property
    def distinguished(self) -> bool:
        """Return whether inpainted cells were distinguished from the others: whether `p` is below 0.05."""
        return self.p < LEVEL

    @property
    def leaks(self) -> bool | None:
        """Return whether the inpainting is visible: whether inpainted cells were distinguished from their decoys.

        Cells around balls differ from most cells by their content, even with perfect inpainting. Therefore, the test
        among all cells does not affect the verdict. The value is None if there was no test against decoys.
        """
        return self.decoys.distinguished if self.decoys else None

    def record(self) -> dict[str, Any]:
        """Return the result as rounded JSON values. The key `leaks` contains the verdict: the property `leaks`."""
        own = self._record()
        if self.decoys is None:
            return {**own, "leaks": None}
        return {**own, "leaks": self.leaks, "decoys": self.decoys._record()}

    def _record(self) -> dict[str, Any]:
        measures: dict[str, Any] = {
            name: {
                "value": _round(of.value),
                "interval": of.interval and [_round(end) for end in of.interval],
                "chance": _round(of.chance),
                "chance_range": [_round(end) for end in of.chance_range],
                "p": round(of.p, 4),
            }
            for name, of in (("accuracy", self.accuracy), ("auc", self.auc))
        }
        return {
            **measures,
            "p": round(self.p, 4),
            "distinguished": self.distinguished,
            "weights": {name: round(value, 2) for name, value in self.weights.items()},
            "images": self.images,
            "videos": self.videos,
            "folds": self.folds,
            "permutations": self.permutations,
        }


def lines(leak: Leak) -> Iterator[str]:
    """Yield the lines that `spotball gen check` prints about the result. The last line is the verdict."""
    images = f"{plural(leak.images, 'image')} of {leak.videos:,} videos"
    yield f"{images}; {leak.folds} folds of cross-validation; {leak.permutations} permutations of the balls' positions"
    yield from _numbers(leak)
    yield f"Cells that contained the ball {_distinguished(leak)} from other cells{_named(leak)}"
    if leak.decoys is not None:
        yield f"{leak.decoys.images:,} images; the ball's cell is compared with {DECOYS} similar cells (decoys)"
        yield from _numbers(leak.decoys)
        yield f"Inpainted cells {_distinguished(leak.decoys)} from their decoys{_named(leak.decoys)}"
    yield verdict(leak.record())


def verdict(record: Mapping[str, Any]) -> str:
    """Return the verdict of a leak test as a sentence.

    Args:
        record: a record from `Leak.record`, or a record with the key `not_done` and the reason.

    Examples:
        >>> verdict({"not_done": "it needs images of at least two videos"})
        'Leak test: not done, because it needs images of at least two videos.'
    """
    if "not_done" in record:
        return f"Leak test: not done, because {record['not_done']}."
    if record["leaks"] is None:
        return (
            f"Leak test: no verdict, because there are too few images with {DECOYS} cells that inpainting did not "
            "change, or too few different positions of the ball."
        )
    accuracy = record["decoys"]["accuracy"]
    numbers = (
        f"among {DECOYS + 1} similar cells, a classifier chooses the inpainted one in {accuracy['value']:.0%} of the "
        f"images (chance level {accuracy['chance']:.0%}, p = {record['decoys']['p']:.3f})"
    )
    if record["leaks"]:
        return f"Leak test: failed. Inpainted cells can be recognized: {numbers}. Do not publish these images."
    return f"Leak test: passed. Inpainted cells were not recognized: {numbers}."


def _distinguished(leak: Leak) -> str:
    return "can be distinguished" if leak.distinguished else "were not distinguished"


def _numbers(leak: Leak) -> Iterator[str]:
    for name, of in (("accuracy", leak.accuracy), ("AUC", leak.auc)):
        interval = f" [{of.interval[0]:.3f}, {of.interval[1]:.3f}]" if of.interval else ""
        low, high = of.chance_range
        yield f"{name:<8}  {of.value:.3f}{interval}; chance {of.chance:.3f} [{low:.3f}, {high:.3f}], p = {of.p:.3f}"


def _named(leak: Leak) -> str:
    """Return a text with the joint p value and, if cells were distinguished, the most informative features."""
    features = ", ".join(f"{name} ({weight:+.2f})" for name, weight in list(leak.weights.items())[:3])
    together = f" (p = {leak.p:.3f} for accuracy and AUC together)."
    return together + (f" The most informative features are {features}." if leak.distinguished else "")


def _round(value: float) -> float:
    return round(value, 3)
