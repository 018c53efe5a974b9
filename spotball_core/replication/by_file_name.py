"""Reproduce the published join of answers and players by file name, which is wrong, to show its effect.

Players' boxes were keyed by the image's file name without its sport. Basketball and volleyball share `1.png`, `2.png`
and so on, so each such image was scored with the players of both sports. Soccer's files are `.jpg` and therefore
separate. An answer was joined by the image name in its file. Models' files contain names such as `51.png`, or
`51_wball.png`. The latter matches no box, so answers with it were dropped. People's files contain only a number. This
number was tried with .jpg, then with .png, and the answer was assigned to the sport in which that file name was last
seen: an answer to basketball's image 30 became an answer to soccer's image 30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np

from spotball_core.metrics.strategy import player_distances, player_shares
from spotball_core.release.convert import Release
from spotball_core.release.reader import PROMPTS
from spotball_core.release.tables import GRID, SPORTS, read_table
from spotball_core.replication.published import PEOPLE, Condition
from spotball_core.schema.policy import ScorePolicy
from spotball_core.typing import FloatArray

BOXES = "analysis/player_proximity/filtered_people_boxes_long.csv"

_ENDINGS = (".jpg", ".png", ".jpeg")
_POLICY = ScorePolicy.paper()

Key = tuple[str, str]


@dataclass(frozen=True)
class Joined:
    """A condition's answers, joined to players by file name.

    Attributes:
        distances: distance from each cell of each image file to the nearest player, in pixels, shape (n_files,
            n_cells).
        shares: largest share of each cell's area that one player covers, shape (n_files, n_cells).
        mass: number of parsed answers in each cell of each image file, shape (n_files, n_cells).
        mixed: whether the players or the answers of several sports were combined.
    """

    distances: FloatArray
    shares: FloatArray
    mass: FloatArray
    mixed: bool

    @property
    def n(self) -> int:
        """Number of parsed answers that were joined to an image with players."""
        return round(float(self.mass.sum()))

    @property
    def near_player_rate(self) -> float:
        """Share of the joined answers whose distance to a player is at most tau (eq. 5)."""
        return float((self.mass * (self.distances <= _POLICY.tau * GRID.diagonal)).sum() / self.mass.sum())

    @property
    def overlap_rate(self) -> float:
        """Share of the joined answers for which one player covers at least the share theta of the cell (eq. 6)."""
        return float((self.mass * (self.shares >= _POLICY.theta)).sum() / self.mass.sum())


class FileNameJoin:
    """Join answers to players by file name, as the published analysis did."""

    def __init__(self, data: Path, release: Release) -> None:
        self._scenes = {scene.key: scene for scene in release.scenes}
        self._keys: dict[str, list[Key]] = {}
        self._names: dict[Key, str] = {}
        if (data / BOXES).exists():
            rows = read_table(data / BOXES, ("image",), optional=("sport",))
            for image, sport, number in rows.select("image", "in_sport", "number").iter_rows():
                name, key = _base(image), (sport, number)
                if key not in self._names:
                    self._names[key] = name
                    self._keys.setdefault(name, []).append(key)
        self._rows = {name: row for row, name in enumerate(self._keys)}
        boxes = [self.boxes(name) for name in self._keys]
        shape = (len(boxes), GRID.n_cells)
        self._distances = np.array([player_distances(box, GRID) for box in boxes]).reshape(shape)
        self._shares = np.array([player_shares(box, GRID) for box in boxes]).reshape(shape)
        self._file_names = dict(_names_in_responses(data))

    def boxes(self, name: str) -> FloatArray:
        """Return the boxes of all players in the images with this file name, of any sport, shape (n_players, 4)."""
        return np.concatenate([self._scenes[key].boxes for key in self._keys[name]])

    def name(self, key: Key) -> str | None:
        """Return the file name of an image in the file of players' boxes; None if the image is not in this file."""
        return self._names.get(key)

    def join(
        self, condition: Condition, answered: Mapping[Condition, tuple[tuple[str, ...], FloatArray]]
    ) -> Joined | None:
        """Return the answers that the published analysis counted for a condition; None if there are none.

        Args:
            condition: sport, respondent and prompt.
            answered: for each available condition, its images and the number of parsed answers in each cell, shape
                (n_images, n_cells).
        """
        sport, respondent, prompt = condition
        mass = np.zeros_like(self._shares)
        mixed = False
        for other_condition, (images, answers) in answered.items():
            # Models' files name their sport. People's files do not, so any of them may hold answers that seem to be
            # this sport's.
            if other_condition[1:] != (respondent, prompt) or (other_condition[0] != sport and respondent != PEOPLE):
                continue
            for image, row in zip(images, answers, strict=True):
                name = self._found(other_condition, image)
                if name is None or (respondent == PEOPLE and self._keys[name][-1][0] != sport):
                    continue
                mass[self._rows[name]] += row
                mixed |= bool(row.any()) and {key[0] for key in self._keys[name]} != {other_condition[0]}
        has_answers = mass.any(axis=-1)
        return (
            Joined(self._distances[has_answers], self._shares[has_answers], mass[has_answers], mixed)
            if has_answers.any()
            else None
        )

    def _found(self, condition: Condition, image: str) -> str | None:
        """Return the file name, in the file of players, that an answer's image was matched to; None without a match."""
        for file_name in self._file_names.get(condition, {}).get(image, ()):
            for name in (file_name, *(PurePath(file_name).stem + ending for ending in _ENDINGS)):
                if name in self._keys:
                    return name
        return None


def _names_in_responses(data: Path) -> Iterator[tuple[Condition, dict[str, list[str]]]]:
    """Yield the condition of each file of answers, and the image names in the file by image number."""
    for condition, path in _response_files(data / "responses"):
        names: dict[str, list[str]] = {}
        rows = read_table(path, ("image",), sport=condition[0]).select("number", "image").unique(maintain_order=True)
        for number, image in rows.iter_rows():
            names.setdefault(number, []).append(_base(image))
        yield condition, names


def _response_files(folder: Path) -> Iterator[tuple[Condition, Path]]:
    for path in sorted(folder.glob("humans/*_clicks.csv")):
        if sport := SPORTS.get(path.stem.removesuffix("_clicks").lower()):
            yield (sport, PEOPLE, PROMPTS["0"]), path
    for path in sorted(folder.glob("models/*/level[012]_*.csv")):
        level, _, sport_name = path.stem.removeprefix("level").partition("_")
        sport = SPORTS.get(sport_name.lower())
        if sport and path.parent.name != PEOPLE:
            yield (sport, path.parent.name, PROMPTS[level]), path


def _base(image: str) -> str:
    return image.strip().replace("\\", "/").rsplit("/", 1)[-1]
