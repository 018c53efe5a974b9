"""`spotball study simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, Quiet, Seed


def simulate(
    folder: Annotated[Path, typer.Argument(metavar="STUDY", help="Folder of the study.")],
    participants: Annotated[int, option("Participants", "N", "Number of simulated participants.", min=1)] = 24,
    seed: Seed = 0,
    observer: Annotated[
        Literal["eye", "head"],
        option(
            "Participants",
            None,
            "With --task choice: participants choose the object that the eyes (or the head) of the person in the "
            "photo point to.",
        ),
    ] = "eye",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Test a study: let simulated participants complete it as a new pilot.

    The command starts a server on this machine, and the participants answer over HTTP as browsers do. They click near
    players at random. In a study with --task choice, they choose the object that the eyes or the head of the person in
    the photo point to, with some errors. One in ten stops midway, and about one in seven does not look at the attention
    checks. Their labels start with `simulated-`, and their times are simulated.

    The data is stored in a new folder STUDY/pilot-1, pilot-2, ..., and never together with the study's own
    data. `status --pilot` and `export --pilot` read it; `delete --pilot` deletes it.

    Example: `spotball study simulate my-study --participants 24`
    """
    from spotball_adapters.study.simulation.behavior import OBSERVERS, Population
    from spotball_adapters.study.simulation.pilot import simulate_pilot

    tell = teller(quiet)
    with progress("participants", quiet=quiet) as on_progress:
        pilot = simulate_pilot(
            *(folder, participants),
            seed=seed,
            population=Population(observer=OBSERVERS[observer]),
            on_progress=on_progress,
        )
    tell(
        f"{len(pilot.labels)} simulated participants took part: {pilot.finished} finished, "
        f"{len(pilot.labels) - pilot.finished} stopped early"
    )
    tell(f"{pilot.careless} of those who finished did not look at attention checks")
    if pilot.full:
        tell(f"the study is full, so {participants - len(pilot.labels)} participants could not begin")
    tell(f"wrote {pilot.folder}; the study's own data is unchanged")
    tell(f"Next: spotball study export {folder} --pilot --out pilot-people")
