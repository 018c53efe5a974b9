"""Claim: the analysis of 100,000 rationales takes less than 5 seconds and 2 GB of memory, without the time to embed
them.

The time includes everything that `analyze` does: cosines with 24 template sentences and 12 neutral sentences in 384
dimensions, categories by both statistics, 1,000 resamples of the images, 1,000 random labelings,
leave-one-template-out, keywords and contrasts. The synthetic rationales are by people and by 4 models with 3 prompts,
on 156 scenes. Their embeddings are random noise. Each case runs in its own process. The memory includes the embeddings
in single precision.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from measure import figure, process

from spotball_core.reasoning.analysis import analyze
from spotball_core.reasoning.rationales import Rationales
from spotball_core.reasoning.templates import load_templates
from spotball_core.synthetic.scenes import synthetic_scenes

N, DIMENSIONS, SCENES = 100_000, 384, 156
ROUNDS = 3
WORDS = (
    *(
        "the",
        "player",
        "is",
        "near",
        "and",
        "they",
        "look",
        "at",
        "it",
        "with",
        "eyes",
        "arms",
        "hands",
        "raised",
        "net",
    ),
    *("left", "right", "because", "body", "gaze", "stance", "jump", "leaning", "watching", "corner", "above", "team"),
)
ASKED = (("human", "human", "base"), *((f"synthetic-{m}", "model", p) for m in "abcd" for p in ("base", "cue", "cot")))


def rationales(n: int, unique: int, rng: np.random.Generator) -> Rationales:
    """Return synthetic rationales of 40 words, `unique` of which are different."""
    drawn = rng.integers(0, len(WORDS), (unique, 40))
    texts = tuple(f"{' '.join(WORDS[place] for place in row)} {number}" for number, row in enumerate(drawn))
    scenes = synthetic_scenes(SCENES, seed=0)
    who, where = rng.integers(0, len(ASKED), n), rng.integers(0, len(scenes), n)
    rows = pl.DataFrame(
        {
            "sport": [scenes[place].sport for place in where],
            "image": [scenes[place].image for place in where],
            "respondent": [ASKED[place][0] for place in who],
            "kind": [ASKED[place][1] for place in who],
            "prompt": [ASKED[place][2] for place in who],
            "sample": pl.Series(range(1, n + 1)).cast(pl.String),
            "participant": pl.Series([None] * n, dtype=pl.String),
            "cell": rng.integers(0, scenes[0].layout.n_cells, n),
            "spread": False,
            "text": np.concatenate([np.arange(unique), rng.integers(0, unique, n - unique)]),
        }
    )
    return Rationales(rows, texts)


def case(n: int, unique: int, out: Path) -> None:
    """Analyze `n` synthetic rationales, and write the seconds of the analysis to a file."""
    rng = np.random.default_rng(0)
    said, templates = rationales(n, unique, rng), load_templates()
    vectors = rng.normal(size=(unique, DIMENSIONS)).astype(np.float32)
    sentences = rng.normal(size=(len(templates.texts), DIMENSIONS)).astype(np.float32)
    start = time.perf_counter()
    analyze(said, synthetic_scenes(SCENES, seed=0), templates, vectors, sentences, embedder="none", model="noise")
    out.write_text(str(time.perf_counter() - start))


def main() -> None:
    """Measure the analysis with distinct texts, and with a tenth as many distinct texts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=N, help="rationales")
    parser.add_argument("--case", type=int, metavar="UNIQUE", help="run one case with so many different texts")
    parser.add_argument("--out", type=Path, help="file for the case's seconds")
    given = parser.parse_args()
    if given.case:
        case(given.n, given.case, given.out)
        return
    for what, unique in (("with distinct texts", given.n), ("with each text occurring ten times", given.n // 10)):
        seconds, megabytes = [], []
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "seconds")
            command = [sys.executable, __file__, "--n", str(given.n), "--case", str(unique), "--out", str(out)]
            for _ in range(ROUNDS):
                megabytes.append(process(command).megabytes)
                seconds.append(float(out.read_text()))
        n = f"{given.n:,} rationales; median of {ROUNDS} runs"
        figure(f"analysis after embedding, {what}", statistics.median(seconds), "s", below=5, note=n)
        figure(f"peak memory, {what}", statistics.median(megabytes), "MB", below=2000)


if __name__ == "__main__":
    main()
