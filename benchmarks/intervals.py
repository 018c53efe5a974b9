"""Claim: 10,000 bootstrap resamples of every metric take less than 10 seconds for 37 sets of responses, as many as the
full release has. This is at least 100 times faster than `scipy.stats.bootstrap` with the metric functions. With more
resamples, memory grows by at most one block of resamples.

The 156 synthetic scenes are of three sports; 50 scenes of each sport are scored. One set contains people's responses.
The other 36 sets are the responses of 4 models to 3 prompts in each sport. People are scored in each sport separately,
so 39 groups are scored. SciPy resamples images and calls the function of each metric. Its time is proportional to the
numbers of groups and resamples, so it is measured on three groups with 100 resamples and extrapolated. Both methods
find the same values to 1e-9.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import figure, in_turn, process
from numpy.typing import NDArray
from scipy.stats import bootstrap
from study import study

from spotball_core import ScorePolicy, read_counts
from spotball_core.counting.counts_file import write_counts
from spotball_core.io.scenes import write_scenes
from spotball_core.io.sources import COUNTS_ENDING
from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.scoring.groups import Group, Scoring

Array = NDArray[np.float64]
Statistic = Callable[..., Array]

RESAMPLES = 10_000
SLICE = 100
SLICE_OF = "synthetic-a"
"""The respondent whose first prompt is resampled with SciPy, in each sport."""

ROUNDS = 3
BLOCK_MB = 16
"""Megabytes of a block: two million numbers of 8 bytes."""


def statistics_of(scoring: Scoring, group: Group) -> dict[str, Statistic]:
    """Return each metric as a function of the sampled images, built from the public metric functions."""
    places = scoring.images(group)
    answers = scoring.estimator(group).answers
    scenes = [scoring.arrays.scenes[place] for place in places]
    boxes = np.full((len(scenes), max(len(scene.players or ()) for scene in scenes), 4), np.nan)
    for place, scene in enumerate(scenes):
        boxes[place, : len(scene.players or ())] = [box.corners for box in scene.players or ()]
    known = {"truth": scoring.arrays.truth[places], "reference": answers.reference, "players": boxes}

    def statistic(metric: Metric) -> Statistic:
        others = [known[need] for need in metric.needs]
        blanks = answers.unparsed

        def of(images: NDArray[np.int64], axis: int = -1) -> Array:
            mass = answers.mass[images]
            if metric.over == "pool":
                return metric.function(mass.sum(axis=-2), *(other[images].sum(axis=-2) for other in others))
            if metric.key == "accuracy":
                n = mass.sum(axis=-1) + blanks[images]
                values = metric.function(mass, *(other[images] for other in others), unparsed=blanks[images])
                return np.average(values, axis=axis, weights=n)
            values = metric.function(mass, *(other[images] for other in others))
            if metric.over == "responses":
                return np.average(values, axis=axis, weights=mass.sum(axis=-1))
            return values if metric.key == "image_entropy" else values.mean(axis=axis)

        return of

    return {metric.key: statistic(metric) for metric in METRICS.values()}


def by_scipy(statistics: dict[str, Statistic], n_images: int, *, vectorized: bool) -> None:
    for statistic in statistics.values():
        images = (np.arange(n_images),)
        bootstrap(images, statistic, n_resamples=SLICE, method="percentile", vectorized=vectorized, rng=0)


def main() -> None:
    """Measure both methods, then the peak memory of whole commands."""
    scenes, rows = study()
    counts = read_counts(rows, scenes)
    scoring = Scoring(counts, scenes, ScorePolicy.standard(reference="human", bootstrap=RESAMPLES))
    scores = {(group.sport, group.respondent, group.prompt): group for group in scoring.report().groups}
    chosen = [group for group in scoring.groups if (group.respondent, group.prompt) == (SLICE_OF, "base")]
    slices = [(statistics_of(scoring, group), len(scoring.images(group))) for group in chosen]
    for group, (statistics, n_images) in zip(chosen, slices, strict=True):
        for key, statistic in statistics.items():
            expected = scores[group.sport, group.respondent, group.prompt].metrics[key].value
            np.testing.assert_allclose(statistic(np.arange(n_images)), expected, rtol=1e-9, err_msg=key)

    def scipy(vectorized: bool) -> Callable[[], object]:
        return lambda: [by_scipy(*one, vectorized=vectorized) for one in slices]

    ways = {"spotball": scoring.report, "scipy": scipy(False), "vectorized": scipy(True)}
    times = in_turn(ways, ROUNDS)
    # People's distance from themselves is not computed, so SciPy's work is scaled by values, not by groups.
    wanted = sum(value.ci95 is not None for group in scores.values() for value in group.metrics.values())
    measured = sum(len(statistics) for statistics, _ in slices)
    scale = wanted / measured * RESAMPLES / SLICE
    figure(
        "all intervals with 10,000 resamples",
        times["spotball"],
        "s",
        below=10,
        note=f"{len(scores)} groups, {wanted} values",
    )
    note = f"scipy.stats.bootstrap, one call per resample: {times['scipy'] * scale / 60:.1f} minutes"
    figure(
        "speedup over scipy.stats.bootstrap",
        times["scipy"] * scale / times["spotball"],
        "times",
        at_least=100,
        note=note,
    )
    note = f"vectorized=True, one call for all {SLICE} resamples: {times['vectorized'] * scale / 60:.1f} minutes"
    figure(
        "speedup over vectorized scipy.stats.bootstrap",
        times["vectorized"] * scale / times["spotball"],
        "times",
        note=note,
    )
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        write_scenes(scenes, Path(folder) / "scenes.jsonl")
        write_counts(counts, Path(folder) / f"responses{COUNTS_ENDING}")
        command = [
            sys.executable,
            "-m",
            "spotball_core",
            "score",
            folder,
            "--reference",
            "human",
            "--quiet",
            "--bootstrap",
        ]
        for resamples in (1_000, 10_000, 100_000):
            peaks[resamples] = process([*command, str(resamples)]).megabytes
            note = "spotball score on a file of counts, in its own process"
            figure(f"peak memory at {resamples:,} resamples", peaks[resamples], "MB", note=note)
    figure(
        "growth of memory from 10,000 to 100,000 resamples",
        peaks[100_000] - peaks[10_000],
        "MB",
        below=BLOCK_MB,
        note="the goal is the size of one block of resamples",
    )


if __name__ == "__main__":
    main()
