"""`spotball gaze power`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.console import teller, teller_of_problems
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Jobs, Quiet, Seed, TableFormat
from spotball_core.errors import unknown_name
from spotball_core.service.safe_text import show


def power(
    observer: Annotated[
        str,
        typer.Argument(
            metavar="OBSERVER", help="Rule of the simulated respondents: eye, head, compromise, coin, shift or guess."
        ),
    ],
    stimuli: Annotated[
        Path | None,
        option(
            "Input",
            "FILE",
            "stimuli.csv or its folder (see `spotball gaze stimuli`). Default: a synthetic design with 1,368 "
            "photos, like that of the paper.",
        ),
    ] = None,
    prompts: Annotated[
        str, option("Input", "N", "Trials per photo: one number, or several separated by commas, such as 1,4,16.")
    ] = "16",
    simulations: Annotated[int, option("Input", "N", "Number of simulated respondents.", min=1)] = 20,
    weight: Annotated[
        float,
        option(
            "Simulated respondent",
            "W",
            "Weight of the head direction, from 0 (only eyes) to 1 (only head).",
            min=0,
            max=1,
        ),
    ] = 0.5,
    noise: Annotated[
        float,
        option(
            "Simulated respondent", "SD", "Standard deviation from trial to trial, in distances between objects.", min=0
        ),
    ] = 0.3,
    stimulus_noise: Annotated[
        float,
        option(
            "Simulated respondent", "SD", "Standard deviation from photo to photo, in distances between objects.", min=0
        ),
    ] = 0.2,
    closeness: Annotated[
        float,
        option(
            "Simulated respondent", "SHARE", "Relative increase of the noise per step of proximity between objects."
        ),
    ] = 0.0,
    side: Annotated[
        float, option("Simulated respondent", "SHARE", "Relative increase of the noise for photos from a side.")
    ] = 0.0,
    lapse: Annotated[
        float, option("Simulated respondent", "SHARE", "Share of trials that are answered at random.", min=0, max=1)
    ] = 0.02,
    alpha: Annotated[float, option("Tests", "P", "Significance level.")] = 0.05,
    multiplicity: Annotated[
        Literal["none", "holm"],
        option("Tests", None, "Correction for multiple tests: none (as in the paper), or holm (per respondent)."),
    ] = "none",
    seed: Seed = 0,
    jobs: Jobs = None,
    format: TableFormat = "table",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate the statistical power of the gaze tests by simulation.

    Example: `spotball gaze power compromise --weight 0.6 --prompts 1,4,16 --simulations 50`

    Simulates respondents that follow a rule but make random errors. Runs the tests of `gaze analyze` on each, and
    prints how often each test was positive and how often each type, such as head or eye, was assigned. The rules are:
    `eye` or `head` (follow that cue), `compromise` (a point between both cues), `coin` (one of the cues in each trial,
    at random), `shift` (often the head, otherwise another object), and `guess` (a random object).
    """
    from pydantic import ValidationError

    from spotball_core.errors import OptionError
    from spotball_core.gaze.battery.run import TestPolicy
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.power.observers import CUES, Observer, factorial_design
    from spotball_core.gaze.power.simulate import power as simulated
    from spotball_core.gaze.power.tables import to_json, to_markdown, to_text

    if observer not in CUES:
        raise OptionError(unknown_name("observer", observer, CUES), code="unknown-name", field="OBSERVER")
    try:
        numbers = [int(part) for part in prompts.split(",")]
    except ValueError:
        raise OptionError(
            f"found {prompts!r}, expected whole numbers separated by commas, such as 1,4,16", field="--prompts"
        ) from None
    try:
        policy = TestPolicy(alpha=alpha, multiplicity=multiplicity)
    except ValidationError as error:
        raise OptionError(
            f"found {alpha:g}, expected a number between 0 and 1, such as 0.05", field="--alpha"
        ) from error
    simulated_observer = Observer(
        observer,
        weight=weight,
        noise=noise,
        stimulus_noise=stimulus_noise,
        closeness=closeness,
        side=side,
        lapse=lapse,
    )
    photos = read_stimuli(stimuli, on_assumed=teller_of_problems(quiet)) if stimuli else factorial_design()
    tell = teller(quiet)
    powers = []
    for number in numbers:
        powers.append(
            simulated(
                simulated_observer,
                photos,
                simulations=simulations,
                prompts=number,
                policy=policy,
                seed=seed,
                jobs=jobs or os.cpu_count() or 1,
            )
        )
        tell(f"{number} trials per photo: {simulations} respondents done")
    write = {"json": to_json, "markdown": to_markdown, "table": to_text}[format]
    show(write(powers, numbers, simulated_observer, policy, seed), end="")
