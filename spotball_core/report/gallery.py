"""Build the gallery: every image with the ground truth, people's guesses, and all respondents side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from spotball_core.cue_maps.registry import cue_scores
from spotball_core.grid import Grid
from spotball_core.pages.cards import AnswerCard, FailureLinks, Gallery, Hits, ImageCard, Line, as_data
from spotball_core.pages.maps import Tile, heat
from spotball_core.report.maps import top_cells
from spotball_core.report.numbers.records import CaseNumbers, GalleryNumbers, ShownImage
from spotball_core.report.view import PageView
from spotball_core.schema.keypoints import SKELETON
from spotball_core.schema.report import sport_prefix
from spotball_core.schema.scene import Scene
from spotball_core.service.parallel import THIS_PROCESS, Workers
from spotball_core.service.paths import find_file
from spotball_core.text.numbers import number, quantity
from spotball_core.text.words import plural
from spotball_core.typing import BoolArray, FloatArray

_DENSEST = 0.75
"""Opacity of the cell with the most guesses, or with the highest score of a cue."""

SHOWN_CUES = ("feet", "head", "torso", "view")
"""Cues whose maps are shown; each depends on one scene only."""

_ORDERS = (
    ("disagreement", "most disagreement first"),
    ("agreement", "most agreement first"),
    ("typical", "most typical first"),
    ("difficulty", "hardest first"),
    ("ease", "easiest first"),
    ("leak", "possible leak first"),
)


def gallery(view: PageView, shown: GalleryNumbers, folders: Sequence[Path], workers: Workers = THIS_PROCESS) -> Gallery:
    """Return the gallery with its images, cards and links, as the page shows it.

    Args:
        view: the report with the names and looks of its groups.
        shown: the images to show, with the numbers for their cards.
        folders: folders to search for the scenes' image files.
        workers: workers that scale the images down.
    """
    anchor = _anchors()
    pictures = workers.map(partial(_picture, folders), [shown_image.scene for shown_image in shown.images])
    images = tuple(
        _image(shown_image, view, shown, picture, anchor)
        for shown_image, picture in zip(shown.images, pictures, strict=True)
    )
    cards = {
        (case.sport, case.respondent, case.prompt, case.image): (image.name, card.name)
        for shown_image, image in zip(shown.images, images, strict=True)
        for case, card in zip(shown_image.cases, image.cards, strict=True)
    }
    failures = tuple(
        FailureLinks(
            mode,
            f"{sport_prefix(group.sport, ', ')}{view.name(group)}",
            group.failed[mode.key].n,
            group.n_images,
            tuple(
                (image, cards.get((group.sport, group.respondent, group.prompt, image)))
                for image in group.failed[mode.key].images
            ),
        )
        for mode in shown.modes
        for group in shown.failures
        if group.failed[mode.key].n
    )
    return Gallery(
        shown.modes,
        tuple((key, name) for key, name in _ORDERS if all(key in image.order for image in images)),
        images,
        failures,
        sum(image.data is None for image in images),
        _left_out(view, shown),
        view.name(view.best) if view.best else "",
    )


def _anchors() -> Callable[..., str]:
    """Return a function that makes a unique HTML anchor from names; equal names give the same anchor."""
    taken: dict[str, tuple[str, ...]] = {}

    def anchor(*names: str) -> str:
        parts = ("".join(c if c.isalnum() or c in "._" else "-" for c in name).strip("-") for name in names)
        plain = "-".join(part for part in parts if part) or "image"
        name, n = plain, 1
        while taken.setdefault(name, names) != names:
            n += 1
            name = f"{plain}--{n}"
        return name

    return anchor


def _left_out(view: PageView, shown: GalleryNumbers) -> str:
    """Describe the images and answers that the gallery does not show."""
    notes = []
    if len(shown.images) < shown.n_images:
        notes.append(
            f"{len(shown.images)} of {shown.n_images:,} images are shown. Half of them are the first in this order, "
            "and the others are spread evenly over the remaining images. Use `--pages` to show all images"
        )
    compared = {group.respondent for group in view.compared}
    others = {group.respondent for group in view.scored} - compared - {view.reference}
    if others:
        notes.append(f"Baselines ({', '.join(sorted(str(name) for name in others))}) are not shown")
    return ". ".join(notes) + ("." if notes else "")


def _picture(folders: Sequence[Path], scene: Scene) -> str | None:
    """Return the scene's image as a `data:` address; None if there is no readable file."""
    path = find_file(folders, scene.path)
    return as_data(path) if path else None


def _image(
    shown: ShownImage, view: PageView, numbers: GalleryNumbers, data: str | None, anchor: Callable[..., str]
) -> ImageCard:
    scene, grid = shown.scene, shown.scene.layout
    people = _on_grid(shown.reference, grid)
    cues = _cue_maps(scene) if view.page.cues and scene.players else ()
    order: dict[str, float] = {}
    if shown.disagreement is not None and shown.from_typical is not None:
        order |= {
            "disagreement": shown.disagreement,
            "agreement": -shown.disagreement,
            "typical": -shown.from_typical,
        }
    if shown.ease is not None:
        order |= {"difficulty": -shown.ease, "ease": shown.ease}
    if shown.leak is not None:
        order["leak"] = shown.leak
    cards = tuple(_card(case, scene, view, numbers, anchor) for case in shown.cases)
    ball = ", ".join(scene.ball_cells or ()) or "not known"
    facts = []
    if shown.ease is not None:
        who = {"": "Respondents", "people": "People"}.get(view.reference_words, view.reference_words)
        finds = "finds" if who == view.reference else "find"
        facts.append(f"{who} {finds} the ball in {quantity(shown.ease, 'share')} of guesses")
    if shown.disagreement is not None:
        apart = quantity(shown.disagreement, view.policy.wasserstein_unit)
        facts.append(f"the mean distance of respondents from {view.reference_words} is {apart}")
    guesses = ""
    if view.reference:
        top = top_cells(people, grid)
        guesses = f": {plural(round(shown.n_reference), 'guess')} of {view.reference_words}, most at {top}"
    return ImageCard(
        name=anchor(scene.sport, scene.image),
        sport=scene.sport,
        title=scene.image,
        data=data,
        grid=grid,
        ball=outline(grid.mask(scene.ball_cells or ()), grid),
        ball_cells=" ".join(scene.ball_cells or ()),
        players=_boxes(scene) if data is None else (),
        outlines=_outlines(scene) if data is None else (),
        poses=_poses(scene),
        people=_heat(people, grid),
        hits=Hits(shown.reference_right, shown.reference_error),
        cues=cues,
        facts="; ".join(facts) + "." if facts else "",
        order=order,
        failures=tuple(mode.key for mode in numbers.modes if any(mode.key in card.failures for card in cards)),
        cards=cards,
        alt=f"{scene.sport} {scene.image}{guesses}. Ball: {ball}.",
    )


def _card(
    case: CaseNumbers, scene: Scene, view: PageView, numbers: GalleryNumbers, anchor: Callable[..., str]
) -> AnswerCard:
    unit, grid = view.policy.wasserstein_unit, scene.layout
    answers = _on_grid(case.answers, grid)
    facts = []
    if case.distance is not None and case.uniform is not None:
        uniform = number(case.uniform, unit)
        facts.append(f"{quantity(case.distance, unit)} from {view.reference_words} (uniform guessing: {uniform})")
    if case.right is not None:
        some = quantity(case.right, "share") if case.right else "none"
        facts.append(f"{some} of its guesses name a cell with the ball")
    return AnswerCard(
        name=anchor(scene.sport, scene.image, case.respondent or "", case.prompt or ""),
        respondent=view.in_words(case.respondent or ""),
        title=view.name(case),
        heat=_heat(answers, grid),
        facts="; ".join(facts) + "." if facts else "",
        hits=Hits(case.right, case.error),
        failures=case.failures,
        badges=tuple(mode.title for mode in numbers.modes if mode.key in case.failures),
        rationales=case.rationales,
        alt=f"{view.name(case)}: {plural(round(case.n_answers), 'guess')}, most at "
        f"{top_cells(answers / (answers.sum() or 1.0), grid)}.",
    )


def outline(inside: BoolArray, grid: Grid) -> tuple[Line, ...]:
    """Return the border of the cells in a mask: all edges between them and other cells, as (x1, y1, x2, y2) in pixels.

    Examples:
        >>> len(outline(Grid.standard().mask(["C2", "C3"]), Grid.standard()))
        6
    """
    padded = np.pad(inside.reshape(grid.rows, grid.cols), 1)
    wide, high = grid.cell_width, grid.cell_height
    level = np.argwhere(padded[1:, 1:-1] != padded[:-1, 1:-1])
    upright = np.argwhere(padded[1:-1, 1:] != padded[1:-1, :-1])
    lines = [(c * wide, r * high, (c + 1) * wide, r * high) for r, c in level]
    lines += [(c * wide, r * high, c * wide, (r + 1) * high) for r, c in upright]
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in lines)


def _heat(mass: FloatArray, grid: Grid) -> str:
    return heat(mass / (mass.max(initial=0.0) or 1.0) * _DENSEST, grid)


def _cue_maps(scene: Scene) -> tuple[tuple[str, str], ...]:
    """Return the name and the map of each cue that applies to a scene."""
    scores = cue_scores([scene], SHOWN_CUES)
    maps = []
    for place, cue in enumerate(scores.cues):
        values = scores.values[0, :, place]
        if np.isfinite(values).all() and np.ptp(values) > 0:
            maps.append((cue.title, _heat((values - values.min()) ** 1.5, scene.layout)))
    return tuple(maps)


def _poses(scene: Scene) -> str:
    """Return the detected skeletons as data of an SVG path."""
    lines = []
    for body in scene.keypoints.tolist():
        for first, second in SKELETON:
            (x1, y1, seen), (x2, y2, also_seen) = body[first], body[second]
            if seen > 0 and also_seen > 0:
                lines.append(f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}")
    return "".join(lines)


def _boxes(scene: Scene) -> tuple[Tile, ...]:
    """Return the bounding boxes of the players that have no outline."""
    outlines = scene.player_outlines or (None,) * len(scene.boxes)
    boxes = (box for box, outline in zip(scene.boxes, outlines, strict=True) if outline is None)
    return tuple(Tile(float(x1), float(y1), float(x2 - x1), float(y2 - y1), 1.0) for x1, y1, x2, y2 in boxes)


def _outlines(scene: Scene) -> tuple[str, ...]:
    """Return players' outlines as data of SVG paths."""
    return tuple(
        "".join(f"M{'L'.join(f'{x:g} {y:g}' for x, y in polygon)}Z" for polygon in outline)
        for outline in scene.player_outlines or ()
        if outline is not None
    )


def _on_grid(values: Mapping[str, float], grid: Grid) -> FloatArray:
    """Return values by cell label as an array, shape (n_cells,)."""
    mass = np.zeros(grid.n_cells)
    for label, value in values.items():
        mass[grid.index(label)] = value
    return mass
