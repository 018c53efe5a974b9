"""Parse replies that answer with a point or a box instead of a cell, in the conventions of grounding models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.cell_text import ReadCell
from spotball_adapters.replies.plain_text import first_turn, of_first_turn, plain, reasoning_around, without_thinking
from spotball_adapters.replies.result import Parsed, parsed
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.io.answer_options import POINT_SIZES, PointScale

PointAnswer = Literal["point", "box"]

POINT_ANSWERS: tuple[PointAnswer, ...] = get_args(PointAnswer)


class Convention(NamedTuple):
    """How a model writes coordinates.

    Attributes:
        size: the coordinate of the image's right and lower edge; None if coordinates are pixels.
        y_first: whether coordinates without names begin with y.
    """

    size: float | None
    y_first: bool = False


CONVENTIONS: dict[PointScale, Convention] = {
    scale: Convention(size, y_first=scale == "gemini") for scale, size in POINT_SIZES.items()
}
"""The scales of coordinates, and the conventions of models: Qwen-VL, Gemini (`[y, x]`) and Molmo (percent)."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Coordinates in a reply, in the order of the text.

    Attributes:
        start: offset of their first character.
        end: offset after their last character.
        numbers: two numbers for a point, four for a box.
        y_first: whether they begin with y; None if the text does not say so.
    """

    start: int
    end: int
    numbers: tuple[float, ...]
    y_first: bool | None = None

    def center(self, convention: Convention) -> tuple[float, float]:
        """Return x and y of the point, or of the box's center."""
        first, second = ((low + high) / 2 for low, high in zip(self.numbers[:2], self.numbers[-2:], strict=True))
        y_first = convention.y_first if self.y_first is None else self.y_first
        return (second, first) if y_first else (first, second)


_N = r"(-?[0-9]{1,5}(?:\.[0-9]{1,20})?|-?\.[0-9]{1,20})(?:\s?%)?"
_COMMA = r"\s{0,3}[,;]\s{0,3}"
_OPEN, _CLOSE = r"[(\[{<]{1,2}\s{0,3}", r"\s{0,3}[)\]}>]"
_BETWEEN = r"[\s,;/|]{0,6}"


def _named(*names: str) -> str:
    quote, sign = "[\"']?", r"\s{0,3}[:=]\s{0,3}"
    return _BETWEEN.join(rf"{quote}\b{name}{quote}{sign}{quote}{_N}{quote}" for name in names)


# Each pattern matches two or four numbers. The names of named coordinates state which number is x.
_NAMED_BOX = re.compile(
    f"{_named('x_?1', 'y_?1', 'x_?2', 'y_?2')}|{_named('x_?min', 'y_?min', 'x_?max', 'y_?max')}"
    f"|{_named('left', 'top', 'right', 'bottom')}",
    re.I,
)
_NAMED_POINT = re.compile(_named("x1?", "y1?"), re.I)
_PAIRED_BOX = re.compile(rf"{_OPEN}{_N}{_COMMA}{_N}{_CLOSE}{_BETWEEN}{_OPEN}{_N}{_COMMA}{_N}{_CLOSE}")
_BOX = re.compile(rf"{_OPEN}{_N}{_COMMA}{_N}{_COMMA}{_N}{_COMMA}{_N}{_CLOSE}")
_POINT = re.compile(rf"{_OPEN}{_N}{_COMMA}{_N}{_CLOSE}")
_TAGGED_POINT = re.compile(rf">\s{{0,3}}{_N}[\s,]{{1,3}}{_N}\s{{0,3}}</")
_TAGGED_BOX = re.compile(rf">\s{{0,3}}{_N}[\s,]{{1,3}}{_N}[\s,]{{1,3}}{_N}[\s,]{{1,3}}{_N}\s{{0,3}}</")
# Not a part of a longer list of numbers.
_START, _END = r"(?<![\w.])(?<![,;] )(?<![,;])", r"(?![\w.]?\d)(?!\s{0,3}[,;]\s{0,3}\d)"
_BARE_BOX = re.compile(rf"{_START}{_N}{_COMMA}{_N}{_COMMA}{_N}{_COMMA}{_N}{_END}")
_BARE_POINT = re.compile(rf"{_START}{_N}{_COMMA}{_N}{_END}")
_PATTERNS: dict[PointAnswer, tuple[re.Pattern[str], ...]] = {
    "point": (_NAMED_POINT, _POINT, _TAGGED_POINT, _BARE_POINT),
    "box": (_NAMED_BOX, _PAIRED_BOX, _BOX, _TAGGED_BOX, _BARE_BOX),
}

# The keys of Gemini and Qwen fix the order of the numbers after them.
_Y_FIRST, _X_FIRST = re.compile(r"box_2d\W{1,6}$"), re.compile(r"(?:point_2d|bbox_2d)\W{1,6}$")
_LABELED_BEFORE = re.compile(r"\b(?:final|answer|ball)\b[^\n.}]{0,40}$", re.I)
_LABELED_AFTER = re.compile(r"(?:label|alt|name|class)[\"']?\s{0,3}[:=]\s{0,3}[\"'][^\"'\n]{0,40}ball", re.I)


def mentions(text: str, answer: PointAnswer) -> list[Mention]:
    """Return the points or boxes in a text. Numbers without brackets or names count only if there are no others.

    Examples:
        >>> [each.numbers for each in mentions('<point x="59.4" y="61.1" alt="ball">, (3, 4)', "point")]
        [(59.4, 61.1), (3.0, 4.0)]
        >>> mentions("[10, 20, 30, 40]", "point")
        []
    """
    text = plain(text)
    *clear, bare = _PATTERNS[answer]
    # A box is not two points, so boxes are found in either case.
    patterns = clear if answer == "box" else [*clear, *_PATTERNS["box"][:-1]]
    matches = sorted(
        ((match, pattern) for pattern in patterns for match in pattern.finditer(text)),
        key=lambda pair: (pair[0].start(), -pair[0].end()),
    )
    if not matches:
        return [_mention(text, match, named=False) for match in bare.finditer(text)]
    found: list[Mention] = []
    end = 0
    for match, pattern in matches:
        if match.start() >= end:
            end = match.end()
            if pattern in clear:
                found.append(_mention(text, match, named=pattern in (_NAMED_BOX, _NAMED_POINT)))
    return found


def _mention(text: str, match: re.Match[str], *, named: bool) -> Mention:
    before = text[max(match.start() - 20, 0) : match.start()]
    y_first = False if named or _X_FIRST.search(before) else True if _Y_FIRST.search(before) else None
    return Mention(match.start(), match.end(), tuple(float(part) for part in match.groups() if part), y_first)


def _chosen(text: str, found: Sequence[Mention]) -> Mention | None:
    """Return the mention that answers: the only one, or the last one that the text calls the ball or the answer."""
    if len({mention.numbers for mention in found}) == 1:
        return found[-1]
    edges = [0, *(mention.end for mention in found), len(text)]
    starts = [*(mention.start for mention in found), len(text)]
    labeled = [
        mention
        for number, mention in enumerate(found)
        if _LABELED_BEFORE.search(text[edges[number] : mention.start])
        or _LABELED_AFTER.search(text[mention.end : starts[number + 1]])
    ]
    return labeled[-1] if len({mention.numbers for mention in labeled}) == 1 else None


def parse_point(text: str, grid: Grid, *, answer: PointAnswer, scale: PointScale, finish: Finish = "stop") -> Parsed:
    """Parse a reply that answers with a point or a box: return the cell of the point, or of the box's center.

    Examples:
        >>> parse_point("The ball: [611, 594]", Grid.standard(), answer="point", scale="gemini").cell
        'D6'
    """
    return of_first_turn(
        without_thinking(text),
        finish,
        lambda turn, finish: _parse(turn, grid, text, finish, answer, scale),
        lambda part: bool(mentions(part, answer)),
    )


def _parse(text: str, grid: Grid, original: str, finish: Finish, answer: PointAnswer, scale: PointScale) -> Parsed:
    """Parse the first turn of a reply, without hidden reasoning; `original` is the whole reply."""
    found = mentions(text, answer)
    if not found:
        return parsed(ReadCell(None, "no answer"), text.strip() or None, original, finish)
    mention = _chosen(text, found)
    if mention is None:
        return parsed(ReadCell(None, "several answers"), text.strip(), original, finish)
    convention = CONVENTIONS[scale]
    x, y = mention.center(convention)
    if convention.size is not None:
        x, y = x / convention.size * grid.width, y / convention.size * grid.height
    index = int(grid.indices_at(x, y))
    result = ReadCell(grid.label(index)) if index >= 0 else ReadCell(None, "outside the grid")
    if finish == "length" and mention.end == len(text.rstrip()) and text.rstrip()[-1:].isdigit():
        result = ReadCell(None, "cut off")
    return parsed(result, reasoning_around(text, plain(text), mention.start, mention.end), original, finish)


FEW = 5
"""Minimum number of points that show that a larger scale would place all of them in one corner."""


def only_scale(replies: Iterable[tuple[str, Grid]], answer: PointAnswer) -> PointScale:
    """Return the only scale that the coordinates in all replies fit.

    Raises:
        OptionError: if they fit several scales or none, or if no reply has coordinates.
    """
    found = [
        (mention, grid)
        for text, grid in replies
        for mention in mentions(first_turn(without_thinking(text), lambda part: bool(mentions(part, answer))), answer)
    ]
    scales = fitting_scales(found)
    if len(scales) == 1:
        return scales[0]
    actual = f"fit several scales ({', '.join(scales)})" if scales else "fit no scale"
    raise OptionError(
        f"the coordinates {actual if found else 'are missing'}. Add --point-scale with one of {', '.join(CONVENTIONS)}",
        code="missing-option",
        field="--point-scale",
    )


def fitting_scales(points: Iterable[tuple[Mention, Grid]]) -> list[PointScale]:
    """Return the scales that all coordinates fit.

    All coordinates must be inside the image. A scale does not fit if it would place every one of at least `FEW` points
    in the tenth of the image at the upper left, or any points in the first pixel.

    Examples:
        >>> grid = Grid.standard()
        >>> fitting_scales([(Mention(0, 1, (594.0, 611.0)), grid)])
        ['1000']
        >>> fitting_scales([(Mention(0, 1, (0.5, 0.6)), grid)])
        ['1']
        >>> fitting_scales([(Mention(0, 1, (59.0, 61.0)), grid)])
        ['image', '100', '1000']
    """
    values = [(mention.center(Convention(1)), grid) for mention, grid in points]
    fitting: list[PointScale] = []
    for scale in ("image", "1", "100", "1000"):
        size = CONVENTIONS[scale].size
        shares = [(x / (size or grid.width), y / (size or grid.height)) for (x, y), grid in values]
        inside = all(max(share) <= 1 for share in shares)
        corner = len(values) >= FEW and all(max(share) < 0.1 for share in shares)
        tiny = scale != "1" and all(max(point) <= 1 for point, _ in values)
        if values and inside and not corner and not tiny:
            fitting.append(scale)
    return fitting
