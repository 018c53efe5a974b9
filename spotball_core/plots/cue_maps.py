"""Draw cues on photos: a map of the scores for each cue, with the players and their estimated directions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spotball_core.cue_maps.cue import Cue
from spotball_core.cue_maps.directions import head_directions, torso_directions
from spotball_core.cue_maps.registry import cue_scores
from spotball_core.errors import OptionError
from spotball_core.plots.canvas import LABEL, NAME, SMALL, axes_at, framed, plain_style
from spotball_core.plots.heat_maps import heat_colors
from spotball_core.plots.theme import FAINT, INK, save_figure
from spotball_core.schema.keypoints import SKELETON
from spotball_core.schema.scene import Scene
from spotball_core.service.images import open_image
from spotball_core.service.paths import find_file
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_WIDE, _GAP, _ABOVE, _ACROSS = 2.6, 0.12, 0.3, 4
_HEADING = 0.3
_DPI = 110
_STRONGEST, _CONTRAST = 0.8, 1.5
"""Opacity of the cell with the highest score, and the exponent with which it falls to 0 for the lowest score."""

_LIGHTER = 0.45
"""Share of white that is mixed into the photo, so that colors stand out."""

_LINE = "#202020"
"""Color of lines on photos, which is the same on light and on dark pages."""

_DIRECTION, _SECOND = "#d9480f", "#b08900"
"""Color of the arrows of heads or of torsos alone, and color of the arrows of torsos drawn together with heads."""


def cue_map_figure(
    scene: Scene,
    cues: Sequence[Cue],
    scores: FloatArray,
    *,
    photo: Path | None = None,
    guesses: Iterable[tuple[str, FloatArray]] = (),
) -> Figure:
    """Draw the scores of cues on the photo of a scene, one map per cue, and maps of guesses for comparison.

    In each map, the colors run from the lowest to the highest value of the map. Outlined cells hold the ball. Lines
    show the detected skeletons. Arrows show the directions of heads (in the maps of `head` and `view`) and torsos;
    longer arrows are more reliable. Cues that do not apply to the scene have an empty map.

    Call this function within `plain_style`.

    Args:
        scene: the scene.
        cues: the cues.
        scores: scores of each cue, in any unit, shape (n_cells, n_cues); NaN if a cue does not apply.
        photo: the image's file. If it is None or cannot be read, the maps have a plain background.
        guesses: the title of each map of guesses, and the number of guesses in each cell, shape (n_cells,).

    Raises:
        MissingExtraError: if matplotlib is not installed.
    """
    maps = [(name, "guesses", np.asarray(counts, dtype=float), "") for name, counts in guesses]
    maps += [(cue.title, cue.key, scores[:, place], cue.key) for place, cue in enumerate(cues)]
    high = _WIDE * scene.height / scene.width
    n_lines = math.ceil(len(maps) / _ACROSS)
    across = min(_ACROSS, len(maps))
    width = across * (_WIDE + _GAP) - _GAP + 0.2
    figure, left, top = framed(_HEADING + n_lines * (_ABOVE + high) + 0.15, width, None)
    total_wide, total_high = figure.get_size_inches()
    look: dict[str, Any] = {"va": "top", "fontsize": NAME, "fontweight": "bold", "color": INK}
    figure.text((left + 0.1) / total_wide, 1 - (top + 0.08) / total_high, f"{scene.sport}/{scene.image}", **look)
    ground = photo_pixels(photo)
    for place, (title, under, values, key) in enumerate(maps):
        row, column = divmod(place, _ACROSS)
        x, y = left + 0.1 + column * (_WIDE + _GAP), top + _HEADING + row * (_ABOVE + high) + _ABOVE
        axes = axes_at(figure, x, y, _WIDE, high)
        draw_cue_map(axes, scene, values, ground, key)
        note: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
        axes.annotate(title, (0, 1), (0, 3), fontsize=LABEL, color=INK, **note)
        axes.annotate(under, (1, 1), (0, 3), fontsize=SMALL, color=FAINT, ha="right", **note)
    return figure


def write_cue_maps(
    scenes: Sequence[Scene],
    shown: Mapping[int, Sequence[tuple[str, FloatArray]]],
    out: Path,
    *,
    cues: Iterable[str] | None = None,
    image_folders: Sequence[Path] = (),
) -> None:
    """Write a PNG file with cue maps for each selected scene.

    Args:
        scenes: all scenes; the score of a cue may depend on other scenes of the sport.
        shown: positions of the scenes to draw, and for each scene the titles and counts of maps of guesses.
        out: the folder, which is created. Files are named by sport and image.
        cues: keys of the cues (default: all).
        image_folders: folders to search for the images; the paths in the scenes are relative to these folders.

    Raises:
        OptionError: for unknown cues, or if the folder cannot be created.
        MissingExtraError: if matplotlib is not installed.
    """
    keys = None if cues is None else list(cues)
    check_maps(out)
    with plain_style():
        for sport in dict.fromkeys(scene.sport for scene in scenes):
            places = [place for place, scene in enumerate(scenes) if scene.sport == sport]
            scores = cue_scores([scenes[place] for place in places], keys)
            for row, place in enumerate(places):
                if place in shown:
                    scene, values = scenes[place], scores.values[row]
                    photo = find_file(image_folders, scene.path)
                    figure = cue_map_figure(scene, scores.cues, values, photo=photo, guesses=shown[place])
                    save_figure(figure, out / f"{sport}-{scene.image}.png", dpi=_DPI)


def check_maps(out: Path) -> None:
    """Create the folder of the maps, and raise an error early if maps cannot be drawn.

    Raises:
        OptionError: if the folder cannot be created.
        MissingExtraError: if matplotlib is not installed.
    """
    with plain_style():
        pass
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"cannot create this folder: {error.strerror}. Use another folder", code="unwritable-output", file=out
        ) from error


def photo_pixels(photo: Path | None, width: int | None = None) -> IntArray | None:
    """Read a photo as light gray pixels, so that colors stand out; return None without a readable file.

    Args:
        photo: the file.
        width: width in pixels to which the photo is scaled; None to keep its size.

    Returns:
        RGB values from 0 to 255, shape (height, width, 3).
    """
    if photo is None:
        return None
    try:
        with open_image(photo) as image:
            gray = image.convert("L")
            if width is not None:
                gray = gray.resize((width, max(1, round(width * gray.height / gray.width))))
            levels = np.asarray(gray, dtype=float)
    except Exception:  # Pillow raises many kinds of errors for a damaged file, and one file must not stop the others.
        return None
    light = (levels * (1 - _LIGHTER) + 255 * _LIGHTER).astype(np.int64)
    return np.repeat(light[:, :, None], 3, axis=-1)


def draw_cue_map(axes: Axes, scene: Scene, values: FloatArray, ground: IntArray | None, key: str = "") -> None:
    """Draw a map on a photo, with the ball's cells, the players, their skeletons and directions.

    Args:
        axes: the axes to draw on.
        scene: the scene.
        values: the value of each cell, shape (n_cells,). Colors run from the lowest to the highest value; NaN draws no
            map.
        ground: pixels of the photo, from `photo_pixels`; None for a plain background.
        key: key of the cue whose directions are drawn: `head`, `torso` or `view`.
    """
    from matplotlib.patches import Rectangle

    extent = (0, scene.width, scene.height, 0)
    pixels = np.full((scene.grid.rows * 8, scene.grid.cols * 8, 3), 245) if ground is None else ground
    axes.imshow(_blended(scene, values, pixels), extent=extent, aspect="auto", interpolation="nearest")
    for cell in scene.ball_cells or ():
        x1, y1, x2, y2 = scene.layout.rectangles[scene.layout.index(cell)]
        axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, edgecolor=_LINE, linewidth=1.2))
    _draw_people(axes, scene, key)
    axes.set(xlim=(0, scene.width), ylim=(scene.height, 0), xticks=[], yticks=[])


def _blended(scene: Scene, values: FloatArray, pixels: IntArray) -> NDArray[np.uint8]:
    """Return the photo's pixels, each mixed with the color of the cell that contains it."""
    spread = np.ptp(values) if np.isfinite(values).all() else 0.0
    if not spread > 0:
        return pixels.astype(np.uint8)
    opacity = _STRONGEST * ((values - values.min()) / spread) ** _CONTRAST
    high, wide = pixels.shape[:2]
    rows = np.minimum((np.arange(high) + 0.5) * scene.grid.rows / high, scene.grid.rows - 1e-9).astype(int)
    cols = np.minimum((np.arange(wide) + 0.5) * scene.grid.cols / wide, scene.grid.cols - 1e-9).astype(int)
    share = opacity.reshape(scene.grid.rows, scene.grid.cols)[rows[:, None], cols][..., None]
    color = 255 * np.array(heat_colors()(1.0))[:3]
    blended: NDArray[np.uint8] = (pixels * (1 - share) + color * share).astype(np.uint8)
    return blended


def _draw_people(axes: Axes, scene: Scene, key: str) -> None:
    from matplotlib.patches import Rectangle

    for (x1, y1, x2, y2), body in zip(scene.boxes, scene.keypoints, strict=True):
        axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, edgecolor=_LINE, linewidth=0.4, alpha=0.6))
        for first, second in SKELETON:
            if min(body[first, 2], body[second, 2]) > 0:
                axes.plot(body[[first, second], 0], body[[first, second], 1], color=_LINE, linewidth=0.6)
    if not scene.players:
        return
    shown = {"head": [head_directions], "torso": [torso_directions], "view": [head_directions, torso_directions]}
    reach = 0.2 * scene.width
    for directions, color in zip(shown.get(key, []), (_DIRECTION, _SECOND), strict=False):
        known_directions = directions(scene)
        for (x, y), (dx, dy), length in zip(
            known_directions.origins, known_directions.vectors, known_directions.reliability * reach, strict=True
        ):
            if length > 0:
                look: dict[str, Any] = {"arrowstyle": "->", "color": color, "linewidth": 1.3}
                axes.annotate("", (x + dx * length, y + dy * length), (x, y), arrowprops={**look, "shrinkA": 0})
