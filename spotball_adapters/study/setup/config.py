"""Read and validate the configuration file study.toml, which defines a study."""

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
    """Return the content of a text file if the value names a file, as in `{ file = "consent.md" }`, otherwise the
    value.
    """
    if not isinstance(value, dict):
        return value
    if set(value) != {"file"} or not isinstance(value["file"], str):
        raise ValueError('expected a text, or { file = "..." } with the path of a text file')
    path = Path((info.context or {}).get("folder", "."), value["file"])
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"expected a readable UTF-8 text file ({error})") from error


def _questionnaires(value: Any, info: ValidationInfo) -> Any:
    """Return the questionnaires in a file if the value names a file, as in `{ file = "questionnaires.toml" }`,
    otherwise the value."""
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
        raise ValueError("expected a file that contains only tables [[questionnaires]]")
    return fields["questionnaires"]


Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), BeforeValidator(_from_file)]
"""A Markdown text, inline or from a file next to study.toml."""


class ClicksConfig(Record):
    """Settings of the task `clicks`: the number of cells to click per image."""

    per_image: Annotated[int, Field(ge=1, le=20)] = 3


class ChoiceConfig(Record):
    """Settings of the task `choice`: the file of stimuli, the question, and whether practice items give feedback."""

    stimuli: Words
    question: Words = "Which object is this person looking at?"
    feedback: bool = True


class ListConfig(Record):
    """A list of images. Each participant sees the images of one list.

    Attributes:
        name: name of the list.
        sport: sport of all images in the list.
        images: ids of the test images, which are scored.
        checks: ids of the attention checks.
        practice: ids of the practice images, which are shown first, with feedback. They may also be among `images` or
            `checks`.
    """

    name: Name
    sport: Name = "gaze"
    images: Annotated[tuple[Name, ...], Field(min_length=1)]
    checks: tuple[Name, ...] = ()
    practice: tuple[Name, ...] = ()


class ExampleConfig(Record):
    """The example in the instructions: the same image with and without its ball.

    Paths are relative to the study's folder or to the dataset's folder.

    Attributes:
        with_ball: path of the image with the ball.
        without_ball: path of the image without the ball.
        synthetic: whether the image is synthetic, which the page then states.
    """

    with_ball: Words
    without_ball: Words
    synthetic: bool = False


class TextsConfig(Record):
    """Texts for participants, in Markdown: consent, instructions, debriefing, and the request to explain answers."""

    consent: Text
    instructions: Text
    debriefing: Text
    explanation: Text = "Why do you think so? Please say in a sentence or two what in the image made you choose."


class PayConfig(Record):
    """Payment of participants: the base payment in words, and the bonus for an accuracy of 1."""

    base: Words = "nothing"
    bonus: Annotated[Decimal, Field(ge=0, max_digits=12)] = Decimal(0)
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")] = "USD"


Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$")]


class CompletionConfig(Record):
    """The address to which participants return at the end, or the completion code that they receive.

    Neither is sent to the browser before the end.

    Attributes:
        url: the address for participants who finish.
        code: the completion code for participants who finish.
        min_minutes: minimum number of minutes from consent until participants who finish receive the address or the
            code. The page states it, and tells participants who finish earlier when to expect it.
        screened_url: the address for participants who fail the comprehension quiz.
        screened_code: the completion code for participants who fail the comprehension quiz.
    """

    url: Url | None = None
    code: Words | None = None
    min_minutes: NonNegativeFloat = 0.0
    screened_url: Url | None = None
    screened_code: Words | None = None

    @model_validator(mode="after")
    def _one(self) -> CompletionConfig:
        if self.url is not None and self.code is not None:
            raise ValueError("expected either `url` or `code`, not both")
        if self.screened_url is not None and self.screened_code is not None:
            raise ValueError("expected either `screened_url` or `screened_code`, not both")
        return self

    def of(self, *, screened: bool) -> dict[str, str]:
        """Return {"url": ...} or {"code": ...} for screened-out participants (`screened` is true) or for participants
        who finished; empty if neither is set.
        """
        url, code = (self.screened_url, self.screened_code) if screened else (self.url, self.code)
        return {name: value for name, value in (("url", url), ("code", code)) if value is not None}


class ExclusionConfig(Record):
    """Rules by which `spotball study export` excludes participants, unless its options set other rules.

    Attributes:
        checks: the errors on an attention check that exclude a participant. `any`: at least one click outside the
            ball's cells; `all`: all clicks outside the ball's cells; `none`: attention checks exclude no participant.
            With `any` and `all`, a wrong choice excludes, too.
        min_seconds_per_image: minimum seconds per image. It applies to a participant's median by the browser's clock
            and to the mean by the server's clock; 0 for no minimum.
        same_cell: whether to exclude participants who chose a single cell (or object) on all test images.
        also: names of additional rules; see `results.exclusion.RULES`.
    """

    checks: Literal["any", "all", "none"] = "any"
    min_seconds_per_image: NonNegativeFloat = 0.0
    same_cell: bool = False
    also: tuple[
        Literal["clock", "repeated", "patterned", "explanations", "duplicates", "fullscreen", "small-window"], ...
    ] = ()


class QuotaConfig(Record):
    """Limits on the number of participants to recruit.

    Attributes:
        per_list: number of participants per list who finish and are not excluded; 0 for no limit.
    """

    per_list: NonNegativeInt = 0


class RecordConfig(Record):
    """Which data about participants to store in addition to their answers. The researcher's consent text must announce
    these data.

    Attributes:
        device: whether to store the type of device, browser, operating system and language.
        focus: whether to store how often and how long the page is hidden or without focus.
        mouse: whether to store the mouse path over each image. The consent page announces this automatically.
    """

    device: bool = False
    focus: bool = False
    mouse: bool = False


class DisplayConfig(Record):
    """Requirements for participants' browser windows. The consent page states the requirements, and images are hidden
    until the window meets them.

    Attributes:
        fullscreen: whether the page must fill the screen. Each exit from full screen is recorded.
        min_width: minimum width of the window in CSS pixels; 0 for no limit.
        min_height: minimum height of the window in CSS pixels; 0 for no limit.
    """

    fullscreen: bool = False
    min_width: Annotated[int, Field(ge=0, le=10_000)] = 0
    min_height: Annotated[int, Field(ge=0, le=10_000)] = 0


class ServeConfig(Record):
    """Settings of the study's server: limits on requests, and who may take part.

    Attributes:
        silent_minutes: minutes without events after which an unfinished participant is no longer counted when a new
            participant is assigned to the list with the fewest participants.
        unanswered_minutes: the same for a participant who has not answered any image yet.
        requests_per_minute: maximum number of requests per minute and participant.
        requests_per_minute_address: maximum number of requests per minute and network address. A whole lab may share
            one address.
        starts_per_minute_address: maximum number of new participations per minute and network address.
        connections_per_address: maximum number of simultaneous connections per network address. If an address opens
            more, its oldest idle connections are closed.
        only_prolific: whether to reject participants who do not come from a link with IDs from Prolific.
        prolific_studies: Prolific's IDs of the studies (STUDY_ID) whose links are accepted; empty to accept all.
        refuse_deleted: whether a person whose data was deleted may not take part again. To recognize the person, a
            deletion then keeps keyed hashes of the Prolific ID and of the browser's token.
    """

    silent_minutes: PositiveFloat = 30.0
    unanswered_minutes: PositiveFloat = 2.0
    requests_per_minute: PositiveInt = 600
    requests_per_minute_address: PositiveInt = 12_000
    starts_per_minute_address: PositiveInt = 120
    connections_per_address: PositiveInt = 512
    only_prolific: bool = False
    prolific_studies: tuple[Words, ...] = ()
    refuse_deleted: bool = False


class StudyConfig(Record):
    """Configuration of a study.

    Attributes:
        dataset: the dataset's folder, absolute or relative to the study's folder.
        seed: seed for assigning lists, for the order of images, and for choosing the images to explain.
        language: language of the page's texts: en, de, or another language if `messages` is set.
        messages: a compiled gettext catalog (.mo) of the page's texts, in the study's folder.
        explanations: number of random images for which a participant is asked to explain the answer.
        questionnaires: questionnaires before the instructions or after the images. They may be in a file: { file =
            "..." }.
        quiz: comprehension quiz about the instructions, which is shown before the images.
        database: a PostgreSQL database for the answers, or None for SQLite files in the study's folder.
        explanation_letters: minimum number of letters and digits of an explanation.
        minutes: the duration in minutes that the page states, or None to estimate it from 20 seconds per image.
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
    """Return the configuration in the study.toml of a study's folder, including texts from separate files.

    Raises:
        InputError: if the file is missing or invalid. The error lists all problems.
    """
    path = folder / CONFIG
    fields = read_toml(path, "a study that `spotball study init` made")
    try:
        return StudyConfig.model_validate(fields, context={"folder": folder})
    except ValidationError as error:
        raise InputError(problems_of_record(error, str(path), model=StudyConfig, counts_from_1=True)) from error
