"""`spotball compare`."""

from __future__ import annotations

from typing import Annotated

from spotball_core.cli.console import Format, FormatOption, Out, deliver, format_for, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import (
    Bootstrap,
    Debug,
    Full,
    ImageChoice,
    Paths,
    PolicyName,
    Quiet,
    Reference,
    Seed,
    Tables,
    with_groups,
)
from spotball_core.errors import OptionError


@with_groups
def compare(
    paths: Paths,
    *,
    a: Annotated[str, option("Input", "NAME", "First respondent, or one of its prompts, such as gemini/cot.", "--a")],
    b: Annotated[
        str,
        option(
            "Input",
            "NAME",
            "Second respondent, or one of its prompts.",
            "--b",
        ),
    ],
    tables: Tables,
    reference: Reference = None,
    images: ImageChoice = None,
    policy: PolicyName = "standard",
    permutations: Annotated[int, option("Scoring", "N", "Number of permutations for p values.", min=1)] = 10_000,
    margin: Annotated[
        str | None,
        option("Scoring", "METRIC=M,...", "Largest difference that counts as equal, such as accuracy=3 (points)."),
    ] = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    full: Full = False,
    format: FormatOption = None,
    out: Out = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Test whether two respondents, or two prompts of one respondent, differ on the same images.

    Example: `spotball compare data --a human --b gemini/cot --reference human`

    For each metric and sport, prints the paired difference (a minus b) with its confidence interval, the p value of a
    permutation test, the p value corrected for the number of metrics, an effect size, and a conclusion. If no
    difference is clear, prints the smallest difference that the data detect with 80% power. With --margin, the
    conclusion is a or b better, equivalent, or undecided. Other respondents in the files are ignored.
    """
    from spotball_core.cli.tables import amounts_of, table_arguments
    from spotball_core.comparison import tables as comparisons
    from spotball_core.comparison.summary import to_summary
    from spotball_core.dataset import load

    tell = teller(quiet)
    arguments = table_arguments(tables, tell)
    margins = {} if margin is None else amounts_of(margin, "--margin")
    if not isinstance(margins, dict):
        raise OptionError(f"found {margin}, expected a metric with its margin, such as accuracy=3", field="--margin")
    data = load(paths, tables.scenes, reference=reference, **arguments)
    comparison = data.compare(
        a, b, permutations=permutations, margin=margins, policy=policy, images=images, bootstrap=bootstrap, seed=seed
    )
    format = format_for(format, out)
    if format is Format.json:
        text = comparison.model_dump_json(indent=1) + "\n"
    elif format is Format.csv:
        text = comparisons.to_csv(comparison)
    elif format is Format.latex:
        text = comparisons.to_latex(comparison)
    elif format is Format.markdown:
        text = comparisons.to_markdown(comparison)
    elif out is None and not full:
        text = to_summary(comparison, to_terminal=True)
    else:
        text = comparisons.to_text(comparison, to_terminal=out is None)
    if format in (Format.json, Format.csv) or out is not None:
        for warning in comparison.warnings:
            tell(f"warning: {warning}")
    deliver(text, out, tell, styled=format is Format.table)
