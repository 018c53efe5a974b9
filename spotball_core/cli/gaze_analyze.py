"""`spotball gaze analyze`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Bootstrap, Debug, Quiet, Seed
from spotball_core.service.safe_text import show

Form = Literal["json", "table", "markdown"]


def analyze(
    trials: Annotated[list[Path], typer.Argument(metavar="TRIALS", help="Files of trials, as CSV.")],
    stimuli: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The photos, where the trials do not say what is on them.")
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the photos, some of which the report shows. Default: that of the stimuli."
        ),
    ] = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Whom Test 1 compares with. Default: human if it is there, else the published people."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(metavar="P", help="P values below it are significant.")] = 0.05,
    multiplicity: Annotated[
        Literal["none", "holm"], typer.Option(help="Each test at alpha, as published; or Holm's over a respondent's.")
    ] = "none",
    hinted: Annotated[
        str, typer.Option(metavar="IDS", help="Prompts with a hint, joined by commas: do they help?")
    ] = "",
    models: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV of respondent, released and parameters (billions).")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Two respondents, such as one model at two resolutions: do they differ?"),
    ] = None,
    bootstrap: Bootstrap = 1000,
    stability: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Resamples of the scenes for the stability of types; 100 take minutes."),
    ] = 0,
    seed: Seed = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Respondents at a time. Default: as many as there are cores.")
    ] = None,
    format: Annotated[Form, typer.Option(help="Form of the result.")] = "table",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Write a report that a browser opens, as well.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Do respondents follow the eyes or the head? The battery of tests, and the type it leads to.

    Prints Tables 1 and 2 of the paper for these trials, with every test's numbers. DIR gets report.html, with the
    paper's figures, report.json with all numbers, and figures/ with each figure as PNG and SVG.

    Example: `spotball gaze analyze trials.csv --stimuli stimuli_main.csv --out report`
    """
    from pydantic import ValidationError

    from spotball_core.errors import OptionError
    from spotball_core.gaze.analysis import GazeOptions, analyze
    from spotball_core.gaze.battery.run import TestPolicy
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.data.trials import read_trials, together
    from spotball_core.gaze.fleet import read_models

    tell = teller(quiet)
    if images is not None and (stimuli is None or out is None):
        raise OptionError("--images is for the report of --out, and needs --stimuli, which say which photo is which")
    if out is not None:
        from spotball_core.gaze.page.write import check_report

        # Before minutes are spent on the tests.
        check_report(out)
    try:
        policy = TestPolicy(alpha=alpha, multiplicity=multiplicity)
    except ValidationError as error:
        raise OptionError(f"--alpha is above 0 and below 1, found {alpha:g}") from error
    photos = read_stimuli(stimuli) if stimuli else ()
    options = GazeOptions(
        policy=policy,
        people=people,
        hinted=tuple(part.strip() for part in hinted.split(",") if part.strip()),
        models=read_models(models) if models else None,
        compare=compare,
        bootstrap=bootstrap,
        stability=stability,
        seed=seed,
        jobs=jobs or os.cpu_count() or 1,
    )
    answers = together([read_trials(path, photos) for path in trials])
    tell_tested = tell if len(answers.respondents) > 1 or sys.stderr.isatty() else teller(True)
    report = analyze(answers, options, on_progress=lambda name: tell_tested(f"tested {name}"))
    if format == "json":
        text = report.model_dump_json(indent=1) + "\n"
        for warning in report.warnings:
            tell(f"warning: {warning}")
    else:
        from spotball_core.gaze.tables import to_markdown, to_text

        text = to_markdown(report) if format == "markdown" else to_text(report, to_terminal=True)
    show(text, end="", styled=format == "table")
    if out is not None:
        from spotball_core.gaze.page.photos import PhotoSource
        from spotball_core.gaze.page.write import write_gaze_report

        source = PhotoSource(answers, photos, images or stimuli.parent) if stimuli else None
        write_gaze_report(report, out, photos=source, trials=answers)
        tell(f"wrote {out / 'report.html'}")
