"""`spotball score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

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

if TYPE_CHECKING:
    from spotball_core.schema.report import ScoreReport


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
    full: Annotated[bool, typer.Option("--full", help="Print every metric of every sport.")] = False,
    metrics: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these metrics, by commas, of every sport.")
    ] = None,
    sport: Annotated[str | None, typer.Option(metavar="NAME", help="Only this sport, in full.")] = None,
    format: FormatOption = None,
    out: Out = None,
    engine: EngineOption = "local",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Score predictions: a summary over sports, or with --full every metric of every sport, with intervals.

    A file of predictions (JSON Lines or CSV, also .gz; Parquet; - for standard input) names an image and an answer:
    `cell` (D5), or `x` and `y` in pixels, or `row` and `col`, or `probabilities`. The signature at the foot states what
    the numbers rest on.

    Example: `spotball score predictions.csv --scenes data/scenes.jsonl`
    """
    from spotball_core.scoring import tables
    from spotball_core.scoring.score import score as score_responses
    from spotball_core.scoring.summary import to_summary

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
    report = _selected(report, sport, metrics)
    format = format_for(format, out)
    if format is Format.json:
        text = report.model_dump_json(indent=1) + "\n"
    elif format is Format.csv:
        text = tables.to_csv(report)
    elif format is Format.markdown:
        text = tables.to_markdown(report)
    elif format is Format.latex:
        text = tables.to_latex(report)
    elif out is None and report.groups and not (full or metrics or sport or ceiling):
        text = to_summary(report, to_terminal=True)
    else:
        text = tables.to_text(report, to_terminal=out is None)
    if format in (Format.json, Format.csv) or out is not None:
        for warning in report.warnings:
            tell(f"warning: {warning}")
    deliver(text, out, tell, styled=format is Format.table)


def _selected(report: ScoreReport, sport: str | None, metrics: str | None) -> ScoreReport:
    """Keep one sport and some metrics of a report."""
    from spotball_core.metrics.registry import METRICS

    groups = report.groups
    if sport is not None:
        groups = tuple(group for group in groups if group.sport == sport)
        if not groups:
            known = ", ".join(sorted({str(group.sport) for group in report.groups}))
            raise OptionError(f"--sport: {sport!r} is none of the scored sports: {known}")
    ceilings = tuple(ceiling for ceiling in report.ceilings if sport in (None, ceiling.sport))
    if metrics is not None:
        names = [name.strip() for name in metrics.split(",") if name.strip()]
        if unknown := [name for name in names if name not in METRICS] or ([] if names else [metrics]):
            raise OptionError(f"--metrics: {', '.join(unknown)} is no metric; give some of {', '.join(METRICS)}")
        groups = tuple(
            group.model_copy(update={"metrics": {key: value for key, value in group.metrics.items() if key in names}})
            for group in groups
        )
    return report.model_copy(update={"groups": groups, "ceilings": ceilings})


def _parts(by: str) -> tuple[Literal["sport", "respondent", "prompt"], ...]:
    from spotball_core.scoring.groups import PARTS

    names = [part.strip() for part in by.split(",") if part.strip()]
    if unknown := [part for part in names if part not in PARTS]:
        raise OptionError(f"--by: {', '.join(unknown)} is none of {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in names)
