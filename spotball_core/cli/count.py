"""`spotball count`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import engine_for, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import (
    Debug,
    EngineOption,
    Quiet,
    RayAddress,
    Tables,
    with_groups,
)
from spotball_core.text.words import plural


@with_groups
def count(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files of responses or counts, or dataset folders.")
    ],
    *,
    out: Annotated[Path, option("Output", "FILE", "File of counts to write; its name must end in .counts.")],
    tables: Tables,
    engine: EngineOption = "local",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Count responses, so that the counts of several files or machines can be scored together.

    Example: `spotball count shard-7.parquet --scenes scenes.jsonl --out shard-7.counts`

    Counting is the only step whose cost grows with the number of responses. Count each file where it is stored, then
    pass all files of counts to `spotball score`. A sample that occurs in two files is counted twice, because counts do
    not record samples.
    """
    from spotball_core.cli.tables import table_arguments
    from spotball_core.counting.counts_file import write_counts
    from spotball_core.scoring.score import load_counts

    tell = teller(quiet)
    arguments = table_arguments(tables, tell)
    with engine_for(engine, ray_address, quiet=quiet, debug=debug) as counting:
        counts, _ = load_counts(paths, tables.scenes, participants=True, engine=counting, **arguments)
    write_counts(counts, out)
    for warning in counts.warnings:
        tell(f"warning: {warning}")
    tell(f"wrote {out}: {plural(counts.n_answers, 'response')} in {plural(len(counts.table), 'row')} of counts")
