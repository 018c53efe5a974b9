"""Claim: the CPU time and the memory of `spotball score` grow at most in proportion to the images, the respondents and
the cells, and do not depend on the number of responses: no exponent is above 1.05.

Each size is scored in its own process, from a file with counts, with all metrics and a reference. The exponent is the
slope of the logarithm of time or memory against the logarithm of the size, between the two largest sizes. The start of
Python is included, so exponents of small sizes are below those of the work itself.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measure import figure, process

from spotball_core import Grid, Scene
from spotball_core.counting.counts import Counts
from spotball_core.counting.counts_file import write_counts
from spotball_core.io.scenes import write_scenes

START = {"images": 500, "respondents": 5, "responses": 20, "rows": 6}
"""The size from which one number grows; a grid has 5 columns for every 3 rows."""

SIZES = {
    "images": (500, 2_000, 8_000),
    "respondents": (5, 20, 80),
    "responses": (20, 20_000, 20_000_000),
    "rows": (6, 12, 18),
}
MOST = 1.05


def write(folder: Path, images: int, respondents: int, responses: int, rows: int) -> list[str]:
    """Write scenes and counts, and return the paths. Each respondent guesses around a point of each image."""
    rng, grid = np.random.default_rng(0), Grid(rows, rows * 5 // 3, 640, 360)
    names = [str(image) for image in range(images)]
    balls = rng.integers(grid.n_cells, size=images)
    scenes = [
        Scene(sport="soccer", image=name, grid=grid, ball_cells=[grid.labels[ball]], players=[(90, 90, 150, 210)])
        for name, ball in zip(names, balls, strict=True)
    ]
    middle = rng.uniform([64, 60], [576, 300], size=(images, 1, 2))
    tables = []
    for respondent in range(respondents):
        away = np.hypot(*(grid.centers - middle - rng.normal(0, 40, (images, 1, 2))).T).T
        shares = np.exp(-((away / 80) ** 2)) + 1e-4
        counts = rng.multinomial(responses, shares / shares.sum(axis=1, keepdims=True))
        image, cell = np.nonzero(counts)
        tables.append(
            pl.DataFrame({"image": np.array(names)[image], "cell": cell, "n": counts[image, cell]}).with_columns(
                sport=pl.lit("soccer"),
                respondent=pl.lit(f"m{respondent}" if respondent else "human"),
                kind=pl.lit("model" if respondent else "human"),
                prompt=pl.lit("base"),
            )
        )
    paths = folder / "all.counts", folder / "scenes.jsonl"
    write_counts(Counts.of(pl.concat(tables), rows=grid.rows, cols=grid.cols), paths[0])
    write_scenes(scenes, paths[1])
    return list(map(str, paths))


def used(command: list[str]) -> tuple[float, float]:
    """Run a process, and return its CPU seconds and its peak memory in MB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    megabytes = process(command).megabytes
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, megabytes


def main() -> None:
    """Measure each size, and print times, memory and exponents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(SIZES), help="measure the growth with this number only")
    only = parser.parse_args().only
    for what in SIZES if only is None else [only]:
        found = []
        for size in SIZES[what]:
            with tempfile.TemporaryDirectory() as folder:
                counts, scenes = write(Path(folder), **{**START, what: size})
                command = [sys.executable, "-m", "spotball_core", "score", counts, "--scenes", scenes, "--full"]
                found.append(used([*command, "--reference", "human", "--quiet"]))
            seconds, megabytes = found[-1]
            figure(f"{size:,} {what}: CPU time", seconds, "s", note=f"peak memory: {megabytes:.0f} MB")
        # Twice the rows are four times the cells.
        growth = math.log(SIZES[what][-1] / SIZES[what][-2]) * (2 if what == "rows" else 1)
        for name, before, after in zip(("time", "memory"), *found[-2:], strict=True):
            figure(f"exponent of {name} against {what}", math.log(after / before) / growth, "", below=MOST)


if __name__ == "__main__":
    main()
