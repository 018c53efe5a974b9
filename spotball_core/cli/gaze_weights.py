"""`spotball gaze weights`."""

from __future__ import annotations

import os

from spotball_core.cli.console import progress, teller
from spotball_core.cli.options import Debug, Jobs, Quiet, Seed, StimuliFile, TableFormat, Trials
from spotball_core.service.safe_text import show


def weights(
    trials: Trials,
    stimuli: StimuliFile = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    format: TableFormat = "table",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate how each respondent weights eyes and head, with confidence intervals.

    Example: `spotball gaze weights trials.csv --stimuli stimuli_main.csv`

    Fits a model in which each choice comes from an internal position between eyes and head. Prints the mechanism (eye,
    head, compromise, coin, guess, or none if no model fits), the head's weight w, the probability q of following one
    cue alone, the noise, and the share of random responses.
    """
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.data.trials import read_trials, together
    from spotball_core.gaze.weights import estimate_weights, weights_as_markdown, weights_as_text

    tell = teller(quiet)
    photos = read_stimuli(stimuli) if stimuli else ()
    answers = together([read_trials(path, photos) for path in trials])
    with progress("respondents", quiet=quiet) as on_progress:
        result = estimate_weights(answers, seed=seed, jobs=jobs or os.cpu_count() or 1, on_progress=on_progress)
    if format == "json":
        text = result.model_dump_json(indent=1) + "\n"
        for warning in result.warnings:
            tell(f"warning: {warning}")
    else:
        text = weights_as_markdown(result) if format == "markdown" else weights_as_text(result, to_terminal=True)
    show(text, end="", styled=format == "table")
