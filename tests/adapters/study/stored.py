"""Store participants directly, in the form in which the server stores them; read answers with SQL; run commands."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from spotball_adapters.cli.study import study as app
from spotball_adapters.study.events import Event, StudyTrial
from spotball_adapters.study.progress import Stage, replay
from spotball_adapters.study.results.participations import GivenAnswer, Participation
from spotball_adapters.study.server.sessions import PROLIFIC
from spotball_adapters.study.server.wire import read_event
from spotball_adapters.study.setup.assignment import choose_list, seed_of
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.simulation.behavior import Action, Behavior, Population, clicks_on, draw_participants
from spotball_adapters.study.simulation.pilot import START, VIEWPORT, EventSequence, SimulatedClock
from spotball_adapters.study.store import (
    Identity,
    Participant,
    StudyStore,
    insert_events,
    insert_identity,
    insert_participant,
)
from spotball_core.version import version

BALL = ("C2", "C3")


def simulate(study: Path, n: int, *, seed: int = 0, population: Population | None = None) -> list[str]:
    """Store n simulated participants from Prolific in a study, and return their labels."""
    design, population = load(study), population or Population()
    behavior = Behavior(design, n, population, seed)
    labels = []
    with StudyStore(study) as store:
        store.claim(design.parts)
        for person in draw_participants(n, population, seed):
            label = f"synthetic-{seed}-{person.number + 1}"
            n_by_list = Counter(one.list for one in store.participants())
            own_seed = seed_of(design.config.seed, label)
            name = choose_list({one.name: n_by_list[one.name] for one in design.config.lists}, own_seed)
            trials = design.trials(name, own_seed)
            clock = Clock(person.rng, minutes=float(person.rng.uniform(0, 600)))
            events = [clock.consent(), *map(clock.received, behavior.actions(person, trials))]
            store_participant(store, design, label, name, own_seed, trials, events, prolific=True)
            labels.append(label)
    return labels


def store_participant(
    store: StudyStore,
    design: StudyDesign,
    label: str,
    list_name: str,
    seed: int,
    trials: Sequence[StudyTrial],
    events: Sequence[Event],
    *,
    prolific: bool = False,
) -> None:
    """Store one participant with these events, which must be valid for the study."""
    finished = replay(trials, events, design.item_type, design.surveys).ended_at
    began, seen = events[0].received_at, events[-1].received_at
    token = hashlib.sha256(label.encode()).digest()
    if prolific:
        person = hashlib.sha256(token).hexdigest()[:24]
        with store.identities_file.transaction() as identities:
            insert_identity(identities, Identity(label, PROLIFIC, person, "synthetic-study", f"session-{label}"))
    row = Participant(0, label, list_name, seed, tuple(trials), began, seen, finished, version())
    with store.study.transaction() as connection:
        insert_events(connection, insert_participant(connection, row, token), events)


class Clock:
    """Convert the actions of a participant to events with browser and server times."""

    def __init__(self, rng: np.random.Generator, *, minutes: float = 0.0) -> None:
        self._clock = SimulatedClock(START + timedelta(minutes=minutes))
        self._rng, self._sequence = rng, EventSequence(self._clock, rng)

    def consent(self) -> Event:
        """Return the first event, which the server itself adds."""
        event = str(uuid.UUID(bytes=self._rng.bytes(16), version=4))
        return Event(1, event, "stage", None, {"stage": "consent"}, 0.0, VIEWPORT, self._now())

    def received(self, action: Action) -> Event:
        """Return the next event, in the form the server stores."""
        sent = self._sequence.event(action)
        return read_event(sent, self._now())

    def event(self, kind: Any, trial: int | None, value: dict[str, Any], *, after: float = 0.0) -> Event:
        """Return the next event, from its parts."""
        return self.consent() if value == {"stage": "consent"} else self.received(Action(kind, trial, value, after))

    def answer(self, trial: int, cells: Sequence[tuple[int, int]], grid: Any, seconds: float) -> Iterator[Event]:
        """Yield the events of an image whose cells are clicked and confirmed."""
        yield from map(self.received, clicks_on(trial, cells, grid, seconds))

    def _now(self) -> str:
        return self._clock.now.isoformat(timespec="milliseconds")


def given(
    *said: str, check: bool = False, seconds: float = 10.0, ball: Sequence[str] = BALL, image: str = "1"
) -> GivenAnswer:
    """Return an answer; its clicks are hits if they are in a cell of the ball."""
    hits = tuple(cell in ball for cell in said) if ball else ()
    return GivenAnswer(order=1, sport="soccer", image=image, check=check, choices=said, hits=hits, seconds=seconds)


def person(
    *answers: GivenAnswer, name: str = "p", at: str = "soccer", stage: Stage = "finished", minutes: float | None = None
) -> Participation:
    """Return a participant who gave these answers."""
    return Participation(name, at, stage, answers, minutes)


def confirmed(study: Path) -> Iterator[tuple[str, dict[str, Any], list[list[int]]]]:
    """Yield label, trial and cells of each confirmed answer except practice, directly from the SQLite file."""
    with closing(sqlite3.connect(study / "study.sqlite")) as connection:
        rows = connection.execute(
            "SELECT participant, trials, trial, value FROM events JOIN participants ON participant_id = id "
            "WHERE kind = 'answer' AND trial >= 0 ORDER BY id, seq"
        )
        for label, trials, number, value in rows:
            (trial,) = [one for one in json.loads(trials) if one["trial"] == number]
            yield label, trial, json.loads(value)["cells"]


def label(row: int, col: int) -> str:
    """Return a cell's label on the grid of the paper."""
    return f"{'ABCDEF'[row - 1]}{col}"


def command(*arguments: str | Path) -> str:
    """Run `spotball study` in this process, and return its standard error. Exceptions are not caught."""
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stderr
