"""Export a study's answers as a Psych-DS dataset: CSV files with descriptions of their columns.

The dataset follows version 1.5.0 of the specification (https://psych-ds.github.io): dataset_description.json contains
schema.org properties, the names of the CSV files in `data` consist of keywords and end with _data.csv, and a JSON file
next to each CSV file describes its columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotball_adapters.study.results import columns, export
from spotball_adapters.study.results.columns import Columns
from spotball_adapters.study.results.exclusion import Exclusion
from spotball_adapters.study.results.participations import Participation
from spotball_adapters.study.setup.design import StudyDesign
from spotball_core.errors import InputError, OptionError
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_frame
from spotball_core.version import version

if TYPE_CHECKING:
    import polars as pl

DESCRIPTION, README = "dataset_description.json", "README.md"
VERSION = "Psych-DS 1.5.0"

_VALUES = {"text": "string", "whole number": "integer", "number": "number", "true or false": "boolean"}


@dataclass(frozen=True)
class _File:
    """A table of the dataset, with its name, its description and the descriptions of its columns."""

    name: str
    about: str
    columns: Columns
    table: pl.DataFrame


def write_psych_ds(
    everybody: Sequence[Participation],
    people: Sequence[Participation],
    design: StudyDesign,
    exclusion: Exclusion,
    folder: Path,
    respondent: str,
) -> None:
    """Write a study's answers as a Psych-DS dataset.

    If the folder already contains dataset_description.json, the properties that this export does not set, such as
    author and license, are kept.

    Args:
        everybody: all participants, for the tables of participants, questionnaires and quiz.
        people: the participants whose answers are written.
        design: the study's design.
        exclusion: the exclusion rules, for the table of participants.
        folder: the output folder. It may contain an earlier export of the same study.
        respondent: name of the participants as a group.

    Raises:
        OptionError: if FOLDER/data contains data files that this export does not write.
        InputError: if the folder contains a dataset_description.json that cannot be read.
    """
    study = re.sub(r"[^A-Za-z0-9]", "", design.config.title.title()) or "Study"
    files = list(_files(everybody, people, design, exclusion, respondent))
    paths = {file.name: folder / "data" / f"study-{study}_description-{file.name}_data.csv" for file in files}
    if others := sorted(set((folder / "data").rglob("*_data.csv")) - set(paths.values())):
        raise OptionError(
            f"{folder} contains other data files, such as {others[0]}. Use another folder",
            code="output-exists",
            field="--out",
        )
    kept = _earlier(folder / DESCRIPTION)
    for file in files:
        with replacing(paths[file.name]) as beside:
            csv_frame(file.table).write_csv(beside)
        _write_json(
            paths[file.name].with_suffix(".json"),
            _metadata(f"{design.config.title}: {file.name}", file.about, file.columns),
        )
    every: dict[str, tuple[Any, str]] = {}
    for file in files:
        for name, column in file.columns.items():
            every.setdefault(name, column)
    about = " ".join(file.about for file in files)
    _write_json(folder / DESCRIPTION, {**kept, **_metadata(design.config.title, about, every)})
    with replacing(folder / README) as beside:
        beside.write_text(_readme(design, files, paths), encoding="utf-8", newline="\n")


def _files(
    everybody: Sequence[Participation],
    people: Sequence[Participation],
    design: StudyDesign,
    exclusion: Exclusion,
    respondent: str,
) -> Iterator[_File]:
    config = design.config
    yield _File(
        "participants",
        "All participants, with flags for doubtful answers.",
        columns.PARTICIPANTS,
        export.participants(everybody, exclusion),
    )
    if config.task == "clicks":
        yield _File(
            "clicks", "Every click, including those on attention checks.", columns.CLICKS, export.clicks(people)
        )
        table = export.responses(people, design, respondent)
        yield _File("responses", "The cells that were clicked, with explanations.", columns.RESPONSES, table)
    else:
        yield _File(
            "trials",
            "Every choice, including those on attention checks.",
            columns.TRIALS,
            export.trials(people, design, respondent),
        )
    if config.questionnaires:
        survey = columns.survey_columns(config.questionnaires, config.language)
        table = export.questionnaires(everybody, design)
        yield _File("questionnaires", "Answers to questionnaires.", survey, table)
    if config.quiz:
        yield _File("quiz", "Answers to the comprehension quiz.", columns.QUIZ, export.quiz(everybody, design))
    if config.record.mouse:
        yield _File("mouse", "The paths of the mouse over the images.", columns.MOUSE, export.mouse(people))


def _metadata(name: str, about: str, described: Columns) -> dict[str, Any]:
    """Return the schema.org properties of a dataset or of one of its files."""
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": name,
        "description": about,
        "schemaVersion": VERSION,
        "variableMeasured": [
            {"@type": "PropertyValue", "name": column, "description": meaning, "value": _VALUES[kind]}
            for column, (kind, meaning) in described.items()
        ],
    }


def _readme(design: StudyDesign, files: Iterable[_File], paths: dict[str, Path]) -> str:
    rows = [f"| `data/{paths[file.name].name}` | {file.about} |" for file in files]
    return "\n".join(
        [
            f"# {design.config.title}",
            "",
            f"This {VERSION} dataset was written by `spotball study export` of spotball-core {version()}.",
            "Each data file has a JSON file of the same name that describes its columns.",
            "",
            "| File | Content |",
            "| --- | --- |",
            *rows,
            "",
            "Before you publish this dataset, add author, license and citation to `dataset_description.json`. Also",
            "check the texts of the participants for personal data.",
            "",
        ]
    )


def _earlier(path: Path) -> dict[str, Any]:
    """Return the properties in an earlier dataset_description.json; empty if the file does not exist. Raise InputError
    if it cannot be read."""
    try:
        properties = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError.of("invalid-json", path, "file", str(error), "a readable JSON file") from error
    if not isinstance(properties, dict):
        raise InputError.of("invalid-json", path, "file", type(properties).__name__, "a JSON object")
    return properties


def _write_json(path: Path, content: dict[str, Any]) -> None:
    with replacing(path) as beside:
        beside.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")
