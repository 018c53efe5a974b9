"""Test Psych-DS exports against the specification (version 1.5.0), without using our reader."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from spotball_core.errors import InputError, OptionError
from tests.adapters.study.asked import QUESTIONNAIRES, QUIZ, add
from tests.adapters.study.made import change, choices, study
from tests.adapters.study.stored import command, simulate
from tests.failures import raises

# `fileRegex` in rules/files/tabular_data/data.yaml of the specification.
FILE = re.compile(r"([a-z]+-[a-zA-Z0-9]+)(_[a-z]+-[a-zA-Z0-9]+)*_data\.csv")
# Keywords in objects/common_principles.yaml.
KEYWORDS = {"study", "site", "subject", "session", "task", "condition", "trial", "stimulus", "description"}
# Required fields in rules/compiled_metadata.yaml.
REQUIRED = {"name", "description", "variableMeasured"}
# Properties of schema.org's PropertyValue and Dataset that the export uses.
VARIABLE = {"@type", "name", "description", "value"}
DATASET = {"@context", "@type", "name", "description", "schemaVersion", "variableMeasured", "author", "license"}


def json_of(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def check_psych_ds(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Check the rules of Psych-DS, and return the rows of each file by the keyword `description` in its name."""
    description = json_of(folder / "dataset_description.json")
    assert description["@type"] == "Dataset"
    assert description["@context"].startswith("https://schema.org")
    assert set(description) >= REQUIRED
    assert set(description) <= DATASET
    data = sorted((folder / "data").rglob("*.csv"))
    assert data
    tables, used = {}, set()
    for path in data:
        assert FILE.fullmatch(path.name), path.name
        keywords = dict(part.split("-") for part in path.name.removesuffix("_data.csv").split("_"))
        assert set(keywords) <= KEYWORDS
        sidecar = json_of(path.with_suffix(".json"))
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
        assert header
        assert len(set(header)) == len(header), "a header is repeated"
        assert all(header), "a header is missing"
        assert all(len(row) == len(header) for row in rows), "a row has another number of cells"
        # The metadata in a file's sidecar override those of the dataset.
        compiled = {**description, **sidecar}
        for one in compiled["variableMeasured"]:
            assert set(one) == VARIABLE
            assert one["@type"] == "PropertyValue"
            assert all(isinstance(value, str) and value for value in one.values())
        assert [one["name"] for one in compiled["variableMeasured"]] == header
        tables[keywords["description"]] = [dict(zip(header, row, strict=True)) for row in rows]
        used |= set(header)
    # Every variable of the dataset has a column.
    assert {one["name"] for one in description["variableMeasured"]} == used
    return tables


def export(folder: Path, out: Path, *options: str) -> None:
    command("export", folder, "--format", "psych-ds", "--out", out, "--keep-all", *options)


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    folder = add(study(tmp_path, images=3, changes={"mouse = false": "mouse = true"}), QUESTIONNAIRES, QUIZ)
    simulate(folder, 4)
    return folder


def test_psych_ds_export_of_clicks_follows_the_specification(asked: Path, tmp_path: Path) -> None:
    out = tmp_path / "psych"
    export(asked, out, "--unfinished")
    tables = check_psych_ds(out)
    assert set(tables) == {"participants", "clicks", "responses", "questionnaires", "quiz", "mouse"}
    assert len(tables["participants"]) == 4
    assert (out / "data/study-SpotTheBall_description-clicks_data.csv").is_file()
    assert "data/study-SpotTheBall_description-quiz_data.csv" in (out / "README.md").read_text(encoding="utf-8")
    command("export", asked, "--out", tmp_path / "plain", "--keep-all", "--unfinished")
    for name in ("participants", "clicks", "questionnaires", "quiz", "mouse"):
        plain = (tmp_path / f"plain/{name}.csv").read_bytes()
        assert (out / f"data/study-SpotTheBall_description-{name}_data.csv").read_bytes() == plain


def test_psych_ds_export_of_choices_follows_the_specification(tmp_path: Path) -> None:
    folder = choices(tmp_path)
    change(folder, {"Where does this person look?": "Wohin schaut … 1/2?"})
    simulate(folder, 3)
    export(folder, tmp_path / "out", "--unfinished")
    assert set(check_psych_ds(tmp_path / "out")) == {"participants", "trials"}
    assert (tmp_path / "out/data/study-WohinSchaut12_description-trials_data.csv").is_file()


def test_psych_ds_export_keeps_fields_added_to_the_description(asked: Path, tmp_path: Path) -> None:
    out = tmp_path / "psych"
    file = out / "dataset_description.json"
    for _ in range(2):
        export(asked, out)
        description = json_of(file)
        described = {**description, "name": "other", "author": ["Ada"], "license": "CC-BY-4.0"}
        file.write_text(json.dumps(described), encoding="utf-8")
    assert (description["author"], description["name"]) == (["Ada"], "Spot the Ball")
    check_psych_ds(out)
    file.write_text("[1", encoding="utf-8")
    with raises(InputError, "invalid-json:file"):
        export(asked, out)


def test_psych_ds_export_into_a_folder_with_other_data_is_an_error(asked: Path, tmp_path: Path) -> None:
    other = tmp_path / "psych/data/study-Other_data.csv"
    other.parent.mkdir(parents=True)
    other.write_text("a\n1\n", encoding="utf-8")
    with raises(OptionError, "output-exists:--out"):
        export(asked, tmp_path / "psych")
    assert sorted(path.name for path in (tmp_path / "psych").rglob("*")) == ["data", "study-Other_data.csv"]
