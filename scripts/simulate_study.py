"""Synthetic participants of a study, for tests and for the documentation: what they do says nothing about people.

`python scripts/simulate_study.py STUDY 40` adds 40 to a study, as the server would have stored them. In a study of
choices they are observers of known cues.
"""

from __future__ import annotations

import argparse
import hashlib
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from spotball_adapters.study.events import Event, StudyTrial
from spotball_adapters.study.items import Key
from spotball_adapters.study.progress import replay
from spotball_adapters.study.questions import Answer, MultipleChoice, Number, Question, Scale, SingleChoice
from spotball_adapters.study.server.sessions import PROLIFIC
from spotball_adapters.study.server.wire import read_event
from spotball_adapters.study.setup.assignment import choose_list, seed_of
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.store import (
    Identity,
    Participant,
    StudyStore,
    insert_events,
    insert_identity,
    insert_participant,
)
from spotball_adapters.study.surveys import QuizChoices, Surveys
from spotball_core import __version__
from spotball_core.baselines import baseline_distributions
from spotball_core.gaze.power.observers import Observer, simulate as simulate_observer
from spotball_core.random import generator_for
from spotball_core.typing import FloatArray

START = datetime(2026, 1, 5, 9, tzinfo=UTC)
VIEWPORT = (1280.0, 720.0, 1.0)
SECONDS = 15.0
"""That the median image takes a participant of median speed."""

CHOICE_SECONDS = 4.0
"""The same of a photo to which an object is chosen."""

HESITATION = 1.5
"""How many times longer a wrong choice takes than a right one."""


WORDS = ("player", "arm", "ball", "corner", "eyes", "goal", "hand", "head", "jump", "left", "net", "pass", "team")
"""What synthetic explanations are made of."""


@dataclass(frozen=True)
class Population:
    """Who takes part.

    Attributes:
        guesses: the baseline whose distribution they click by.
        observer: in a study of choices, the cues they go by.
        unfinished: share who stop on the way.
        careless: share who click on checks as on any other image, or choose wrong on them.
        prolific: whether they come with made-up Prolific IDs.
    """

    guesses: str = "nearest-player"
    observer: Observer = field(default_factory=lambda: Observer("eye", noise=0.3, stimulus_noise=0.2, lapse=0.02))
    unfinished: float = 0.1
    careless: float = 0.15
    prolific: bool = True


def simulate(study: Path, n: int, *, seed: int = 0, population: Population | None = None) -> list[str]:
    """Add n participants to a study; returns their labels.

    Labels, lists, orders, answers and times follow from the seed and the study.
    """
    design = load(study)
    population = population or Population()
    answers: Answers = (
        _Clicks(design, population.guesses) if design.config.task == "clicks" else _Choices(design, population, n, seed)
    )
    labels = []
    with StudyStore(study) as store:
        store.claim(design.parts)
        stopping, careless = (
            set(generator_for(seed, what).permutation(n)[: round(share * n)].tolist())
            for what, share in (("unfinished", population.unfinished), ("careless", population.careless))
        )
        for number in range(n):
            label = f"synthetic-{seed}-{number + 1}"
            rng = generator_for(seed, "participant", str(number))
            held = Counter(person.list for person in store.participants())
            own = seed_of(design.config.seed, label)
            name = choose_list({one.name: held[one.name] for one in design.config.lists}, own)
            person = design.trials(name, own)
            stops = int(rng.integers(len(person))) if number in stopping else None
            events = list(_events(number, person, stops, answers, rng, design.surveys, careless=number in careless))
            store_participant(store, design, label, name, own, person, events, prolific=population.prolific)
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
    """Store one participant with what they did, having checked that the study allows all of it."""
    finished = replay(trials, events, design.item_type, design.surveys).ended_at
    began, seen = events[0].received_at, events[-1].received_at
    token = hashlib.sha256(label.encode()).digest()
    if prolific:
        person = hashlib.sha256(token).hexdigest()[:24]
        with store.identities_file.transaction() as identities:
            insert_identity(identities, Identity(label, PROLIFIC, person, "synthetic-study", f"session-{label}"))
    row = Participant(0, label, list_name, seed, tuple(trials), began, seen, finished, __version__)
    with store.study.transaction() as connection:
        insert_events(connection, insert_participant(connection, row, token), events)


class Clock:
    """Events of one participant, one after the other, with times as the server and the browser would have them."""

    def __init__(self, rng: np.random.Generator, start: datetime = START) -> None:
        self._rng, self._now, self._shown = rng, start, start
        self._seq = 0

    def event(self, kind: str, trial: int | None, value: dict[str, Any], *, after: float = 0.0) -> Event:
        """What the server makes of an event that comes some seconds after the one before."""
        self._now += timedelta(seconds=after)
        if kind == "shown":
            self._shown = self._now
        self._seq += 1
        at = self._now.isoformat(timespec="milliseconds")
        own_id = str(uuid.UUID(bytes=self._rng.bytes(16), version=4))
        if kind == "stage" and value == {"stage": "consent"}:
            # The server's own.
            return Event(self._seq, own_id, "stage", None, value, 0.0, VIEWPORT, at)
        elapsed = (self._now - self._shown).total_seconds() * 1000 if trial is not None else 0.0
        sent = {"seq": self._seq, "event": own_id, "kind": kind, "trial": trial, "value": value}
        return read_event({**sent, "elapsed_ms": elapsed, "viewport": list(VIEWPORT)}, at)

    def answer(self, trial: int, cells: Sequence[tuple[int, int]], grid: Any, seconds: float) -> Iterator[Event]:
        """A trial is shown, cells are clicked in their middles, and confirmed."""
        yield self.event("shown", trial, {})
        for row, col in cells:
            place = {"row": row, "col": col, "x": (col - 0.5) / grid.cols, "y": (row - 0.5) / grid.rows, "by": "mouse"}
            yield self.event("click", trial, place, after=seconds / len(cells))
        yield self.event("answer", trial, {"cells": [list(cell) for cell in cells]}, after=0.5)


class Answers(Protocol):
    """How participants answer."""

    def events(
        self, clock: Clock, number: int, trial: StudyTrial, rng: np.random.Generator, pace: Pace
    ) -> Iterator[Event]:
        """What the participant of this number does on a trial."""


@dataclass(frozen=True)
class Pace:
    """How a participant goes about it: how slow they are (1 is the median), and whether they look at checks."""

    speed: float
    careless: bool

    def seconds(self, rng: np.random.Generator, median: float) -> float:
        """That an image takes them."""
        return median * self.speed * float(np.exp(rng.normal(0, 0.4)))


class _Clicks:
    """Clicks on each image, by a baseline and by who sees the ball."""

    def __init__(self, design: StudyDesign, guesses: str) -> None:
        self.design = design
        keys = list(design.scenes)
        scenes = list(design.scenes.values())
        self._blind: dict[Key, FloatArray] = dict(zip(keys, baseline_distributions(guesses, scenes), strict=True))
        self._seeing: dict[Key, FloatArray] = dict(zip(keys, baseline_distributions("oracle", scenes), strict=True))

    def events(
        self, clock: Clock, number: int, trial: StudyTrial, rng: np.random.Generator, pace: Pace
    ) -> Iterator[Event]:
        """See `Answers`."""
        seconds = pace.seconds(rng, SECONDS)
        cells = self._cells(trial, rng, sees=trial.check and not pace.careless)
        yield from clock.answer(trial.trial, cells, self.design.scenes[trial.key].layout, seconds)

    def _cells(self, trial: StudyTrial, rng: np.random.Generator, *, sees: bool) -> list[tuple[int, int]]:
        mass = (self._seeing if sees else self._blind)[trial.key]
        if not np.isfinite(mass).all():
            mass = np.full(len(mass), 1 / len(mass))
        grid = self.design.scenes[trial.key].layout
        drawn = rng.choice(len(mass), size=self.design.config.clicks.per_image, p=mass)
        return [grid.position(grid.labels[index]) for index in drawn]


class _Choices:
    """Choices of an observer with known cues, who hesitates where they are wrong; checks are easy."""

    def __init__(self, design: StudyDesign, population: Population, n: int, seed: int) -> None:
        photos = list({one.stimulus_id: one for one in design.stimuli.values()}.values())
        trials = simulate_observer(population.observer, photos, prompts=n, seed=seed)
        places = trials.frame.select("stimulus_id", "prompt_id", "choice").iter_rows()
        # Noise that all trials with a photo share is shared by participants, as by prompts.
        self._places = {(stimulus, int(prompt) - 1): place for stimulus, prompt, place in places}
        self._stimuli = design.stimuli

    def events(
        self, clock: Clock, number: int, trial: StudyTrial, rng: np.random.Generator, pace: Pace
    ) -> Iterator[Event]:
        """See `Answers`."""
        shown = self._stimuli[trial.key]
        place = self._places.get((trial.image, number), shown.gaze)
        if trial.check and pace.careless:
            place = (shown.gaze + 1) % len(shown.objects)
        seconds = pace.seconds(rng, CHOICE_SECONDS) * (1.0 if place == shown.gaze else HESITATION)
        yield clock.event("shown", trial.trial, {})
        yield clock.event("choice", trial.trial, {"option": trial.options.index(shown.objects[place])}, after=seconds)


def _events(
    number: int,
    trials: Sequence[StudyTrial],
    stops: int | None,
    answers: Answers,
    rng: np.random.Generator,
    surveys: Surveys,
    *,
    careless: bool,
) -> Iterator[Event]:
    clock = Clock(rng, START + timedelta(minutes=float(rng.uniform(0, 600))))
    pace = Pace(float(np.exp(rng.normal(0, 0.3))), careless)
    yield clock.event("stage", None, {"stage": "consent"})
    said: dict[str, Answer] = {}
    yield from _questionnaires(clock, number, surveys, "before", said, pace)
    yield clock.event("stage", None, {"stage": "instructions"}, after=60 * pace.speed)
    if surveys.quiz:
        right = {
            one.name: list(one.right) if isinstance(one, QuizChoices) else one.right for one in surveys.quiz.questions
        }
        yield clock.event("quiz", None, {"answers": right}, after=15 * pace.speed)
    practiced = not any(trial.trial < 0 for trial in trials)
    for place, trial in enumerate(trials):
        if place == stops:
            return
        if trial.trial >= 0 and not practiced:
            practiced = True
            yield clock.event("stage", None, {"stage": "practice"}, after=5.0)
        yield from answers.events(clock, number, trial, rng, pace)
        if trial.explain:
            words = generator_for(number, "words", trial.image).permutation(WORDS)[:6]
            text = f"Synthetic: {' '.join(words)}."
            yield clock.event("explanation", trial.trial, {"text": text}, after=20 * pace.speed)
    yield from _questionnaires(clock, number, surveys, "after", said, pace)


def _questionnaires(
    clock: Clock, number: int, surveys: Surveys, when: str, said: dict[str, Answer], pace: Pace
) -> Iterator[Event]:
    """Fill in questionnaires at random, by the study's own rules; `said` gets the answers."""
    for questionnaire in surveys.at(when):
        rng = generator_for(number, "questionnaire", questionnaire.name)
        answers: dict[str, Answer] = {}
        for question in questionnaire.questions:
            if question.show_if is None or question.show_if.holds({**said, **answers}):
                answers[question.name] = _random_answer(question, rng)
        said.update(answers)
        after = 5.0 * len(answers) * pace.speed
        yield clock.event("questionnaire", None, {"name": questionnaire.name, "answers": answers}, after=after)


def _random_answer(question: Question, rng: np.random.Generator) -> Answer:
    if isinstance(question, SingleChoice):
        return str(rng.choice(question.values))
    if isinstance(question, MultipleChoice):
        chosen = rng.choice(question.values, size=int(rng.integers(1, len(question.values) + 1)), replace=False)
        return [value for value in question.values if value in chosen]
    if isinstance(question, Scale):
        return int(rng.integers(question.min, question.max + 1))
    if isinstance(question, Number):
        low = 0.0 if question.min is None else question.min
        high = low + 100 if question.max is None else question.max
        number = float(rng.uniform(low, high))
        return float(round(number)) if question.whole else number
    return f"Synthetic: {' '.join(rng.permutation(WORDS)[:3])}."[: question.max_length]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Add synthetic participants to a study.")
    parser.add_argument("study", type=Path)
    parser.add_argument("n", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    simulate(arguments.study, arguments.n, seed=arguments.seed)
