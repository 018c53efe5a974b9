"""What each participant did, read from a study's store: what export, attrition and bonus are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from spotball_adapters.study.items import Click, NotAllowedError
from spotball_adapters.study.progress import AnsweredTrial, Stage, replay
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import Participant, StudyReader
from spotball_core.service.sqlite_file import StoreError


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """One answer that was given.

    Attributes:
        order: the image's place among those the participant saw, from 1; checks count, practice does not.
        check: it was an attention check.
        choices: the labels of the cells that were clicked, in order; or the option that was chosen.
        hits: whether each of them is right; empty where the truth is not known.
        clicks: the clicks with their times and places; empty for a choice.
        seconds: that the image was on the screen until it was answered.
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

    @property
    def key(self) -> tuple[str, str]:
        """The image's identity: (sport, image)."""
        return self.sport, self.image


@dataclass(frozen=True, slots=True)
class Participation:
    """What one participant did.

    Attributes:
        participant: their label.
        list: what they saw.
        stage: where they are.
        answers: to images and checks, in the order of answering.
        minutes: from consent to the last answer; None for who did not finish.
    """

    participant: str
    list: str
    stage: Stage
    answers: tuple[GivenAnswer, ...]
    minutes: float | None = None

    @property
    def finished(self) -> bool:
        """Whether they came to the end."""
        return self.stage == "finished"

    @property
    def test_hits(self) -> Sequence[bool]:
        """Whether each click (or choice) on a test image is right; checks and images of unknown truth left out."""
        return [hit for answer in self.answers if not answer.check for hit in answer.hits]


def participations(reader: StudyReader, design: StudyDesign) -> list[Participation]:
    """What everybody did who took part, in the order they began.

    Raises:
        StoreError: if what is stored is not what the study allows, so that the study was changed.
    """
    return [_participation(row, reader, design) for row in reader.participants()]


def _participation(row: Participant, reader: StudyReader, design: StudyDesign) -> Participation:
    try:
        progress = replay(row.trials, reader.events(row.id), design.item_type)
    except (NotAllowedError, KeyError) as error:
        raise StoreError(
            f"{reader.path}: what {row.participant} did does not fit the study ({error}): it or its dataset was "
            "changed since. Put it back as it was"
        ) from error
    over = progress.over
    minutes = _minutes(over["consent"], over["trials"]) if progress.stage == "finished" else None
    answers = tuple(_given(answered, design) for answered in progress.answers)
    return Participation(row.participant, row.list, progress.stage, answers, minutes)


def _given(answered: AnsweredTrial, design: StudyDesign) -> GivenAnswer:
    trial, answer = answered.trial, answered.answer
    choices: Sequence[str]
    hits: tuple[bool, ...]
    if answer.option is not None:
        choices, hits = (trial.options[answer.option],), (design.item_type.passes(trial, answer),)
    else:
        scene = design.scenes[trial.key]
        choices = [scene.layout.label(click.cell) for click in answer.clicks]
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
    )


def _minutes(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() / 60
