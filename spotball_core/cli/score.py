"""`spotball score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from spotball_core.cli.console import Format, FormatOption, Out, deliver, engine_for, format_for, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import (
    Bootstrap,
    Debug,
    EngineOption,
    Full,
    ImageChoice,
    Paths,
    PolicyName,
    Quiet,
    RayAddress,
    Reference,
    Seed,
    Tables,
    with_groups,
)
from spotball_core.errors import OptionError, unknown_name

if TYPE_CHECKING:
    from spotball_core.schema.report import ScoreReport


@with_groups
def score(
    paths: Paths,
    *,
    tables: Tables,
    reference: Reference = None,
    images: ImageChoice = None,
    policy: PolicyName = "standard",
    by: Annotated[
        str, option("Scoring", "PARTS", "Columns that define a group, separated by commas.")
    ] = "sport,respondent,prompt",
    wasserstein_unit: Annotated[
        Literal["px", "cell", "diagonal"],
        option(
            "Scoring", "UNIT", "Unit of Wasserstein distances: px, cell or diagonal (fraction of the image diagonal)."
        ),
    ] = "px",
    cluster: Annotated[
        Literal["image", "participant"], option("Scoring", "UNIT", "Unit of the bootstrap: image or participant.")
    ] = "image",
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    ceiling: Annotated[
        bool, option("Scoring", None, "Add the noise ceiling: split-half agreement between people.", "--ceiling")
    ] = False,
    full: Full = False,
    metrics: Annotated[str | None, option("Output", "NAMES", "Use only these metrics, separated by commas.")] = None,
    sport: Annotated[str | None, option("Output", "NAME", "Use only this sport.")] = None,
    format: FormatOption = None,
    out: Out = None,
    engine: EngineOption = "local",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Score predictions: print a summary, or every metric with --full.

    Example: `spotball score predictions.csv --scenes data/scenes.jsonl`

    A file of predictions is CSV or JSON Lines (also compressed: .gz) or Parquet; `-` reads standard input. It has the
    column `image` and the answer in one of these forms: `cell` (such as D5), `x` and `y` (in pixels), `row` and `col`,
    or `probabilities`. The last line below the table, the signature, records the data, the policy and the version.
    """
    from spotball_core.cli.tables import table_arguments
    from spotball_core.scoring import tables as score_tables
    from spotball_core.scoring.score import chosen_metrics, score as score_responses
    from spotball_core.scoring.summary import COLUMNS, default_text

    tell = teller(quiet)
    format = format_for(format, out)
    is_summary = format is Format.table and out is None and not (full or metrics or sport or ceiling)
    # Compute only what is printed.
    wanted = tuple(COLUMNS) if is_summary else None
    if metrics is not None:
        names = [name.strip() for name in metrics.split(",") if name.strip()]
        wanted = chosen_metrics(names or [metrics], "--metrics")
    arguments = table_arguments(tables, tell)
    with engine_for(engine, ray_address, quiet=quiet, debug=debug) as counting:
        report = score_responses(
            paths,
            tables.scenes,
            **arguments,
            policy=policy,
            reference=reference,
            images=images,
            by=_parts(by),
            wasserstein_unit=wasserstein_unit,
            cluster=cluster,
            bootstrap=bootstrap,
            seed=seed,
            ceiling=ceiling,
            metrics=wanted,
            engine=counting,
        )
    report = _selected(report, sport)
    if format is Format.json:
        text = report.model_dump_json(indent=1) + "\n"
    elif format is Format.csv:
        text = score_tables.to_csv(report)
    elif format is Format.markdown:
        text = score_tables.to_markdown(report)
    elif format is Format.latex:
        text = score_tables.to_latex(report)
    elif is_summary:
        text = default_text(report, to_terminal=True)
    else:
        text = score_tables.to_text(report, to_terminal=out is None)
    if format in (Format.json, Format.csv) or out is not None:
        for warning in report.warnings:
            tell(f"warning: {warning}")
    deliver(text, out, tell, styled=format is Format.table)


def _selected(report: ScoreReport, sport: str | None) -> ScoreReport:
    """Keep one sport of a report."""
    if sport is None:
        return report
    groups = tuple(group for group in report.groups if group.sport == sport)
    if not groups:
        known = sorted({str(group.sport) for group in report.groups})
        raise OptionError(unknown_name("sport", sport, known), code="unknown-name", field="--sport")
    ceilings = tuple(ceiling for ceiling in report.ceilings if ceiling.sport == sport)
    return report.model_copy(update={"groups": groups, "ceilings": ceilings})


def _parts(by: str) -> tuple[Literal["sport", "respondent", "prompt"], ...]:
    from spotball_core.scoring.groups import PARTS

    names = [part.strip() for part in by.split(",") if part.strip()]
    if unknown := [part for part in names if part not in PARTS]:
        raise OptionError(unknown_name("part", unknown[0], PARTS), code="unknown-name", field="--by")
    return tuple(part for part in PARTS if part in names)
