"""Stage `track`, kind `none`: pass items unchanged, so that the ball is judged from a single frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from spotball_gen.items.item import Item
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings


class NoTrack:
    """Pass all items unchanged, without tracking the ball."""

    Settings: ClassVar[type[StageSettings]] = StageSettings
    packages: ClassVar[tuple[str, ...]] = ()
    name = "track"
    kind = "none"
    version = "1"
    batch_size = 64
    device: Device = "cpu"

    def __init__(self, settings: StageSettings, context: Context) -> None:
        self.settings = settings

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return all items unchanged."""
        return Outcome(tuple(items))
