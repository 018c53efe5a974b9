"""Define the records of a study: trials (images shown to a participant) and events (the participant's actions)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Kind = Literal[
    "stage",
    "shown",
    "click",
    "undo",
    "answer",
    "choice",
    "explanation",
    "away",
    "questionnaire",
    "quiz",
    "fullscreen",
    "mouse",
]

Viewport = tuple[float, float, float]
"""Size of the browser's window: width and height in CSS pixels, and the number of device pixels per CSS pixel."""


@dataclass(frozen=True, slots=True)
class StudyTrial:
    """One image with its task, as shown to one participant.

    Attributes:
        trial: number of the trial: 0, 1, 2, ... in the order in which trials are shown; -1, -2, ... for practice.
        sport: sport of the image. An image is identified by `sport` and `image` together.
        check: whether the trial is an attention check.
        explain: whether the participant is asked to explain the answer.
        options: options of a choice, in the order in which they are shown; empty for other items.
    """

    trial: int
    sport: str
    image: str
    check: bool = False
    explain: bool = False
    options: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Return the image's identity: (sport, image)."""
        return self.sport, self.image


@dataclass(frozen=True, slots=True)
class Event:
    """One action of a participant.

    Attributes:
        seq: number of the event among the participant's events, from 1, without gaps.
        event: the UUID that the browser assigned to the event.
        trial: number of the trial, or None for events outside trials, such as answers to a questionnaire.
        value: details of the action. The fields depend on `kind`.
        elapsed_ms: milliseconds since the trial was shown, by the browser's clock.
        received_at: time when the server received the event, ISO 8601 in UTC.
    """

    seq: int
    event: str
    kind: Kind
    trial: int | None
    value: Mapping[str, Any] = field(default_factory=dict)
    elapsed_ms: float = 0.0
    viewport: Viewport = (0.0, 0.0, 1.0)
    received_at: str = ""


def trials_to_json(trials: tuple[StudyTrial, ...]) -> str:
    """Return trials as JSON text, in the format of the study's store.

    Examples:
        >>> trials_to_json((StudyTrial(0, "soccer", "163"),))
        '[{"trial":0,"sport":"soccer","image":"163","check":false,"explain":false}]'
    """
    rows = [asdict(trial) for trial in trials]
    for row in rows:
        if not row["options"]:
            del row["options"]
    return json.dumps(rows, separators=(",", ":"))


def trials_from_json(text: str) -> tuple[StudyTrial, ...]:
    """Return the trials in a JSON text from `trials_to_json`.

    Examples:
        >>> trials = (StudyTrial(-1, "gaze", "7", options=("cup", "vase")), StudyTrial(0, "gaze", "8", check=True))
        >>> trials_from_json(trials_to_json(trials)) == trials
        True
    """
    return tuple(StudyTrial(**{**row, "options": tuple(row.get("options", ()))}) for row in json.loads(text))
