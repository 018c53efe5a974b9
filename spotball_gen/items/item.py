"""Define items: images from videos, with the data that the stages have added so far.

Coordinates are in pixels of the item's image, from its top left corner: x to the right, y down. Times are in seconds
from the start of the video. Items are immutable: a stage returns changed copies (`dataclasses.replace`, `Item.noted`,
`Item.scored`).
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from spotball_core.geometry import Polygon
from spotball_core.schema.keypoints import Keypoint
from spotball_core.service.paths import PATH_RULE, is_relative
from spotball_gen.items.pictures import PictureFile

Image = NDArray[np.uint8]
"""An RGB image, shape (height, width, 3). A mask has the shape (height, width), 255 inside and 0 outside."""

Label = Literal["ball", "player"]


@dataclass(frozen=True, slots=True)
class VideoSource:
    """The video that an item is from.

    Attributes:
        video: id of the video: the file name and the start of the digest, so that it identifies the content.
        path: path of the file.
        sport: sport of the video.
        license: license according to the configuration or the origin; empty if unknown.
        origin: a file name as in the configuration, or an address.
        sha256: SHA-256 digest of the file.
    """

    video: str
    path: str
    sport: str
    license: str
    origin: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Box:
    """A bounding box.

    Attributes:
        x1, y1, x2, y2: edges in pixels, not necessarily integers. x2 and y2 are exclusive.
        score: the detector's confidence, in [0, 1].
        label: whether it is a ball or a player.
        outline: polygons whose union is a player's outline, in pixels, or None if only the box is known.
        keypoints: a player's 17 keypoints (x, y, confidence), in pixels, or None if the pose is unknown.

    Examples:
        >>> box = Box(10, 20, 30, 60, label="player")
        >>> box.width, box.height, box.area, box.center
        (20, 40, 800, (20.0, 40.0))
    """

    x1: float
    y1: float
    x2: float
    y2: float
    score: float = 1.0
    label: Label = "ball"
    outline: tuple[Polygon, ...] | None = field(default=None, repr=False)
    keypoints: tuple[Keypoint, ...] | None = field(default=None, repr=False)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Box:
        """Return the box that `dataclasses.asdict` turned into this record. Points may be lists, as in JSON."""
        outline = record.get("outline")
        points = outline and tuple(tuple((x, y) for x, y in polygon) for polygon in outline)
        keypoints = record.get("keypoints")
        triples = keypoints and tuple((x, y, confidence) for x, y, confidence in keypoints)
        return cls(**{**record, "outline": points, "keypoints": triples})

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """Return (x1, y1, x2, y2)."""
        return self.x1, self.y1, self.x2, self.y2

    @property
    def width(self) -> float:
        """Return the width in pixels."""
        return self.x2 - self.x1

    @property
    def height(self) -> float:
        """Return the height in pixels."""
        return self.y2 - self.y1

    @property
    def area(self) -> float:
        """Return the area in square pixels."""
        return self.width * self.height

    @property
    def center(self) -> tuple[float, float]:
        """Return the center (x, y)."""
        return (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2


@dataclass(frozen=True)
class Item:
    """An image that becomes a scene if it passes all stages.

    Attributes:
        id: the video's id and the time stamp in milliseconds, such as `match-1a2b3c4d-000012000`.
        source: the video that the image is from.
        time: time stamp of the image in seconds.
        shot: number of the image's shot in the video, from 0.
        frame: the image with the ball, decoded and resized to the run's size.
        scores: measurements of the stages, by name.
        boxes: boxes of all detected balls and players.
        ball: box of the ball, or None before the stage `plausibility` has selected it.
        players: boxes of the players, without the audience.
        mask: the inpainted pixels, or None before inpainting. All other pixels must be unchanged.
        painted: the image without the ball, or None before inpainting.
        cells: labels of the cells that hold the ball, in index order.
        notes: details of each stage, such as `kind`, `version`, seed and prompt; values are JSON.
    """

    id: str
    source: VideoSource
    time: float
    shot: int
    frame: PictureFile
    scores: Mapping[str, float] = field(default_factory=dict)
    boxes: tuple[Box, ...] = ()
    ball: Box | None = None
    players: tuple[Box, ...] = ()
    mask: PictureFile | None = None
    painted: PictureFile | None = None
    cells: tuple[str, ...] = ()
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def sport(self) -> str:
        """Return the sport."""
        return self.source.sport

    @property
    def image(self) -> Image:
        """Return the image with the ball (RGB, read-only). It is read from its file on first access."""
        return self.frame.array

    def scored(self, **scores: float) -> Item:
        """Return a copy of the item with these scores added."""
        return replace(self, scores={**self.scores, **{name: float(value) for name, value in scores.items()}})

    def noted(self, stage: str, **notes: Any) -> Item:
        """Return a copy of the item with these notes added to the notes of a stage."""
        return replace(self, notes={**self.notes, stage: {**self.notes.get(stage, {}), **notes}})

    def seed(self, seed: int, stage: str) -> int:
        """Return the seed of a stage's random numbers for this item, derived from the run's seed. It does not depend on
        the batch.

        Returns:
            A number from 0 to 2**63 - 1.
        """
        digest = hashlib.sha256(f"{seed}/{stage}/{self.id}".encode()).digest()
        return int.from_bytes(digest[:8]) >> 1

    def record(self, work: Path) -> dict[str, Any]:
        """Return the item without its source and pixels as JSON values. File paths are relative to the work folder."""
        return {
            "id": self.id,
            "time": self.time,
            "shot": self.shot,
            "frame": self.frame.within(work),
            "scores": dict(self.scores),
            "boxes": [asdict(box) for box in self.boxes],
            "ball": self.ball and asdict(self.ball),
            "players": [asdict(box) for box in self.players],
            "mask": self.mask and self.mask.within(work),
            "painted": self.painted and self.painted.within(work),
            "cells": list(self.cells),
            "notes": {stage: dict(notes) for stage, notes in self.notes.items()},
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any], source: VideoSource, work: Path) -> Item:
        """Return the item that the method `record` turned into this record.

        Raises:
            ValueError: if the path of an image is not a path inside the work folder.
        """
        pictures = {
            name: record[name] and PictureFile(work / _checked(record[name]), gray=name == "mask")
            for name in ("frame", "mask", "painted")
        }
        return cls(
            **{
                **record,
                **pictures,
                "source": source,
                "boxes": tuple(map(Box.from_record, record["boxes"])),
                "ball": record["ball"] and Box.from_record(record["ball"]),
                "players": tuple(map(Box.from_record, record["players"])),
                "cells": tuple(record["cells"]),
            }
        )


def _checked(path: str) -> str:
    if not is_relative(path):
        raise ValueError(f"{path!r} is not {PATH_RULE}")
    return path


class Sport(BaseModel):
    """An entry `[sports.NAME]` of the configuration.

    Attributes:
        queries: search queries for videos, if a source names none.
        prompts: descriptions of suitable frames, for the filter `clip`.
        ball_class: the detector's name for the ball.
        player_class: the detector's name for a player.
        bounds: settings of the stage `plausibility` that differ for this sport.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    queries: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    ball_class: str = "sports ball"
    player_class: str = "person"
    bounds: Mapping[str, Any] = {}


@cache
def known_sports() -> Mapping[str, Sport]:
    """Return the settings of the paper's sports by name. A sport's entry in the configuration replaces its settings."""
    text = files("spotball_gen.items").joinpath("sports.toml").read_text(encoding="utf-8")
    return {name: Sport.model_validate(entry) for name, entry in tomllib.loads(text).items()}
