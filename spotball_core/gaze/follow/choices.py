"""Make stimuli from annotated gaze points: the labeled objects of an image are the choices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spotball_core.errors import Problem
from spotball_core.gaze.data.rows import Rows, ignore_assumed, quoted
from spotball_core.gaze.data.stimuli import PROXIMITIES, SEPARATOR, VIEWS, Stimulus
from spotball_core.gaze.follow.annotations import Box, FollowTarget, Point, Size

SIDES: Final = ("x1", "y1", "x2", "y2")

MOST_CHOICES: Final = 4
"""Default maximum number of objects of a stimulus, as in the gaze paper."""


@dataclass(frozen=True, slots=True)
class LabeledObject:
    """An object in an image.

    Attributes:
        label: name of the object.
        box: left, top, right and bottom as shares of the image's width and height; None if unknown.
        is_target: whether the object is labeled as the one that the person looks at.
    """

    label: str
    box: Box | None
    is_target: bool

    @property
    def center(self) -> Point | None:
        """The middle of the box; None without a box."""
        return None if self.box is None else ((self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2)


@dataclass(frozen=True, slots=True)
class LabeledImage:
    """The objects in an image, and the direction of the person's head in degrees (0 right, 90 up); None if unknown."""

    objects: tuple[LabeledObject, ...]
    head_direction: float | None


@dataclass(frozen=True)
class AnnotatedStimuli:
    """Stimuli from annotated images.

    Attributes:
        stimuli: the stimuli.
        faces: box of the head by stimulus, as shares of the image's width and height; only for images of known size.
        excluded: number of annotated people without a stimulus, by reason.
    """

    stimuli: tuple[Stimulus, ...]
    faces: Mapping[str, Box]
    excluded: Mapping[str, int]


def read_objects(
    path: str | Path, *, on_assumed: Callable[[Problem], None] = ignore_assumed
) -> dict[str, LabeledImage]:
    """Read the objects in images from a CSV file with one row per object.

    The columns are `image` and `label`, and optionally `x1`, `y1`, `x2`, `y2` (the object's box, as shares of the
    image's width and height), `is_target` (true for the object that the person looks at) and `head_direction` (degrees
    in the image: 0 right, 90 up; equal in all rows of an image).

    Raises:
        InputError: if the file cannot be read or has invalid values. It lists all problems.
    """
    import polars as pl

    rows = Rows(path, on_assumed=on_assumed)
    rows.know(("image", "label", *SIDES, "is_target", "head_direction"))
    rows.need(("image", "label"))
    rows.optional((*SIDES, "is_target", "head_direction"))
    for name in ("image", "label"):
        rows.check(pl.col(name).is_null(), name, "nothing", "a name")
    joined = pl.col("label").str.contains(SEPARATOR, literal=True)
    rows.check(joined, "label", quoted("label"), f"a name without {SEPARATOR}")
    rows.names(("image", "label"))
    rows.check(~pl.col("is_target").is_in(["true", "false"]), "is_target", quoted("is_target"), "true or false")
    sides = [pl.col(side).cast(pl.Float64, strict=False) for side in SIDES]
    given = pl.any_horizontal(pl.col(side).is_not_null() for side in SIDES)
    inside = pl.all_horizontal(side.is_between(0, 1).fill_null(False) for side in sides)
    ordered = (sides[0] < sides[2]) & (sides[1] < sides[3])
    box = pl.concat_str([pl.col(side).fill_null("nothing") for side in SIDES], separator=", ")
    expected = "shares of the image's width and height from 0 to 1, with x1 below x2 and y1 below y2"
    rows.check(given & ~(inside & ordered), "x1, y1, x2, y2", box, expected)
    degrees = pl.col("head_direction").cast(pl.Float64, strict=False)
    no_number = pl.col("head_direction").is_not_null() & ~degrees.is_finite().fill_null(False)
    rows.check(no_number, "head_direction", quoted("head_direction"), "degrees: 0 right, 90 up")
    differs = degrees.ne_missing(degrees.first().over("image"))
    rows.check(differs, "head_direction", quoted("head_direction"), "the same value in all rows of an image")
    rows.settle()
    images: dict[str, LabeledImage] = {}
    for (name,), group in rows.frame.group_by("image", maintain_order=True):
        objects = tuple(
            LabeledObject(
                row["label"],
                None if row["x1"] is None else (float(row["x1"]), float(row["y1"]), float(row["x2"]), float(row["y2"])),
                row["is_target"] == "true",
            )
            for row in group.iter_rows(named=True)
        )
        direction = group["head_direction"][0]
        images[str(name)] = LabeledImage(objects, None if direction is None else float(direction))
    return images


def stimuli_of(
    targets: Sequence[FollowTarget], images: Mapping[str, LabeledImage], *, most: int = MOST_CHOICES
) -> AnnotatedStimuli:
    """Return a stimulus for each annotated person whose gaze target is one of the labeled objects.

    The gaze target is the object with `is_target`, or else the smallest box that contains the mean of the annotators'
    points. The head target is the object closest to the direction of the head, as seen from the eyes. The choices are
    the labels that occur once in the image, from left to right. If there are more than `most`, the targets and then the
    largest boxes are used. An image with several annotated people is excluded, because a question about one of them
    would be ambiguous. View and proximity are unknown; all stimuli have the values of `read_stimuli` for unknown ones.

    Args:
        targets: the annotated people.
        images: the labeled objects, by image.
        most: maximum number of choices.
    """
    people = Counter(target.image for target in targets)
    excluded: Counter[str] = Counter()
    stimuli: list[Stimulus] = []
    faces: dict[str, Box] = {}
    for target in targets:
        image = images.get(target.image)
        if image is None:
            excluded["image without labeled objects"] += 1
            continue
        counts = Counter(item.label for item in image.objects)
        objects = _left_to_right([item for item in image.objects if counts[item.label] == 1])
        if people[target.image] > 1:
            excluded["several people in the image"] += 1
        elif not target.points and not any(item.is_target for item in image.objects):
            excluded["gaze outside the image"] += 1
        elif (gaze := _gaze_target(target, image.objects)) is None or gaze not in objects:
            excluded["no single labeled object at the gaze point"] += 1
        elif len(objects) < 2:
            excluded["fewer than two choices"] += 1
        else:
            head = _head_target(target, objects, image.head_direction)
            chosen = _limited(objects, [gaze, *([head] if head else [])], most)
            points = [item.center for item in chosen]
            stimulus = Stimulus(
                stimulus_id=target.image.rpartition(".")[0] or target.image,
                objects=tuple(item.label for item in chosen),
                view=VIEWS[0],
                proximity=PROXIMITIES[0],
                gaze_target=gaze.label,
                head_target=head.label if head else None,
                image=target.image,
                points=tuple(points) if any(points) else None,
            )
            stimuli.append(stimulus)
            if target.size is not None:
                faces[stimulus.stimulus_id] = _shares(target.head, target.size)
    return AnnotatedStimuli(tuple(stimuli), faces, dict(excluded))


def _left_to_right(objects: Sequence[LabeledObject]) -> list[LabeledObject]:
    return sorted(objects, key=lambda item: item.center[0] if item.center else 0.0)


def _area(item: LabeledObject) -> float:
    return 0.0 if item.box is None else (item.box[2] - item.box[0]) * (item.box[3] - item.box[1])


def _gaze_target(target: FollowTarget, objects: Sequence[LabeledObject]) -> LabeledObject | None:
    labeled = [item for item in objects if item.is_target]
    if labeled:
        return labeled[0] if len(labeled) == 1 else None
    x, y = (sum(values) / len(target.points) for values in zip(*target.points, strict=True))
    around = [
        item
        for item in objects
        if item.box is not None and item.box[0] <= x <= item.box[2] and item.box[1] <= y <= item.box[3]
    ]
    return min(around, key=_area, default=None)


def _head_target(
    target: FollowTarget, objects: Iterable[LabeledObject], direction: float | None
) -> LabeledObject | None:
    if direction is None:
        return None
    width, height = target.size or (1, 1)

    def turn(center: Point) -> float:
        angle = math.degrees(math.atan2((target.eye[1] - center[1]) * height, (center[0] - target.eye[0]) * width))
        return abs((angle - direction + 180) % 360 - 180)

    turns = [(turn(item.center), item) for item in objects if item.center]
    return min(turns, key=lambda pair: pair[0])[1] if turns else None


def _limited(objects: Sequence[LabeledObject], needed: Sequence[LabeledObject], most: int) -> list[LabeledObject]:
    others = sorted((item for item in objects if item not in needed), key=_area, reverse=True)
    left = max(0, most - len(set(needed)))
    return [item for item in objects if item in needed or item in others[:left]]


def _shares(box: Box, size: Size) -> Box:
    """Return a box in pixels as shares of the image's size, without the parts outside the image."""
    left, top, right, bottom = (
        min(1.0, max(0.0, side / length)) for side, length in zip(box, (*size, *size), strict=True)
    )
    return left, top, right, bottom
