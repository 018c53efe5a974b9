"""Prepare photos for the report, with marks at targets and choices, as in Figure 3 of the gaze paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spotball_core.gaze.data.faces import Box
from spotball_core.gaze.data.stimuli import CONDITIONS, PROXIMITIES, VIEWS, Point, Stimulus
from spotball_core.gaze.data.trials import Trials
from spotball_core.pages.cards import PhotoCard, PhotoMark, PhotoSheet, upright, written
from spotball_core.service.paths import find_file

if TYPE_CHECKING:
    import polars as pl

MOST_RESPONDENTS: Final = 6
"""Maximum number of respondents whose choices are marked in photos; the first respondents in the file are used."""

MOST_DISPUTED: Final = 12
"""Maximum number of photos in the list of those with the most disagreement."""

_MARK: Final = 0.045
"""Half the width of a target's mark, as a share of the photo's width. Discs of choices have at most half this size."""


@dataclass(frozen=True, slots=True)
class PhotoSource:
    """The photos that a report may show, with their trials.

    Attributes:
        trials: the trials.
        stimuli: descriptions of the photos, with the paths of their files.
        folder: the folder to which the paths are relative; paths outside the folder are ignored.
        faces: positions of the faces, by the photo's ID; lines are drawn from them to the targets.
    """

    trials: Trials
    stimuli: tuple[Stimulus, ...]
    folder: Path
    faces: Mapping[str, Box] = field(default_factory=dict)


def photo_sheet(source: PhotoSource, colors: Mapping[str, str]) -> PhotoSheet | None:
    """Return one photo of each condition and view, with varying proximity; photos with more objects are preferred.

    Photos on which eyes and head have different targets come first.

    Args:
        source: the photos and choices.
        colors: colors of respondents, as #rrggbb.

    Returns:
        The photos; None if no answered photo has a readable file.
    """
    names = source.trials.respondents[:MOST_RESPONDENTS]
    choices = _chosen(source.trials.frame, names)
    answered = {stimulus for stimulus, _ in choices}
    cards: list[PhotoCard] = []
    for number, (condition, view) in enumerate(product(reversed(CONDITIONS), VIEWS)):
        proximity = PROXIMITIES[number % len(PROXIMITIES)]
        fitting = [
            stimulus
            for stimulus in source.stimuli
            if stimulus.stimulus_id in answered and (stimulus.condition, stimulus.view) == (condition, view)
        ]
        fitting.sort(key=lambda stimulus: (abs(stimulus.proximity - proximity), -len(stimulus.objects)))
        for stimulus in fitting:
            if card := _card(f"photo-{number}", stimulus, source, names, choices, colors):
                cards.append(card)
                break
    return _sheet(cards, names, len(source.trials.respondents), colors)


def disputed_sheet(source: PhotoSource, order: Sequence[str], colors: Mapping[str, str]) -> PhotoSheet | None:
    """Return the first photos of the list `order` that have readable files, at most `MOST_DISPUTED`.

    Args:
        source: the photos and choices.
        order: names of photos, those with the most disagreement first.
        colors: colors of respondents, as #rrggbb.

    Returns:
        The photos; None if no photo of the list has a readable file.
    """
    names = source.trials.respondents[:MOST_RESPONDENTS]
    choices = _chosen(source.trials.frame, names)
    by_name = {stimulus.stimulus_id: stimulus for stimulus in source.stimuli}
    cards: list[PhotoCard] = []
    for name in order:
        if len(cards) == MOST_DISPUTED:
            break
        card_name = f"disputed-{len(cards)}"
        if name in by_name and (card := _card(card_name, by_name[name], source, names, choices, colors)):
            cards.append(card)
    return _sheet(cards, names, len(source.trials.respondents), colors)


def _sheet(
    cards: Sequence[PhotoCard], names: Sequence[str], n_respondents: int, colors: Mapping[str, str]
) -> PhotoSheet | None:
    if not cards:
        return None
    key = tuple((name, colors[name]) for name in names) if any(card.marks for card in cards) else ()
    return PhotoSheet(tuple(cards), key, n_respondents - len(names))


def _chosen(frame: pl.DataFrame, names: Sequence[str]) -> dict[tuple[str, str], dict[int | None, int]]:
    """Return the number of choices of each position, by photo and respondent; None stands for unmatched choices."""
    import polars as pl

    counts = frame.filter(pl.col("respondent").is_in(names)).group_by("stimulus_id", "respondent", "choice").len()
    choices: dict[tuple[str, str], dict[int | None, int]] = {}
    for stimulus, respondent, choice, n in counts.sort("choice", nulls_last=True).iter_rows():
        choices.setdefault((stimulus, respondent), {})[choice] = n
    return choices


def _card(
    name: str,
    stimulus: Stimulus,
    source: PhotoSource,
    names: Sequence[str],
    choices: Mapping[tuple[str, str], Mapping[int | None, int]],
    colors: Mapping[str, str],
) -> PhotoCard | None:
    """Return the photo with its marks and its description; None if its file is missing or unreadable."""
    path = find_file([source.folder], stimulus.image)
    image = upright(path) if path else None
    if image is None:
        return None
    data = written(image)
    by_respondent = {
        respondent: choices[stimulus.stimulus_id, respondent]
        for respondent in names
        if (stimulus.stimulus_id, respondent) in choices
    }
    width, height = image.size
    marks = tuple(_marks(stimulus, source.faces.get(stimulus.stimulus_id), (width, height), by_respondent, colors))
    head = f"head: {stimulus.head_target}" if stimulus.head_target else "head free"
    lines = [f"Eyes: {stimulus.gaze_target}; {head}. Objects: {', '.join(stimulus.objects)}."]
    lines += [f"{respondent}: {_said(stimulus.objects, counts)}" for respondent, counts in by_respondent.items()]
    title = f"{stimulus.stimulus_id}: {stimulus.condition}, {stimulus.view}, proximity {stimulus.proximity}"
    return PhotoCard(name, title, data, width, height, marks, tuple(lines))


def _said(objects: Sequence[str], counts: Mapping[int | None, int]) -> str:
    """Return text with the number of choices of each object, the most frequent first, and their total."""
    ordered = sorted(counts.items(), key=lambda pair: (pair[0] is None, -pair[1]))
    parts = [f"{'unmatched' if place is None else objects[place]} {n}" for place, n in ordered]
    return f"{', '.join(parts)} of {sum(counts.values())}"


def _edge(face: Box, point: Point) -> Point | None:
    """Return where the line from the middle of a face to a point leaves the face; None if the point is in the face.

    Lines start there, so that the eyes stay visible.
    """
    x1, y1, x2, y2 = face
    middle = ((x1 + x2) / 2, (y1 + y2) / 2)
    away = (point[0] - middle[0], point[1] - middle[1])
    sides = ((x2 - x1) / 2, (y2 - y1) / 2)
    share = min((side / abs(step) for side, step in zip(sides, away, strict=True) if step), default=1.0)
    return (middle[0] + share * away[0], middle[1] + share * away[1]) if share < 1 else None


def _marks(
    stimulus: Stimulus,
    face: Box | None,
    size: tuple[int, int],
    by_respondent: Mapping[str, Mapping[int | None, int]],
    colors: Mapping[str, str],
) -> Iterator[PhotoMark]:
    """Yield outlines at the targets, and below each object (above it at the edge) a disc per respondent."""
    width, height = size
    points = stimulus.points or (None,) * len(stimulus.objects)
    radius = _MARK * width
    for place, point in enumerate(points):
        if point is None:
            continue
        x, y = point[0] * width, point[1] * height
        start = _edge(face, point) if face else None
        start = (start[0] * width, start[1] * height) if start else None
        if place == stimulus.gaze:
            yield PhotoMark("eyes", x, y, radius, start=start)
        if place == stimulus.head:
            yield PhotoMark("head", x, y, radius, start=start)
        beside = y + 1.7 * radius if y + 2.2 * radius < height else y - 1.7 * radius
        for column, (respondent, counts) in enumerate(by_respondent.items()):
            share = counts.get(place, 0) / sum(counts.values())
            if share:
                across = x + (column - (len(by_respondent) - 1) / 2) * radius
                yield PhotoMark("choice", across, beside, radius / 2 * share**0.5, colors[respondent])
