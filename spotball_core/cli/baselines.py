"""`spotball baselines`: answers of respondents that know no vision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet

_OUT = "responses-baselines.jsonl"


def baselines(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with its scenes.jsonl.")],
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some, by commas: uniform, center, nearest-player, prior, oracle, social. Default: all.",
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, metavar="N", help="Answers a scene.")] = 50,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the draws.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help=".jsonl, .csv or .parquet. Default: responses-baselines.jsonl in the dataset."
        ),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Ask the baselines: what guessing gets on a dataset.

    A baseline that has no answer to a scene (no player boxes, truth not known) leaves its samples unparsed.

    Example: `spotball baselines data --name uniform,center --samples 50`
    """
    from spotball_core.baselines import baseline_responses
    from spotball_core.io.frames import write_responses
    from spotball_core.io.scenes import read_scenes
    from spotball_core.service.paths import confined

    scenes = read_scenes(dataset / "scenes.jsonl")
    names = None if name is None else [part.strip() for part in name.split(",") if part.strip()]
    if out is None:
        # A dataset may come with a link of that name, to anywhere.
        confined(dataset, _OUT, field="file")
        out = dataset / _OUT
    rows = baseline_responses(scenes, names, samples=samples, seed=seed)
    write_responses(rows, out)
    tell = teller(quiet)
    respondents = rows["respondent"].unique(maintain_order=True).to_list()
    tell(f"{out}: {len(rows):,} answers of {', '.join(respondents)} to {len(scenes)} images")
    for respondent in respondents:
        blanks = rows.filter(respondent=respondent)["cell"].null_count() // samples
        if blanks:
            tell(f"{respondent} has no answer to {blanks} of {len(scenes)} images: written as unparsed")
