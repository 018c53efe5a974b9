"""What a stage is: items in, and out come items, rejects with their reason, and failures.

A stage's result for an item depends on that item, its settings and the run's seed alone, not on the batch it comes in
nor on what was there before: only so can a run that was killed end as one that was not.
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
from spotball_gen.items.item import Item
from spotball_gen.items.pictures import PictureFile
from spotball_gen.items.sports import Sport

ORDER = ("filter", "detect", "track", "plausibility", "inpaint", "check", "label")
"""The stages that items pass, after those frames became items."""

Device = Literal["cpu", "gpu"]


class StageSettings(BaseModel):
    """Base of the settings of a kind of stage: a key nobody knows is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Reject:
    """An item that a stage does not let pass.

    Attributes:
        item: its id.
        stage: which stage.
        reason: in few words, the same for all such: `two balls`.
        detail: what is particular to this one: `2 above 0.3: 0.81, 0.44`.
        scores: what it was decided by.
    """

    item: str
    stage: str
    reason: str
    detail: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that a stage could do nothing with: an error, where a reject is a judgment."""

    item: str
    stage: str
    error: str


@dataclass(frozen=True)
class Outcome:
    """What became of a batch: each item is once in one of the three."""

    items: tuple[Item, ...] = ()
    rejects: tuple[Reject, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Context:
    """What a stage knows of its run.

    Attributes:
        work: the work folder.
        grid: the grid, over images of the run's size.
        seed: the run's seed; for an item, `Item.seed(context.seed, stage)`.
        sports: what the configuration says of each sport.
        folder: what paths in the settings start from: the configuration's folder.
        detector: class and settings of the run's detector, for who looks at an image again. One whose class has
            `sees = False` does not look at the image.
    """

    work: Path
    grid: Grid
    seed: int = 0
    sports: Mapping[str, Sport] = field(default_factory=dict)
    folder: Path = Path()
    detector: tuple[Any, StageSettings] | None = None

    def keep(self, item: Item, what: str, pixels: NDArray[np.uint8]) -> PictureFile:
        """Write a picture of an item into the work folder: `masks/VIDEO/ID.png`, painted again `masks/VIDEO/ID-1.png`.

        Args:
            what: the folder: `painted`, `masks`, ...
            pixels: RGB (height, width, 3), or a mask (height, width).

        Raises:
            OSError: if it cannot be written.
        """
        # What was there before stays until the ledger knows the new one.
        times = item.notes.get("inpaint", {}).get("repainted", 0)
        name = f"{item.id}-{times}" if times else item.id
        return PictureFile.write(self.work / output_name(what, item.source.video, name, ending=".png"), pixels)


class Stage(Protocol):
    """One kind of one stage, made of its settings and the run's context. A class by which the registry finds it."""

    Settings: ClassVar[type[StageSettings]]
    """The model that its table of the configuration is read with."""
    packages: ClassVar[tuple[str, ...]]
    """Distributions whose versions the ledger records, where they are installed."""

    name: str
    """The stage: one of `ORDER`."""
    kind: str
    """Which kind of it, as the configuration says."""
    version: str
    """Another one where results may differ."""
    settings: Any
    """An instance of `Settings`."""
    batch_size: int
    """So many items are handed over at most."""
    device: Device
    """Where most of its work is done; those on the GPU take turns."""

    def process(self, items: Sequence[Item]) -> Outcome:
        """What becomes of each item of a batch.

        An exception other than `SpotballError` makes the engine try the batch's items one by one, and is the failure
        of the item that raises it again.
        """
        ...


def one_by_one(stage: str, items: Iterable[Item], judge: Callable[[Item], Item | Reject]) -> Outcome:
    """An outcome from a function of one item; an error is the failure of its item only.

    Raises:
        SpotballError: as the function: an error of settings or machine, and of no item in particular.
        OSError: likewise, such as a full disk.
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


def spares_no_other(error: BaseException) -> bool:
    """Whether an error would meet the next item, too: settings, memory, a disk that is full or cannot be written.

    Examples:
        >>> spares_no_other(ValueError("this image is odd")), spares_no_other(OSError(28, "No space left on device"))
        (False, True)
    """
    # A picture that cannot be read raises an OSError without a number, and is one item's.
    broken = isinstance(error, OSError) and error.errno is not None and not isinstance(error, FileNotFoundError)
    return broken or isinstance(error, (SpotballError, MemoryError)) or not isinstance(error, Exception)


def said(error: BaseException) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
