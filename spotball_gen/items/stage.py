"""The stage interface: a stage takes items, and returns items, rejects with a reason, and failures.

A stage's result for an item depends only on the item, the settings and the run's seed, not on the batch or on earlier
items. Otherwise, an interrupted run could not end with the same result as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from spotball_core.errors import SpotballError
from spotball_core.grid import Grid
from spotball_core.service.paths import output_name
from spotball_gen.items.item import Item, Sport
from spotball_gen.items.pictures import PictureFile

ORDER = ("filter", "detect", "track", "plausibility", "inpaint", "check", "label")
"""Names of the stages in the order in which items pass them. `frames`, which creates the items, is not included."""

Device = Literal["cpu", "gpu"]


class StageSettings(BaseModel):
    """Base class of a stage's settings. Unknown keys raise an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Reject:
    """An item that a stage rejects.

    Attributes:
        item: id of the item.
        stage: name of the stage.
        reason: short reason, identical for all items rejected for this reason, such as `two balls`.
        detail: details about this item, such as `2 above 0.3: 0.81, 0.44`.
        scores: the measurements that led to the decision.
    """

    item: str
    stage: str
    reason: str
    detail: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that a stage could not process because of an error. A reject, in contrast, is a decision."""

    item: str
    stage: str
    error: str


@dataclass(frozen=True)
class Outcome:
    """A stage's result for a batch. Each item of the batch is in exactly one of `items`, `rejects` and `failures`."""

    items: tuple[Item, ...] = ()
    rejects: tuple[Reject, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Context:
    """The data of a run that a stage receives in addition to its own settings.

    Attributes:
        work: the work folder of the run.
        grid: the grid over images of the run's size.
        seed: the run's seed. For an item, use `Item.seed(context.seed, stage)`.
        sports: the configuration of each sport.
        folder: the folder of the configuration. Paths in the settings are relative to it.
        detector: class and settings of the run's detector, so that a stage can run it again on an image; None without a
            detector. A detector whose class has `sees = False` does not use the image.
    """

    work: Path
    grid: Grid
    seed: int = 0
    sports: Mapping[str, Sport] = field(default_factory=dict)
    folder: Path = Path()
    detector: tuple[Any, StageSettings] | None = None

    def keep(self, item: Item, what: str, pixels: NDArray[np.uint8]) -> PictureFile:
        """Write an item's image into the work folder, and return its file.

        The path is, for example, `masks/VIDEO/ID.png`, or `masks/VIDEO/ID-1.png` after the item was inpainted again.

        Args:
            item: the item.
            what: the subfolder of the work folder, such as `painted` or `masks`.
            pixels: RGB (height, width, 3), or a mask (height, width).

        Raises:
            OSError: if the file cannot be written.
        """
        # The earlier file stays until the ledger contains the new one.
        times = item.notes.get("inpaint", {}).get("repainted", 0)
        name = f"{item.id}-{times}" if times else item.id
        return PictureFile.write(self.work / output_name(what, item.source.video, name, ending=".png"), pixels)


class Stage(Protocol):
    """The interface of a stage's implementations, which are called its kinds.

    A kind is a class that is created from its settings and the run's context.
    """

    Settings: ClassVar[type[StageSettings]]
    """The pydantic model of the stage's table in the configuration."""
    packages: ClassVar[tuple[str, ...]]
    """Names of Python packages whose versions the ledger records, if they are installed."""

    name: str
    """Name of the stage, one of `ORDER`."""
    kind: str
    """Name of the kind, as in the configuration."""
    version: str
    """Version of the kind. Change it whenever the kind's results may differ from those of the previous version."""
    settings: Any
    """The settings, an instance of `Settings`."""
    batch_size: int
    """Maximum number of items per batch."""
    device: Device
    """The device that does most of the work. Stages on the GPU take turns."""

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the result for each item of a batch.

        If it raises an exception other than `SpotballError`, the engine processes the items of the batch one by one. An
        item that raises the exception again becomes a failure.
        """
        ...


def one_by_one(stage: str, items: Iterable[Item], judge: Callable[[Item], Item | Reject]) -> Outcome:
    """Apply a function to each item, and return the outcome. If the function raises an error, only that item fails.

    Errors that would also affect other items (see `spares_no_other`) are raised.

    Raises:
        SpotballError: if the function raises it, because it concerns the settings or the machine, not a single item.
        OSError: if the disk is full or a file cannot be written.
        MemoryError: if the memory is full.
    """
    passed: list[Item] = []
    rejects: list[Reject] = []
    failures: list[Failure] = []
    for item in items:
        try:
            result = judge(item)
        except Exception as error:
            if spares_no_other(error):
                raise
            failures.append(Failure(item.id, stage, said(error)))
            continue
        if isinstance(result, Reject):
            rejects.append(result)
        else:
            passed.append(result)
    return Outcome(tuple(passed), tuple(rejects), tuple(failures))


def balls_by(detector: Any, items: Sequence[Item]) -> Outcome:
    """Return the outcome of a detector whose balls are needed, but not its players.

    A detector may have a method `balls`, which is faster than `process` and returns the same balls.
    """
    outcome: Outcome = getattr(detector, "balls", detector.process)(items)
    return outcome


def spares_no_other(error: BaseException) -> bool:
    """Return whether an error would also affect other items: invalid settings, no memory, or a full or unwritable disk.

    Examples:
        >>> spares_no_other(ValueError("this image is odd")), spares_no_other(OSError(28, "No space left on device"))
        (False, True)
    """
    # An unreadable image raises an OSError without errno, and concerns only one item.
    broken = isinstance(error, OSError) and error.errno is not None and not isinstance(error, FileNotFoundError)
    return broken or isinstance(error, (SpotballError, MemoryError)) or not isinstance(error, Exception)


def said(error: BaseException) -> str:
    """Return an error's type and message as one line of at most 500 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
