"""Draw cues on photos: maps of the reference's guesses and of cues, one panel per image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from spotball_core.plots.canvas import LABEL, NAME, FigureFrame, axes_at, columns, framed, start_panel
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
        """Draw the panels with the given indices; if `frame` is given, add its title, notes and margins."""
        chosen = [self.photos[place] for place in places]
        width = min(frame.width, columns(2)) if frame else columns(2)
        n_maps = len(self.photos[0].maps)
        wide = (width + _GAP) / n_maps - _GAP
        heights = [wide * photo.scene.height / photo.scene.width for photo in chosen]
        body = sum(_HEADING + _ABOVE + high + _BELOW for high in heights)
        figure, left, top = framed(body, width, frame)
        y = top
        for place, photo, high in zip(places, chosen, heights, strict=True):
            above, total = _HEADING + _ABOVE, _HEADING + _ABOVE + high + _BELOW
            note: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "color": INK}
            for column, (title, key, values) in enumerate(photo.maps):
                axes = axes_at(figure, left + column * (wide + _GAP), y + above, wide, high)
                draw_cue_map(axes, photo.scene, values, photo.pixels, key)
                axes.annotate(title, (0, 1), (0, 3), va="bottom", fontsize=LABEL, **note)
                if column == 0:
                    start_panel(axes, left, y, width, total)
                    heading: dict[str, Any] = {"va": "top", "fontsize": NAME, "fontweight": "bold"}
                    axes.annotate(self.names[place], (0, 1), (0, 72 * above), **heading, **note)
            y += total
        return figure
