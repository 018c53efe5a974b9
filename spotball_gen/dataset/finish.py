"""Add the card, the split and the checksums to generated scenes and images."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.service.files import file_digest
from spotball_gen.dataset import positions
from spotball_gen.dataset.card import card, group, markdown
from spotball_gen.items.item import Item
from spotball_gen.quality.splits import split

CARD, CARD_TEXT, SPLITS, POSITIONS, CHECKSUMS = (
    "card.json",
    "card.md",
    "splits.json",
    "positions.svg",
    "checksums.sha256",
)


def finish(
    folder: Path, items: Iterable[Item], facts: Mapping[str, Any], *, seed: int, shots: Mapping[str, int]
) -> None:
    """Write the split, the card with its figures and, last, the checksums of all files.

    Args:
        folder: the folder with scenes, images and the funnel.
        items: the items of the dataset, in the order of their ids.
        facts: how the dataset was made, with the keys `spotball_gen.dataset.output.FACTS`.
        seed: seed of the split and of the leak test.
        shots: number of the shot of each item, by the item's id.

    Raises:
        OSError: if a file cannot be written.
    """
    scenes = read_scenes(folder / SCENES)
    splits = split(scenes, seed=seed, shots=shots)
    _write_json(folder / SPLITS, splits)
    (folder / POSITIONS).write_text(positions.picture(group(scenes)), encoding="utf-8", newline="\n")
    content = card(folder, items, scenes, splits, facts, seed=seed)
    _write_json(folder / CARD, content)
    (folder / CARD_TEXT).write_text(markdown(content), encoding="utf-8", newline="\n")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{file_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8", newline="\n")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(
        json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8", newline="\n"
    )
