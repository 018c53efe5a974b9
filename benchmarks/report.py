"""Claim: `spotball report` on data of the full release's size takes less than a minute on two cores.

The data is synthetic: 156 made-up scenes with pictures, 50 made-up participants and 4 made-up models with 3 prompts
each, whose answers are drawn from mixtures of the baselines. It says nothing about people or models.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image, ImageDraw

from spotball_core.baselines import baseline_distributions
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.schema import Scene
from spotball_core.synthetic import synthetic_scenes

N_SCENES, SEEN, PARTICIPANTS, CLICKS = 156, 50, 50, 3  # the images of a sport behind the first 50 are controls
SAMPLES = {"base": 50, "cue": 50, "cot": 20}
PARTS = ("uniform", "center", "nearest-player", "oracle")
PEOPLE = (0.05, 0.10, 0.45, 0.40)
MODELS = {
    "synthetic-a": {"base": (0.1, 0.7, 0.2, 0.0), "cue": (0.1, 0.5, 0.4, 0.0), "cot": (0.1, 0.3, 0.5, 0.1)},
    "synthetic-b": {"base": (0.3, 0.2, 0.5, 0.0), "cue": (0.2, 0.2, 0.6, 0.0), "cot": (0.1, 0.1, 0.7, 0.1)},
    "synthetic-c": {"base": (0.8, 0.1, 0.1, 0.0), "cue": (0.6, 0.2, 0.2, 0.0), "cot": (0.5, 0.2, 0.3, 0.0)},
    "synthetic-d": {"base": (0.0, 0.2, 0.7, 0.1), "cue": (0.0, 0.1, 0.7, 0.2), "cot": (0.0, 0.1, 0.6, 0.3)},
}
"""Weights of the parts, by model and prompt."""

UNPARSED = 0.01


def write_study(folder: Path, *, seed: int = 0) -> int:
    """Write a dataset of the full release's size into a folder; returns the number of responses."""
    scenes = tuple(
        scene.model_copy(update={"path": f"images/{scene.sport}/{scene.image}.jpg", "control": int(scene.image) > SEEN})
        for scene in synthetic_scenes(N_SCENES, seed=seed)
    )
    for scene in scenes:
        _draw(scene, folder / str(scene.path))
    write_scenes(scenes, folder / "scenes.jsonl")
    rows = pl.concat(list(_answers(scenes, np.random.default_rng(seed)))).select(COLUMNS)
    for (respondent,), part in rows.partition_by("respondent", as_dict=True).items():
        write_responses(part, folder / f"responses-{respondent}.jsonl")
    return len(rows)


def _answers(scenes: tuple[Scene, ...], rng: np.random.Generator) -> Iterator[pl.DataFrame]:
    parts = np.stack([baseline_distributions(name, scenes) for name in PARTS])
    seen = tuple(place for place, scene in enumerate(scenes) if not scene.control)
    people = [str(number + 1) for number in range(PARTICIPANTS) for _ in range(CLICKS)]
    clicks = {"participant": people, "sample": [*range(1, CLICKS + 1)] * PARTICIPANTS}
    yield from _drawn(scenes, seen, PEOPLE, parts, rng, clicks, ("human", "human", "base"))
    for model, prompts in MODELS.items():
        for prompt, weights in prompts.items():
            samples = {"participant": [None] * SAMPLES[prompt], "sample": [*range(1, SAMPLES[prompt] + 1)]}
            yield from _drawn(scenes, range(len(scenes)), weights, parts, rng, samples, (model, "model", prompt))


def _drawn(scenes, places, weights, parts, rng, samples, who) -> Iterator[pl.DataFrame]:  # type: ignore[no-untyped-def]
    respondent, kind, prompt = who
    for place in places:
        scene, n = scenes[place], len(samples["sample"])
        cells = rng.choice(len(parts[0, place]), size=n, p=np.tensordot(weights, parts[:, place], axes=1))
        labels = [None if rng.random() < UNPARSED else scene.layout.label(int(cell)) for cell in cells]
        yield pl.DataFrame(
            {"sport": scene.sport, "image": scene.image, "respondent": respondent, "kind": kind, "prompt": prompt}
            | {"cell": labels, "reasoning": None, **samples},
            schema_overrides={"participant": pl.String, "reasoning": pl.String, "cell": pl.String},
        )


def _draw(scene: Scene, path: Path) -> None:
    """A field, the players as rectangles and some noise, so that the file has a photo's size."""
    rng = np.random.default_rng(int(scene.image))
    noise = rng.integers(0, 60, (scene.height // 4, scene.width // 4, 3), dtype=np.uint8) + np.array([40, 90, 50])
    picture = Image.fromarray(noise.astype(np.uint8)).resize((scene.width, scene.height))
    pen = ImageDraw.Draw(picture)
    for box in scene.players or ():
        pen.rectangle(box.corners, fill=tuple(int(c) for c in rng.integers(60, 230, 3)), outline="black")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, quality=85)


def main() -> None:
    """Print how long the command takes, and how large the page is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="write data and report into this folder and keep them")
    with tempfile.TemporaryDirectory() as temporary:
        folder = parser.parse_args().keep or Path(temporary)
        n = write_study(folder / "study")
        out = folder / "report"
        command = [sys.executable, "-m", "spotball_core", "report", str(folder / "study")]
        start = time.perf_counter()
        subprocess.run([*command, "--reference", "human", "--out", str(out), "--quiet"], check=True)
        seconds = time.perf_counter() - start
        size = (out / "report.html").stat().st_size / 1e6
    conditions = 1 + 3 * sum(map(len, MODELS.values()))
    print(
        f"{n:,} synthetic responses, {N_SCENES} scenes, {conditions} conditions: people, and 12 of models in 3 sports"
    )
    print(f"spotball report: {seconds:.1f} s (claim: below 60), a page of {size:.1f} MB")


if __name__ == "__main__":
    main()
