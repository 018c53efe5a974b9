"""Test `spotball study status`: the table, also against counts made by hand, and the comparison with study.toml."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from spotball_adapters.cli.study import study as app
from spotball_adapters.study.results.attrition import ALL, attrition
from spotball_adapters.study.results.attrition_text import AGREES, to_json, to_markdown, to_text
from spotball_adapters.study.results.exclusion import Exclusion
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.simulation.behavior import Population
from spotball_adapters.study.store import StudyStore
from spotball_core.errors import InputError, OptionError
from tests.adapters.study import made
from tests.adapters.study.stored import given, person, simulate
from tests.failures import raises

GOOD, BAD = given("C2", "C3", "C2", check=True), given("C2", "C3", "D5", check=True)
PEOPLE = [
    person(GOOD, given("A1", seconds=9), name="a", at="soccer", minutes=10.0),
    person(GOOD, given("A1", seconds=9), name="b", at="soccer", minutes=13.0),
    # Two rules exclude this participant, who must be counted once.
    person(BAD, given("A1", seconds=1), given("A2", seconds=1), name="c", at="soccer", minutes=2.5),
    person(given("A1"), name="d", at="volleyball", stage="trials"),
    person(name="e", at="volleyball", stage="instructions"),
]
RULES = Exclusion(("checks", "fast"), min_seconds=2.0)
FOUND = attrition(PEOPLE, ["soccer", "volleyball"], RULES)


def status(*arguments: str | Path) -> tuple[int, str]:
    """Return exit status and output."""
    result = CliRunner().invoke(app, ["status", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stdout


def json_of(*arguments: str | Path) -> tuple[int, Any]:
    code, said = status(*arguments, "--format", "json")
    return code, json.loads(said)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = made.study(tmp_path_factory.mktemp("status"), sports=("soccer", "volleyball"))
    # Careless participants guess like the oracle on checks too, so they pass the checks, and all are kept.
    simulate(folder, 10, population=Population(guesses="oracle", unfinished=0.2, careless=0.5))
    return folder


def test_status_json_counts_participants_according_to_the_exclusion_options(study: Path) -> None:
    code, content = json_of(study)
    assert code == 0
    counts = content["participants"]
    assert counts["took part"] == {"soccer": 5, "volleyball": 5, "all lists": 10}
    assert (counts["finished"]["all lists"], counts["kept"]["all lists"]) == (8, 8)
    assert content["minutes"]["kept"]["all lists"]["n"] == 8
    assert content["disagreements"] == []
    assert content["exclusion"]["rules"] == ["checks"]
    # All participants click the ball, which is always in the same cell.
    _, content = json_of(study, "--exclude", "same-cell")
    assert content["participants"]["excluded: same-cell"]["all lists"] == 8


@pytest.mark.parametrize(("rule", "excluded"), [("checks", 0), ("same-cell", 8)])
def test_status_text_matches_the_json_and_fits_80_columns(study: Path, rule: str, excluded: int) -> None:
    code, said = status(study, "--exclude", rule)
    lines = said.splitlines()
    n = {step: row["all lists"] for step, row in json_of(study, "--exclude", rule)[1]["participants"].items()}
    assert code == 0
    assert n["excluded in all"] == excluded
    parts = [f"{n['kept']} of {n['took part']} participants finished and are kept"]
    parts += [f"{excluded} finished and are excluded"] if excluded else []
    parts += [f"{n['took part'] - n['finished']} have not finished."]
    assert " ".join(lines[: lines.index("")]) == "; ".join(parts)
    (everybody,) = [line.split()[2:] for line in lines if line.startswith("all lists ")]
    assert everybody[:4] == [str(n[step]) for step in ("took part", "finished", "excluded in all", "kept")]
    assert max(map(len, lines)) <= 80
    assert ("Exclusions by rule (a participant may break several): same-cell 8." in lines) == bool(excluded)
    assert "The stored data agree with study.toml and its dataset." in lines
    assert "--full" in said


def test_status_reports_parts_changed_after_the_first_participant(study: Path, tmp_path: Path) -> None:
    other = made.study(tmp_path, sports=("soccer", "volleyball"))
    for name in ("study.sqlite", "identities.sqlite"):
        (other / name).write_bytes((study / name).read_bytes())
    made.change(other, {"explanations = 6": "explanations = 5"})
    code, said = status(other)
    assert code == 1
    fault = "these parts of the study changed after the first participant began: explanations. Undo the changes"
    assert f"warning: {fault}" in " ".join(said.split())
    assert "agree" not in said
    code, content = json_of(other)
    assert code == 1
    changed, others = content["disagreements"]
    assert changed == fault
    assert others.startswith("10 participants saw other images, another order, or other images to explain than study")


def test_status_reports_a_list_removed_from_study_toml(tmp_path: Path) -> None:
    other = made.study(tmp_path)
    simulate(other, 2, population=Population(unfinished=0))
    made.change(other, {'name = "soccer"': 'name = "football"'})
    code, content = json_of(other)
    assert code == 1
    missing = "2 participants saw lists that study.toml no longer contains: soccer. Restore these lists"
    assert missing in content["disagreements"]
    assert content["participants"]["took part"] == {"football": 0, "all lists": 2}


def test_status_reports_that_no_participant_has_taken_part(tmp_path: Path) -> None:
    folder = made.study(tmp_path)
    with StudyStore(folder) as store:
        store.claim(load(folder).parts)
    code, said = status(folder)
    assert code == 0
    assert said.startswith("No participant has taken part yet.\n")
    rows = [line.split() for line in status(folder, "--full")[1].splitlines()]
    assert [row for row in rows if row[:2] == ["took", "part"]] == [["took", "part", "0", "0"]]


def test_status_in_a_folder_without_a_study_or_without_answers_is_an_error(tmp_path: Path) -> None:
    with raises(InputError, "missing-file:file"):
        status(tmp_path)
    with raises(OptionError, "wrong-folder"):
        status(made.study(tmp_path))


def test_attrition_counts_participants_at_each_step_per_list_and_in_total() -> None:
    assert {said: list(row.values()) for said, row in FOUND.rows.items()} == {
        "took part": [3, 2, 5],
        "read the instructions": [3, 1, 4],
        "reached the images": [3, 1, 4],
        "finished": [3, 0, 3],
        "excluded: checks": [1, 0, 1],
        "excluded: fast": [1, 0, 1],
        "excluded in all": [1, 0, 1],
        "kept": [2, 0, 2],
    }
    assert all(list(row) == ["soccer", "volleyball", ALL] for row in FOUND.rows.values())
    # Participants of a list that was removed count only in the total.
    assert list(attrition(PEOPLE, ["soccer"], RULES).rows["took part"].values()) == [3, 5]


def test_attrition_reports_mean_and_sd_of_minutes() -> None:
    kept, nobody = FOUND.kept["soccer"], FOUND.kept["volleyball"]
    # The mean is (10 + 13) / 2, and the SD is sqrt((1.5 ** 2 + 1.5 ** 2) / (2 - 1)).
    assert (kept.n, kept.mean, kept.sd) == (2, 11.5, pytest.approx(4.5**0.5))
    assert (nobody.n, nobody.mean, nobody.sd) == (0, None, None)
    assert (FOUND.finished[ALL].n, FOUND.finished[ALL].mean) == (3, 8.5)
    alone = attrition(PEOPLE[:1], ["soccer"], RULES).kept["soccer"]
    assert (alone.mean, alone.sd) == (10.0, None)


def test_attrition_text_and_markdown_state_counts_rules_and_agreement_or_disagreements() -> None:
    text = to_text(FOUND, RULES, [])
    (row,) = [line for line in text.splitlines() if "excluded in all" in line]
    assert row.split()[-3:] == ["1", "0", "1"]
    assert "min_seconds_per_image: 2" in text
    assert AGREES in text
    assert "| kept, mean | 11.5 | - | 11.5 |" in to_markdown(FOUND, RULES, [])
    changed = to_text(FOUND, RULES, ["lists were changed"])
    assert "lists were changed" in changed
    assert AGREES not in changed


def test_attrition_json_contains_counts_minutes_rules_and_disagreements() -> None:
    content = json.loads(to_json(FOUND, RULES, ["something"]))
    assert content["participants"]["kept"] == {"soccer": 2, "volleyball": 0, ALL: 2}
    assert content["minutes"]["kept"]["soccer"] == {"n": 2, "mean": 11.5, "sd": pytest.approx(4.5**0.5)}
    assert content["exclusion"] == {"rules": ["checks", "fast"], "min_seconds": 2.0}
    assert content["disagreements"] == ["something"]
