"""The gallery: images where a respondent is far from the reference, as cards, and how it fails on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spotball_core.grid import BoolArray, FloatArray, Grid
from spotball_core.metrics.inputs import ratio
from spotball_core.report.analysis import Analysis
from spotball_core.report.cases import Case, Mode, chosen, modes, ranked
from spotball_core.report.maps import Tile, tiles, top_cells
from spotball_core.report.numbers import number, plural, quantity
from spotball_core.report.pictures import as_data, found
from spotball_core.schema.scene import Scene

SHOWN = 12
"""Cards of each respondent and sport, at most."""

OF_EACH = 2
"""Cards of each mode among them, at least, where there are so many."""

MOST = 240
"""Cards on a page, at most."""

LISTED = 60
"""Images that fail in one way that are named, at most."""

_DENSEST = 0.75
"""Opacity of the cell that the reference named most."""

_COUNTED = 11.0
"""Smallest radius of a circle that has room for its count, in pixels of the image."""

Line = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Circle:
    """A respondent's guesses of one cell: area by their share, with their number where there is room for it."""

    x: float
    y: float
    radius: float
    count: str
    size: float


@dataclass(frozen=True, slots=True)
class Card:
    """One image with the truth, the reference's guesses and a respondent's.

    Attributes:
        name: unique on the page.
        title: the image and the prompt.
        picture: id of the image on the page, with its grid; None where there is none.
        grid: over the image, drawn where there is no picture.
        ball: outline of the ball's cells.
        players: their boxes, drawn where there is no picture.
        people: the reference's guesses.
        circles: the respondent's.
        color: of the respondent, as #rrggbb; on a photo it is the same whatever the page's colors.
        facts: distance and accuracy, in words.
        failures: keys of the modes it fails in.
        badges: their titles.
        alt: what it shows.
    """

    name: str
    title: str
    picture: str | None
    grid: Grid
    ball: tuple[Line, ...]
    players: tuple[Tile, ...]
    people: tuple[Tile, ...]
    circles: tuple[Circle, ...]
    color: str
    facts: str
    failures: tuple[str, ...]
    badges: tuple[str, ...]
    alt: str


@dataclass(frozen=True, slots=True)
class Found:
    """The images on which a respondent fails in one way, under one prompt.

    Attributes:
        mode: the way.
        prompt: where the respondent was asked with several; else empty.
        n: how many there are.
        of: of how many.
        images: the farthest of them, each with the name of its card where it has one.
    """

    mode: Mode
    prompt: str
    n: int
    of: int
    images: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class Album:
    """The cards of one respondent in one sport, farthest from the reference first."""

    name: str
    title: str
    n_images: int
    cards: tuple[Card, ...]
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Gallery:
    """All albums.

    Attributes:
        modes: the ways to fail, with their rules.
        albums: one for each respondent and sport.
        pictures: the images' data by their id on the page.
        without: how many of the images shown have no picture.
        left_out: what is not shown, in words; else empty.
    """

    modes: tuple[Mode, ...]
    albums: tuple[Album, ...]
    pictures: dict[str, str]
    without: int
    left_out: str


def gallery(
    analysis: Analysis, some_cases: Sequence[Case], folders: Sequence[Path], *, shown: int = SHOWN, most: int = MOST
) -> Gallery:
    """The gallery of some cases.

    Args:
        analysis: with a reference.
        some_cases: in the order in which respondents and sports are shown.
        folders: where the scenes' image files may be.
        shown: cards of each respondent and sport, at most; fewer where there would be more than `most` in all.
        most: cards in all.
    """
    by_album: dict[tuple[str, str], list[Case]] = {}
    for case in some_cases:
        by_album.setdefault((case.group.respondent or "", case.group.sport or ""), []).append(case)
    some = dict(list(by_album.items())[:most])
    shown = max(1, min(shown, most // len(some)))
    picks = {key: chosen(mine, shown, OF_EACH) for key, mine in some.items()}
    data: dict[int, str | None] = {}
    for case in (case for mine in picks.values() for case in mine):
        if case.scene not in data:
            scene = analysis.scenes[case.scene]
            path = found(scene, folders)
            data[case.scene] = as_data(path, scene.layout) if path else None
    known = modes(analysis.scoring)
    pictures = {scene: f"picture-{scene}" for scene, content in data.items() if content}
    albums = tuple(
        _album(f"album-{place}", key, some[key], picks[key], analysis, known, pictures)
        for place, key in enumerate(some)
    )
    return Gallery(
        known,
        albums,
        {name: str(data[scene]) for scene, name in pictures.items()},
        sum(content is None for content in data.values()),
        _left_out(analysis, by_album, picks),
    )


def _left_out(
    analysis: Analysis, by_album: dict[tuple[str, str], list[Case]], picks: dict[tuple[str, str], list[Case]]
) -> str:
    """What the gallery does not show, in words."""
    said = []
    total = sum(len({case.scene for case in mine}) for mine in by_album.values())
    here = sum(map(len, picks.values()))
    if here < total:
        said.append(
            f"Of {total:,} images of a respondent {here} are shown: of each respondent and sport the farthest, with "
            f"up to {OF_EACH} of each failure among them"
        )
    if len(by_album) > len(picks):
        said.append(f"{plural(len(by_album) - len(picks), 'respondent and sport')} are left out altogether")
    explained = {group.respondent for group in analysis.explained}
    others = {group.respondent for group, _ in analysis.scored} - explained - {analysis.reference}
    if others:
        said.append(f"baselines ({', '.join(sorted(str(name) for name in others))}) are left out")
    return "; ".join(said) + ("." if said else "")


def _album(
    name: str,
    key: tuple[str, str],
    mine: Sequence[Case],
    picks: Sequence[Case],
    analysis: Analysis,
    known: Sequence[Mode],
    pictures: dict[int, str],
) -> Album:
    cards = tuple(_card(f"{name}-{i}", case, analysis, known, pictures) for i, case in enumerate(picks))
    links = {(case.group.number, case.scene): card.name for case, card in zip(picks, cards, strict=True)}
    finds = []
    for mode in known:
        for number_ in dict.fromkeys(case.group.number for case in mine):
            group = [case for case in mine if case.group.number == number_]
            fails = ranked([case for case in group if mode.key in case.failures])
            images = tuple((analysis.scenes[c.scene].image, links.get((number_, c.scene))) for c in fails[:LISTED])
            finds.append(Found(mode, analysis.prompt(group[0].group), len(fails), len(group), images))
    n_images = len({case.scene for case in mine})
    return Album(name, f"{key[0]}, {key[1]}", n_images, cards, tuple(finds))


def _card(name: str, case: Case, analysis: Analysis, known: Sequence[Mode], pictures: dict[int, str]) -> Card:
    scene, arrays = analysis.scenes[case.scene], analysis.scoring.arrays
    grid, reference = scene.layout, str(analysis.reference)
    people = _shares(analysis.scoring.reference_mass([case.scene])[0])  # type: ignore[index]
    mine = _shares(case.mass)
    unit = analysis.scoring.policy.wasserstein_unit
    right = ""
    if not math.isnan(case.right):
        right = f"; {quantity(case.right, 'share') if case.right else 'none'} of its guesses name a cell with the ball"
    distance = f"{quantity(case.distance, unit)} from {reference}"
    chance = f"guessing every cell alike: {number(case.uniform, unit)}"
    badges = tuple(mode.title for mode in known if mode.key in case.failures)
    who = analysis.name(case.group)
    ball = ", ".join(scene.ball_cells or ()) or "not known"
    title = scene.image + (f", {analysis.prompt(case.group)}" if analysis.prompt(case.group) else "")
    return Card(
        name=name,
        title=title,
        picture=pictures.get(case.scene),
        grid=grid,
        ball=outline(arrays.truth[case.scene], grid),
        players=_boxes(scene) if case.scene not in pictures else (),
        people=tiles(people / people.max() * _DENSEST, grid),
        circles=_circles(case.mass, grid),
        color=analysis.color(case.group),
        facts=f"{distance} ({chance}){right}.",
        failures=tuple(mode.key for mode in known if mode.key in case.failures),
        badges=badges,
        alt=f"{scene.sport} {scene.image}, {who}: {plural(round(float(case.mass.sum())), 'guess')}, most at "
        f"{top_cells(mine, grid)}. {reference}: most at {top_cells(people, grid)}. Ball: {ball}.",
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
    return tuple(Tile(float(x1), float(y1), float(x2 - x1), float(y2 - y1), 1.0) for x1, y1, x2, y2 in scene.boxes)


def _shares(mass: FloatArray) -> FloatArray:
    shares: FloatArray = np.nan_to_num(ratio(mass, mass.sum()))
    return shares
