"""The records of answers: a response names one cell, a prediction is a distribution over the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from spotball_core.errors import DistributionError
from spotball_core.grid import Grid, parse_label, row_name
from spotball_core.schema.record import UNNAMED, Count, Identifier, Name, Record
from spotball_core.typing import FloatArray

Kind = Literal["human", "model", "baseline"]

SUM_TOLERANCE = 1e-6
"""Tolerance for the sum of probabilities, which must be 1."""


class _Answer(Record):
    sport: Identifier = UNNAMED
    image: Identifier
    respondent: Name
    kind: Kind
    prompt: Name = "base"
    sample: Count | None = None
    participant: Name | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The image's identity: (sport, image)."""
        return self.sport, self.image


class Response(_Answer):
    """One answer of one respondent to one image.

    Attributes:
        sport: the sport of the image. If it is not set, it is found from the image id when the answer is counted.
        sample: the number of the answer, from 1, among the answers of its respondent (or participant) to the image.
        participant: the person who answered, if the respondent is a group of people.
        cell: the cell's label in its canonical spelling; None if no cell could be read (unparsed).

    Examples:
        >>> Response(sport="soccer", image="163", respondent="gemini", kind="model", prompt="cot", cell="5d").cell
        'D5'
    """

    cell: str | None = None
    reasoning: str | None = None

    if TYPE_CHECKING:
        # The types that validation accepts are wider than the fields' types: for example, names may be numbers.
        def __init__(
            self,
            *,
            sport: str | int = UNNAMED,
            image: str | int,
            respondent: str | int,
            kind: Kind,
            prompt: str | int = "base",
            sample: int | None = None,
            participant: str | int | None = None,
            cell: str | None = None,
            reasoning: str | None = None,
        ) -> None: ...

    @field_validator("cell")
    @classmethod
    def _canonical(cls, cell: str | None) -> str | None:
        if cell is None:
            return None
        row, col = parse_label(cell)
        if row < 1 or col < 1:
            raise ValueError(f"{cell!r} has a row or column below 1")
        return f"{row_name(row)}{col}"


# No upper bound: rounding may give 1 + 1e-7. The sum is checked instead.
Probability = Annotated[float, Field(ge=0)]


class PredictionDistribution(_Answer):
    """One answer as probabilities over the cells: by label, or as a sequence with one number per cell in index order.

    Raises:
        ValueError: for a probability below 0, or a sum that differs from 1 by more than 1e-6.

    Examples:
        >>> answer = PredictionDistribution(
        ...     sport="soccer", image="163", respondent="mine", kind="model", probabilities={"D5": 0.75, "d6": 0.25})
        >>> answer.mass(Grid.standard())[34:36].tolist()
        [0.75, 0.25]
    """

    probabilities: dict[str, Probability] | tuple[Probability, ...]

    if TYPE_CHECKING:
        # Like `Response`; the probabilities may be any mapping or sequence.
        def __init__(
            self,
            *,
            sport: str | int = UNNAMED,
            image: str | int,
            respondent: str | int,
            kind: Kind,
            probabilities: Mapping[str, float] | Sequence[float],
            prompt: str | int = "base",
            sample: int | None = None,
            participant: str | int | None = None,
        ) -> None: ...

    @model_validator(mode="after")
    def _sums_to_one(self) -> PredictionDistribution:
        values = self.probabilities
        total = float(np.sum(list(values.values()) if isinstance(values, dict) else values))
        if abs(total - 1) > SUM_TOLERANCE:
            raise ValueError(f"the sum of probabilities is {total}, expected 1 (tolerance: {SUM_TOLERANCE:g})")
        return self

    def mass(self, grid: Grid) -> FloatArray:
        """Return the distribution as an array over the grid's cells, normalized to sum to 1.

        Raises:
            GridError: for a label outside the grid.
            DistributionError: if the vector's length differs from the number of cells, or a cell occurs twice.
        """
        mass = np.zeros(grid.n_cells)
        if isinstance(self.probabilities, dict):
            labels: dict[int, str] = {}
            for label in self.probabilities:
                if (first := labels.setdefault(grid.index(label), label)) != label:
                    raise DistributionError(
                        f"{first!r} and {label!r} name the same cell. Give each cell once", field="probabilities"
                    )
            mass[list(labels)] = list(self.probabilities.values())
        else:
            if len(self.probabilities) != grid.n_cells:
                raise DistributionError(
                    f"found {len(self.probabilities)} numbers, expected {grid.n_cells}, one per cell",
                    code="wrong-shape",
                    field="probabilities",
                )
            mass[:] = self.probabilities
        normalized: FloatArray = mass / mass.sum()
        return normalized
