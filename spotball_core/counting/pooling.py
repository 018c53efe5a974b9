"""Detect respondents whose answers come from several independent sources, which are merged only on request.

Files count as parts of one source in three cases: files named `responses*` in one folder; files that share none of a
respondent's sample numbers for an image; and files in one folder whose names differ only in a number, unless they hold
people's answers, because studies are numbered, too. Other files that answer the same image for the same respondent and
prompt may have any relation: two studies, two runs, or one run twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.counting import samples
from spotball_core.errors import InputError, Problem
from spotball_core.io.sources import Source

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.counting.counts import Counts

_NUMBER = re.compile(r"[0-9]+(?=[^/\\]*$)")

EXPECTED = (
    "different respondents in different files. Rename one of them, or merge them with --pool (in Python: pool=True)"
)


def nameless(columns: Sequence[str]) -> pl.Expr:
    """Return an expression: whether some rows of a group have no respondent and no sample (see `one_pass.grouped`)."""
    import polars as pl

    given = pl.col("respondent").str.strip_chars() if "respondent" in columns else pl.lit(None, pl.String)
    sampled = pl.col("samples").fill_null(0) if "samples" in columns else pl.lit(0)
    return (given.fill_null("") == "") & (pl.col("n") > sampled)


def given_by(groups: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """Combine groups of answers: return one row for each combination of `keys`.

    Args:
        groups: a table with the columns `keys`; `n`, the number of answers; `nameless`, as in the function `nameless`;
            `kind`, the kind of respondent, or `people`, whether people gave any of the answers; and optionally the
            columns of `samples.sums`.
    """
    import polars as pl

    people = pl.col("people") if "people" in groups.columns else pl.col("kind") == "human"
    sums = samples.summed() if "hashes" in groups.columns else {"samples": pl.lit(0)}
    return groups.group_by(keys).agg(
        n=pl.col("n").sum(), **sums, nameless=pl.col("nameless").any(), people=people.any()
    )


def doubtful(given: pl.DataFrame, paths: Sequence[Path | None]) -> pl.DataFrame:
    """Return the (respondent, prompt, image) combinations whose answers come from sources that may be independent.

    Args:
        given: one row for each combination of `samples.GIVEN`, with the columns of `given_by` and the indices of its
            `files`.
        paths: the files.

    Returns:
        The rows of `given` whose answers come from several sources, and whose samples over all sources may not be
        numbered low, low + 1, ..., high.
    """
    import polars as pl

    if len(paths) < 2:
        return given.clear()
    places = _with_origin(given.select(*samples.GIVEN, "nameless", "people", _source="files").explode("_source"), paths)
    several = places.group_by(samples.GIVEN).agg(n=pl.col("origin").n_unique()).filter(pl.col("n") > 1)
    rows = given.join(several, on=samples.GIVEN, how="semi")
    unsure = rows.filter(pl.col("n") > pl.col("samples")).select(samples.GIVEN)
    if "hashes" in rows.columns:
        unsure = pl.concat([unsure, samples.out_of_order(rows, list(samples.GIVEN))])
    return rows.join(unsure, on=samples.GIVEN, how="semi")


def check_independent(
    groups: pl.DataFrame, sources: Sequence[Source], numbered: Callable[[list[int]], pl.LazyFrame]
) -> None:
    """Raise an error if a respondent's answers to an image and prompt come from several independent sources.

    Args:
        groups: groups with `_source`, `samples.GIVEN` and the columns that `given_by` needs.
        sources: the sources.
        numbered: returns the rows of the sources with the given indices that have a sample, with all keys filled in and
            the sample's number.

    Raises:
        InputError: if there are such answers; it names two sources for each respondent and prompt.
    """
    import polars as pl

    keys = list(samples.GIVEN)
    files = groups.group_by(keys).agg(files=pl.col("_source").unique().sort())
    paths = [source.path for source in sources]
    rows = doubtful(given_by(groups, *keys).join(files, on=keys), paths)
    if rows.is_empty():
        return
    without = pl.col("n") > pl.col("samples")
    found = rows.filter(without).select(*keys, "files")
    if not (rest := rows.filter(~without)).is_empty():
        places = _with_origin(rest.select(*keys, "nameless", "people", _source="files").explode("_source"), paths)
        each = numbered(places["_source"].unique().to_list()).join(places.lazy(), on=["_source", *keys])
        each = each.select(*keys, samples.NUMBER, "_source", "origin").unique()
        twice = each.group_by(*keys, samples.NUMBER).agg(pl.col("_source"), n=pl.col("origin").n_unique())
        again = twice.filter(pl.col("n") > 1).group_by(keys).agg(files=pl.col("_source").explode().unique().sort())
        found = pl.concat([found, again.collect(engine="streaming")])
    conflicts = (
        found.sort("sport", "image")
        .group_by("respondent", "prompt")
        .agg(pl.col("files", "sport", "image").first(), n=pl.len())
    )
    if not conflicts.is_empty():
        raise InputError(
            _problem(sources[files[0]].name, sources[files[1]].name, respondent, prompt, f"{sport}/{image}", n)
            for respondent, prompt, files, sport, image, n in conflicts.sort("respondent", "prompt").iter_rows()
        )


def _with_origin(places: pl.DataFrame, paths: Sequence[Path | None]) -> pl.DataFrame:
    """Add a column `origin`, which has the same value for files that count as parts of one source."""
    import polars as pl

    own = [str(path.resolve()) if path else "" for path in paths]
    datasets = [_dataset(path) or name for path, name in zip(paths, own, strict=True)]
    numbered = [_dataset(path) or _NUMBER.sub("#", name) for path, name in zip(paths, own, strict=True)]
    names = pl.DataFrame({"_source": range(len(own)), "own": own, "datasets": datasets, "numbered": numbered})
    names = names.with_columns(pl.col("_source").cast(places.schema["_source"]))
    # A respondent without a name gets its file's name. This alone does not make two files of a folder one source.
    origin = pl.when("nameless").then("own").when("people").then("datasets").otherwise("numbered")
    return places.join(names, on="_source").with_columns(origin=origin).drop("own", "datasets", "numbered")


def _dataset(path: Path | None) -> str | None:
    """Return the folder of a file named `responses*`; None for other files."""
    return str(path.resolve().parent) if path and path.name.startswith("responses") else None


def check_counts(rows: Counts, counted: Counts, files: Sequence[Path], counts_files: Sequence[Path]) -> None:
    """Raise an error if a response file and a counts file answer the same image for the same respondent and prompt.

    Counts do not have sample numbers, which would show whether the answers are the same. If all files are `responses*`
    files of one folder, they are not checked. Counts files are not compared with each other, because they are meant to
    be added.

    Raises:
        InputError: if there are such answers; it names the files.
    """
    import polars as pl

    folders = {_dataset(path) for path in (*files, *counts_files)}
    if len(folders) == 1 and None not in folders:
        return
    keys = list(samples.GIVEN)
    both = rows.table.select(keys).unique().join(counted.table.select(keys).unique(), on=keys)
    found = (
        both.sort("sport", "image").group_by("respondent", "prompt").agg(pl.col("sport", "image").first(), n=pl.len())
    )
    if not found.is_empty():
        names = [
            ", ".join(map(str, paths[:3])) + (", ..." if len(paths) > 3 else "") for paths in (files, counts_files)
        ]
        raise InputError(
            _problem(names[0], names[1], respondent, prompt, f"{sport}/{image}", n)
            for respondent, prompt, sport, image, n in found.sort("respondent", "prompt").iter_rows()
        )


def _problem(one: str, other: str, respondent: str, prompt: str, image: str, n: int) -> Problem:
    images = image if n == 1 else f"{image} and {n - 1:,} more image{'s' if n > 2 else ''}"
    found = f"'{respondent}' with prompt '{prompt}', which is also in {one} (both files have responses to {images})"
    return Problem("duplicate", other, None, "respondent", found, EXPECTED)
