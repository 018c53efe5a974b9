"""Define the records of the images on a page: images of the gallery, and photos of the gaze task."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from spotball_core.grid import Grid
from spotball_core.pages.maps import Tile
from spotball_core.service.images import open_image

if TYPE_CHECKING:
    from PIL.Image import Image


Line = tuple[float, float, float, float]


class Filter(Protocol):
    """A failure mode. On the page, the reader can show only the images to which it applies."""

    @property
    def key(self) -> str:
        """The mode's key."""

    @property
    def title(self) -> str:
        """The mode's name."""

    @property
    def rule(self) -> str:
        """The rule that defines the mode, in words."""


@dataclass(frozen=True, slots=True)
class Hits:
    """How often guesses name a cell with the ball, and their mean distance from it in pixels.

    Both are None if the ball's cells are not known, or if there are no guesses.
    """

    share: float | None = None
    error: float | None = None


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """One respondent's guesses on an image.

    Attributes:
        name: the card's identifier, made of sport, image, respondent and prompt; unique on the page, and the same in
            every report.
        respondent: the respondent's name.
        title: the respondent, with the prompt if the respondent has several.
        heat: the guesses as SVG, from `pages.maps.heat`.
        facts: distance and accuracy, in words.
        hits: the share of hits and the mean error of the guesses.
        failures: keys of the failure modes that apply.
        badges: titles of these failure modes.
        rationales: examples of the respondent's rationales for the image.
        alt: a description of the card.
    """

    name: str
    respondent: str
    title: str
    heat: str
    facts: str
    hits: Hits
    failures: tuple[str, ...]
    badges: tuple[str, ...]
    rationales: tuple[str, ...]
    alt: str


@dataclass(frozen=True, slots=True)
class ImageCard:
    """One image with the ground truth, the reference's guesses, and every respondent's guesses.

    Attributes:
        name: the card's identifier, made of sport and image; unique on the page, and the same in every report.
        sport: the image's sport.
        title: the image's name.
        data: the picture, as a `data:` address; None if there is no picture.
        grid: the grid on the image.
        ball: outline of the ball's cells.
        ball_cells: labels of the ball's cells, separated by spaces.
        players: boxes of players without an outline, drawn if there is no picture.
        outlines: outlines of the other players, as data of SVG paths, drawn if there is no picture.
        poses: the players' skeletons, as data of an SVG path; empty if no pose is known.
        people: the guesses of the reference as SVG, from `pages.maps.heat`.
        hits: the share of hits and the mean error of the reference's guesses.
        cues: the name and the scores of some cues, as SVG from `pages.maps.heat`.
        facts: how often the ball is found, and how far respondents are from the reference, in words.
        order: the image's value in each sort order, by the order's key.
        failures: keys of the failure modes that apply to any card.
        cards: the guesses of each respondent and prompt.
        alt: a description of the picture.
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
    poses: str
    people: str
    hits: Hits
    cues: tuple[tuple[str, str], ...]
    facts: str
    order: dict[str, float]
    failures: tuple[str, ...]
    cards: tuple[AnswerCard, ...]
    alt: str


@dataclass(frozen=True, slots=True)
class FailureLinks:
    """The images to which one failure mode of a respondent and prompt applies.

    Attributes:
        mode: the failure mode.
        group: the sport, and the respondent with its prompt.
        n: number of images with this failure.
        of: number of images of the group that were checked for failures.
        images: the images with the largest distances, each with the names of the image's card and of the respondent's
            card; None if an image is not shown.
    """

    mode: Filter
    group: str
    n: int
    of: int
    images: tuple[tuple[str, tuple[str, str] | None], ...]


@dataclass(frozen=True, slots=True)
class OpeningRow:
    """An image at the top of the page: why it was chosen, and the heat map and its description for each column."""

    why: str
    image: ImageCard
    maps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Opening:
    """The pictures at the top of the page: some images with heat maps side by side.

    Attributes:
        columns: the respondent of each column; the reference is first.
        rows: the images.
        caption: how the images were chosen.
    """

    columns: tuple[str, ...]
    rows: tuple[OpeningRow, ...]
    caption: str


@dataclass(frozen=True, slots=True)
class Gallery:
    """The gallery of a page: images with cards, sort orders and failures.

    Attributes:
        modes: the failure modes, with their rules.
        orders: the sort orders: the key in `ImageCard.order`, and its name.
        images: images by sport; the one with the most disagreement is first.
        failures: the images to which failure modes of each respondent apply.
        without: number of images without a picture.
        left_out: a description of what is not shown; empty if everything is shown.
        second: the title of the cards whose hits are shown next to those of the reference; empty for none.
        pages: the file of each image's page, by the image's name; empty if all images are on this page.
        contents: the title and the file of each page of images.
    """

    modes: tuple[Filter, ...]
    orders: tuple[tuple[str, str], ...]
    images: tuple[ImageCard, ...]
    failures: tuple[FailureLinks, ...]
    without: int
    left_out: str
    second: str = ""
    pages: Mapping[str, str] = field(default_factory=dict)
    contents: tuple[tuple[str, str], ...] = ()

    def link(self, image: str, card: str | None = None) -> str:
        """Return the address of an image, or of one of its cards."""
        return f"{self.pages.get(image, '')}#{card or image}"


@dataclass(frozen=True, slots=True)
class PhotoMark:
    """A mark on a photo, at a position in pixels.

    The kinds `eyes` and `head` are outlines, with a line from the face if its position `start` is known. The kind
    `choice` is a disc in the color of a respondent.
    """

    kind: str
    x: float
    y: float
    radius: float
    color: str = ""
    start: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class PhotoCard:
    """One photo of the gaze task, with marks and text.

    Attributes:
        name: unique on the page.
        title: the photo's name and kind.
        data: the picture, as a `data:` address.
        width: width of the picture in pixels.
        height: height of the picture in pixels.
        marks: marks on the photo; empty if the positions of the objects are not known.
        lines: sentences that state what the eyes and the head point to, and what each respondent chose.
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
    """Example photos of the gaze task.

    Attributes:
        cards: one photo for each combination of condition and view in the data.
        key: the respondents whose choices are marked, with their colors; empty without marks.
        more: number of respondents that are not shown.
    """

    cards: tuple[PhotoCard, ...]
    key: tuple[tuple[str, str], ...]
    more: int


WIDTH = 640
"""Maximum width in pixels: that of the release's images, which are then not scaled."""

QUALITY, METHOD = 60, 0
"""WebP quality, and the encoder's effort: an effort of 2 takes two thirds more time for files 8% smaller."""


def as_data(path: Path) -> str | None:
    """Return an image as a `data:` address of a small WebP; None if it cannot be read."""
    image = upright(path)
    return None if image is None else written(image)


def upright(path: Path) -> Image | None:
    """Return an RGB image in the orientation that a browser shows; None if it cannot be read."""
    from PIL import ImageOps

    try:
        with open_image(path) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    except Exception:  # Pillow raises many kinds of errors for a damaged file, and one file must not stop the page.
        return None


def written(image: Image) -> str:
    """Scale an image down in place, and return it as a `data:` address of a small WebP."""
    image.thumbnail((WIDTH, WIDTH))
    out = io.BytesIO()
    image.save(out, "WEBP", quality=QUALITY, method=METHOD)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode("ascii")
