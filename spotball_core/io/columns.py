"""Match the columns of a table to the names that readers use, and suggest the option that names a missing column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from spotball_core.errors import OptionError, Problem, did_you_mean, unknown_name
from spotball_core.io.answer_options import AnswerOptions
from spotball_core.io.frames import COLUMNS

ANSWERS = ("cell", "x", "y", "row", "col", "probabilities")
"""Columns with an answer: a cell, a point in pixels, a row and a column (from 1), or a distribution."""

BALL = ("cell", "cells", "ball_cells", "x", "y", "row", "col", "x1", "y1", "x2", "y2", "ball_box")
"""Columns of a truth table with the place of the ball."""

TRUTH = (
    *("sport", "image", *BALL),
    *("width", "height", "grid", "players", "player_outlines", "player_keypoints", "control", "path"),
)
"""Columns of a truth table."""

NAMES = tuple(dict.fromkeys((*COLUMNS, *ANSWERS, *TRUTH)))
"""All names that a column can be given."""

_USUAL = {
    "image": (
        *("image_id", "img", "img_id", "image_name", "image_path", "image_file", "filename", "file_name", "file"),
        *("id", "question_id", "item", "item_id", "index", "idx"),
    ),
    "cell": (
        *("prediction", "pred", "predicted", "answer", "response_cell", "response", "guess", "label", "choice"),
        *("target", "gt", "ground_truth", "truth", "gold", "y_true", "y_pred", "output"),
    ),
    "ball": (
        *("truth", "ground_truth", "gold", "target", "gt", "y_true", "correct", "label", "answer", "ball"),
        *("prediction", "pred", "predicted", "response", "guess", "choice", "output"),
    ),
}
"""Names that tables of other tools use for these columns, the most common first."""

REPLIES = (
    *("response", "reply", "output", "raw", "raw_output", "raw_response", "raw_reply", "completion", "text"),
    *("generated_text", "generation", "content", "message", "model_output", "filtered_resps", "resps"),
)
"""Names that tables of other tools use for a column of whole replies."""

PREDICTIONS = {
    "cell": (
        *("prediction", "pred", "predicted", "predicted_cell", "pred_cell", "model_answer", "model_prediction"),
        *("guess", "guessed_cell", "y_pred"),
    ),
    "x": ("pred_x", "predicted_x", "x_pred", "guess_x"),
}
"""Columns that contain a model's answer, so that `cell`, or `x` and `y`, next to them are the truth."""

_WORDS = {
    "image": ("image", "img", "picture", "photo", "filename"),
    "cell": ("cell", "prediction", "pred", "predicted", "answer", "guess", "label", "gold", "gt", "truth"),
    "ball": ("truth", "gold", "gt", "target", "ball", "cell", "label", "answer"),
}
"""Words that are part of other names for these columns, such as `model_answer`."""


class ColumnNames(Mapping[str, str]):
    """The names that the columns of a user's tables have, by the names that readers use.

    Readers accept any mapping. Several readers that share one `ColumnNames` accept a name that only some of their
    tables have; call `check` after all tables were read.

    Args:
        names: the table's name of a column, by the reader's name, such as `{"image": "image_id"}`.

    Attributes:
        assumed: warnings about the format of tables that have these columns.

    Raises:
        OptionError: if `names` is not a mapping of texts, one of its keys is not in `NAMES`, or two columns have the
            same name.

    Examples:
        >>> names = ColumnNames({"image": "image_id", "cell": "prediction"})
        >>> names.readable(["image_id", "image", "cell", "note"])
        {'image_id': 'image', 'cell': 'cell', 'note': 'note'}
        >>> ColumnNames().readable(["image", " row", "column"])
        {'image': 'image', ' row': 'row', 'column': 'col'}
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        names = {} if names is None else names
        if not isinstance(names, Mapping):
            raise OptionError(
                f"found {type(names).__name__}, expected a mapping such as {{'image': 'image_id'}}",
                code="wrong-type",
                field="columns",
            )
        for ours, theirs in names.items():
            if not isinstance(ours, str) or ours not in NAMES:
                raise OptionError(unknown_name("column", str(ours), NAMES), code="unknown-name", field="columns")
            if not isinstance(theirs, str) or not theirs:
                raise OptionError(
                    f"found {theirs!r} for {ours}, expected the name of a column of the table", field="columns"
                )
        self._names = dict(names)
        self._met: dict[str, None] = {}
        self.assumed: list[Problem] = []
        theirs_of = list(self._names.values())
        if twice := [theirs for theirs in theirs_of if theirs_of.count(theirs) > 1]:
            both = ", ".join(ours for ours, theirs in self._names.items() if theirs == twice[0])
            raise OptionError(f"{both}: found {twice[0]!r} for each, expected different columns", field="columns")

    @classmethod
    def of(cls, names: Mapping[str, str] | None) -> ColumnNames:
        """Return the names as `ColumnNames`, unchanged if they already are."""
        return names if isinstance(names, ColumnNames) else cls(names)

    def __getitem__(self, ours: str) -> str:
        return self._names[ours]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def readable(self, columns: Iterable[str]) -> dict[str, str]:
        """Return the names under which the columns of a table are read, and note the columns for `check`.

        A column that another column replaces is omitted. Blanks around a name do not matter, as after the comma in
        `image, cell`, and `column` next to `row` is `col`.
        """
        present = dict.fromkeys(columns)
        self._met |= present
        ours_of = {theirs: ours for ours, theirs in self._names.items() if theirs in present}
        columns_of: dict[str, list[str]] = {}
        for column in present:
            columns_of.setdefault(column.strip(), []).append(column)
        if "row" in columns_of and "col" not in columns_of and "column" in columns_of:
            columns_of["col"] = columns_of.pop("column")
        for name, spellings in columns_of.items():
            # Two columns with the same name would be ambiguous.
            if len(spellings) == 1 and name in NAMES and name not in ours_of.values():
                ours_of.setdefault(spellings[0], name)
        replaced = set(ours_of.values()) - set(ours_of)
        return {column: ours_of.get(column, column) for column in present if column not in replaced}

    @property
    def met(self) -> list[str]:
        """All columns of the tables that were read."""
        return list(self._met)

    def check(self) -> None:
        """Raise OptionError if a name is not a column of any table that was read."""
        for ours, theirs in self._names.items():
            if theirs not in self._met:
                listed = ", ".join(self.met[:20]) or "none"
                raise OptionError(
                    f"{ours}: found {theirs!r}, which is not a column of any table."
                    f"{did_you_mean(theirs, self._met)} Columns: {listed}",
                    code="missing-column",
                    field="columns",
                )

    def option(self, likely: Mapping[str, str]) -> str:
        """Return advice to name the likely columns in addition to those already named; empty if there are none.

        Examples:
            >>> ColumnNames({"image": "id"}).option({"cell": "pred"})
            "Add --columns image=id,cell=pred (in Python: columns={'image': 'id', 'cell': 'pred'})"
        """
        if not likely:
            return ""
        named = {**self._names, **likely}
        listed = ",".join(f"{ours}={theirs}" for ours, theirs in named.items())
        return f"Add --columns {listed} (in Python: columns={named})"


class ReadOptions(AnswerOptions, total=False):
    """How tables of responses are read.

    Attributes:
        columns: the names of the tables' columns, see `ColumnNames`.
    """

    columns: Mapping[str, str] | None


def likely_column(missing: str, columns: Iterable[str]) -> str | None:
    """Return the column that probably has the content of a missing column; None if no column does.

    Args:
        missing: `image`, `cell` (of an answer) or `ball` (the ball's cells).
        columns: the columns that may have it.

    Examples:
        >>> likely_column("image", ["ID", "model_answer"]), likely_column("cell", ["ID", "model_answer"])
        ('ID', 'model_answer')
    """
    from difflib import get_close_matches

    spellings = {re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_"): column for column in reversed(list(columns))}
    usual = (missing, *_USUAL[missing])
    for name in usual:
        if name in spellings:
            return spellings[name]
    for word in _WORDS[missing]:
        for spelling, column in reversed(spellings.items()):
            if word in spelling.split("_"):
                return column
    for name in usual:
        if close := get_close_matches(name, spellings, n=1, cutoff=0.8):
            return spellings[close[0]]
    return None
