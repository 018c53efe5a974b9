"""Simulate the actions of participants, and the times between actions.

The simulation is not a model of human behavior.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from spotball_adapters.study.events import Kind, StudyTrial
from spotball_adapters.study.items import Key
from spotball_adapters.study.questions import Answer, MultipleChoice, Number, Question, Scale, SingleChoice
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.surveys import QuizChoices
from spotball_core.baselines import baseline_distributions
from spotball_core.gaze.power.observers import Observer, simulate as simulate_observer
from spotball_core.random import generator_for
from spotball_core.typing import FloatArray

CLICKS_SECONDS, CHOICE_SECONDS = 15.0, 4.0
"""Median time per image of a participant with median speed, in seconds: for clicks, and for a choice."""

HESITATION = 1.5
"""Ratio of the time for a wrong choice to the time for a right choice."""

WORDS = ("player", "arm", "ball", "corner", "eyes", "goal", "hand", "head", "jump", "left", "net", "pass", "team")
"""Words from which simulated explanations are composed."""

OBSERVERS: Mapping[str, Observer] = MappingProxyType(
    {
        "eye": Observer("eye", noise=0.3, stimulus_noise=0.2, lapse=0.02),
        "head": Observer("head", noise=0.4, lapse=0.05),
    }
)
"""Simulated observers who choose an object by the direction of the eyes or of the head, by name."""


@dataclass(frozen=True)
class Population:
    """A population of simulated participants.

    Attributes:
        guesses: name of the baseline from whose distribution participants draw their clicks, for the task `clicks`.
        observer: the observer who simulates the participants' choices, for the task `choice`.
        unfinished: share of participants who stop midway, from 0 to 1.
        careless: share of participants who finish but treat attention checks like other images (clicks) or answer them
            wrong (choices), from 0 to 1.
    """

    guesses: str = "nearest-player"
    observer: Observer = OBSERVERS["eye"]
    unfinished: float = 0.1
    careless: float = 0.15


@dataclass(frozen=True, slots=True)
class Action:
    """One action of a simulated participant, which becomes an event; see `Event`.

    Attributes:
        kind: kind of the event.
        trial: number of the trial, or None.
        value: details of the action.
        after: seconds between the previous action and this action.
    """

    kind: Kind
    trial: int | None
    value: Mapping[str, Any]
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulatedParticipant:
    """A simulated participant, drawn from a population.

    Attributes:
        number: number of the participant, from 0.
        rng: random generator for the participant's behavior.
        stops: whether the participant stops midway.
        careless: whether the participant is careless on attention checks; see `Population`.
        speed: factor by which the participant takes longer than the median participant; above 1 is slow.
    """

    number: int
    rng: np.random.Generator
    stops: bool
    careless: bool
    speed: float

    def seconds(self, median: float) -> float:
        """Return a random time for which the participant looks at an image, in seconds.

        `median` is the median time of participants with median speed.
        """
        return median * self.speed * float(np.exp(self.rng.normal(0, 0.4)))


def draw_participants(n: int, population: Population, seed: int) -> list[SimulatedParticipant]:
    """Return n random participants of a population. No participant both stops midway and is careless."""
    order = generator_for(seed, "participants").permutation(n).tolist()
    n_stopping = round(population.unfinished * n)
    stopping = set(order[:n_stopping])
    careless = set(order[n_stopping:][: round(population.careless * n)])
    drawn = []
    for number in range(n):
        rng = generator_for(seed, "participant", str(number))
        speed = float(np.exp(rng.normal(0, 0.3)))
        drawn.append(SimulatedParticipant(number, rng, number in stopping, number in careless, speed))
    return drawn


class Behavior:
    """Simulate how the participants of a population behave in a study.

    Args:
        design: the study's design.
        n: number of participants.
        population: the population.
        seed: seed of the simulated choices.
    """

    def __init__(self, design: StudyDesign, n: int, population: Population, seed: int) -> None:
        self._surveys = design.surveys
        self._letters = design.config.explanation_letters
        self._answers: _Answers = (
            _Clicks(design, population.guesses)
            if design.config.task == "clicks"
            else _Choices(design, n, population.observer, seed)
        )

    def actions(self, person: SimulatedParticipant, trials: Sequence[StudyTrial]) -> Iterator[Action]:
        """Yield a participant's actions after the consent, in the order of time.

        Args:
            person: the participant.
            trials: the participant's trials, practice first.
        """
        answers: dict[str, Answer] = {}
        yield from self._questionnaires(person, "before", answers)
        yield Action("stage", None, {"stage": "instructions"}, 60 * person.speed)
        if self._surveys.quiz:
            right = {
                question.name: list(question.right) if isinstance(question, QuizChoices) else question.right
                for question in self._surveys.quiz.questions
            }
            yield Action("quiz", None, {"answers": right}, 15 * person.speed)
        last = int(person.rng.integers(len(trials))) if person.stops else len(trials)
        practicing = any(trial.trial < 0 for trial in trials)
        for trial in trials[:last]:
            if practicing and trial.trial >= 0:
                practicing = False
                yield Action("stage", None, {"stage": "practice"}, 5.0)
            yield from self._answers.actions(person, trial)
            if trial.explain:
                yield Action("explanation", trial.trial, {"text": self._explanation(person, trial)}, 20 * person.speed)
        if not person.stops:
            yield from self._questionnaires(person, "after", answers)

    def _explanation(self, person: SimulatedParticipant, trial: StudyTrial) -> str:
        words = generator_for(person.number, "words", trial.image).permutation(WORDS).tolist()
        text = f"Simulated: {' '.join(words[:6])}"
        while sum(map(str.isalnum, text)) < self._letters:
            text += f" {' '.join(words)}"
        return f"{text}."

    def _questionnaires(self, person: SimulatedParticipant, when: str, earlier: dict[str, Answer]) -> Iterator[Action]:
        """Yield an action with random valid answers for each questionnaire at `when` (`before` or `after`), and add
        these answers to `earlier`.
        """
        for questionnaire in self._surveys.at(when):
            rng = generator_for(person.number, "questionnaire", questionnaire.name)
            answers: dict[str, Answer] = {}
            for question in questionnaire.questions:
                if question.show_if is None or question.show_if.holds({**earlier, **answers}):
                    answers[question.name] = _random_answer(question, rng)
            earlier.update(answers)
            seconds = 5.0 * len(answers) * person.speed
            yield Action("questionnaire", None, {"name": questionnaire.name, "answers": answers}, seconds)


def clicks_on(trial: int, cells: Sequence[tuple[int, int]], grid: Any, seconds: float) -> Iterator[Action]:
    """Yield the actions on an image: a click in the center of each of the given cells, then the confirmation.

    `seconds` is the total time for the clicks.
    """
    yield Action("shown", trial, {})
    for row, col in cells:
        place = {"row": row, "col": col, "x": (col - 0.5) / grid.cols, "y": (row - 0.5) / grid.rows, "by": "mouse"}
        yield Action("click", trial, place, seconds / len(cells))
    yield Action("answer", trial, {"cells": [list(cell) for cell in cells]}, 0.5)


class _Answers(Protocol):
    def actions(self, person: SimulatedParticipant, trial: StudyTrial) -> Iterator[Action]: ...


class _Clicks:
    """Simulate clicks. They are drawn from a baseline's distribution. On attention checks, participants who are not
    careless click cells of the visible ball instead.
    """

    def __init__(self, design: StudyDesign, guesses: str) -> None:
        self._design = design
        keys, scenes = list(design.scenes), list(design.scenes.values())
        self._guessed: dict[Key, FloatArray] = dict(zip(keys, baseline_distributions(guesses, scenes), strict=True))
        self._ball: dict[Key, FloatArray] = dict(zip(keys, baseline_distributions("oracle", scenes), strict=True))

    def actions(self, person: SimulatedParticipant, trial: StudyTrial) -> Iterator[Action]:
        seconds = person.seconds(CLICKS_SECONDS)
        mass = (self._ball if trial.check and not person.careless else self._guessed)[trial.key]
        if not np.isfinite(mass).all():
            # The baseline has no distribution, for instance without players.
            mass = np.full(len(mass), 1 / len(mass))
        grid = self._design.scenes[trial.key].layout
        drawn = person.rng.choice(len(mass), size=self._design.config.clicks.per_image, p=mass)
        yield from clicks_on(trial.trial, [grid.position(grid.labels[cell]) for cell in drawn], grid, seconds)


class _Choices:
    """Simulate the choices of an observer, who takes longer for wrong choices. Attention checks are answered correctly,
    except by careless participants."""

    def __init__(self, design: StudyDesign, n: int, observer: Observer, seed: int) -> None:
        photos = list({photo.stimulus_id: photo for photo in design.stimuli.values()}.values())
        simulated = simulate_observer(observer, photos, prompts=n, seed=seed)
        rows = simulated.frame.select("stimulus_id", "prompt_id", "choice").iter_rows()
        # Noise that all trials with a photo share is shared by participants, as by prompts.
        self._places = {(stimulus, int(prompt) - 1): place for stimulus, prompt, place in rows}
        self._stimuli = design.stimuli

    def actions(self, person: SimulatedParticipant, trial: StudyTrial) -> Iterator[Action]:
        shown = self._stimuli[trial.key]
        place = self._places.get((trial.image, person.number), shown.gaze)
        if trial.check and person.careless:
            place = (shown.gaze + 1) % len(shown.objects)
        seconds = person.seconds(CHOICE_SECONDS) * (1.0 if place == shown.gaze else HESITATION)
        yield Action("shown", trial.trial, {})
        yield Action("choice", trial.trial, {"option": trial.options.index(shown.objects[place])}, seconds)


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
    return f"Simulated: {' '.join(rng.permutation(WORDS)[:3])}."[: question.max_length]
