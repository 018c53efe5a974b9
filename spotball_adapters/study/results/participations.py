"""What each participant did, read from a study's store: what export, attrition and bonus are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from spotball_adapters.study.events import Event, Viewport
from spotball_adapters.study.items import Click, NotAllowedError
from spotball_adapters.study.progress import AnsweredTrial, ParticipantProgress, QuizAttempt, Stage, replay
from spotball_adapters.study.questions import Answers
from spotball_adapters.study.results.explanations import duplicated, is_low_quality
from spotball_adapters.study.results.patterns import Places, pattern_share, repeated_share
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import Participant, StudyReader
from spotball_core.service.sqlite_file import StoreError

_CLOCKS, _DELAY = 1.05, 5.0
"""How much faster a browser's clock may go than the server's, and seconds that requests may take."""


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One answer that was given.

    Attributes:
        order: the image's place among those the participant saw, from 1; checks count, practice does not.
        check: it was an attention check.
        choices: the labels of the cells that were clicked, in order; or the option that was chosen.
        hits: whether each of them is right; empty where the truth is not known.
        clicks: the clicks with their times and places; empty for a choice.
        seconds: that the image was on the screen until it was answered, by the browser's clock.
        server_seconds: from when the server received that the image was shown to when it received the answer. Shorter
            than `seconds` where the network was lost and both came together.
        places: row and column of each click; of a choice, 0 and the number of the option as it was shown.
        explanation: in the participant's words; None where none was asked for or given.
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
        """The image's identity: (sport, image)."""
        return self.sport, self.image


@dataclass(frozen=True, slots=True)
class MousePath:
    """The mouse's path over an image.

    Attributes:
        order: as of `GivenAnswer`.
        points: milliseconds since the image was shown, and the place as shares of the image's width and height; shares
            below 0 or above 1 are next to the image.
    """

    order: int
    sport: str
    image: str
    points: tuple[tuple[int, float, float], ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """What says how reliable a participant's answers are. None where it is not known.

    Attributes:
        server_seconds: by the server's clock, from consent or from the end of the questionnaires and the quiz before
            the images to the last answer, per image.
        impossible_times: the browser reports that images were on the screen for longer than the server's clock went on.
        repeated: see `patterns.repeated_share`, of test images.
        patterned: see `patterns.pattern_share`, of test images.
        poor_explanations: how many are of low quality, see `explanations.is_low_quality`.
        duplicated_explanations: how many are duplicates, see `explanations.duplicated`.
        times_away: how often the page was out of sight.
        seconds_away: for how long in all.
        viewport: width and height of the window at the first image, and device pixels per CSS pixel.
        device: kind of device, browser, system and language, by these names.
        left_fullscreen: how often they left full screen before the end; None if the study does not require it.
        small_windows: on how many images the window was smaller than the study requires.
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
    """What one participant did.

    Attributes:
        participant: their label.
        list: what they saw.
        stage: where they are.
        answers: to images and checks, in the order of answering.
        minutes: from consent to the last answer, by the server's clock; None for who did not finish.
        quality: what says how reliable the answers are.
        survey: answers to questionnaires, by the name of the question.
        quiz: attempts at the comprehension quiz.
        mouse: the mouse's paths over images, in the order they were stored.
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
        """Whether they came to the end."""
        return self.stage == "finished"

    @property
    def explanations(self) -> Sequence[str]:
        """What the participant wrote, in the order of the images."""
        return [answer.explanation for answer in self.answers if answer.explanation is not None]

    @property
    def test_hits(self) -> Sequence[bool]:
        """Whether each click (or choice) on a test image is right; checks and images of unknown truth left out."""
        return [hit for answer in self.answers if not answer.check for hit in answer.hits]


def participations(reader: StudyReader, design: StudyDesign) -> list[Participation]:
    """What everybody did who took part, in the order they began.

    Raises:
        StoreError: if what is stored is not what the study allows, so that the study was changed.
    """
    people = [participation(row, reader, design) for row in reader.participants()]
    counts = duplicated({person.participant: person.explanations for person in people})
    return [_with_duplicates(person, counts[person.participant]) for person in people]


def participation(row: Participant, reader: StudyReader, design: StudyDesign) -> Participation:
    """Return what one participant did; of explanations, only their own are compared.

    Raises:
        StoreError: as `participations`.
    """
    events = reader.events(row.id)
    try:
        progress = replay(row.trials, events, design.item_type, design.surveys)
    except (NotAllowedError, KeyError) as error:
        raise misfit(reader, row, error) from error
    return participation_of(row, progress, events, design)


def misfit(reader: StudyReader, row: Participant, error: Exception) -> StoreError:
    """Return the error for events that the study does not allow."""
    return StoreError(
        f"{reader.path}: what {row.participant} did does not fit the study ({error}): it or its dataset was "
        "changed since. Put it back as it was"
    )


def participation_of(
    row: Participant,
    progress: ParticipantProgress,
    events: Sequence[Event],
    design: StudyDesign,
    *,
    n_duplicated: int | None = None,
) -> Participation:
    """Return what one participant did.

    Args:
        row: who it is.
        progress: after all of the events.
        events: what they did; at least those that belong to no trial, and mouse paths if they are wanted.
        design: the study's.
        n_duplicated: how many of their explanations are duplicates of their own; None to count them.
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
        # Without the time that questionnaires and the quiz took.
        start = next(progress.over[stage] for stage in ("quiz", "before", "consent") if stage in progress.over)
        seconds = _seconds(start, last.explained_at or last.answered_at)
        times = (max(one.response_ms, one.explanation_ms or 0.0) for one in progress.answered.values())
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
