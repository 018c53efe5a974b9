"""Count responses, and check whether they were misread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from spotball_core.counting.counts import Counts
from spotball_core.counting.misread import check_signs, warnings_of
from spotball_core.counting.responses import Reader
from spotball_core.counting.signs import signs
from spotball_core.io.answer_options import AnswerOptions, FirstIndex, PointScale
from spotball_core.io.plain_files import paths_of, plain_files
from spotball_core.io.sources import Responses, sources_of
from spotball_core.schema.scene import Scene


def read_counts(
    responses: Responses,
    scenes: Sequence[Scene],
    *,
    participants: bool = False,
    pool: bool = False,
    columns: Mapping[str, str] | None = None,
    point_scale: PointScale | None = None,
    first_index: FirstIndex | None = None,
    accept_signs: bool = False,
) -> Counts:
    """Count the responses in files, in a frame, in records, or in a mapping from image id to answer.

    Each row needs `image` and an answer. The answer is `cell` (in any spelling that `Grid.position` reads), or `x` and
    `y` in pixels, or `row` and `col` from 1, or `probabilities` (by label, one number per cell, or rows x columns).
    `sport` is optional if the image id is unique among the scenes. A missing `respondent` is replaced by the file's
    name without its ending, a missing `prompt` by `base`, and a missing `kind` by `model` (or by `human` for the
    respondent `human`). A cell that is unreadable or outside the grid is an unparsed response. A distribution counts as
    one answer, divided among its cells. A file extension of an image's id is ignored if the scenes' ids have none. The
    counts' `warnings` list signs that a file was misread.

    An answer in a mapping is a label, None if no cell could be read, a list of labels for several samples, or a
    distribution as in `probabilities`.

    Files that answer the same image for the same respondent and prompt raise an error, unless they are parts of one
    source (see `spotball_core.counting.pooling`), such as `responses*` files of one folder.

    Args:
        responses: paths of JSON Lines, JSON, CSV or Parquet files; or a frame; or records; or a mapping.
        scenes: the scenes that the responses refer to, all with the same rows and columns.
        participants: whether to count participants separately.
        pool: whether to merge a respondent's answers from files that are independent of each other.
        columns: the names that the table's columns have, by the names above, such as `{"image": "image_id"}`. In a
            table without such a column, the column that already has the name above is read.
        point_scale: the scale of `x` and `y`: "image" (pixels), "1", "100" or "1000" for the image's right and lower
            edge, or a family of models. Default: pixels.
        first_index: the number of the first row and column, 0 or 1. `cell` may then also be a number, counted along
            the rows. Default: rows and columns from 1.
        accept_signs: if it is certain that answers were misread (such as points that are all between 0 and 1), give a
            warning instead of an error.

    Raises:
        InputError: for an unknown image, a duplicate (respondent, prompt, image, sample, participant), a negative
            probability, probabilities that do not sum to 1, or any other problem in the data. It lists file, line,
            field, the value found and the value expected.
        OptionError: if the scenes' grids differ in rows or columns, or `columns` names a column that is in no table.

    Examples:
        >>> from spotball_core import Grid
        >>> scenes = [Scene(image=image, grid=Grid.standard()) for image in ("1", "2")]
        >>> counts = read_counts({"1": "D5", "2": ["D5", "E5", None]}, scenes)
        >>> counts.table.select("image", "cell", "n").rows()
        [('1', 34, 1), ('2', None, 1), ('2', 34, 1), ('2', 44, 1)]
    """
    options = AnswerOptions(point_scale=point_scale, first_index=first_index, accept_signs=accept_signs)
    with plain_files(paths_of(responses)) as plain:
        reader = Reader(sources_of(plain.paths or responses, columns=columns), scenes, participants, **options)
        counts = reader.counts()
        if not pool:
            reader.check_independent()
        warnings = check_signs(
            warnings_of(reader, signs(reader.sums, reader.known, reader.grid)), accept_signs=accept_signs
        )
    return replace(counts, warnings=plain.warnings(warnings))
