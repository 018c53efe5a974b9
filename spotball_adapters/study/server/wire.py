"""Check the format of browsers' requests. The module `progress` checks whether the study's rules allow the events."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError, field_validator

from spotball_adapters.runs.writer import storable
from spotball_adapters.study.events import Event, Kind
from spotball_adapters.study.questions import MAX_TEXT
from spotball_core.schema.faults import expected_of
from spotball_core.schema.record import Record
from spotball_core.service.json_file import parse_json

MAX_BODY = 512 * 1024
"""Maximum size of a request's body in bytes."""

MAX_EVENTS = 50
"""Maximum number of events per request."""

MAX_POINTS = 600
"""Maximum number of points of a mouse path: half a minute of movement at the page's sampling rate."""

Whole = Annotated[int, Field(strict=True, ge=0, le=10**6)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Length = Annotated[float, Field(strict=True, ge=0, le=10**6)]
Milliseconds = Annotated[float, Field(strict=True, ge=0, le=10**9)]
Id = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9_-]{1,64}$")]

Uuid = Annotated[
    str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")
]


def _clean(text: object) -> object:
    # A browser that truncates a text may cut a surrogate pair in half.
    return storable(text) if isinstance(text, str) else text


Text = Annotated[str, BeforeValidator(_clean), Field(strict=True, max_length=MAX_TEXT)]


class MalformedRequestError(ValueError):
    """A request's body is not JSON or does not have the required fields."""


class Prolific(Record):
    """The IDs of the person, the study and the session in a link from Prolific."""

    pid: Id
    study: Id
    session: Id


class Start(Record):
    """A request to start or resume a participation.

    Attributes:
        consent: always true: the participant consents.
        prolific: the IDs in the link from Prolific, or None for another link.
        viewport: size of the browser's window; see `Viewport`.
        key: a random UUID from the page. A second request with the same key resumes the participation that the first
            one began, so that a lost response does not begin two participations.
        resume: whether the request may only resume an earlier participation, not start a new one.
        language: the browser's language, such as de-AT.
        touch: whether the device has a touch screen.
        list: name of the list to show, which only the links of a pilot may contain; None to assign a list.
    """

    consent: Literal[True]
    prolific: Prolific | None = None
    viewport: tuple[Length, Length, Length]
    key: Uuid | None = None
    resume: Annotated[bool, Field(strict=True)] = False
    language: Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9-]{1,35}$")] | None = None
    touch: Annotated[bool, Field(strict=True)] | None = None
    list: Annotated[str, StringConstraints(strict=True, max_length=200)] | None = None


class Nothing(Record):
    """The empty value of an event without details."""


class StageOver(Record):
    """The value of a `stage` event: the stage that ended."""

    stage: Literal["instructions", "practice"]


class Clicked(Record):
    """The value of a `click` event: the cell, the position and the input device."""

    row: Whole
    col: Whole
    x: Share
    y: Share
    by: Literal["mouse", "touch", "pen", "keyboard"]


class Confirmed(Record):
    """The value of an `answer` event: row and column of each cell that the participant confirmed."""

    cells: Annotated[tuple[tuple[Whole, Whole], ...], Field(max_length=100)]


class Chosen(Record):
    """The value of a `choice` event: the index of the chosen option in the order shown, from 0."""

    option: Whole


class Explained(Record):
    """The value of an `explanation` event: the participant's text."""

    text: Text

    @field_validator("text")
    @classmethod
    def _said(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("the text contains only spaces")
        return text


SurveyAnswer = (
    Annotated[float, Field(strict=True, ge=-1e12, le=1e12)]
    | Text
    | Annotated[tuple[Annotated[str, Field(strict=True, max_length=200)], ...], Field(max_length=50)]
)
SurveyAnswers = Annotated[dict[Id, SurveyAnswer], Field(max_length=100)]


class FilledIn(Record):
    """The value of a `questionnaire` event: the questionnaire's name, and the answers by question name."""

    name: Id
    answers: SurveyAnswers


class QuizAnswers(Record):
    """The value of a `quiz` event: the answers by question name."""

    answers: SurveyAnswers


class Fullscreen(Record):
    """The value of a `fullscreen` event: whether the page now fills the screen."""

    on: Annotated[bool, Field(strict=True)]


Thousandths = Annotated[int, Field(strict=True, ge=-1000, le=2000)]


class MousePath(Record):
    """The value of a `mouse` event: points of the mouse path.

    Each point consists of the milliseconds since the trial was shown, and of x and y in thousandths of the image's
    width and height.
    """

    points: Annotated[tuple[tuple[Whole, Thousandths, Thousandths], ...], Field(min_length=1, max_length=MAX_POINTS)]


class Away(Record):
    """The value of an `away` event: the milliseconds for which the page was hidden or without focus."""

    ms: Milliseconds


VALUES: Mapping[Kind, type[Record]] = MappingProxyType(
    {
        "stage": StageOver,
        "shown": Nothing,
        "click": Clicked,
        "undo": Nothing,
        "answer": Confirmed,
        "choice": Chosen,
        "explanation": Explained,
        "away": Away,
        "questionnaire": FilledIn,
        "quiz": QuizAnswers,
        "fullscreen": Fullscreen,
        "mouse": MousePath,
    }
)
"""The record that defines the format of an event's value, by kind of event."""


class SentEvent(Record):
    """An event in a browser's request; for the fields, see `Event`."""

    seq: Annotated[int, Field(strict=True, ge=1, le=10**6)]
    event: Uuid
    kind: Kind
    trial: Annotated[int, Field(strict=True, ge=-(10**6), le=10**6)] | None = None
    value: dict[str, Any]
    elapsed_ms: Milliseconds
    viewport: tuple[Length, Length, Length]


def parsed(body: bytes) -> Any:
    """Return a request's body as a parsed JSON value.

    Raises:
        MalformedRequestError: if the body is not JSON.
    """
    try:
        return parse_json(body)
    except ValueError as error:
        raise MalformedRequestError(f"the request is not JSON: {error}") from error


def read_start(content: Any) -> Start:
    """Return a validated request to start a participation. Raise MalformedRequestError if a field is invalid."""
    try:
        return Start.model_validate(content)
    except ValidationError as error:
        raise _malformed(error) from error


def read_events(content: Any) -> list[Any]:
    """Return the events in the body of a request, without checking each event. Raise MalformedRequestError unless there
    are 1 to `MAX_EVENTS` events.
    """
    events = content.get("events") if isinstance(content, dict) and set(content) == {"events"} else None
    if not isinstance(events, list) or not events or len(events) > MAX_EVENTS:
        raise MalformedRequestError(f'expected {{"events": [...]}} with 1 to {MAX_EVENTS} events')
    return events


def read_event(content: Any, received_at: str) -> Event:
    """Return a validated event with the time at which the server received it. Raise MalformedRequestError if a field is
    invalid.
    """
    try:
        event = SentEvent.model_validate(content)
        value = VALUES[event.kind].model_validate(event.value).model_dump(mode="json")
    except ValidationError as error:
        raise _malformed(error) from error
    return Event(event.seq, event.event, event.kind, event.trial, value, event.elapsed_ms, event.viewport, received_at)


def _malformed(error: ValidationError) -> MalformedRequestError:
    detail = error.errors(include_url=False, include_input=False)[0]
    return MalformedRequestError(f"{'.'.join(map(str, detail['loc'])) or 'the body'}: expected {expected_of(detail)}")
