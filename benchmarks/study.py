"""Simulate a study of the full release's size: 156 scenes with images, and people and models who answer them.

There are 50 participants and 4 models with 3 prompts each, whose answers are sampled from mixtures of the baselines.
The study says nothing about real people or models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image, ImageDraw

from spotball_core.baselines import baseline_distributions
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.io.scenes import write_scenes
from spotball_core.schema import Scene
from spotball_core.synthetic.scenes import synthetic_scenes

N_SCENES, SEEN, PARTICIPANTS, CLICKS = 156, 50, 50, 3  # a sport's images after the first 50 are controls
SAMPLES = {"base": 50, "cue": 50, "cot": 20}
PARTS = ("uniform", "center", "nearest-player", "oracle")
PEOPLE = (0.05, 0.10, 0.45, 0.40)
MODELS = {
    "synthetic-a": {"base": (0.1, 0.7, 0.2, 0.0), "cue": (0.1, 0.5, 0.4, 0.0), "cot": (0.1, 0.3, 0.5, 0.1)},
    "synthetic-b": {"base": (0.3, 0.2, 0.5, 0.0), "cue": (0.2, 0.2, 0.6, 0.0), "cot": (0.1, 0.1, 0.7, 0.1)},
    "synthetic-c": {"base": (0.8, 0.1, 0.1, 0.0), "cue": (0.6, 0.2, 0.2, 0.0), "cot": (0.5, 0.2, 0.3, 0.0)},
    "synthetic-d": {"base": (0.0, 0.2, 0.7, 0.1), "cue": (0.0, 0.1, 0.7, 0.2), "cot": (0.0, 0.1, 0.6, 0.3)},
}
"""Weights of the mixture's parts, by model and prompt."""

UNPARSED = 0.01


def study(*, seed: int = 0) -> tuple[tuple[Scene, ...], pl.DataFrame]:
    """Return the scenes, and all responses to them."""
    scenes = tuple(
        scene.model_copy(update={"path": f"images/{scene.sport}/{scene.image}.jpg", "control": int(scene.image) > SEEN})
        for scene in synthetic_scenes(N_SCENES, seed=seed)
    )
    return scenes, pl.concat(list(_answers(scenes, np.random.default_rng(seed)))).select(COLUMNS)


def write_study(folder: Path, *, seed: int = 0) -> int:
    """Write the study with its images into a folder as a dataset, and return the number of responses."""
    scenes, rows = study(seed=seed)
    for scene in scenes:
        _draw(scene, folder / str(scene.path))
    write_scenes(scenes, folder / "scenes.jsonl")
    for (respondent,), part in rows.partition_by("respondent", as_dict=True).items():
        write_responses(part, folder / f"responses-{respondent}.jsonl")
    return len(rows)


def _answers(scenes: Sequence[Scene], rng: np.random.Generator) -> Iterator[pl.DataFrame]:
    parts = np.stack([baseline_distributions(name, scenes) for name in PARTS])
    seen = [place for place, scene in enumerate(scenes) if not scene.control]
    asked: list[tuple[tuple[str, str, str], Sequence[int], Sequence[float], list[str | None], int]] = [
        (("human", "human", "base"), seen, PEOPLE, [str(person + 1) for person in range(PARTICIPANTS)], CLICKS)
    ]
    asked += [
        ((model, "model", prompt), range(len(scenes)), weights, [None], SAMPLES[prompt])
        for model, prompts in MODELS.items()
        for prompt, weights in prompts.items()
    ]
    for (respondent, kind, prompt), places, weights, participants, samples in asked:
        n = len(participants) * samples
        for place in places:
            scene = scenes[place]
            cells = rng.choice(scene.layout.n_cells, size=n, p=np.tensordot(weights, parts[:, place], axes=1))
            labels = [None if rng.random() < UNPARSED else scene.layout.label(int(cell)) for cell in cells]
            yield pl.DataFrame(
                {"sport": scene.sport, "image": scene.image, "respondent": respondent, "kind": kind, "prompt": prompt}
                | {"participant": [person for person in participants for _ in range(samples)]}
                | {"sample": [*range(1, samples + 1)] * len(participants), "cell": labels, "reasoning": None},
                schema_overrides={"participant": pl.String, "reasoning": pl.String, "cell": pl.String},
            )


def _draw(scene: Scene, path: Path) -> None:
    """Draw a field, players as rectangles and some noise, so that the file has a photo's size."""
    rng = np.random.default_rng(int(scene.image))
    noise = rng.integers(0, 60, (scene.height // 4, scene.width // 4, 3), dtype=np.uint8) + np.array([40, 90, 50])
    picture = Image.fromarray(noise.astype(np.uint8)).resize((scene.width, scene.height))
    pen = ImageDraw.Draw(picture)
    for box in scene.players or ():
        pen.rectangle(box.corners, fill=tuple(int(c) for c in rng.integers(60, 230, 3)), outline="black")
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, quality=85)
