"""Sample random sentences from an area of the project's text. A reader who did not write them then rates them.

python scripts/sample_sentences.py how-to --seed 0
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.texts import AREAS, Text, sentences, texts


def sample(project: Iterable[Text], area: str, size: int, seed: int) -> list[tuple[str, str]]:
    """Return the places and the words of random sentences of an area, without repetition."""
    pool = dict.fromkeys(
        (f"{text.path}:{text.line}", sentence) for text in project if text.area == area for sentence in sentences(text)
    )
    return random.Random(seed).sample(list(pool), min(size, len(pool)))


def main() -> None:
    """Print the sample, one sentence per line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("area", choices=AREAS)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for number, (place, sentence) in enumerate(sample(texts(), options.area, options.size, options.seed), start=1):
        print(f"{number}\t{place}\t{sentence}")


if __name__ == "__main__":
    main()
