"""Let simulated participants take part in a pilot of a study, over HTTP on this machine."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from spotball_adapters.study.server.serve import in_background, opened_data
from spotball_adapters.study.setup.assignment import seed_of
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.setup.pilot import SIMULATED, new_pilot
from spotball_adapters.study.simulation.behavior import (
    Action,
    Behavior,
    Population,
    SimulatedParticipant,
    draw_participants,
)
from spotball_core.errors import SpotballError

VIEWPORT = (1920.0, 1080.0, 1.0)
"""Width and height of the simulated window in CSS pixels, and number of device pixels per CSS pixel."""


class SimulationError(SpotballError):
    """The study's server rejected a simulated participant's request."""

    code = "study-failed"


class StudyFullError(Exception):
    """The study accepts no more participants, because every list has reached its quota."""


class SimulatedClock:
    """A clock whose time passes only when `wait` is called, so that an hour of a participant's time is simulated in
    seconds.

    Attributes:
        now: the current simulated time.
    """

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        """Return the current simulated time."""
        return self.now

    def wait(self, seconds: float) -> None:
        """Advance the clock by a number of seconds."""
        self.now += timedelta(seconds=seconds)


class EventSequence:
    """Create the events of a participant, with numbers and times, as the study's page does in a browser.

    Args:
        clock: the simulated clock, which each action advances.
        rng: random generator for the UUIDs of events.

    Attributes:
        seq: number of the last event.
    """

    def __init__(self, clock: SimulatedClock, rng: np.random.Generator) -> None:
        self._clock, self._rng = clock, rng
        self._shown = clock.now
        self.seq = 1

    def event(self, action: Action) -> dict[str, Any]:
        """Advance the clock to an action, and return its event as the page sends it.

        Events are numbered from 2, because the server itself stores the first event, the consent.
        """
        self._clock.wait(action.after)
        if action.kind == "shown":
            self._shown = self._clock.now
        self.seq += 1
        elapsed = (self._clock.now - self._shown).total_seconds() * 1000
        return {
            "seq": self.seq,
            "event": str(uuid.UUID(bytes=self._rng.bytes(16), version=4)),
            "kind": action.kind,
            "trial": action.trial,
            "value": dict(action.value),
            "elapsed_ms": 0.0 if action.trial is None else elapsed,
            "viewport": list(VIEWPORT),
        }


class SimulatedBrowser:
    """One participant's connection to a study's server on this machine.

    Args:
        port: port on which the server listens.
        events: the object that creates the events of this participant.
    """

    def __init__(self, port: int, events: EventSequence) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._events = events
        self._cookie: str | None = None
        self._waiting: list[dict[str, Any]] = []
        self._images: dict[int, str] = {}
        self.stage = "consent"

    def __enter__(self) -> SimulatedBrowser:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def start(self) -> dict[str, Any]:
        """Open the page, and consent to take part. Return the participant's state as JSON values.

        Raises:
            StudyFullError: if every list has reached its quota.
        """
        for page in ("/", "/api/study"):
            self._request("GET", page)
        state: dict[str, Any] = json.loads(
            self._request("POST", "/api/start", {"consent": True, "viewport": list(VIEWPORT)})
        )
        self._images = {item["trial"]: f"/{item['image']}" for item in (*state["practice"], *state["trials"])}
        return state

    def do(self, action: Action) -> None:
        """Send the event of an action to the server. Clicks are not sent immediately, but together with the next event
        that is not a click.
        """
        if action.kind == "shown" and action.trial is not None:
            self._request("GET", self._images[action.trial])
        self._waiting.append(self._events.event(action))
        if action.kind != "click":
            answer = json.loads(self._request("POST", "/api/events", {"events": self._waiting}))
            self.stage, self._waiting = answer["stage"], []

    def _request(self, method: str, path: str, content: dict[str, Any] | None = None) -> bytes:
        headers = {"Content-Type": "application/json"} if content is not None else {}
        if self._cookie is not None:
            headers["Cookie"] = self._cookie
        self._connection.request(method, path, None if content is None else json.dumps(content), headers)
        response = self._connection.getresponse()
        body = response.read()
        if response.status == 410:
            raise StudyFullError
        if response.status != 200:
            raise SimulationError(f"{method} {path}: HTTP {response.status}: {body[:200].decode(errors='replace')}")
        if cookie := response.getheader("Set-Cookie"):
            self._cookie = cookie.partition(";")[0]
        return body


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
