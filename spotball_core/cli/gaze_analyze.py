"""`spotball gaze analyze`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from spotball_core.cli.console import progress, teller, teller_of_problems
from spotball_core.cli.help import option
from spotball_core.cli.options import (
    Bootstrap,
    Debug,
    Full,
    Jobs,
    Photos,
    PolicyName,
    Quiet,
    Seed,
    StimuliFile,
    TableFormat,
    Trials,
)
from spotball_core.service.safe_text import show

if TYPE_CHECKING:
    from spotball_core.gaze.data.trials import Trials as TrialTable


def analyze(
    trials: Trials,
    stimuli: StimuliFile = None,
    time_unit: Annotated[
        Literal["s", "ms"] | None,
        option("Input", None, "Unit of the column `response_time`: seconds or milliseconds. Default: s."),
    ] = None,
    images: Photos = None,
    people: Annotated[
        str | None,
        option(
            "Tests",
            "NAME",
            "Respondent that the others are compared with in Test 1. Default: human, or the published results of "
            "people if TRIALS do not contain human.",
        ),
    ] = None,
    policy: PolicyName = "standard",
    margin: Annotated[
        float, option("Tests", "POINTS", "Largest gap to people, in points, for the type human-level.")
    ] = 5,
    by: Annotated[
        str | None,
        option(
            "Tests", "COLUMN", "Only compare the groups of participants that this column defines, such as group or age."
        ),
    ] = None,
    only: Annotated[
        Literal["weights"] | None, option("Tests", None, "Only estimate the weights of eyes and head, without tests.")
    ] = None,
    alpha: Annotated[float, option("Tests", "P", "Significance level.")] = 0.05,
    multiplicity: Annotated[
        Literal["none", "holm"],
        option("Tests", None, "Correction for multiple tests: none (as in the paper), or holm (per respondent)."),
    ] = "none",
    hinted: Annotated[
        str, option("Tests", "IDS", "Prompts with a hint, separated by commas: test whether hints help.")
    ] = "",
    models: Annotated[
        Path | None,
        option(
            "Tests",
            "FILE",
            "CSV file with the columns `respondent`, `released` (date) and `parameters` (billions): test whether "
            "newer or larger models are more accurate. Default: none.",
        ),
    ] = None,
    compare: Annotated[
        tuple[str, str] | None, option("Tests", "A B", "Test whether these two respondents differ. Default: none.")
    ] = None,
    bootstrap: Bootstrap = 1000,
    stability: Annotated[
        int,
        option(
            "Tests", "N", "Bootstrap resamples that show how stable each respondent's type is; 100 take minutes.", min=0
        ),
    ] = 0,
    seed: Seed = 0,
    jobs: Jobs = None,
    full: Full = False,
    format: TableFormat = "table",
    out: Annotated[
        Path | None, option("Output", "DIR", "Folder for an HTML report. Default: none.", "--out", "-o")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Test whether respondents follow the eyes or the head of a person, and classify each respondent.

    Example: `spotball gaze analyze run-gpt-4o --stimuli photos --out report`

    Prints the type (such as head-only), the cue model and the accuracy of each respondent. With --full, prints Tables 1
    and 2 of the paper computed from these trials, with the numbers of each test. With --out, writes DIR/report.html
    with the figures of the paper drawn from these trials, DIR/report.json with all numbers, and DIR/figures/ with each
    figure as PNG and SVG.
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
        raise OptionError(
            "needs --out and --stimuli. Add both, or remove --images", code="missing-option", field="--images"
        )
    if out is not None:
        from spotball_core.gaze.page.write import check_report

        # Check the options before the tests, which take minutes.
        check_report(out)
    if not 0 < margin < 100:
        raise OptionError(f"found {margin:g}, expected a number between 0 and 100, such as 5", field="--margin")
    try:
        test_policy = TestPolicy(name=policy, alpha=alpha, multiplicity=multiplicity, margin=margin / 100)
    except ValidationError as error:
        raise OptionError(
            f"found {alpha:g}, expected a number between 0 and 1, such as 0.05", field="--alpha"
        ) from error
    on_assumed = teller_of_problems(quiet)
    photos = read_stimuli(stimuli, on_assumed=on_assumed) if stimuli else ()
    answers = together(
        [read_trials(path, photos, time_unit=time_unit, by=by, on_assumed=on_assumed) for path in trials]
    )
    if by is not None or only is not None:
        if out is not None or (by and only):
            raise OptionError("use only one of --by, --only and --out. Remove the others", code="conflicting-options")
        if by is not None:
            _groups(answers, by, bootstrap, seed, jobs, format, full, quiet)
        else:
            _weights(answers, seed, jobs, format, quiet)
        return
    options = GazeOptions(
        policy=test_policy,
        people=people,
        hinted=tuple(part.strip() for part in hinted.split(",") if part.strip()),
        models=read_models(models) if models else None,
        compare=compare,
        bootstrap=bootstrap,
        stability=stability,
        seed=seed,
        jobs=jobs or os.cpu_count() or 1,
    )
    tell_tested = tell if len(answers.respondents) > 1 or sys.stderr.isatty() else teller(True)
    report = analyze(answers, options, on_progress=lambda name: tell_tested(f"tested {name}"))
    if format == "json":
        text = report.model_dump_json(indent=1) + "\n"
        for warning in report.warnings:
            tell(f"warning: {warning}")
    else:
        from spotball_core.gaze.summary import to_summary
        from spotball_core.gaze.tables import to_markdown, to_text

        to_table = to_text if full else to_summary
        text = to_markdown(report) if format == "markdown" else to_table(report, to_terminal=True)
    show(text, end="", styled=format == "table")
    if out is not None:
        from spotball_core.gaze.data.faces import FACES, read_faces
        from spotball_core.gaze.page.photos import PhotoSource
        from spotball_core.gaze.page.write import write_gaze_report
        from spotball_core.service.paths import folder_of

        source = None
        if stimuli:
            faces = folder_of(stimuli) / FACES
            boxes = read_faces(faces) if faces.is_file() else {}
            source = PhotoSource(answers, photos, images or folder_of(stimuli), boxes)
        write_gaze_report(report, out, photos=source, trials=answers)
        tell(f"wrote {out / 'report.html'}")


def _weights(
    trials: TrialTable, seed: int, jobs: int | None, format: Literal["json", "table", "markdown"], quiet: bool
) -> None:
    from spotball_core.gaze.weights import estimate_weights, weights_as_markdown, weights_as_text

    tell = teller(quiet)
    with progress("respondents", quiet=quiet) as on_progress:
        result = estimate_weights(trials, seed=seed, jobs=jobs or os.cpu_count() or 1, on_progress=on_progress)
    if format == "json":
        text = result.model_dump_json(indent=1) + "\n"
        for warning in result.warnings:
            tell(f"warning: {warning}")
    else:
        text = weights_as_markdown(result) if format == "markdown" else weights_as_text(result, to_terminal=True)
    show(text, end="", styled=format == "table")


def _groups(
    trials: TrialTable,
    by: str,
    bootstrap: int,
    seed: int,
    jobs: int | None,
    format: Literal["json", "table", "markdown"],
    full: bool,
    quiet: bool,
) -> None:
    from spotball_core.gaze.groups import compare_groups, group_foot, group_tables
    from spotball_core.text.tables import tables_as_markdown, tables_as_text

    with progress("groups", quiet=quiet) as on_progress:
        result = compare_groups(
            trials, by, bootstrap=bootstrap, seed=seed, jobs=jobs or os.cpu_count() or 1, on_progress=on_progress
        )
    if format == "json":
        text = result.model_dump_json(indent=1) + "\n"
    else:
        tables = group_tables(result, full=full)
        text = (
            tables_as_markdown(tables, group_foot(result))
            if format == "markdown"
            else tables_as_text(tables, group_foot(result), to_terminal=True)
        )
    show(text, end="", styled=format == "table")
