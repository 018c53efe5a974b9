"""Export a study's answers: responses, a whole dataset, or the layout of the published release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Literal

from spotball_adapters.study.questions import SEPARATOR, Answer
from spotball_adapters.study.results import columns
from spotball_adapters.study.results.columns import frame
from spotball_adapters.study.results.exclusion import RULES, Exclusion
from spotball_adapters.study.results.participations import GivenAnswer, Participation
from spotball_adapters.study.setup.design import StudyDesign
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import SEPARATOR as OBJECTS_SEPARATOR
from spotball_core.gaze.data.trials import PROMPT
from spotball_core.io.dataset import SCENES
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_frame

if TYPE_CHECKING:
    import polars as pl

RESPONDENT, PUBLISHED = "our-people", "human"
"""Default respondent name of a study's participants, and the respondent name of the participants in the Spot the Ball
paper. The names differ, so that the two groups are not merged."""

Form = Literal["jsonl", "csv", "parquet"]
FORMS: tuple[Form, ...] = ("jsonl", "csv", "parquet")

RESPONSES, PARTICIPANTS, CLICKS, TRIALS = "responses-people", "participants.csv", "clicks.csv", "trials"
QUESTIONNAIRES, QUIZ, MOUSE = "questionnaires.csv", "quiz.csv", "mouse.csv"


def responses(people: Iterable[Participation], design: StudyDesign, respondent: str = RESPONDENT) -> pl.DataFrame:
    """Return a table of responses with one row per click. The explanation of an answer is in the row of its first
    click.

    Attention checks are included only if the dataset marks their image as a control (an image with a visible ball).
    Scoring would count other attention checks as test images.

    Args:
        people: the participants to export.
        design: the study's design, with the task `clicks`.
        respondent: name of the participants as a group.

    Returns:
        A table with the columns `spotball_core.io.frames.COLUMNS`. Its rows have the order of `people`; the rows of a
        participant have the order in which the participant saw the images and made the clicks.
    """
    import polars as pl

    rows = [
        (
            *(*answer.key, respondent, "human", "base", number, person.participant, cell),
            answer.explanation if number == 1 else None,
        )
        for person in people
        for answer in person.answers
        if _scored_as_shown(answer, design)
        for number, cell in enumerate(answer.choices, start=1)
    ]
    schema = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def trials(people: Iterable[Participation], design: StudyDesign, respondent: str = PUBLISHED) -> pl.DataFrame:
    """Return a table of the gaze task's trials, with one row per participant and photo. Attention checks are included;
    a column marks them.

    Args:
        people: the participants to export.
        design: the study's design, with the task `choice`.
        respondent: name of the participants as a group.
    """
    rows = [
        (
            *(respondent, answer.image, PROMPT, stimulus.condition, stimulus.view, stimulus.proximity),
            *(OBJECTS_SEPARATOR.join(stimulus.objects), stimulus.gaze_target, stimulus.head_target, answer.choices[0]),
            *(person.participant, answer.seconds, stimulus.actor, stimulus.scene, answer.check),
            *(answer.order, answer.explanation, answer.server_seconds),
        )
        for person in people
        for answer in person.answers
        for stimulus in [design.stimuli[answer.key]]
    ]
    return frame(columns.TRIALS, rows)


def clicks(people: Iterable[Participation]) -> pl.DataFrame:
    """Return a table of all clicks, including those on attention checks, with positions and times."""
    rows = [
        (
            *(person.participant, answer.order, *answer.key, answer.check, number),
            *(click.row, click.col, click.x, click.y, click.by, click.elapsed_ms / 1000, answer.seconds),
            answer.server_seconds,
        )
        for person in people
        for answer in person.answers
        for number, click in enumerate(answer.clicks, start=1)
    ]
    return frame(columns.CLICKS, rows)


def participants(people: Iterable[Participation], exclusion: Exclusion) -> pl.DataFrame:
    """Return a table of all participants: their progress, their results, and the rules that exclude them.

    The table contains no times of day and no platform IDs, by which a platform could identify a person.
    """
    rows = [
        (
            *(person.participant, person.list, person.finished, person.minutes, len(person.answers)),
            median(answer.seconds for answer in person.answers) if person.answers else None,
            person.quality.server_seconds,
            sum(person.test_hits) / len(person.test_hits) if person.test_hits else None,
            sum(not hit for answer in person.answers if answer.check for hit in answer.hits),
            _excluded(person, exclusion),
            *(person.quality.times_away, person.quality.seconds_away, *(person.quality.viewport or (None,) * 3)),
            *(person.quality.device.get(name) for name in ("device", "browser", "system", "language")),
            *(person.quality.repeated, person.quality.patterned),
            *(len(person.explanations), person.quality.poor_explanations, person.quality.duplicated_explanations),
            len(person.quiz) if person.quiz else None,
            *(person.stage == "screened", person.quality.left_fullscreen, person.quality.small_windows),
            *(rule.broken(person, exclusion.min_seconds) for rule in RULES.values()),
        )
        for person in people
    ]
    return frame(columns.PARTICIPANTS, rows)


def questionnaires(people: Iterable[Participation], design: StudyDesign) -> pl.DataFrame:
    """Return a table of answers to questionnaires, with one row per participant and one column per question."""
    names = [question.name for questionnaire in design.config.questionnaires for question in questionnaire.questions]
    rows = [(person.participant, *(_cell(person.survey.get(name)) for name in names)) for person in people]
    return frame(columns.survey_columns(design.config.questionnaires, design.config.language), rows)


def quiz(people: Iterable[Participation], design: StudyDesign) -> pl.DataFrame:
    """Return a table of all answers to the comprehension quiz, with one row per attempt and question."""
    questions = design.config.quiz.questions if design.config.quiz else ()
    rows = [
        (
            person.participant,
            number,
            question.name,
            _cell(attempt.answers[question.name]),
            question.name not in attempt.wrong,
        )
        for person in people
        for number, attempt in enumerate(person.quiz, start=1)
        for question in questions
    ]
    return frame(columns.QUIZ, rows)


def mouse(people: Iterable[Participation]) -> pl.DataFrame:
    """Return a table of the mouse paths over images, with one row per point."""
    rows = []
    for person in people:
        paths = Counter[int]()
        for path in person.mouse:
            paths[path.order] += 1
            key = (person.participant, path.order, path.sport, path.image, paths[path.order])
            rows += [(*key, *point) for point in path.points]
    return frame(columns.MOUSE, rows)


def write_file(people: Sequence[Participation], design: StudyDesign, path: Path, respondent: str = RESPONDENT) -> None:
    """Write responses, or the trials of a study with the task `choice`, to a file in the format that its extension
    names. Raise OptionError if the extension is unknown.
    """
    if path.suffix.removeprefix(".") not in FORMS:
        raise OptionError(
            f"expected a file name ending in {', '.join(f'.{form}' for form in FORMS)}",
            code="unsupported-format",
            file=path,
        )
    if design.config.task == "clicks":
        write_responses(responses(people, design, respondent), path)
    else:
        _write(trials(people, design, respondent), path)


def write_folder(
    everybody: Sequence[Participation],
    people: Sequence[Participation],
    design: StudyDesign,
    exclusion: Exclusion,
    folder: Path,
    form: Form,
    respondent: str = RESPONDENT,
) -> None:
    """Write a folder of tables: responses, clicks, scenes and participants for the task `clicks`; trials and
    participants for the task `choice`.

    The tables of questionnaires, the quiz and mouse paths are added if the study has them.

    Args:
        everybody: all participants, for the table of participants.
        people: the participants whose answers are exported.
        design: the study's design.
        exclusion: the exclusion rules, for the table of participants.
        folder: the output folder. An earlier export of the same scenes is replaced.
        form: file format of the responses or trials.
        respondent: name of the participants as a group.

    Raises:
        OptionError: if the folder is a dataset with other scenes.
    """
    if design.config.task == "choice":
        _write(trials(people, design, respondent), folder / f"{TRIALS}.{form}")
    else:
        keys = {
            (study_list.sport, image)
            for study_list in design.config.lists
            for image in (*study_list.images, *study_list.checks)
        }
        scenes = tuple(scene for key, scene in design.scenes.items() if key in keys)
        if (folder / SCENES).exists() and read_scenes(folder / SCENES) != scenes:
            raise OptionError(
                f"{folder} is a dataset with other scenes. Use another folder", code="output-exists", field="--out"
            )
        write_scenes(scenes, folder / SCENES)
        for other_form in FORMS:
            if other_form != form:
                # Otherwise, reading the folder would return every click twice.
                (folder / f"{RESPONSES}.{other_form}").unlink(missing_ok=True)
        write_responses(responses(people, design, respondent), folder / f"{RESPONSES}.{form}")
        _write(clicks(people), folder / CLICKS)
    config = design.config
    tables = {
        QUESTIONNAIRES: bool(config.questionnaires) and questionnaires(everybody, design),
        QUIZ: config.quiz is not None and quiz(everybody, design),
        MOUSE: config.record.mouse and mouse(people),
    }
    for name, table in tables.items():
        if isinstance(table, bool):
            # Remove files of an earlier export, before study.toml was changed.
            (folder / name).unlink(missing_ok=True)
        else:
            _write(table, folder / name)
    _write(participants(everybody, exclusion), folder / PARTICIPANTS)


def _excluded(person: Participation, exclusion: Exclusion) -> str | None:
    if person.finished:
        return " ".join(exclusion.reasons(person)) or None
    return "screened-out" if person.stage == "screened" else "unfinished"


def _cell(answer: Answer | None) -> str | float | None:
    """Return an answer as the value of a table cell; several chosen options are joined by `SEPARATOR`."""
    if answer is None or isinstance(answer, str | int | float):
        return answer
    return SEPARATOR.join(answer)


def left_out_checks(people: Iterable[Participation], design: StudyDesign) -> int:
    """Return the number of answers to attention checks that `responses` excludes; 0 for the task `choice`."""
    if design.config.task == "choice":
        return 0
    return sum(not _scored_as_shown(answer, design) for person in people for answer in person.answers)


def _scored_as_shown(answer: GivenAnswer, design: StudyDesign) -> bool:
    return not answer.check or design.scenes[answer.key].control


def _write(table: pl.DataFrame, path: Path) -> None:
    writers: dict[str, Callable[[Path], object]] = {
        ".jsonl": table.write_ndjson,
        ".csv": csv_frame(table).write_csv,
        ".parquet": table.write_parquet,
    }
    with replacing(path) as beside:
        writers[path.suffix](beside)
