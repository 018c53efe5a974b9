"""What can go wrong by a user's doing, and how it is said.

Everything a user can cause derives from `SpotballError`; the command turns it into one message and exit status 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHOWN_PROBLEMS = 20


class SpotballError(Exception):
    """Base of all errors that a user can cause and can mend."""


class GridError(SpotballError, ValueError):
    """A cell, a label or a point that the grid does not have."""


class DistributionError(SpotballError, ValueError):
    """Numbers that are no distribution over the cells: negative, not finite, or of the wrong shape."""


class OptionError(SpotballError, ValueError):
    """An option whose value cannot be used."""


class MissingExtraError(SpotballError, ImportError):
    """A feature whose optional dependencies are not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f'{what} needs the "{extra}" extra: pip install "spotball-core[{extra}]"')


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: where it stands, what was found and what was expected."""

    file: str
    line: int | None
    field: str
    found: str
    expected: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.field}: found {self.found}, expected {self.expected}"


class InputError(SpotballError):
    """A file that cannot be used.

    Attributes:
        problems: the first 20 of them, in the order of the file.
        total: how many there are in all.
    """

    def __init__(self, problems: Sequence[Problem], total: int | None = None) -> None:
        self.problems = tuple(problems[:SHOWN_PROBLEMS])
        self.total = max(len(problems), total or 0)
        lines = [str(problem) for problem in self.problems]
        if self.total > len(self.problems):
            lines.append(f"... and {self.total - len(self.problems)} more problems")
        super().__init__("\n".join(lines))
