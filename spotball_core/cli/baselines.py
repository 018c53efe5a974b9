"""`spotball baselines`: responses of simple methods that do not look at the image."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Quiet, Seed
from spotball_core.text.words import plural

_OUT = "responses-baselines.jsonl"


def baselines(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with scenes.jsonl.")],
    name: Annotated[
        str | None,
        option(
            "Input",
            "NAMES",
            "Baselines, separated by commas: uniform, center, nearest-player, prior, oracle, social. Default: all.",
        ),
    ] = None,
    samples: Annotated[int, option("Input", "N", "Samples per image.", min=1)] = 50,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        option("Output", "FILE", "File of responses to write: .jsonl, .csv or .parquet."),
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write the responses of baselines, such as uniform guessing, for a dataset.

    Example: `spotball baselines data --name uniform,center --samples 50`

    Without --out, writes DATASET/responses-baselines.jsonl. If a baseline needs something that a scene lacks, such as
    player boxes, its responses to that scene are unparsed.
    """
    from spotball_core.baselines import baseline_responses
    from spotball_core.io.frames import write_responses
    from spotball_core.io.scenes import read_scenes
    from spotball_core.service.paths import confined

    scenes = read_scenes(dataset / "scenes.jsonl")
    names = None if name is None else [part.strip() for part in name.split(",") if part.strip()]
    if out is None:
        # A downloaded dataset can contain a symbolic link of this name that points anywhere.
        confined(dataset, _OUT, field="file")
        out = dataset / _OUT
    rows = baseline_responses(scenes, names, samples=samples, seed=seed)
    write_responses(rows, out)
    tell = teller(quiet)
    respondents = rows["respondent"].unique(maintain_order=True).to_list()
    tell(f"{out}: {plural(len(rows), 'answer')} of {', '.join(respondents)} to {len(scenes)} images")
    for respondent in respondents:
        blanks = rows.filter(respondent=respondent)["cell"].null_count() // samples
        if blanks:
            tell(f"{respondent} has no answer for {blanks} of {len(scenes)} images; these are written as unparsed")
