"""Count responses batch by batch, on any number of machines, and compute the metrics from the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

import numpy as np

from spotball_core.counting.counts import PARTS, Counts
from spotball_core.errors import DistributionError, OptionError
from spotball_core.metrics.inputs import Guesses, Second, mass_of, plain_values
from spotball_core.schema.policy import Images, ScorePolicy
from spotball_core.schema.report import ScoreReport
from spotball_core.schema.response import SUM_TOLERANCE, Kind
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from spotball_core.scoring.groups import Part


Image: TypeAlias = Scene | str | int | tuple[str, str]
"""A scene, the id of an image, or its sport and id."""


class ScoreChoices(TypedDict, total=False):
    """Keyword arguments of `Accumulator.report` and `Accumulator.compute`. `score` describes them."""

    policy: ScorePolicy | Literal["standard", "paper"]
    reference: str | None
    images: Images | None
    by: Sequence[Part] | None
    wasserstein_unit: Literal["px", "cell", "diagonal"] | None
    cluster: Literal["image", "participant"] | None
    bootstrap: int | None
    seed: int | None
    ceiling: bool
    strict: bool


class Accumulator:
    """Count one respondent's answers in batches, merge the counts of several machines, and compute the metrics.

    Counts are integers (numbers of answers, and units of 2**-53 for answers given as probabilities). Batches and
    machines can therefore be added in any order with identical scores, and memory use does not grow with the number of
    answers.

    Args:
        scenes: the scenes that are answered. All grids must have the same numbers of rows and columns.
        respondent: the respondent's name in the report.
        kind: human, model or baseline.
        prompt: the prompt that was used.

    Raises:
        OptionError: if there are no scenes, a scene occurs twice, or grids differ in rows or columns.

    Examples:
        >>> from spotball_core import Grid
        >>> scenes = [Scene(sport="soccer", image=i, grid=Grid.standard(), ball_cells=["C5"]) for i in ("1", "2")]
        >>> half, other = Accumulator(scenes), Accumulator(scenes)
        >>> half.update(["C5", None], ["1", "2"])  # one guess for each of two images
        >>> other.update(["C5"], "2")
        >>> half.merge(other)
        >>> half.compute()["accuracy"]
        0.6666666666666666
    """

    def __init__(
        self, scenes: Sequence[Scene], *, respondent: str = "model", kind: Kind = "model", prompt: str = "base"
    ) -> None:
        from spotball_core.counting.responses import common_grid

        self.scenes: tuple[Scene, ...] = tuple(scenes)
        self.respondent: str = respondent
        self.kind: Kind = kind
        self.prompt: str = prompt
        self._grid = common_grid(self.scenes)
        self._place: dict[object, int] = {}
        times = Counter(scene.image for scene in self.scenes)
        for place, scene in enumerate(self.scenes):
            self._place[scene.key] = place
            if times[scene.image] == 1:
                self._place[scene.image] = place
        self.reset()

    def reset(self) -> None:
        """Remove all counts."""
        # One column per cell, and one for unparsed answers.
        self._whole: IntArray = np.zeros((len(self.scenes), self._grid.n_cells + 1), dtype=np.int64)
        self._parts: IntArray = np.zeros_like(self._whole)

    def update(self, guesses: Guesses, images: Image | Iterable[Image]) -> None:
        """Count a batch of guesses.

        As in metrics, a list of images is several images, and guesses then have one item per image: a label (None:
        unparsed), a list of labels, a mapping from labels to counts, or one number per cell.

        Args:
            guesses: the guesses. Rows of numbers are either counts, or probabilities (each row is one answer).
            images: a Scene, an image's id if it is unique among the scenes, or (sport, image); or a list of them, in
                which images may repeat. Numbers are read as ids.

        Raises:
            OptionError: for an image that is not among the scenes.
            DistributionError: if rows of numbers are neither counts nor probabilities that sum to 1 within 1e-6, or the
                numbers of guesses and images differ.
            GridError: for a label outside the grid.
        """
        is_key = isinstance(images, tuple) and images in self._place
        named: Any = images if is_key else plain_values(images, None)
        is_list = isinstance(named, (list, np.ndarray))
        places = np.array([self._index_of(image) for image in (named if is_list else [named])], dtype=np.int64)
        shape = (len(places), self._grid.n_cells) if is_list else (self._grid.n_cells,)
        mass, unparsed = mass_of(guesses, self._grid, second=Second("images", shape, is_list))
        whole, parts = self._divided(np.concatenate([mass, unparsed[..., None]], axis=-1).reshape(-1, shape[-1] + 1))
        if len(whole) != len(places):
            raise DistributionError(
                f"found {len(whole)} images, but images has one. Pass a list of images",
                code="wrong-shape",
                field="guesses",
            )
        np.add.at(self._whole, places, whole)
        for i in np.flatnonzero(parts.any(axis=1)):
            # Carry over at once, so that the fractional parts do not overflow.
            self._parts[places[i]] += parts[i]
            self._whole[places[i]] += self._parts[places[i]] // PARTS
            self._parts[places[i]] %= PARTS

    def merge(self, *others: Accumulator) -> None:
        """Add the counts of other accumulators; raise OptionError if their scenes differ."""
        for other in others:
            if [scene.key for scene in other.scenes] != [scene.key for scene in self.scenes]:
                raise OptionError(
                    "accumulators of different scenes cannot be merged. Create them with the same scenes in the same "
                    "order",
                    code="different-grids",
                )
            parts = self._parts + other._parts
            self._whole += other._whole + parts // PARTS
            self._parts = parts % PARTS

    @property
    def counts(self) -> Counts:
        """The counts, in the form that `score` and `spotball count` use."""
        import polars as pl

        place, cell = np.nonzero((self._whole > 0) | (self._parts > 0))
        scenes = [self.scenes[i] for i in place.tolist()]
        n_cells = self._grid.n_cells
        table = pl.DataFrame(
            {
                "sport": pl.Series([scene.sport for scene in scenes], dtype=pl.String),
                "image": pl.Series([scene.image for scene in scenes], dtype=pl.String),
                "cell": pl.Series([None if index == n_cells else index for index in cell.tolist()], dtype=pl.Int64),
                "n": self._whole[place, cell],
                "parts": self._parts[place, cell],
            }
        ).with_columns(respondent=pl.lit(self.respondent), kind=pl.lit(self.kind), prompt=pl.lit(self.prompt))
        return Counts.of(table, rows=self._grid.rows, cols=self._grid.cols)

    def report(self, others: Counts | None = None, **choices: Unpack[ScoreChoices]) -> ScoreReport:
        """Return the score report, with confidence intervals and signature.

        Args:
            others: counts of other respondents, including the reference.
            choices: the same arguments as `score`, such as `reference`, `bootstrap`, `policy`.

        Raises:
            OptionError: if no answers were counted, and in the cases that `score` lists.
        """
        from spotball_core.scoring.score import score

        return score(self.counts if others is None else self.counts + others, self.scenes, **choices)

    def compute(self, others: Counts | None = None, **choices: Unpack[ScoreChoices]) -> dict[str, float]:
        """Return each metric's value by its key, without intervals.

        Undefined values are NaN. Arguments and errors are those of `report`.
        """
        choices.setdefault("by", ("respondent", "prompt"))
        choices.setdefault("bootstrap", 0)
        report = self.report(others, **choices)
        (group,) = [
            value for value in report.groups if (value.respondent, value.prompt) == (self.respondent, self.prompt)
        ]
        return {key: float("nan") if value.value is None else value.value for key, value in group.metrics.items()}

    def _index_of(self, image: object) -> int:
        key = image.key if isinstance(image, Scene) else tuple(image) if isinstance(image, list) else image
        if isinstance(key, (int, np.integer)):
            key = str(key)
        try:
            return self._place[key]
        except (KeyError, TypeError):
            swapped = ". Pass the guesses first, then the images" if key in self._grid.labels else ""
            raise OptionError(
                f"{image!r} matches no scene or several scenes. Pass a Scene or (sport, image){swapped}",
                code="unknown-image",
                field="images",
            ) from None

    @staticmethod
    def _divided(table: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the whole answers and the parts of answers in each row; the last column is unparsed answers."""
        are_counts, total = (table == np.floor(table)).all(axis=1), table.sum(axis=1)
        if (odd := np.flatnonzero(~are_counts & (np.abs(total - 1) > SUM_TOLERANCE))).size:
            raise DistributionError(
                f"found a sum of {total[odd[0]]:g}, expected probabilities that sum to 1, or whole counts",
                field=f"guesses[{odd[0]}]",
            )
        whole = np.where(are_counts[:, None], table, 0.0).astype(np.int64)
        shares = np.where(are_counts[:, None], 0.0, table / np.where(are_counts, 1.0, total)[:, None])
        parts = np.floor(shares * PARTS).astype(np.int64)
        # The rounding remainder goes to the most likely cell, so that each answer sums to exactly 1.
        parts[np.arange(len(table)), shares.argmax(axis=1)] += np.where(are_counts, 0, PARTS - parts.sum(axis=1))
        return whole, parts
