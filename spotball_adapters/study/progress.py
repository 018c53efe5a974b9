"""Compute a participant's progress from the participant's trials and events.

The server, the admin page and the export all compute progress from stored events with `replay`. Progress itself is not
stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from spotball_adapters.study.events import Event, StudyTrial, Viewport
from spotball_adapters.study.items import Click, ItemAnswer, ItemType, NotAllowedError
from spotball_adapters.study.questions import Answer, Answers
from spotball_adapters.study.surveys import NO_SURVEYS, Questionnaire, Surveys, check_answers

Stage = Literal["consent", "before", "instructions", "quiz", "screened", "practice", "trials", "after", "finished"]

STAGES: tuple[Stage, ...] = get_args(Stage)
"""The stages of a participation, in the order in which participants pass through them. `before` and `after` are the
questionnaires before the instructions and after the images. `screened` ends the participation after a failed quiz."""

ENDS: tuple[Stage, ...] = ("screened", "finished")
"""Final stages, in which a participant cannot do anything more."""

MOUSE_PATHS = 5
"""Maximum number of stored mouse paths per trial. Each time the trial is shown, one path is recorded."""


@dataclass(frozen=True, slots=True)
class AnsweredTrial:
    """A trial with the participant's answer.

    Attributes:
        trial: the trial.
        answer: the answer.
        response_ms: milliseconds that the trial was on the screen before the answer. The time between closing and
            reopening the page is excluded.
        shown_at: time when the server was first notified that the trial was shown, ISO 8601 in UTC.
        answered_at: time when the server received the answer, ISO 8601 in UTC.
        viewport: size of the browser's window at the time of the answer.
        explanation: the participant's text, or None if no explanation was requested or given yet.
        explanation_ms: milliseconds that the trial was on the screen before the explanation.
        explained_at: time when the server received the explanation, ISO 8601 in UTC.
    """

    trial: StudyTrial
    answer: ItemAnswer
    response_ms: float
    shown_at: str
    answered_at: str
    viewport: Viewport
    explanation: str | None = None
    explanation_ms: float | None = None
    explained_at: str | None = None

    @property
    def complete(self) -> bool:
        """Return whether the trial is finished: answered and, if requested, explained."""
        return self.explanation is not None or not self.trial.explain


@dataclass(frozen=True, slots=True)
class QuizAttempt:
    """An attempt at the comprehension quiz: the answers, and the names of the questions that were answered wrong."""

    answers: Answers
    wrong: tuple[str, ...]


class ParticipantProgress:
    """The progress of one participant.

    Attributes:
        stage: the current stage.
        seq: number of the last event.
        answered: answered trials by trial number, including practice, in the order of the answers.
        pending: unconfirmed clicks on the current trial.
        over: time at which each past stage ended, by stage, ISO 8601 in UTC.
        ended_at: time at which the participation ended (finished or screened out), or None if it has not ended.
        survey: answers to questionnaires, by question name.
        quiz: attempts at the comprehension quiz.
    """

    def __init__(self, trials: Sequence[StudyTrial], item_type: ItemType, surveys: Surveys = NO_SURVEYS) -> None:
        self.ended_at: str | None = None
        self.survey: dict[str, Answer] = {}
        self.quiz: list[QuizAttempt] = []
        self._surveys = surveys
        self._filled_in: set[str] = set()
        self._mouse_paths = 0
        self.stage: Stage = "consent"
        self.seq = 0
        self.answered: dict[int, AnsweredTrial] = {}
        self.pending: tuple[Click, ...] = ()
        self.over: dict[Stage, str] = {}
        self._item_type = item_type
        self._practice = [trial for trial in trials if trial.trial < 0]
        self._trials = [trial for trial in trials if trial.trial >= 0]
        self._done = 0
        self._shown = False
        self._shown_at: str | None = None
        self._before = self._showing = 0.0

    @property
    def current(self) -> StudyTrial | None:
        """Return the trial that waits for an answer or an explanation, or None in stages without images."""
        if self.stage == "practice":
            return next((trial for trial in self._practice if trial.trial not in self.answered), None)
        if self.stage == "trials":
            return self._trials[self._done]
        return None

    @property
    def answers(self) -> tuple[AnsweredTrial, ...]:
        """Return the answered trials except practice, in the order in which they were shown."""
        return tuple(answer for number, answer in self.answered.items() if number >= 0)

    @property
    def questionnaire(self) -> Questionnaire | None:
        """Return the questionnaire that the participant must fill in now, or None if there is none."""
        return next(
            (
                questionnaire
                for questionnaire in self._surveys.at(self.stage)
                if questionnaire.name not in self._filled_in
            ),
            None,
        )

    @property
    def attempts_left(self) -> int | None:
        """Return the number of remaining attempts at the quiz, or None if the study has no quiz."""
        quiz = self._surveys.quiz
        return None if quiz is None else quiz.attempts - len(self.quiz) % quiz.attempts

    def take(self, event: Event) -> None:
        """Apply one event. If the event is not allowed, nothing changes.

        Raises:
            NotAllowedError: if the event does not have the next number, or if the study's rules do not allow the event
                in the current state.
        """
        if event.seq != self.seq + 1:
            raise NotAllowedError(f"found event {event.seq}, expected event {self.seq + 1}")
        if event.kind == "stage":
            self._end_stage(event)
        elif event.kind in ("away", "fullscreen"):
            if self.stage in ENDS:
                raise NotAllowedError(f"{event.kind}: the participation has ended")
        elif event.kind == "questionnaire":
            self._fill_in(event)
        elif event.kind == "quiz":
            self._attempt(event)
        else:
            self._take_of_trial(event)
        self.seq = event.seq

    def _end_stage(self, event: Event) -> None:
        stage = event.value["stage"]
        if stage != self.stage or stage not in ("consent", "instructions", "practice"):
            raise NotAllowedError(f"the stage {stage} cannot end now, because the current stage is {self.stage}")
        if stage == "practice" and self.current is not None:
            raise NotAllowedError("practice is not complete")
        self._go_on(event)

    def _go_on(self, event: Event) -> None:
        """Enter the next stage that is not empty. For example, `before` is empty if the study has no questionnaire
        before the instructions.
        """
        self.over[self.stage] = event.received_at
        quiz = self._surveys.quiz
        has_content: dict[Stage, bool] = {
            "before": bool(self._surveys.at("before")),
            "quiz": quiz is not None and not any(not attempt.wrong for attempt in self.quiz),
            "screened": False,
            "practice": bool(self._practice),
            "after": bool(self._surveys.at("after")),
        }
        following = STAGES[STAGES.index(self.stage) + 1 :]
        self.stage = next(stage for stage in following if has_content.get(stage, True))
        if self.stage == "finished":
            self.ended_at = event.received_at

    def _fill_in(self, event: Event) -> None:
        questionnaire = self.questionnaire
        if questionnaire is None or event.value["name"] != questionnaire.name:
            now = f"the stage is {self.stage}" if questionnaire is None else f"the next one is {questionnaire.name}"
            raise NotAllowedError(f"the questionnaire {event.value['name']} cannot be filled in now, because {now}")
        self._check(questionnaire.questions, event.value["answers"], self.survey)
        self.survey.update(event.value["answers"])
        self._filled_in.add(questionnaire.name)
        if self.questionnaire is None:
            self._go_on(event)

    def _attempt(self, event: Event) -> None:
        quiz, answers = self._surveys.quiz, event.value["answers"]
        if quiz is None or self.stage != "quiz":
            raise NotAllowedError(f"the quiz is not possible now, because the stage is {self.stage}")
        self._check(quiz.questions, answers, {})
        self.quiz.append(QuizAttempt(answers, tuple(quiz.wrong(answers))))
        if not self.quiz[-1].wrong:
            self._go_on(event)
        elif len(self.quiz) % quiz.attempts == 0:
            self.over["quiz"] = event.received_at
            if quiz.failure == "instructions":
                self.stage = "instructions"
            else:
                self.stage, self.ended_at = "screened", event.received_at

    def _check(self, questions: Sequence[Any], answers: Answers, earlier: Answers) -> None:
        try:
            check_answers(questions, answers, earlier)
        except ValueError as error:
            raise NotAllowedError(str(error)) from error

    def _take_of_trial(self, event: Event) -> None:
        trial = self.current
        if trial is None:
            raise NotAllowedError(f"{event.kind} is not possible now, because the stage is {self.stage}")
        if event.trial != trial.trial:
            raise NotAllowedError(f"{event.kind}: found trial {event.trial}, but the current trial is {trial.trial}")
        if event.kind == "shown":
            self._shown, self._before, self._showing = True, self._before + self._showing, 0.0
            self._shown_at = self._shown_at or event.received_at
            return
        if not self._shown or self._shown_at is None:
            raise NotAllowedError(f"{event.kind}: the trial has not been shown yet")
        elapsed = max(self._showing, event.elapsed_ms)
        if event.kind == "mouse":
            if self._mouse_paths == MOUSE_PATHS:
                raise NotAllowedError(f"mouse: this trial already has the maximum of {MOUSE_PATHS} paths")
            self._mouse_paths += 1
        elif event.kind == "explanation":
            self._explain(trial, event, self._before + elapsed)
        elif trial.trial in self.answered:
            raise NotAllowedError(f"{event.kind}: the trial is already answered; the explanation must come next")
        else:
            step = self._item_type.step(trial, self.pending, event)
            self.pending = step.pending
            if step.answer:
                self.answered[trial.trial] = AnsweredTrial(
                    trial, step.answer, self._before + elapsed, self._shown_at, event.received_at, event.viewport
                )
        self._showing = elapsed
        if trial.trial in self.answered and self.answered[trial.trial].complete:
            self._shown, self._shown_at, self._before, self._showing = False, None, 0.0, 0.0
            self._mouse_paths = 0
            self._done += trial.trial >= 0
            if self._done == len(self._trials):
                self._go_on(event)

    def _explain(self, trial: StudyTrial, event: Event, elapsed: float) -> None:
        if trial.trial not in self.answered:
            raise NotAllowedError("an explanation must come after the answer")
        answer = self.answered[trial.trial]
        self.answered[trial.trial] = replace(
            answer, explanation=event.value["text"], explanation_ms=elapsed, explained_at=event.received_at
        )


def replay(
    trials: Sequence[StudyTrial], events: Iterable[Event], item_type: ItemType, surveys: Surveys = NO_SURVEYS
) -> ParticipantProgress:
    """Return a participant's progress after the given events, which must be sorted by number.

    Raises:
        NotAllowedError: if the study's rules do not allow an event. This cannot happen with stored events, unless the
            study was changed after they were stored.
    """
    progress = ParticipantProgress(trials, item_type, surveys)
    for event in events:
        progress.take(event)
    return progress
