"""Write any number of synthetic responses to synthetic scenes, with constant memory."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from spotball_core.grid import Grid
from spotball_core.schema import Scene
from spotball_core.synthetic.scenes import synthetic_scenes

N_SCENES = 150
MODELS = ("model-a", "model-b", "model-c", "model-d")
PROMPTS = ("base", "cue", "cot")

BARE = ("sport", "image", "respondent", "prompt", "cell")
FULL = ("sport", "image", "respondent", "kind", "prompt", "sample", "participant", "cell")


def scenes() -> tuple[Scene, ...]:
    """Return the scenes. Their sports' names are as short as real ones."""
    made = synthetic_scenes(N_SCENES, seed=0)
    return tuple(scene.model_copy(update={"sport": scene.sport.removeprefix("synthetic-")}) for scene in made)


def write(path: Path, n: int, columns: tuple[str, ...]) -> None:
    """Write `n` responses with these columns, in the format of the file's extension, sorted by sample, model and image.

    Cells are uniformly distributed, and one response in 61 has no cell.
    """
    known = scenes()
    who = [(model, prompt) for model in MODELS for prompt in PROMPTS]
    labels = [*Grid.standard().labels, None]
    number = pl.col("number")
    image, group = number % len(known), number // len(known) % len(who)
    texts = {
        "sport": _named(image, [scene.sport for scene in known]),
        "image": _named(image, [scene.image for scene in known]),
        "respondent": _named(group, [model for model, _ in who]),
        "kind": pl.lit("model"),
        "prompt": _named(group, [prompt for _, prompt in who]),
        "sample": number // (len(known) * len(who)) + 1,
        "participant": pl.lit(None, pl.String),
        "cell": _named(number.hash(0) % len(labels), labels),
    }
    rows = pl.LazyFrame().select(number=pl.int_range(n)).select(**{column: texts[column] for column in columns})
    sinks = {".csv": rows.sink_csv, ".jsonl": rows.sink_ndjson, ".parquet": rows.sink_parquet}
    sinks[path.suffix](path)


def _named(places: pl.Expr, names: list[str] | list[str | None]) -> pl.Expr:
    return places.replace_strict(range(len(names)), names, return_dtype=pl.String)
