"""Read rationales: every response as a row with its text, and each distinct text once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from spotball_core.errors import InputError, Problem
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.io.answer_options import AnswerOptions
    from spotball_core.io.sources import Source
    from spotball_core.schema.response import PredictionDistribution, Response

COLUMN = "reasoning"
"""The column of responses that holds the text."""


@dataclass(frozen=True)
class Rationales:
    """Responses to scenes, and their texts.

    Attributes:
        rows: one row per response: `sport`, `image`, `respondent`, `kind`, `prompt`, `sample` and `participant` as
            text; `cell`, the index of the named cell, null if there is none; `spread`, whether the answer is given as
            probabilities, which name no cell; `text`, the index of its text, null for none.
        texts: each distinct text once, without surrounding spaces.
    """

    rows: pl.DataFrame
    texts: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the rows with their texts, independent of their order."""
        import polars as pl

        texts = pl.DataFrame({"text": range(len(self.texts)), "words": self.texts}, schema_overrides={"text": pl.Int64})
        rows = self.rows.join(texts, on="text", how="left", maintain_order="left").drop("text")
        row_text = pl.concat_str(pl.all().cast(pl.String).fill_null("\x00"), separator="\x1f").sort()
        return hashlib.sha256(rows.select(row_text.str.join("\x1e")).item().encode()).hexdigest()


def read_rationales(
    responses: str | Path | pl.DataFrame | Sequence[str | Path] | Sequence[Response | PredictionDistribution],
    scenes: Sequence[Scene],
    *,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[AnswerOptions],
) -> Rationales:
    """Read responses with their rationales, which `read_counts` does not read.

    Args:
        responses: paths of JSON Lines, CSV or Parquet files; or a frame; or records. The column `reasoning` is
            optional; responses without it have no text.
        scenes: the scenes that the responses refer to, all with the same rows and columns.
        columns: the names of the responses' columns, see `read_counts`.
        options: how answers are read, see `read_counts`.

    Raises:
        InputError: for responses that `read_counts` rejects; if no response has a text; or for counts files, which have
            no texts.
        OptionError: for scenes that `read_counts` rejects.
    """
    import polars as pl

    from spotball_core.io.sources import COUNTS_ENDING, sources_of

    paths = [responses] if isinstance(responses, (str, Path)) else responses
    if not isinstance(paths, pl.DataFrame):
        count_files = [path for path in paths if isinstance(path, (str, Path)) and Path(path).suffix == COUNTS_ENDING]
        if count_files:
            expected = f"responses with rationales in the column `{COLUMN}`"
            raise InputError(
                [
                    Problem("no-data", str(path), None, "file", "a counts file, which contains no rationales", expected)
                    for path in count_files
                ]
            )
    sources = sources_of(responses, (COLUMN,), columns)
    found = _read(sources, scenes, **options)
    if not found.texts:
        names = ", ".join(source.name for source in sources)
        actual = f"none in {len(found.rows):,} {'response' if len(found.rows) == 1 else 'responses'}"
        raise InputError.of("no-data", names, COLUMN, actual, f"rationales in the column `{COLUMN}`")
    return found


def example_rationales(
    files: Sequence[str | Path],
    scenes: Sequence[Scene],
    *,
    n: int = 2,
    most: int = 600,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[AnswerOptions],
) -> dict[tuple[str, str, str | None, str | None], list[str]]:
    """Return examples of each respondent's rationales for each image and prompt.

    Examples come from answers that name the cell that the respondent, with this prompt, names most often on the image.

    Args:
        files: response files; counts files are skipped.
        scenes: the scenes that the responses refer to.
        n: maximum number of rationales per image, respondent and prompt.
        most: maximum number of characters of a rationale; longer ones are cut.
        columns: the names of the files' columns, see `read_counts`.
        options: how answers are read, see `read_counts`.

    Returns:
        The rationales by (sport, image, respondent, prompt); empty if no response has a rationale.
    """
    import polars as pl

    from spotball_core.io.plain_files import plain_files
    from spotball_core.io.sources import COUNTS_ENDING, sources_of

    with plain_files([path for file in files if (path := Path(file)).suffix != COUNTS_ENDING]) as plain:
        sources = sources_of(plain.paths, (COLUMN,), columns) if plain.paths else []
        # Read the responses a second time only if there are rationales.
        with_words = [source for source in sources if COLUMN in source.frame.collect_schema()]
        read = _read(with_words, scenes, **options) if with_words else None
    if read is None or not read.texts:
        return {}
    keys = ("sport", "image", "respondent", "prompt")
    named = read.rows.filter(pl.col("cell").is_not_null() & pl.col("text").is_not_null())
    often = named.group_by(*keys, "cell").agg(n=pl.len()).sort("n", "cell", descending=[True, False])
    top = often.group_by(*keys, maintain_order=True).agg(pl.col("cell").first())
    examples = (
        named.join(top, on=[*keys, "cell"], nulls_equal=True)
        .unique([*keys, "text"], keep="first", maintain_order=True)
        .group_by(*keys, maintain_order=True)
        .agg(pl.col("text").head(n))
    )
    out = {}
    for sport, image, respondent, prompt, places in examples.iter_rows():
        texts = [read.texts[place] for place in places]
        out[sport, image, respondent, prompt] = [t if len(t) <= most else f"{t[:most].rstrip()} …" for t in texts]
    return out


def _read(sources: Sequence[Source], scenes: Sequence[Scene], **options: Unpack[AnswerOptions]) -> Rationales:
    import polars as pl

    from spotball_core.counting.one_pass import is_point
    from spotball_core.counting.responses import Reader
    from spotball_core.io.cells import cell_at, located

    reader = Reader(sources, scenes, participants=True, **options)
    reader.counts()  # This raises the errors that scoring would raise.
    rows = reader.identified(reader.rows)
    if "x" in reader.columns:
        rows = rows.with_columns(_at=pl.when(is_point(reader.columns)).then(cell_at(reader.grid)))
    columns = rows.collect_schema().names()
    absent = [column for column in ("participant", "sample", COLUMN) if column not in columns]
    rows = rows.with_columns(pl.lit(None, pl.String).alias(column) for column in absent)
    words = pl.col(COLUMN).str.strip_chars()
    table = rows.with_columns(words=pl.when(words != "").then(words)).collect()
    cell = located(table, reader.grid, options.get("first_index"))["_index"]
    if "_at" in table.columns:
        cell = table.select(pl.coalesce(pl.col("_at"), cell)).to_series()
    table = table.with_columns(cell=cell.cast(pl.Int64), spread=pl.col("_spread"))
    texts = table.select(words=pl.col("words").drop_nulls().unique(maintain_order=True)).with_row_index("text")
    table = table.join(texts, on="words", how="left", maintain_order="left")
    keys = ("sport", "image", "respondent", "kind", "prompt", "sample", "participant")
    return Rationales(
        table.select(*(pl.col(key).cast(pl.String) for key in keys), "cell", "spread", pl.col("text").cast(pl.Int64)),
        tuple(texts["words"]),
    )
