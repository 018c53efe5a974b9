"""`spotball plan --observer`: the power of the gaze tests, by simulation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

from spotball_core.cli.console import teller, teller_of_problems
from spotball_core.cli.tables import amounts_of
from spotball_core.errors import OptionError, unknown_name
from spotball_core.service.safe_text import show

FLAG = "--observer"


def plan_observer(
    text: str,
    paths: Sequence[Path],
    trials: str,
    simulations: int,
    *,
    seed: int,
    format: Literal["json", "table", "markdown"],
    quiet: bool,
) -> None:
    """Simulate respondents that follow a rule, and print how often each gaze test is positive.

    Args:
        text: the rule and its parameters, such as compromise:weight=0.6,lapse=0.3.
        paths: stimuli.csv or its folder; empty for a design like that of the paper.
        trials: numbers of trials per photo, separated by commas.
        simulations: number of simulated respondents.
        seed: seed of all random draws.
        format: form of the output.
        quiet: whether to print only results.

    Raises:
        OptionError: for unusable arguments.
    """
    from spotball_core.gaze.battery.run import TestPolicy
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.gaze.power.observers import CUES, Observer, factorial_design
    from spotball_core.gaze.power.simulate import power
    from spotball_core.gaze.power.tables import to_json, to_markdown, to_text

    if len(paths) > 1:
        raise OptionError(
            f"found {len(paths)} paths, expected at most one list of photos", code="conflicting-options", field=FLAG
        )
    try:
        numbers = [int(part) for part in trials.split(",")]
    except ValueError:
        raise OptionError(
            f"found {trials!r}, expected whole numbers separated by commas, such as 1,4,16", field="--trials"
        ) from None
    cue, _, rest = text.partition(":")
    if cue not in CUES:
        raise OptionError(unknown_name("observer", cue, CUES), code="unknown-name", field=FLAG)
    settings = amounts_of(rest, FLAG) if rest else {}
    known = [field.name for field in fields(Observer) if field.name != "cue"]
    if not isinstance(settings, dict):
        raise OptionError(f"found {text!r}, expected parameters such as compromise:weight=0.6,lapse=0.3", field=FLAG)
    if wrong := [name for name in settings if name not in known]:
        raise OptionError(unknown_name("parameter", wrong[0], known), code="unknown-name", field=FLAG)
    observer = Observer(cue, **settings)
    photos = read_stimuli(paths[0], on_assumed=teller_of_problems(quiet)) if paths else factorial_design()
    tell, policy = teller(quiet), TestPolicy()
    powers = []
    for number in numbers:
        powers.append(
            power(
                *(observer, photos),
                simulations=simulations,
                prompts=number,
                policy=policy,
                seed=seed,
                jobs=os.cpu_count() or 1,
            )
        )
        tell(f"{number} trials per photo: {simulations} respondents done")
    write = {"json": to_json, "markdown": to_markdown, "table": to_text}[format]
    show(write(powers, numbers, observer, policy, seed), end="")
