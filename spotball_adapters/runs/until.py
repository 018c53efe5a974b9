"""Stop a run as soon as a metric is known precisely enough: `spotball run --until "ci(accuracy) < 3"`.

Images are requested in a random order, each with all its samples. Every image's value is therefore an independent
sample, and a confidence sequence (`spotball_core.stats.sequences`) holds whenever the run stops.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_adapters.runs.launch import RunResult
from spotball_adapters.runs.responses import ParsedReplies
from spotball_adapters.runs.runner import RunTally
from spotball_core.errors import OptionError, unknown_name
from spotball_core.metrics.registry import METRICS
from spotball_core.random import generator_for
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.scene import Scene
from spotball_core.text.numbers import in_unit, interval, points, quantity
from spotball_core.text.words import plural

if TYPE_CHECKING:
    import polars as pl

_RULE = re.compile(r"\s*ci\(\s*(\w+)\s*\)\s*<\s*(\d+\.?\d*)\s*")

GROWTH = 1.1
"""Factor by which the number of images grows between two looks at the data, at least."""


@dataclass(frozen=True)
class Precision:
    """A metric's confidence sequence for one prompt, after some images.

    Attributes:
        prompt: the prompt.
        n_images: number of images with a value.
        mean: the mean of their values; NaN without values.
        ends: the 95% interval.
    """

    prompt: str
    n_images: int
    mean: float
    ends: tuple[float, float]


@dataclass(frozen=True)
class Until:
    """A rule for stopping: the half width of a metric's 95% interval is below a limit, for all prompts.

    Attributes:
        key: the metric's key.
        limit: the limit, in the metric's unit.
        low: the lowest possible value of an image.
        high: the highest possible value of an image.
    """

    key: str
    limit: float
    low: float
    high: float

    @classmethod
    def parsed(cls, text: str, scenes: Sequence[Scene]) -> Until:
        """Convert a text such as `ci(accuracy) < 3` to a rule for these scenes.

        Raises:
            OptionError: for another text, or a metric whose values of single images are not bounded and independent.
        """
        if (match := _RULE.fullmatch(text)) is None or not float(match[2]):
            raise OptionError(f"found {text!r}, expected a rule such as 'ci(accuracy) < 3'", field="--until")
        key = match[1]
        if key not in METRICS:
            raise OptionError(unknown_name("metric", key, METRICS), code="unknown-name", field="--until")
        metric, high = METRICS[key], METRICS[key].highest
        if high is None and metric.unit == "px":
            high = max(math.hypot(scene.width, scene.height) for scene in scenes)
        if metric.over == "pool" or "reference" in metric.needs or metric.lowest is None or high is None:
            raise OptionError(
                f"{key} has no bounded value for each image. Use a metric such as accuracy or euclidean_error",
                field="--until",
            )
        return cls(key, in_unit(float(match[2]), metric.unit), metric.lowest, high)

    def precisions(self, rows: pl.DataFrame, scenes: Sequence[Scene]) -> list[Precision]:
        """Return the confidence sequence of each prompt after these scenes, which are in the order of the run.

        Args:
            rows: the responses of the run, which may be about more scenes.
            scenes: the scenes whose samples are complete.
        """
        import numpy as np
        import polars as pl

        from spotball_core.dataset import load
        from spotball_core.scoring.groups import Scoring
        from spotball_core.stats.sequences import confidence_sequence

        keys = pl.DataFrame([scene.key for scene in scenes], schema=["sport", "image"], orient="row")
        data = load(rows.join(keys, on=["sport", "image"], how="semi"), scenes)
        scoring = Scoring(data.counts, data.scenes, ScorePolicy.standard(by=("prompt",), bootstrap=0))
        found = []
        for group in scoring.groups:
            # Scenes keep their order, and each image has the same number of samples.
            values = scoring.estimator(group).own(METRICS[self.key]).values
            assert values is not None
            known = values[np.isfinite(values)]
            mean, ends = math.nan, (self.low, self.high)
            if len(known):
                low, high = confidence_sequence(known, low=self.low, high=self.high)[-1]
                mean, ends = float(known.mean()), (float(low), float(high))
            found.append(Precision(str(group.prompt), len(known), mean, ends))
        return found

    def is_met(self, precisions: Sequence[Precision]) -> bool:
        """Return whether all intervals are narrow enough."""
        return bool(precisions) and all((one.ends[1] - one.ends[0]) / 2 < self.limit for one in precisions)

    def line(self, precision: Precision) -> str:
        """Describe a prompt's interval in one line."""
        unit = METRICS[self.key].unit
        half = points((precision.ends[1] - precision.ends[0]) / 2, unit)
        value = (
            f"{quantity(precision.mean, unit)} {interval(precision.ends, unit)}" if precision.n_images else "no value"
        )
        return f"{precision.prompt}: {self.key} {value} (± {half}) after {plural(precision.n_images, 'image')}"

    def end(self, n_images: int, *, is_met: bool) -> str:
        """Describe why the run ended in one line."""
        limit = f"± {points(self.limit, METRICS[self.key].unit)}"
        if is_met:
            return f"Stopped after {plural(n_images, 'image')}: {limit} is reached. The 95% intervals hold at any time."
        return f"All {plural(n_images, 'image')} were used, but {limit} is not reached. Use more images."


def shuffled(scenes: Sequence[Scene]) -> tuple[Scene, ...]:
    """Return scenes in a random order that is the same in every session and on every machine.

    Examples:
        >>> from spotball_core.synthetic.scenes import synthetic_scenes
        >>> scenes = synthetic_scenes(9)
        >>> shuffled(scenes) == shuffled(scenes[::-1]) != scenes
        True
    """
    return tuple(sorted(scenes, key=lambda scene: float(generator_for(0, "until", *scene.key).random())))


Ended = RunResult[tuple[ParsedReplies, Path | None]]


def ask_until(
    rule: Until,
    scenes: tuple[Scene, ...],
    ask: Callable[[tuple[Scene, ...]], Ended],
    *,
    batch: int,
    whole: bool = False,
) -> tuple[Ended, list[str]]:
    """Ask about more and more of the scenes until the rule is met, all scenes are asked about, or replies are missing.

    Args:
        rule: the rule for stopping.
        scenes: the scenes in the order of the run.
        ask: starts or resumes the run for the given scenes, and returns its result.
        batch: minimum number of scenes between two looks at the data.
        whole: whether to ask about all scenes at once.

    Returns:
        The last result with the counts of all steps, and a line for each prompt and for the end.
    """
    n, tally = 0, RunTally(total=0)
    while True:
        n = len(scenes) if whole else min(max(n + batch, math.ceil(GROWTH * n)), len(scenes))
        ended = ask(scenes[:n])
        tally = tally + ended.tally
        ended = replace(ended, tally=tally)
        if ended.left or ended.why or ended.error:
            return ended, []
        precisions = rule.precisions(ended.output[0].rows, scenes[:n])
        is_met = rule.is_met(precisions)
        if is_met or n == len(scenes):
            return ended, [*map(rule.line, precisions), rule.end(n, is_met=is_met)]
