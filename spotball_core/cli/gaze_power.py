"""`spotball gaze power`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet, Seed
from spotball_core.service.safe_text import show


def power(
    observer: Annotated[str, typer.Argument(metavar="OBSERVER", help="eye, head, compromise, coin, shift or guess.")],
    stimuli: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The photos. Default: a made-up design of the main study's shape."),
    ] = None,
    prompts: Annotated[
        str, typer.Option(metavar="N", help="Trials of each photo; several numbers, joined by commas, to choose from.")
    ] = "16",
    simulations: Annotated[int, typer.Option(min=1, metavar="N", help="Respondents to simulate.")] = 20,
    weight: Annotated[float, typer.Option(min=0, max=1, metavar="W", help="Of the head, where both cues count.")] = 0.5,
    noise: Annotated[
        float, typer.Option(min=0, metavar="SD", help="From trial to trial, in distances between objects.")
    ] = 0.3,
    stimulus_noise: Annotated[float, typer.Option(min=0, metavar="SD", help="From photo to photo.")] = 0.2,
    closeness: Annotated[
        float, typer.Option(metavar="SHARE", help="By which noise grows with each step of proximity.")
    ] = 0.0,
    side: Annotated[float, typer.Option(metavar="SHARE", help="By which noise grows from the sides.")] = 0.0,
    lapse: Annotated[float, typer.Option(min=0, max=1, metavar="SHARE", help="Of trials answered at random.")] = 0.02,
    alpha: Annotated[float, typer.Option(metavar="P", help="P values below it are significant.")] = 0.05,
    multiplicity: Annotated[
        Literal["none", "holm"], typer.Option(help="Each test at alpha, as published; or Holm's over a respondent's.")
    ] = "none",
    seed: Seed = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Respondents at a time. Default: as many as there are cores.")
    ] = None,
    format: Annotated[Literal["json", "table", "markdown"], typer.Option(help="Form of the result.")] = "table",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """How often would the tests see it? A priori power, by simulation.

    Simulates respondents that answer by a rule with noise, runs the battery on each, and says how often each test was
    positive and which types were given.

    Example: `spotball gaze power compromise --weight 0.6 --prompts 1,4,16 --simulations 50`
    """
    from pydantic import ValidationError

    from spotball_core.errors import OptionError
    from spotball_core.gaze.battery.run import TestPolicy
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.power.observers import CUES, Observer, factorial_design
    from spotball_core.gaze.power.simulate import power as simulated
    from spotball_core.gaze.power.tables import to_json, to_markdown, to_text

    if observer not in CUES:
        raise OptionError(f"there is no observer {observer}; there are {', '.join(CUES)}")
    try:
        numbers = [int(part) for part in prompts.split(",")]
    except ValueError:
        raise OptionError(f"--prompts: found {prompts!r}, expected whole numbers joined by commas") from None
    try:
        policy = TestPolicy(alpha=alpha, multiplicity=multiplicity)
    except ValidationError as error:
        raise OptionError(f"--alpha is above 0 and below 1, found {alpha:g}") from error
    simulated_observer = Observer(
        observer,
        weight=weight,
        noise=noise,
        stimulus_noise=stimulus_noise,
        closeness=closeness,
        side=side,
        lapse=lapse,
    )
    photos = read_stimuli(stimuli) if stimuli else factorial_design()
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
        tell(f"{number} trials a photo: {simulations} respondents done")
    write = {"json": to_json, "markdown": to_markdown, "table": to_text}[format]
    show(write(powers, numbers, simulated_observer, policy, seed), end="")
