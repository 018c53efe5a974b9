"""Read each participant's actions from a study's store, as input for export, attrition and bonuses.

It also detects answers given without looking at the images: repeated answers, or answers that follow a pattern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise

import numpy as np

from spotball_adapters.study.events import Event, Viewport
from spotball_adapters.study.items import Click, NotAllowedError
from spotball_adapters.study.progress import AnsweredTrial, ParticipantProgress, QuizAttempt, Stage, replay
from spotball_adapters.study.questions import Answers
from spotball_adapters.study.results.explanations import duplicated, is_low_quality
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import Participant, StudyReader
from spotball_core.service.sqlite_file import StoreError

Places = tuple[tuple[int, int], ...]
"""Positions of an answer's clicks as (row, column). A choice is represented as one click in row 0, whose column is the
option's index.
"""

FEWEST = 8
"""Minimum number of images for which the functions of this module return a share. With fewer images, some pattern
always fits the answers.
"""

_NEAR = 0.5
"""Maximum mean distance between the clicks of two near-identical answers, in cells."""

_LONGEST_PERIOD = 6


def repeated_share(answers: Sequence[Places]) -> float | None:
    """Return the share of a participant's answers that are in the largest group of near-identical answers.

    Two answers are near-identical if their clicks, in reading order, are at most half a cell apart on average.

    Args:
        answers: answers of one participant, each with the same number of clicks.

    Returns:
        A share from 1 / len(answers) to 1, or None for fewer than `FEWEST` answers. Among the 50 people whose soccer
        clicks are published, the largest share is 0.2.

    Examples:
        >>> repeated_share([((3, 5), (3, 6))] * 6 + [((1, 1), (2, 2)), ((6, 1), (6, 2))])
        0.75
    """
    if len(answers) < FEWEST:
        return None
    places = np.asarray([sorted(answer) for answer in answers], dtype=float)
    apart = np.linalg.norm(places[:, None] - places[None, :], axis=-1).mean(axis=-1)
    return float((apart <= _NEAR).mean(axis=1).max())


def pattern_share(answers: Sequence[Places]) -> float | None:
    """Return the largest share of images whose answer follows from earlier answers by a simple rule.

    There are two kinds of rules. Either the answer equals the answer that the participant gave 2, 3, 4, 5 or 6 images
    earlier, but not the previous answer. Or the first click is a fixed number of rows and columns away from the first
    click on the previous image, as in A1, A2, A3, and so on.

    Args:
        answers: answers of one participant, in the order of the images.

    Returns:
        A share from 0 to 1, or None for fewer than `FEWEST` answers. Among the 50 people whose soccer clicks are
        published, the largest share is 0.163.

    Examples:
        >>> pattern_share([((1, column),) for column in range(1, 11)])
        1.0
        >>> pattern_share([((1, 1),), ((6, 10),)] * 5)
        1.0
    """
    if len(answers) < FEWEST:
        return None
    ordered = [tuple(sorted(answer)) for answer in answers]
    periods = [
        sum(ordered[i] == ordered[i - period] and ordered[i] != ordered[i - 1] for i in range(period, len(ordered)))
        / (len(ordered) - period)
        for period in range(2, _LONGEST_PERIOD + 1)
    ]
    steps = Counter((after[0][0] - before[0][0], after[0][1] - before[0][1]) for before, after in pairwise(answers))
    del steps[0, 0]
    return max(*periods, max(steps.values(), default=0) / (len(answers) - 1))


_CLOCKS, _DELAY = 1.05, 5.0
"""Tolerances when the browser's times are compared with the server's: the factor by which a browser's clock may be
faster, and the number of seconds that requests may take."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A participant's answer to one image.

    Attributes:
        order: position of the image among the images that the participant saw, from 1. Attention checks are counted,
            but practice images are not.
        check: whether the image is an attention check.
        choices: labels of the clicked cells, in the order of the clicks; or the chosen option.
        hits: for each choice, whether it is correct; empty if the ground truth is unknown.
        clicks: the clicks with times and positions; empty for a choice.
        seconds: seconds for which the image was on the screen before the answer, by the browser's clock.
        server_seconds: seconds between the arrival of two requests at the server: the notice that the image was shown,
            and the answer. The value is below `seconds` if a network failure delayed both requests and they arrived at
            the same time.
        places: row and column of each click; for a choice, row 0 and the index of the option as shown.
        explanation: the participant's text, or None if no explanation was requested or given.
    """

    order: int
    sport: str
    image: str
    check: bool
    choices: tuple[str, ...]
    hits: tuple[bool, ...]
    seconds: float
    clicks: tuple[Click, ...] = ()
    explanation: str | None = None
    server_seconds: float | None = None
    places: Places = ()

    @property
    def key(self) -> tuple[str, str]:
        """Return the image's identity: (sport, image)."""
        return self.sport, self.image


@dataclass(frozen=True, slots=True)
class MousePath:
    """A participant's mouse path over an image.

    Attributes:
        order: position of the image among the images that the participant saw, from 1; see `GivenAnswer`.
        points: for each point, the milliseconds since the image was shown, and x and y as fractions of the image's
            width and height. Values below 0 or above 1 are outside the image.
    """

    order: int
    sport: str
    image: str
    points: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """Indicators of how reliable a participant's answers are. A value is None if it is unknown or was not recorded.

    Attributes:
        server_seconds: mean seconds per image by the server's clock, from consent (or the end of the questionnaires and
            quiz before the images) to the last answer.
        impossible_times: whether the browser reports more time on images than passed on the server's clock.
        repeated: share of test images with nearly identical answers, from 0 to 1; see `patterns.repeated_share`.
        patterned: share of test images whose answers follow a simple pattern, from 0 to 1; see
            `patterns.pattern_share`.
        poor_explanations: number of explanations of low quality; see `explanations.is_low_quality`.
        duplicated_explanations: number of duplicate explanations; see `explanations.duplicated`.
        times_away: number of times the page was hidden or lost focus.
        seconds_away: total seconds that the page was hidden or without focus.
        viewport: size of the browser's window at the answer to the first image; see `Viewport`.
        device: type of device, browser, system and language, under the keys of `devices.device_of`.
        left_fullscreen: number of exits from full screen before the end, or None if the study does not require full
            screen.
        small_windows: number of images for which the window was smaller than required.
    """

    server_seconds: float | None = None
    impossible_times: bool = False
    repeated: float | None = None
    patterned: float | None = None
    poor_explanations: int = 0
    duplicated_explanations: int = 0
    times_away: int | None = None
    seconds_away: float | None = None
    viewport: Viewport | None = None
    device: Mapping[str, str] = field(default_factory=dict)
    left_fullscreen: int | None = None
    small_windows: int = 0


@dataclass(frozen=True, slots=True)
class Participation:
    """The data of one participant.

    Attributes:
        participant: the participant's label.
        list: name of the list of images that the participant saw.
        stage: the participant's current stage.
        answers: answers to images and attention checks, in the order shown.
        minutes: minutes from consent to the last answer, by the server's clock; None unless the participant finished.
        quality: indicators of the answers' reliability.
        survey: answers to questionnaires, by question name.
        quiz: attempts at the comprehension quiz.
        mouse: mouse paths over images, in the order in which they were stored.
    """

    participant: str
    list: str
    stage: Stage
    answers: tuple[GivenAnswer, ...]
    minutes: float | None = None
    quality: Quality = Quality()
    survey: Answers = field(default_factory=dict)
    quiz: tuple[QuizAttempt, ...] = ()
    mouse: tuple[MousePath, ...] = ()

    @property
    def finished(self) -> bool:
        """Return whether the participant finished the study."""
        return self.stage == "finished"

    @property
    def explanations(self) -> Sequence[str]:
        """Return the participant's explanations, in the order of the images."""
        return [answer.explanation for answer in self.answers if answer.explanation is not None]

    @property
    def test_hits(self) -> Sequence[bool]:
        """Return one value per click on a test image (or per choice): whether it is correct. Attention checks and
        images without ground truth are excluded.
        """
        return [hit for answer in self.answers if not answer.check for hit in answer.hits]


def participations(reader: StudyReader, design: StudyDesign) -> list[Participation]:
    """Return the data of all participants, in the order in which they began.

    Raises:
        StoreError: if stored events violate the study's rules, because the study was changed.
    """
    people = [participation(row, reader, design) for row in reader.participants()]
    counts = duplicated({person.participant: person.explanations for person in people})
    return [_with_duplicates(person, counts[person.participant]) for person in people]


def participation(row: Participant, reader: StudyReader, design: StudyDesign) -> Participation:
    """Return the data of one participant. Explanations are compared only with the participant's own explanations to
    count duplicates.

    Raises:
        StoreError: if stored events violate the study's rules, because the study was changed.
    """
    events = reader.events(row.id)
    try:
        progress = replay(row.trials, events, design.item_type, design.surveys)
    except (NotAllowedError, KeyError) as error:
        raise misfit(reader, row, error) from error
    return participation_of(row, progress, events, design)


def misfit(reader: StudyReader, row: Participant, error: Exception) -> StoreError:
    """Return the exception to raise if a participant's stored events violate the rules of the current study."""
    return StoreError(
        f"the stored data of participant {row.participant} do not fit the current study ({error}). "
        "Restore the earlier study.toml and dataset",
        file=reader.path,
    )


def participation_of(
    row: Participant,
    progress: ParticipantProgress,
    events: Sequence[Event],
    design: StudyDesign,
    *,
    n_duplicated: int | None = None,
) -> Participation:
    """Return the data of one participant, given the participant's progress.

    Args:
        row: the participant's row in the store.
        progress: the participant's progress after all events.
        events: the participant's events. Events of trials may be omitted, because `progress` contains their effects;
            but without `mouse` events, the result has no mouse paths.
        design: the study's design.
        n_duplicated: number of the participant's explanations that are duplicates; None to count them by comparing the
            participant's explanations with each other.
    """
    over = progress.over
    finished = progress.stage == "finished"
    minutes = _seconds(over["consent"], progress.ended_at) / 60 if finished and progress.ended_at else None
    answers = tuple(_given(answered, design) for answered in progress.answers)
    quality = _quality(progress, events, answers, design)
    paths = _mouse_paths(events, progress) if design.config.record.mouse else ()
    person = Participation(
        row.participant,
        row.list,
        progress.stage,
        answers,
        minutes,
        quality,
        survey=dict(progress.survey),
        quiz=tuple(progress.quiz),
        mouse=paths,
    )
    if n_duplicated is None:
        n_duplicated = duplicated({"": person.explanations})[""]
    return _with_duplicates(person, n_duplicated)


def _with_duplicates(person: Participation, n: int) -> Participation:
    return replace(person, quality=replace(person.quality, duplicated_explanations=n))


def _quality(
    progress: ParticipantProgress, events: Sequence[Event], answers: Sequence[GivenAnswer], design: StudyDesign
) -> Quality:
    tests = [answer.places for answer in answers if not answer.check]
    question = design.config.texts.explanation
    away = [event.value["ms"] / 1000 for event in events if event.kind == "away"]
    has_focus = design.config.record.focus
    seconds = shown = None
    if progress.answers:
        last = progress.answers[-1]
        # Exclude the time for questionnaires and the quiz.
        start = next(progress.over[stage] for stage in ("quiz", "before", "consent") if stage in progress.over)
        seconds = _seconds(start, last.explained_at or last.answered_at)
        times = (max(answered.response_ms, answered.explanation_ms or 0.0) for answered in progress.answered.values())
        shown = sum(times) / 1000
    return Quality(
        server_seconds=seconds / len(answers) if seconds is not None else None,
        impossible_times=shown is not None and seconds is not None and shown > _CLOCKS * seconds + _DELAY,
        repeated=repeated_share(tests),
        patterned=pattern_share(tests),
        poor_explanations=sum(
            is_low_quality(answer.explanation, question) for answer in answers if answer.explanation is not None
        ),
        times_away=len(away) if has_focus else None,
        seconds_away=sum(away) if has_focus else None,
        viewport=progress.answers[0].viewport if progress.answers else None,
        device=events[0].value.get("device", {}) if events else {},
        left_fullscreen=sum(event.kind == "fullscreen" and not event.value["on"] for event in events)
        if design.config.display.fullscreen
        else None,
        small_windows=sum(
            answer.viewport[0] < design.config.display.min_width
            or answer.viewport[1] < design.config.display.min_height
            for answer in progress.answers
        ),
    )


def _mouse_paths(events: Sequence[Event], progress: ParticipantProgress) -> tuple[MousePath, ...]:
    return tuple(
        MousePath(
            trial.trial + 1,
            *trial.key,
            tuple((ms, x / 1000, y / 1000) for ms, x, y in event.value["points"]),
        )
        for event in events
        if event.kind == "mouse" and event.trial in progress.answered and event.trial >= 0
        for trial in [progress.answered[event.trial].trial]
    )


def _given(answered: AnsweredTrial, design: StudyDesign) -> GivenAnswer:
    trial, answer = answered.trial, answered.answer
    choices: Sequence[str]
    hits: tuple[bool, ...]
    places: Places
    if answer.option is not None:
        choices, hits = (trial.options[answer.option],), (design.item_type.passes(trial, answer),)
        places = ((0, answer.option),)
    else:
        scene = design.scenes[trial.key]
        choices = [scene.layout.label(click.cell) for click in answer.clicks]
        places = tuple(click.cell for click in answer.clicks)
        hits = tuple(cell in scene.ball_cells for cell in choices) if scene.ball_cells else ()
    return GivenAnswer(
        order=trial.trial + 1,
        sport=trial.sport,
        image=trial.image,
        check=trial.check,
        choices=tuple(choices),
        hits=hits,
        seconds=answered.response_ms / 1000,
        clicks=answer.clicks,
        explanation=answered.explanation,
        server_seconds=_seconds(answered.shown_at, answered.answered_at),
        places=places,
    )


def _seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
