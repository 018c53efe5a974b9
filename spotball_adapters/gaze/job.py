"""Define the job of `spotball gaze ask`: ask a model, with each prompt, where the person in each photo looks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from spotball_adapters.gaze.options import ORDER_VERSION
from spotball_adapters.gaze.photos import SIZE, Photo, Photos
from spotball_adapters.runs.job import RunJob
from spotball_core.gaze.data.stimuli import STIMULI, Stimulus, write_stimuli

ORDER_SEED, ORDER = "order_seed", "order"
"""Keys in a run's stored settings: the seed of the option orders, and the version of the method that derives the
orders.
"""


@dataclass(frozen=True)
class GazeJob(RunJob[Photo]):
    """A run that asks a model, with each prompt, where the person in each photo looks.

    Attributes:
        stimuli: all stimuli in the stimuli file, including those about which the run sends no prompt.
        images: the folder with the photos.
        side: maximum side length of a photo in pixels.
        order_seed: seed of the orders in which options are listed; the same as the prompts' seed.
    """

    stimuli: tuple[Stimulus, ...] = field(kw_only=True)
    images: Path = field(kw_only=True)
    side: int = field(default=SIZE, kw_only=True)
    order_seed: int = field(default=0, kw_only=True)

    kept_file: ClassVar[str] = STIMULI
    without_pictures: ClassVar[tuple[str, ...]] = ("observer",)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Each sample's options stand in an order of their own, so each is a request of its own.
        self.provider.max_samples = 1

    def pictures(self, cache: Path | None) -> Photos | None:
        """Return the photos, or None if the provider does not use images."""
        return self._photos(cache) if self.looks else None

    def size(self, item: Photo) -> tuple[int, int]:
        """Return width and height of the image that is sent for a photo, in pixels."""
        return self._photos(None).size(item)

    def about(self) -> Mapping[str, Any]:
        """Return the settings that must be equal if the run is resumed: the stimuli's digest, the photos' size, and the
        seed and version of the option orders.
        """
        stimuli = sorted(stimulus.model_dump_json() for stimulus in self.stimuli)
        return {
            "stimuli": hashlib.sha256("\n".join(stimuli).encode()).hexdigest(),
            "side": self.side,
            ORDER_SEED: self.order_seed,
            ORDER: ORDER_VERSION,
        }

    def keep(self, out: Path) -> None:
        """Write the stimuli into the run's folder `out`."""
        write_stimuli(self.stimuli, out / STIMULI)

    def _photos(self, cache: Path | None) -> Photos:
        return Photos(self.images, self.side, cache)
