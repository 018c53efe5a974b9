"""Images as a page shows them: those of the gallery, and photos of the gaze task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from spotball_core.grid import Grid
from spotball_core.pages.maps import Tile

Line = tuple[float, float, float, float]


class Filter(Protocol):
    """A way to fail, by which images are filtered."""

    @property
    def key(self) -> str:
        """Its short name."""

    @property
    def title(self) -> str:
        """Its name."""

    @property
    def rule(self) -> str:
        """When an answer is of it, in words."""


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """One respondent's guesses on an image.

    Attributes:
        name: unique on the page, and the same in every report: sport, image, respondent and prompt.
        respondent: the respondent's name.
        title: the respondent, and the prompt where there are several.
        circles: a circle for each guessed cell, as SVG; its area shows how many guesses.
        counts: their numbers as SVG, where there is room.
        color: of the respondent, as #rrggbb; on a photo it is the same on light and dark pages.
        facts: distance and accuracy, in words.
        right: share of the guesses that name a cell with the ball; None if the ball's cells are not known.
        failures: keys of the modes that hold.
        badges: their titles.
        rationales: some of the respondent's.
        alt: what the card shows.
    """

    name: str
    respondent: str
    title: str
    circles: str
    counts: str
    color: str
    facts: str
    right: float | None
    failures: tuple[str, ...]
    badges: tuple[str, ...]
    rationales: tuple[str, ...]
    alt: str


@dataclass(frozen=True, slots=True)
class ImageCard:
    """One image with the ground truth, the reference's guesses, and every respondent's.

    Attributes:
        name: unique on the page, and the same in every report: sport and image.
        sport: its sport.
        title: the image.
        data: the picture with its grid, as a `data:` address; None where there is none.
        grid: over the image, drawn where there is no picture.
        ball: outline of the ball's cells.
        ball_cells: their labels, separated by blanks.
        players: boxes of players without an outline, drawn where there is no picture.
        outlines: of the other players, likewise, as the data of SVG paths.
        people: the reference's guesses.
        shares: the same by label and share, as JSON.
        facts: who finds the ball how often, and how far answers are apart, in words.
        order: what images are sorted by, each under the name of its order.
        failures: keys of the modes that hold for any card.
        cards: one for each respondent and prompt.
        alt: what the picture shows.
    """

    name: str
    sport: str
    title: str
    data: str | None
    grid: Grid
    ball: tuple[Line, ...]
    ball_cells: str
    players: tuple[Tile, ...]
    outlines: tuple[str, ...]
    people: tuple[Tile, ...]
    shares: str
    facts: str
    order: dict[str, float]
    failures: tuple[str, ...]
    cards: tuple[AnswerCard, ...]
    alt: str


@dataclass(frozen=True, slots=True)
class FailureLinks:
    """The images on which a respondent fails in one way, under one prompt.

    Attributes:
        mode: the way.
        group: the sport, and the respondent with its prompt.
        n: how many there are.
        of: of how many.
        images: the farthest of them, each with the names of the image's card and of the respondent's; None where an
            image is not shown.
    """

    mode: Filter
    group: str
    n: int
    of: int
    images: tuple[tuple[str, tuple[str, str] | None], ...]


@dataclass(frozen=True, slots=True)
class Highlight:
    """Some images that are worth a look, with the names of their cards."""

    title: str
    images: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Gallery:
    """All images.

    Attributes:
        modes: the ways to fail, with their rules.
        orders: what images can be sorted by: the key in `ImageCard.order`, and its name.
        highlights: where to look first.
        images: sport by sport, the one with the most disagreement first.
        failures: which images each respondent fails on.
        without: how many images have no picture.
        left_out: what is not shown, in words; else empty.
        pages: the file of the page that an image is on, by the image's name; empty if all are on this page.
        contents: the title and the file of each of these pages.
    """

    modes: tuple[Filter, ...]
    orders: tuple[tuple[str, str], ...]
    highlights: tuple[Highlight, ...]
    images: tuple[ImageCard, ...]
    failures: tuple[FailureLinks, ...]
    without: int
    left_out: str
    pages: Mapping[str, str] = field(default_factory=dict)
    contents: tuple[tuple[str, str], ...] = ()

    def link(self, image: str, card: str | None = None) -> str:
        """Return the address of an image, or of a card of it."""
        return f"{self.pages.get(image, '')}#{card or image}"


@dataclass(frozen=True, slots=True)
class PhotoMark:
    """A mark on a photo, in its pixels: `eyes` and `head` are outlines, a choice is a disc in a respondent's color."""

    kind: str
    x: float
    y: float
    radius: float
    color: str = ""


@dataclass(frozen=True, slots=True)
class PhotoCard:
    """One photo.

    Attributes:
        name: unique on the page.
        title: the photo's name and what kind it is of.
        data: the picture, as a `data:` address.
        width: of the picture, in its pixels.
        height: the same.
        marks: where objects' points are known.
        lines: what eyes and head point to, and what each respondent chose.
    """

    name: str
    title: str
    data: str
    width: int
    height: int
    marks: tuple[PhotoMark, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PhotoSheet:
    """Some photos.

    Attributes:
        cards: one for each condition and view that there is.
        key: whose choices are marked, with their colors; empty without marks.
        more: respondents that are not shown.
    """

    cards: tuple[PhotoCard, ...]
    key: tuple[tuple[str, str], ...]
    more: int
