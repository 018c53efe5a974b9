"""Let simulated participants take part in a pilot of a study, over HTTP on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from spotball_adapters.study.server.serve import in_background, opened_data
from spotball_adapters.study.setup.assignment import seed_of
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.setup.pilot import SIMULATED, new_pilot
from spotball_adapters.study.simulation.behavior import (
    Behavior,
    Population,
    SimulatedParticipant,
    draw_participants,
)
from spotball_adapters.study.simulation.browser import (
    EventSequence,
    SimulatedBrowser,
    SimulatedClock,
    StudyFullError,
)

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
"""Time at which the first participant begins. It is fixed, so that the same seed gives the same data."""

ARRIVALS = timedelta(minutes=2)
"""Time between the starts of two successive participants."""

NO_LIMIT = 10**9


@dataclass(frozen=True, slots=True)
class SimulatedPilot:
    """Results of a pilot with simulated participants.

    Attributes:
        folder: folder with the pilot's data.
        labels: labels of the participants who took part, in the order in which they began.
        finished: number of participants who finished.
        careless: number of participants who finished but were careless on attention checks; see `Population`.
        full: whether some participants could not begin because every list had reached its quota.
    """

    folder: Path
    labels: tuple[str, ...]
    finished: int
    careless: int
    full: bool


def simulate_pilot(
    folder: Path,
    n: int,
    *,
    seed: int = 0,
    population: Population | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> SimulatedPilot:
    """Start a new pilot of a study, and let n simulated participants take part.

    The study's own data is not changed. The same seed and study give the same labels, lists, answers and times.

    Args:
        folder: the study's folder.
        n: number of participants.
        seed: seed of the participants' behavior, such as answers and times.
        population: the population from which participants are drawn; None for the defaults of `Population`.
        on_progress: called with the number of participants who have taken part so far, and n.

    Raises:
        InputError: if study.toml, the dataset or an image is missing or invalid.
        SimulationError: if the server rejects a participant's request.
        MissingExtraError: if the extra `study` is not installed.
    """
    population = population or Population()
    design = _without_limits(load(folder))
    behavior = Behavior(design, n, population, seed)
    participants = draw_participants(n, population, seed)
    clock, numbers = SimulatedClock(START), count(1)
    labels: list[str] = []
    finished = careless = 0
    full = False
    data = new_pilot(folder)
    options = {"pilot": True, "new_label": lambda: f"{SIMULATED}{next(numbers)}", "clock": clock}
    with opened_data(design, data, **options) as server, in_background(server) as port:
        for person in participants:
            clock.now = START + person.number * ARRIVALS
            try:
                label, is_finished = _take_part(port, design, behavior, person, clock)
            except StudyFullError:
                full = True
                break
            labels.append(label)
            finished += is_finished
            careless += is_finished and person.careless
            if on_progress is not None:
                on_progress(len(labels), n)
    return SimulatedPilot(data, tuple(labels), finished, careless, full)


def _take_part(
    port: int, design: StudyDesign, behavior: Behavior, person: SimulatedParticipant, clock: SimulatedClock
) -> tuple[str, bool]:
    """Simulate one participant. Return the participant's label, and whether the participant finished."""
    with SimulatedBrowser(port, EventSequence(clock, person.rng)) as browser:
        state = browser.start()
        # The browser does not learn which image it shows; the participant sees it, as a person would.
        trials = design.trials(state["list"], seed_of(design.config.seed, state["participant"]))
        for action in behavior.actions(person, trials):
            browser.do(action)
        return state["participant"], browser.stage == "finished"


def _without_limits(design: StudyDesign) -> StudyDesign:
    """Return the design without limits on the number of requests, because all simulated participants have the same
    network address.
    """
    serve = design.config.serve.model_copy(
        update={
            "requests_per_minute": NO_LIMIT,
            "requests_per_minute_address": NO_LIMIT,
            "starts_per_minute_address": NO_LIMIT,
        }
    )
    return replace(design, config=design.config.model_copy(update={"serve": serve}))
