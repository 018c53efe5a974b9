"""Files of one name in different folders: one respondent, or two?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spotball_core.errors import InputError, Problem
from spotball_core.io import samples
from spotball_core.io.sources import Source

if TYPE_CHECKING:
    import polars as pl


def check_stems(groups: pl.DataFrame, sources: Sequence[Source]) -> None:
    """Refuse files of one name that answer the same without a respondent: nobody knows whether they are one's.

    Samples tell: where both files have them, each is there once.

    Args:
        groups: of `one_pass.grouped` with all keys filled in, the source's index as `_source`, and whether they were
            `nameless`.
        sources: all that is read.

    Raises:
        InputError: naming two such files.
    """
    import polars as pl

    stems = [source.path.stem for source in sources if source.path]
    if len(set(stems)) == len(stems):
        return
    files = groups.filter("nameless").group_by(samples.GIVEN).agg(pl.col("_source").unique().sort())
    shared = files.filter(pl.col("_source").list.len() > 1).sort("_source", "sport", "image").head(1)
    for sport, image, (one, other, *_) in shared.select("sport", "image", "_source").iter_rows():
        found = f"none, as in {sources[one].name}, which has the same name and answers {sport}/{image} too"
        expected = "a column respondent that tells them apart, or sample numbers if they are one's"
        raise InputError([Problem(sources[other].name, None, "respondent", found, expected)])


def nameless(columns: Sequence[str]) -> pl.Expr:
    """Whether some of a group's rows have neither a respondent nor a sample, by its columns of `one_pass.grouped`."""
    import polars as pl

    given = pl.col("respondent").str.strip_chars() if "respondent" in columns else pl.lit(None, pl.String)
    sampled = pl.col("samples").fill_null(0) if "samples" in columns else pl.lit(0)
    return (given.fill_null("") == "") & (pl.col("n") > sampled)
