"""study.toml: everything that a study is, in one file that people read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from spotball_adapters.study.databases import STUDY_FILE, DatabaseConfig
from spotball_adapters.study.surveys import Questionnaire, Quiz
from spotball_core.errors import InputError
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.record import Name, Record
from spotball_core.service.toml_file import read_toml

CONFIG = STUDY_FILE

Words = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


def _from_file(value: Any, info: ValidationInfo) -> Any:
    """A text that stands in a file of its own, `{ file = "consent.md" }`, read."""
    if not isinstance(value, dict):
        return value
    if set(value) != {"file"} or not isinstance(value["file"], str):
        raise ValueError('expected a text, or { file = "..." }')
    path = Path((info.context or {}).get("folder", "."), value["file"])
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"expected a readable text file in UTF-8 ({error})") from error


def _questionnaires(value: Any, info: ValidationInfo) -> Any:
    """Questionnaires that stand in a file of their own, `{ file = "questionnaires.toml" }`, read."""
    if not isinstance(value, dict):
        return value
    if set(value) != {"file"} or not isinstance(value["file"], str):
        raise ValueError('expected tables [[questionnaires]], or { file = "..." }')
    path = Path((info.context or {}).get("folder", "."), value["file"])
    try:
        fields = read_toml(path, "questionnaires")
    except InputError as error:
        raise ValueError(f"expected a file with tables [[questionnaires]] ({error})") from error
    if set(fields) != {"questionnaires"}:
        raise ValueError("expected a file with tables [[questionnaires]] and nothing else")
    return fields["questionnaires"]


Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), BeforeValidator(_from_file)]
"""Markdown, inline or from a file beside study.toml."""


class ClicksConfig(Record):
    """The task `clicks`: how many cells are clicked on an image."""

    per_image: Annotated[int, Field(ge=1, le=20)] = 3


class ChoiceConfig(Record):
    """The task `choice`: the file of its stimuli, what is asked, and whether practice tells what is right."""

    stimuli: Words
    question: Words = "Which object is this person looking at?"
    feedback: bool = True


class ListConfig(Record):
    """What one participant sees. An image is named within the list's sport.

    Attributes:
        images: those that are scored.
        checks: attention checks.
        practice: shown first, with feedback; may also be among the others.
    """

    name: Name
    sport: Name = "gaze"
    images: Annotated[tuple[Name, ...], Field(min_length=1)]
    checks: tuple[Name, ...] = ()
    practice: tuple[Name, ...] = ()


class ExampleConfig(Record):
    """An image with its ball and without it, for the instructions: paths within the study's folder or the dataset's.

    Attributes:
        synthetic: it was drawn, and the page says so.
    """

    with_ball: Words
    without_ball: Words
    synthetic: bool = False


class TextsConfig(Record):
    """What participants read."""

    consent: Text
    instructions: Text
    debriefing: Text
    explanation: Text = "Why do you think so? Please say in a sentence or two what in the image made you choose."


class PayConfig(Record):
    """What participants get. `bonus` is what all clicks right would earn."""

    base: Words = "nothing"
    bonus: Annotated[Decimal, Field(ge=0, max_digits=12)] = Decimal(0)
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "USD"


Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]


class CompletionConfig(Record):
    """Where participants go at the end, or the code they return; neither is sent before the end.

    Attributes:
        screened_url: where participants go who fail the comprehension quiz.
        screened_code: the code that they return.
    """

    url: Url | None = None
    code: Words | None = None
    screened_url: Url | None = None
    screened_code: Words | None = None

    @model_validator(mode="after")
    def _one(self) -> CompletionConfig:
        if self.url is not None and self.code is not None:
            raise ValueError("expected a url or a code, not both")
        if self.screened_url is not None and self.screened_code is not None:
            raise ValueError("expected a screened_url or a screened_code, not both")
        return self

    def of(self, *, screened: bool) -> dict[str, str]:
        """Return the `url` or `code` of participants who finished, or who were screened out."""
        url, code = (self.screened_url, self.screened_code) if screened else (self.url, self.code)
        return {name: value for name, value in (("url", url), ("code", code)) if value is not None}


class ExclusionConfig(Record):
    """Who `export` leaves out unless it is told otherwise.

    Attributes:
        checks: any: one click of a check outside the ball's cells excludes; all: only if all of them are; none.
        min_seconds_per_image: on the median image.
        same_cell: who named one and the same cell throughout.
        also: further rules, see `results.exclusion.RULES`.
    """

    checks: Literal["any", "all", "none"] = "any"
    min_seconds_per_image: NonNegativeFloat = 0.0
    same_cell: bool = False
    also: tuple[
        Literal["clock", "repeated", "patterned", "explanations", "duplicates", "fullscreen", "small-window"], ...
    ] = ()


class QuotaConfig(Record):
    """How many participants there are to be.

    Attributes:
        per_list: who finished and is kept, of each list; 0 for no limit. Excluded participants are replaced.
    """

    per_list: NonNegativeInt = 0


class RecordConfig(Record):
    """What is stored of participants in addition to what they do. The consent text must announce it.

    Attributes:
        device: kind of device, browser, operating system and language.
        focus: how often and how long the page is out of sight.
        mouse: the mouse's path over each image. The consent page announces it.
    """

    device: bool = False
    focus: bool = False
    mouse: bool = False


class DisplayConfig(Record):
    """What participants' windows must be like. The consent page states it; images are hidden until it is so.

    Attributes:
        fullscreen: the page fills the screen; each time a participant leaves this mode is recorded.
        min_width: of the window, in CSS pixels; 0 for no limit.
        min_height: of the window, in CSS pixels; 0 for no limit.
    """

    fullscreen: bool = False
    min_width: Annotated[int, Field(ge=0, le=10_000)] = 0
    min_height: Annotated[int, Field(ge=0, le=10_000)] = 0


class ServeConfig(Record):
    """How the server treats who comes.

    Attributes:
        silent_minutes: who did nothing for so long, and is not finished, holds no place in the balance of the lists.
        requests_per_minute: of one participant.
        requests_per_minute_address: of one network address, behind which a whole lab may be.
        starts_per_minute_address: participations that begin, of one address.
        only_prolific: refuse who comes without the IDs of Prolific's link.
    """

    silent_minutes: PositiveFloat = 30.0
    requests_per_minute: PositiveInt = 600
    requests_per_minute_address: PositiveInt = 12_000
    starts_per_minute_address: PositiveInt = 120
    only_prolific: bool = False


class StudyConfig(Record):
    """A study.

    Attributes:
        dataset: the dataset's folder, relative to the study's or absolute.
        seed: of lists, orders, and which answers are to be explained.
        language: of the page's own texts: en, de, or another with `messages`.
        messages: a compiled gettext catalog (.mo) of the page's texts, in the study's folder.
        explanations: how many random images a participant is asked to explain.
        questionnaires: before the instructions or after the images; also in a file, { file = "..." }.
        quiz: questions about the instructions, before the images.
        database: a PostgreSQL database to store answers in; None for SQLite files in the study's folder.
        explanation_letters: how many letters and digits an explanation has at least.
        minutes: that taking part is said to take; None for 20 seconds an image.
    """

    title: Words = "Spot the Ball"
    dataset: Words
    task: Literal["clicks", "choice"] = "clicks"
    language: Annotated[str, StringConstraints(pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")] = "en"
    messages: Words | None = None
    seed: NonNegativeInt = 0
    explanations: NonNegativeInt = 0
    explanation_letters: Annotated[int, Field(ge=1, le=200)] = 10
    minutes: PositiveInt | None = None
    clicks: ClicksConfig = ClicksConfig()
    choice: ChoiceConfig | None = None
    lists: Annotated[tuple[ListConfig, ...], Field(min_length=1)]
    example: ExampleConfig | None = None
    questionnaires: Annotated[tuple[Questionnaire, ...], BeforeValidator(_questionnaires)] = ()
    quiz: Quiz | None = None
    display: DisplayConfig = DisplayConfig()
    texts: TextsConfig
    pay: PayConfig = PayConfig()
    completion: CompletionConfig = CompletionConfig()
    exclusion: ExclusionConfig = ExclusionConfig()
    quota: QuotaConfig = QuotaConfig()
    record: RecordConfig = RecordConfig()
    serve: ServeConfig = ServeConfig()
    database: DatabaseConfig | None = None


def read_config(folder: Path) -> StudyConfig:
    """The study.toml of a study's folder, texts in files of their own read.

    Raises:
        InputError: if there is none, or with everything that is wrong with it.
    """
    path = folder / CONFIG
    fields = read_toml(path, "a study, as `spotball study init` makes it")
    try:
        return StudyConfig.model_validate(fields, context={"folder": folder})
    except ValidationError as error:
        raise InputError(problems_of_record(error, str(path), model=StudyConfig, counts_from_1=True)) from error
