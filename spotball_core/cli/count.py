"""`spotball count`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.counting import engine_for
from spotball_core.cli.options import Debug, EngineOption, Pool, Quiet, RayAddress, ScenesFile, Strict


def count(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files of responses or of counts, or dataset folders.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The file of counts to write, ending in .counts.")],
    scenes: ScenesFile = None,
    participants: Annotated[
        bool, typer.Option("--participants/--no-participants", help="Keep participants apart, where there are any.")
    ] = True,
    strict: Strict = False,
    pool: Pool = False,
    engine: EngineOption = "local",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Count responses, here or on many machines: counts add, and score as the responses do.

    Counting is all of the work that grows with the number of responses. Count each shard where it lies, then score the
    counts together. A sample that is in two shards is counted twice: nothing in counts tells them apart.

    Example: `spotball count shard-7.parquet --scenes scenes.jsonl --out shard-7.counts`
    """
    from spotball_core.counting.counts_file import write_counts
    from spotball_core.scoring.score import load_counts

    files = [str(path) for path in paths]
    with engine_for(engine, ray_address, quiet=quiet, debug=debug) as counting:
        counts, _ = load_counts(files, scenes, participants=participants, engine=counting, pool=pool, strict=strict)
    write_counts(counts, out)
    tell = teller(quiet)
    for warning in counts.warnings:
        tell(f"warning: {warning}")
    tell(f"wrote {out}: {counts.n_answers:,.0f} responses in {len(counts.table):,} counts")
