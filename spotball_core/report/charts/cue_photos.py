"""Draw cues on photos: maps of the reference's guesses and of cues, one panel per image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from spotball_core.plots.canvas import LABEL, NAME, FigureFrame, axes_at, columns, framed
from spotball_core.plots.cue_maps import draw_cue_map
from spotball_core.plots.theme import INK
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GAP, _HEADING, _ABOVE, _BELOW = 0.1, 0.24, 0.2, 0.14


@dataclass(frozen=True)
class CuePhoto:
    """A photo and the maps that are drawn on it, which form one panel.

    Attributes:
        scene: the scene of the photo.
        maps: the title, the cue's key (empty for guesses) and the values, shape (n_cells,), of each map.
        pixels: pixels of the photo; None for a plain background.
    """

    scene: Scene
    maps: tuple[tuple[str, str, FloatArray], ...]
    pixels: IntArray | None = field(repr=False)


@dataclass(frozen=True)
class CuePhotoChart:
    """Chart with one panel per image, in which the image's maps are side by side.

    Attributes:
        photos: at least one; all have the same number of maps.
    """

    photos: tuple[CuePhoto, ...]

    wide: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each panel's image."""
        return tuple(f"{photo.scene.sport} {photo.scene.image}" for photo in self.photos)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels at these positions; with a frame, add its title, notes and margins."""
        chosen = [self.photos[place] for place in places]
        width = frame.width if frame else columns(2)
        n_maps = len(self.photos[0].maps)
        wide = (width + _GAP) / n_maps - _GAP
        heights = [wide * photo.scene.height / photo.scene.width for photo in chosen]
        body = sum(_HEADING + _ABOVE + high + _BELOW for high in heights)
        figure, left, top = framed(body, width, frame)
        total_wide, total_high = figure.get_size_inches()
        y = top
        for place, photo, high in zip(places, chosen, heights, strict=True):
            look: dict[str, Any] = {"va": "top", "fontsize": NAME, "fontweight": "bold", "color": INK}
            figure.text(left / total_wide, 1 - y / total_high, self.names[place], **look)
            y += _HEADING
            for column, (title, key, values) in enumerate(photo.maps):
                axes = axes_at(figure, left + column * (wide + _GAP), y + _ABOVE, wide, high)
                draw_cue_map(axes, photo.scene, values, photo.pixels, key)
                note: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
                axes.annotate(title, (0, 1), (0, 3), fontsize=LABEL, color=INK, **note)
            y += _ABOVE + high + _BELOW
        return figure
