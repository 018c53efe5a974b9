"""Write the section on cues: how positions in the image, players and bodies explain guesses, with maps on photos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spotball_core.cue_maps.directions import head_directions
from spotball_core.cue_maps.registry import cue_scores
from spotball_core.cues.explanation_record import CueExplanation, CueReport
from spotball_core.cues.explanation_text import headline
from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.plots.canvas import LABEL, NAME, FigureFrame, axes_at, columns, framed, start_panel
from spotball_core.plots.cue_maps import draw_cue_map, photo_pixels
from spotball_core.plots.dots import Dot, DotChart, DotPanel, ReferenceLine
from spotball_core.plots.theme import INK
from spotball_core.report.gallery import SHOWN_CUES
from spotball_core.report.numbers.records import ShownImage
from spotball_core.report.sections.tables import names
from spotball_core.report.view import PageView
from spotball_core.schema.report import MetricValue, named_sports
from spotball_core.schema.scene import Scene
from spotball_core.service.paths import find_file
from spotball_core.text.words import plural
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


_N_PHOTOS, _PHOTO_WIDTH = 3, 200
"""Number of photos on the page, and their width in pixels."""


def cues(view: PageView, report: CueReport, folders: Sequence[Path] = ()) -> Section:
    """Return the section on which cues the guesses follow.

    Args:
        view: the report with the names and looks of its groups.
        report: the explanation of each group's guesses by cues.
        folders: folders to search for the scenes' image files.
    """
    title = "Which cues do guesses follow?"
    groups = [group for group in report.groups if group.gain.value is not None]
    if not groups:
        return Section(
            *("cues", title),
            missing="The model could not be fitted, because each group has too few images with guesses.",
            short="Cues",
        )
    lead = (
        (
            "A model predicts the guesses for each image from three groups of cues: places (the usual position of the "
            "ball, and the image's center), players (their boxes and feet), and body cues."
        ),
        (
            "Body cues are the directions of heads and torsos, the cells that several people look toward, the limbs "
            "that point to a cell, and the cells that other players hide from view."
        ),
        (
            "The model is fitted to the other images, so a cue that guesses do not follow has no gain. Gains are in "
            "bits per guess. `Explainable` is the gain if a guess is predicted from the respondent's other guesses "
            "for the same image."
        ),
    )
    panels, alts = [], []
    for sport in view.sports:
        dots = tuple(
            Dot(*view.labels(g), view.color(g), view.marker(g), explanation.body_gain.value, explanation.body_gain.ci95)
            for g in view.of_sport(sport)
            for explanation in groups
            if (explanation.sport, explanation.respondent, explanation.prompt) == (g.sport, g.respondent, g.prompt)
        )
        if dots:
            panels.append(
                DotPanel(sport, "gain of body cues over places and players", dots, (ReferenceLine(0.0, "no gain"),))
            )
            alts.append("; ".join(_bits_of(explanation) for explanation in groups if explanation.sport == sport))
    chart = DotChart(tuple(panels), "bits per guess", "bits", start=None)
    caption = (
        "Dots show how much body cues improve the prediction of guesses. Lines show 95% bootstrap "
        "intervals over images."
    )
    pictures = [PagePicture("cues", "Gain from body cues", caption, chart, tuple(alts))]
    pictures += _photos(view, folders)
    points = tuple(
        f"{', '.join([view.name(explanation), *named_sports([explanation.sport])])}: {headline(explanation)}"
        for explanation in groups
    )
    gains = [(value, view.name(group)) for group in groups if (value := group.body_gain.value) is not None]
    best = max(gains, default=None)
    return Section(
        *("cues", title, lead),
        points=(f"Body cues improve the prediction most for {best[1]}: by {best[0]:.3f} bits per guess.",)
        if best
        else (),
        short="Cues",
        details=points,
        pictures=tuple(pictures),
        tables=(_table(view, groups),),
        signature=report.signature,
    )


def _bits_of(explanation: CueExplanation) -> str:
    value = explanation.body_gain.value
    return f"{explanation.respondent} {explanation.prompt or ''}: " + (
        "no value" if value is None else f"{value:.3f} bits"
    )


def _photos(view: PageView, folders: Sequence[Path]) -> list[PagePicture]:
    """Return a picture with cue maps on the photos with the most reliable head directions; empty if there are none."""
    shown = view.page.gallery.images if view.page.gallery and view.reference else ()
    revealing = sorted(shown, key=lambda image: -float(head_directions(image.scene).reliability.sum()))
    photos = tuple(
        _photo(view, image, folders)
        for image in revealing[:_N_PHOTOS]
        if image.scene.players and head_directions(image.scene).known
    )
    if not photos:
        return []
    caption = (
        f"The maps show the guesses of {view.reference_words} and the scores of some cues, on the "
        f"{plural(len(photos), 'image')} with the most reliable head directions. Darker cells have more guesses or "
        "higher scores. Outlined cells contain the ball. Arrows show the detected directions; longer arrows are more "
        "reliable."
    )
    alts = tuple(
        f"Maps of {', '.join(SHOWN_CUES)} on image {photo.scene.image} of {photo.scene.sport}" for photo in photos
    )
    return [PagePicture("cue-maps", "Cues on the photos", caption, CuePhotoChart(photos), alts)]


def _photo(view: PageView, image: ShownImage, folders: Sequence[Path]) -> CuePhoto:
    scene = image.scene
    guesses = np.zeros(scene.layout.n_cells)
    for label, share in image.reference.items():
        guesses[scene.layout.index(label)] = share
    scores = cue_scores([scene], SHOWN_CUES)
    maps = [(cue.title, cue.key, scores.values[0, :, place]) for place, cue in enumerate(scores.cues)]
    pixels = photo_pixels(find_file(folders, scene.path), _PHOTO_WIDTH)
    return CuePhoto(scene, ((f"guesses of {view.reference_label}", "", guesses), *maps), pixels)


def _table(view: PageView, groups: Sequence[CueExplanation]) -> PageTable:
    keys = tuple(dict.fromkeys(key for group in groups for key in group.shapley))
    heads = ("Respondent", "Prompt", "All cues", "Body cues", "Explainable", *keys)
    rows = tuple(
        TableRows(
            sport,
            tuple(
                (
                    *names(group, view),
                    *map(_cell, (group.gain, group.body_gain, group.explainable)),
                    *(_cell(group.shapley.get(key)) for key in keys),
                )
                for group in groups
                if group.sport == sport
            ),
        )
        for sport in view.sports
    )
    caption = (
        "Held-out gain over uniform guessing, in bits per guess: the gain of all cues, the gain that body cues add to "
        "places and players, and the explainable gain. The other columns show the share of each group of cues in the "
        "gain (Shapley value, which does not depend on the order of cues). Brackets show 95% bootstrap intervals over "
        "images."
    )
    return PageTable("cue-gains", caption, heads, 2, rows, "Table of the gains and shares of cues")


def _cell(value: MetricValue | None) -> TableCell:
    if value is None or value.value is None:
        return TableCell("–")
    small = f"[{value.ci95[0]:.3f}, {value.ci95[1]:.3f}]" if value.ci95 else ""
    return TableCell(f"{value.value:.3f}", small)
