"""Settings of YOLO detectors, and the selection of their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from spotball_core.errors import OptionError
from spotball_core.service.digests import file_digest
from spotball_gen.items.item import Item, Label
from spotball_gen.items.sports import Sport
from spotball_gen.items.stage import StageSettings


class YoloSettings(StageSettings):
    """Settings of a YOLO detector.

    Attributes:
        model: path of the file with the weights.
        confidence: minimum score of a box (exclusive).
        overlap: if two boxes of a class have a larger intersection over union, the one with the lower score is dropped.
        size: length in pixels to which an image's longer side is resized, unless the file with the weights fixes it;
            None for the default of the file, or 640.
        batch_size: images per batch.
        device: `auto` is the GPU if there is one, otherwise the CPU.
    """

    model: str
    confidence: float = Field(0.25, ge=0, lt=1)
    overlap: float = Field(0.7, gt=0, le=1)
    size: int | None = Field(None, ge=32, le=8192)
    batch_size: int = Field(8, ge=1, le=1024)
    device: Literal["auto", "cpu", "cuda"] = "auto"


def wanted_classes(names: Mapping[int, str], sport: Sport, model: str) -> dict[int, Label]:
    """Return the label (`ball` or `player`) of each detector class that a sport uses, by class number.

    Args:
        names: names of the detector's classes, by number.
        sport: the sport, whose settings name the detector's classes.
        model: the detector's name, for the error message.

    Raises:
        OptionError: if the detector has no class for the ball or for players.

    Examples:
        >>> wanted_classes({0: "person", 32: "sports ball", 38: "tennis racket"}, Sport(), "m.onnx")
        {32: 'ball', 0: 'player'}
    """
    classes: dict[int, Label] = {}
    labels: tuple[tuple[str, Label], ...] = ((sport.ball_class, "ball"), (sport.player_class, "player"))
    for name, label in labels:
        numbers = [number for number, class_name in names.items() if class_name == name]
        if not numbers:
            known_names = ", ".join(names.values())
            fix = f"Set `{label}_class` in the table [sports.SPORT] to one of: {known_names}"
            raise OptionError(f"{model} has no class {name!r}. {fix}", code="unknown-name", field="detect")
        classes |= dict.fromkeys(numbers, label)
    return classes


def by_size(items: Sequence[Item]) -> dict[tuple[int, int], list[Item]]:
    """Return the items grouped by the (height, width) of their images."""
    sizes: dict[tuple[int, int], list[Item]] = {}
    for item in items:
        sizes.setdefault((item.image.shape[0], item.image.shape[1]), []).append(item)
    return sizes


def file_name(path: Path) -> str:
    """Return a file's name and the start of its digest, which identify the weights."""
    return f"{path.name}@{file_digest(path)[:12]}"
