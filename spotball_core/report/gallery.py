"""The gallery: images where a respondent is far from the reference, as cards, and how it fails on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from spotball_core.grid import Grid
from spotball_core.pages.cards import Card, Circle, FailureLinks, Gallery, Line, RespondentCards
from spotball_core.pages.maps import Tile, tiles
from spotball_core.pages.pictures import as_data
from spotball_core.report.maps import top_cells
from spotball_core.report.numbers.records import Album, CaseNumbers, FailureMode, GalleryNumbers, ShownImage
from spotball_core.report.view import PageView
from spotball_core.schema.scene import Scene
from spotball_core.service.paths import find_file
from spotball_core.text.numbers import number, plural, quantity
from spotball_core.typing import BoolArray, FloatArray

_DENSEST = 0.75
"""Opacity of the cell that the reference named most."""

_COUNTED = 11.0
"""Smallest radius of a circle that has room for its count, in pixels of the image."""

Key = tuple[str, str]


def gallery(view: PageView, shown: GalleryNumbers, folders: Sequence[Path]) -> Gallery:
    """The gallery as the page draws it.

    Args:
        view: what is shown.
        shown: its gallery.
        folders: where the scenes' image files may be.
    """
    data = {}
    for one in shown.images:
        path = find_file(folders, one.scene.path)
        data[one.scene.key] = as_data(path, one.scene.layout) if path else None
    pictures = {key: f"picture-{place}" for place, (key, content) in enumerate(data.items()) if content}
    albums = tuple(_album(f"album-{place}", one, view, shown, pictures) for place, one in enumerate(shown.albums))
    return Gallery(
        shown.modes,
        albums,
        {name: str(data[key]) for key, name in pictures.items()},
        sum(content is None for content in data.values()),
        _left_out(view, shown),
    )


def _left_out(view: PageView, shown: GalleryNumbers) -> str:
    """What the gallery does not show, in words."""
    said = []
    if shown.n_shown < shown.n_images:
        said.append(
            f"Of {shown.n_images:,} images of a respondent {shown.n_shown} are shown: of each respondent and sport the "
            f"farthest, with up to {shown.of_each} of each failure among them"
        )
    if shown.n_left_out:
        said.append(f"{plural(shown.n_left_out, 'respondent and sport')} are left out altogether")
    compared = {group.respondent for group in view.compared}
    others = {group.respondent for group in view.scored} - compared - {view.reference}
    if others:
        said.append(f"baselines ({', '.join(sorted(str(name) for name in others))}) are left out")
    return "; ".join(said) + ("." if said else "")


def _album(
    name: str, album: Album, view: PageView, shown: GalleryNumbers, pictures: Mapping[Key, str]
) -> RespondentCards:
    images = {one.scene.key: one for one in shown.images}
    cards = tuple(
        _card(f"{name}-{i}", one, images[str(one.sport), one.image], view, shown.modes, pictures)
        for i, one in enumerate(album.cards)
    )
    links = {(one.prompt, one.image): card.name for one, card in zip(album.cards, cards, strict=True)}
    groups = [one for one in shown.failures if (one.sport, one.respondent) == (album.sport, album.respondent)]
    finds = []
    for mode in shown.modes:
        for group in groups:
            failed = group.failed[mode.key]
            named = tuple((image, links.get((group.prompt, image))) for image in failed.images)
            finds.append(FailureLinks(mode, view.prompt(group), failed.n, group.n_images, named))
    title = f"{album.respondent or ''}, {album.sport or ''}"
    return RespondentCards(name, title, album.n_images, cards, tuple(finds))


def _card(
    name: str,
    case: CaseNumbers,
    shown: ShownImage,
    view: PageView,
    known: Sequence[FailureMode],
    pictures: Mapping[Key, str],
) -> Card:
    scene, reference, unit = shown.scene, str(view.reference), view.policy.wasserstein_unit
    grid, picture = scene.layout, pictures.get(scene.key)
    people = _on_grid(shown.reference, grid)
    right = ""
    if case.right is not None:
        right = f"; {quantity(case.right, 'share') if case.right else 'none'} of its guesses name a cell with the ball"
    distance = f"{quantity(case.distance, unit)} from {reference}"
    chance = f"guessing every cell alike: {number(case.uniform, unit)}"
    ball = ", ".join(scene.ball_cells or ()) or "not known"
    title = scene.image + (f", {view.prompt(case)}" if view.prompt(case) else "")
    return Card(
        name=name,
        title=title,
        picture=picture,
        grid=grid,
        ball=outline(grid.mask(scene.ball_cells or ()), grid),
        players=_boxes(scene) if picture is None else (),
        outlines=_outlines(scene) if picture is None else (),
        people=tiles(people / people.max() * _DENSEST, grid),
        circles=_circles(_on_grid(case.answers, grid), grid),
        color=view.color(case),
        facts=f"{distance} ({chance}){right}.",
        failures=case.failures,
        badges=tuple(mode.title for mode in known if mode.key in case.failures),
        alt=f"{scene.sport} {scene.image}, {view.name(case)}: {plural(round(case.n_answers), 'guess')}, most at "
        f"{top_cells(_on_grid(case.shares, grid), grid)}. {reference}: most at {top_cells(people, grid)}. "
        f"Ball: {ball}.",
    )


def outline(inside: BoolArray, grid: Grid) -> tuple[Line, ...]:
    """The border of some cells: every edge between one of them and one that is not, as (x1, y1, x2, y2) in pixels.

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


def _circles(mass: FloatArray, grid: Grid) -> tuple[Circle, ...]:
    largest = 0.46 * min(grid.cell_width, grid.cell_height)
    found_ = []
    for cell in np.flatnonzero(mass):
        x, y = grid.centers[cell]
        radius = largest * math.sqrt(mass[cell] / mass.max())
        count = f"{mass[cell]:.3g}" if radius >= _COUNTED else ""
        found_.append(Circle(float(x), float(y), radius, count, min(1.5 * radius / max(len(count) - 0.5, 1), 26)))
    return tuple(found_)


def _boxes(scene: Scene) -> tuple[Tile, ...]:
    """The boxes of players without an outline."""
    outlines = scene.player_outlines or (None,) * len(scene.boxes)
    boxes = (box for box, outline in zip(scene.boxes, outlines, strict=True) if outline is None)
    return tuple(Tile(float(x1), float(y1), float(x2 - x1), float(y2 - y1), 1.0) for x1, y1, x2, y2 in boxes)


def _outlines(scene: Scene) -> tuple[str, ...]:
    """Players' outlines as the data of SVG paths."""
    return tuple(
        "".join(f"M{'L'.join(f'{x:g} {y:g}' for x, y in polygon)}Z" for polygon in outline)
        for outline in scene.player_outlines or ()
        if outline is not None
    )


def _on_grid(values: Mapping[str, float], grid: Grid) -> FloatArray:
    """Values by the cell's label as an array, shape (n_cells,)."""
    mass = np.zeros(grid.n_cells)
    for label, value in values.items():
        mass[grid.index(label)] = value
    return mass
