"""What a participant is to do, and what they did: the two records from which everything else follows."""

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
"""Width and height in CSS pixels, and device pixels per CSS pixel."""


@dataclass(frozen=True, slots=True)
class StudyTrial:
    """One item as one participant meets it.

    Attributes:
        trial: its number: trials count from 0 in the order they are shown, practice is -1, -2, ...
        sport: with `image`, the image's identity.
        check: an attention check.
        explain: the participant is asked to explain the answer.
        options: of a choice, in the order they are shown; empty elsewhere.
    """

    trial: int
    sport: str
    image: str
    check: bool = False
    explain: bool = False
    options: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The image's identity: (sport, image)."""
        return self.sport, self.image


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that a participant did.

    Attributes:
        seq: counts a participant's events from 1, without gaps.
        event: the id that the browser gave it, a UUID.
        trial: which it belongs to; None for a stage, a questionnaire or the quiz.
        value: what was done; its fields depend on the kind.
        elapsed_ms: since the trial was shown, by the browser's clock.
        received_at: when the server had it, ISO 8601 in UTC.
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
    """Trials as they are stored.

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
    """The inverse of `trials_to_json`.

    Examples:
        >>> trials = (StudyTrial(-1, "gaze", "7", options=("cup", "vase")), StudyTrial(0, "gaze", "8", check=True))
        >>> trials_from_json(trials_to_json(trials)) == trials
        True
    """
    return tuple(StudyTrial(**{**row, "options": tuple(row.get("options", ()))}) for row in json.loads(text))
