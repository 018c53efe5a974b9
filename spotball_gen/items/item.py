"""What passes through the stages: an image of a video, and all that is known of it.

Coordinates are pixels of the item's image: x right, y down, from the top left corner; times are seconds of the video.
Items are frozen: a stage returns changed copies (`dataclasses.replace`, `Item.noted`, `Item.scored`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spotball_core.geometry import Polygon
from spotball_core.schema.keypoints import Keypoint
from spotball_core.service.paths import PATH_RULE, is_relative
from spotball_gen.items.pictures import PictureFile

Image = NDArray[np.uint8]
"""RGB, shape (height, width, 3); a mask has the shape (height, width), 255 inside and 0 outside."""

Label = Literal["ball", "player"]


@dataclass(frozen=True, slots=True)
class VideoSource:
    """A video.

    Attributes:
        video: its id: file name and the start of the digest, so that it goes with the content.
        path: the file.
        sport: what is played.
        license: as the configuration or the place it is from says; empty where nothing is known.
        origin: where it is from: a file as the configuration names it, or an address.
        sha256: digest of the file.
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
        x1, y1, x2, y2: its edges in pixels, x2 and y2 exclusive; not necessarily whole numbers.
        score: the detector's confidence, in [0, 1].
        label: what is in it.
        outline: the polygons whose union is a player's outline, in pixels; None where only the box is known.
        keypoints: a player's 17 keypoints (x, y, confidence), in pixels; None where the pose is not known.

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
        """Return the box of a record; the inverse of `asdict`, whose points are lists once they were JSON."""
        outline = record.get("outline")
        points = outline and tuple(tuple((x, y) for x, y in polygon) for polygon in outline)
        keypoints = record.get("keypoints")
        triples = keypoints and tuple((x, y, confidence) for x, y, confidence in keypoints)
        return cls(**{**record, "outline": points, "keypoints": triples})

    @property
    def corners(self) -> tuple[float, float, float, float]:
        """(x1, y1, x2, y2)."""
        return self.x1, self.y1, self.x2, self.y2

    @property
    def width(self) -> float:
        """In pixels."""
        return self.x2 - self.x1

    @property
    def height(self) -> float:
        """In pixels."""
        return self.y2 - self.y1

    @property
    def area(self) -> float:
        """In square pixels."""
        return self.width * self.height

    @property
    def center(self) -> tuple[float, float]:
        """(x, y)."""
        return (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2


@dataclass(frozen=True)
class Item:
    """An image on its way to become a scene.

    Attributes:
        id: video and time stamp in milliseconds: `match-1a2b3c4d-000012000`.
        source: the video it is from.
        time: its time stamp in seconds.
        shot: number of its shot within the video, from 0.
        frame: the image with the ball, as decoded and brought to the run's size.
        scores: what stages measured, by name.
        boxes: everything that was detected.
        ball: the one ball, once it is known which it is.
        players: those of the boxes that are players, not audience.
        mask: what was painted over, and where nothing else may have changed.
        painted: the image without the ball.
        cells: labels of the cells that hold the ball, in index order.
        notes: by stage, what it was done with: `kind`, `version`, seed, prompt, ...; values are JSON.
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
        """What is played."""
        return self.source.sport

    @property
    def image(self) -> Image:
        """The image with the ball, RGB, read-only; read from its file when first wanted."""
        return self.frame.array

    def scored(self, **scores: float) -> Item:
        """A copy with these scores added."""
        return replace(self, scores={**self.scores, **{name: float(value) for name, value in scores.items()}})

    def noted(self, stage: str, **notes: Any) -> Item:
        """A copy with these notes added to those of a stage."""
        return replace(self, notes={**self.notes, stage: {**self.notes.get(stage, {}), **notes}})

    def seed(self, seed: int, stage: str) -> int:
        """The seed for whatever a stage draws for this item: of the run's seed, whichever batch it comes in.

        Returns:
            A number from 0 to 2**63 - 1.
        """
        digest = hashlib.sha256(f"{seed}/{stage}/{self.id}".encode()).digest()
        return int.from_bytes(digest[:8]) >> 1

    def record(self, work: Path) -> dict[str, Any]:
        """All but the source and the pixels, as JSON values; files are named from the work folder on."""
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
        """The inverse of `record`.

        Raises:
            ValueError: for a picture outside the work folder.
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
