"""Stage `detect`, kind `color`: find ball and players of the synthetic match, or of other drawings, by their colors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from spotball_core.errors import OptionError
from spotball_gen.demo.match import HAIR, LOOKS, SKIN
from spotball_gen.imaging.color.players import Team, find_balls, find_players
from spotball_gen.items.item import Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings, one_by_one

_Part = Annotated[int, Field(ge=0, le=255)]
Rgb = tuple[_Part, _Part, _Part]


class SportColors(StageSettings):
    """Colors of a sport, RGB from 0 to 255.

    Attributes:
        ball: color of the ball. It must not be gray, and nothing else in the picture may have it.
        shirts: color of the shirts, per team.
        shorts: color of the shorts, per team in the same order.
    """

    ball: Rgb
    shirts: tuple[Rgb, ...]
    shorts: tuple[Rgb, ...]

    @model_validator(mode="after")
    def _fit(self) -> SportColors:
        if len(self.shirts) != len(self.shorts):
            raise ValueError(
                f"expected as many colors in `shirts` as in `shorts`, not {len(self.shirts)} and {len(self.shorts)}"
            )
        if len(set(self.ball)) == 1:
            raise ValueError("expected a `ball` color that is not gray, because the ball is detected by its hue")
        return self


def _demo_colors() -> dict[str, SportColors]:
    return {
        name: SportColors(
            ball=look.ball,
            shirts=tuple(shirt for shirt, _ in look.teams),
            shorts=tuple(shorts for _, shorts in look.teams),
        )
        for name, look in LOOKS.items()
    }


class ColorSettings(StageSettings):
    """Settings of `color`.

    Attributes:
        colors: colors of each sport. Those of the synthetic match are built in.
        skin: skin tones.
        hair: hair colors.
        confidence: minimum score of a box.
    """

    colors: Mapping[str, SportColors] = {}
    skin: tuple[Rgb, ...] = SKIN
    hair: tuple[Rgb, ...] = HAIR
    confidence: float = Field(0.3, ge=0, le=1)


class Color:
    """Find the balls and players in drawings by their colors.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from spotball_core.grid import Grid
        >>> from spotball_gen.demo.video import Painter
        >>> from spotball_gen.demo.match import Play, Shot
        >>> from spotball_gen.items.item import VideoSource
        >>> from spotball_gen.items.pictures import PictureFile
        >>> look = LOOKS["synthetic-soccer"]
        >>> moment = Play(Shot("play", 8, seed=2), look, 640, 360).at(1.0)
        >>> image, truth = Painter(look, 640, 360, seed=2).draw(moment, 0)
        >>> source = VideoSource("match", "match.avi", "synthetic-soccer", "synthetic", "match.avi", "")
        >>> stage = Color(ColorSettings(), Context(Path(tempfile.gettempdir()), Grid.standard()))
        >>> item = Item("match-000001000", source, 1.0, 0, PictureFile(Path("frame.png"), image))
        >>> (found,) = stage.process([item]).items
        >>> [box.label for box in found.boxes].count("ball"), len(truth.balls)
        (1, 1)
    """

    Settings: ClassVar[type[StageSettings]] = ColorSettings
    packages: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")

    name = "detect"
    kind = "color"
    version = "1"
    batch_size = 16
    device: Device = "cpu"

    def __init__(self, settings: ColorSettings, context: Context) -> None:
        opencv()
        self.settings = settings
        self._colors = {**_demo_colors(), **settings.colors}

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their boxes: balls, then players, each sorted by score, highest first. No item is
        rejected.

        Raises:
            OptionError: if there are no colors for an item's sport.
        """
        return one_by_one(self.name, items, lambda item: self._detected(item, with_players=True))

    def balls(self, items: Sequence[Item]) -> Outcome:
        """Return the items with only the balls of `process`, without searching for players, which takes most of the
        time.

        Raises:
            OptionError: if there are no colors for an item's sport.
        """
        return one_by_one(self.name, items, lambda item: self._detected(item, with_players=False))

    def _detected(self, item: Item, *, with_players: bool) -> Item:
        colors = self._colors.get(item.sport)
        if colors is None:
            raise OptionError(
                f"color: there are no colors for {item.sport!r}. Add the table [detect.colors.{item.sport}]",
                code="missing-option",
                field="detect",
            )
        boxes = find_balls(item.image, colors.ball)
        if with_players:
            teams = [Team(shirt, shorts) for shirt, shorts in zip(colors.shirts, colors.shorts, strict=True)]
            boxes += find_players(item.image, teams, self.settings.skin, self.settings.hair)
        return replace(item, boxes=tuple(box for box in boxes if box.score >= self.settings.confidence))
