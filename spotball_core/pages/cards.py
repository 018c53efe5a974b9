"""Cards of images, as a page draws them: those of the gallery, and photos of the gaze task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from spotball_core.grid import Grid
from spotball_core.pages.maps import Tile

Line = tuple[float, float, float, float]


class Filter(Protocol):
    """A way to fail, by which cards are filtered."""

    @property
    def key(self) -> str:
        """Its short name."""

    @property
    def title(self) -> str:
        """Its name."""

    @property
    def rule(self) -> str:
        """When a card is of it, in words."""


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
        players: boxes of players without an outline, drawn where there is no picture.
        outlines: of the other players, likewise, as the data of SVG paths.
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
    outlines: tuple[str, ...]
    people: tuple[Tile, ...]
    circles: tuple[Circle, ...]
    color: str
    facts: str
    failures: tuple[str, ...]
    badges: tuple[str, ...]
    alt: str


@dataclass(frozen=True, slots=True)
class FailureLinks:
    """The images on which a respondent fails in one way, under one prompt.

    Attributes:
        mode: the way.
        prompt: where the respondent was asked with several; else empty.
        n: how many there are.
        of: of how many.
        images: the farthest of them, each with the name of its card where it has one.
    """

    mode: Filter
    prompt: str
    n: int
    of: int
    images: tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class RespondentCards:
    """The cards of one respondent in one sport, farthest from the reference first."""

    name: str
    title: str
    n_images: int
    cards: tuple[Card, ...]
    found: tuple[FailureLinks, ...]


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

    modes: tuple[Filter, ...]
    albums: tuple[RespondentCards, ...]
    pictures: dict[str, str]
    without: int
    left_out: str


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
