"""`spotball score`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.counting import engine_for
from spotball_core.cli.options import (
    Bootstrap,
    Debug,
    EngineOption,
    ImageChoice,
    Paths,
    PolicyName,
    Pool,
    Quiet,
    RayAddress,
    Reference,
    ScenesFile,
    Seed,
    Strict,
)
from spotball_core.cli.output import Format, FormatOption, Out, deliver, format_for
from spotball_core.errors import OptionError


def score(
    paths: Paths,
    scenes: ScenesFile = None,
    reference: Reference = None,
    images: ImageChoice = None,
    policy: PolicyName = "standard",
    by: Annotated[
        str, typer.Option(metavar="PARTS", help="What makes a group: some of the three, by commas.")
    ] = "sport,respondent,prompt",
    wasserstein_unit: Annotated[
        Literal["px", "cell", "diagonal"], typer.Option(help="Pixels, cells, or shares of the image's diagonal.")
    ] = "px",
    cluster: Annotated[
        Literal["image", "participant"], typer.Option(help="What the bootstrap draws, where there are participants.")
    ] = "image",
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    ceiling: Annotated[
        bool, typer.Option("--ceiling", help="Add how close anyone can get: people against people.")
    ] = False,
    strict: Strict = False,
    pool: Pool = False,
    format: FormatOption = None,
    out: Out = None,
    engine: EngineOption = "local",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Score predictions: every metric, with intervals, for every sport, respondent and prompt.

    A file of predictions (JSON Lines or CSV, also .gz; Parquet; - for standard input) names an image and an answer:
    `cell` (D5), or `x` and `y` in pixels, or `row` and `col`, or `probabilities`. The signature at the foot states what
    the numbers rest on.

    Example: `spotball score predictions.csv --scenes data/scenes.jsonl`
    """
    from spotball_core.scoring import tables
    from spotball_core.scoring.score import score as score_responses

    tell = teller(quiet)
    with engine_for(engine, ray_address, quiet=quiet, debug=debug) as counting:
        report = score_responses(
            [str(path) for path in paths],
            scenes,
            policy=policy,
            reference=reference,
            images=images,
            by=_parts(by),
            wasserstein_unit=wasserstein_unit,
            cluster=cluster,
            bootstrap=bootstrap,
            seed=seed,
            ceiling=ceiling,
            engine=counting,
            pool=pool,
            strict=strict,
        )
    format = format_for(format, out)
    if format is Format.json:
        text = report.model_dump_json(indent=1) + "\n"
    elif format is Format.csv:
        text = tables.to_csv(report)
    elif format is Format.markdown:
        text = tables.to_markdown(report)
    else:
        text = tables.to_text(report, to_terminal=out is None)
    if format in (Format.json, Format.csv) or out is not None:
        for warning in report.warnings:
            tell(f"warning: {warning}")
    deliver(text, out, tell, styled=format is Format.table)


def _parts(by: str) -> tuple[Literal["sport", "respondent", "prompt"], ...]:
    from spotball_core.scoring.groups import PARTS

    names = [part.strip() for part in by.split(",") if part.strip()]
    if unknown := [part for part in names if part not in PARTS]:
        raise OptionError(f"--by: {', '.join(unknown)} is none of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in names)
