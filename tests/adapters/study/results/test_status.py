"""Test `spotball study status`: the table, and the comparison of stored data with study.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spotball_adapters.cli.study import study as app
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.simulation.behavior import Population
from spotball_adapters.study.store import StudyStore
from spotball_core.errors import InputError, OptionError
from tests.adapters.study import made
from tests.adapters.study.stored import simulate
from tests.failures import raises


def status(*arguments: str | Path) -> tuple[int, str]:
    """Return exit status and output."""
    result = CliRunner().invoke(app, ["status", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stdout


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = made.study(tmp_path_factory.mktemp("status"), sports=("soccer", "volleyball"))
    # Careless participants use the oracle on checks, so they pass them, and all are kept.
    simulate(folder, 10, population=Population(guesses="oracle", unfinished=0.2, careless=0.5))
    return folder


def test_status_json_counts_participants_per_list_and_in_all(study: Path) -> None:
    code, said = status(study, "--format", "json")
    content = json.loads(said)
    assert code == 0
    counts = content["participants"]
    assert counts["took part"] == {"soccer": 5, "volleyball": 5, "all lists": 10}
    assert (counts["finished"]["all lists"], counts["kept"]["all lists"]) == (8, 8)
    assert content["minutes"]["kept"]["all lists"]["n"] == 8
    assert content["disagreements"] == []
    assert content["exclusion"]["rules"] == ["checks"]


def test_status_applies_the_exclusion_options(study: Path) -> None:
    _, said = status(study, "--format", "json", "--exclude", "fast", "--min-seconds", "9999")
    assert json.loads(said)["participants"]["kept"]["all lists"] == 0
    # All participants click the ball, which is always in the same cell.
    _, said = status(study, "--format", "json", "--exclude", "same-cell")
    assert json.loads(said)["participants"]["excluded: same-cell"]["all lists"] == 8


@pytest.mark.parametrize(("rule", "excluded"), [("checks", 0), ("same-cell", 8)])
def test_status_text_matches_the_json_and_fits_80_columns(study: Path, rule: str, excluded: int) -> None:
    code, said = status(study, "--exclude", rule)
    lines = said.splitlines()
    counts = json.loads(status(study, "--exclude", rule, "--format", "json")[1])["participants"]
    n = {step: counts[step]["all lists"] for step in counts}
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


def test_status_full_prints_the_table_of_all_lists(study: Path) -> None:
    code, said = status(study, "--full")
    assert code == 0
    (kept,) = [line.split() for line in said.splitlines() if line.split()[:1] == ["kept"]]
    assert sum(map(int, kept[1:3])) == int(kept[3]) == 8


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
    code, said = status(other, "--format", "json")
    assert code == 1
    changed, others = json.loads(said)["disagreements"]
    assert changed == fault
    assert others.startswith(
        "10 participants saw other images, another order, or other images to explain than study.toml"
    )


def test_status_reports_a_list_removed_from_study_toml(tmp_path: Path) -> None:
    other = made.study(tmp_path)
    simulate(other, 2, population=Population(unfinished=0))
    made.change(other, {'name = "soccer"': 'name = "football"'})
    code, said = status(other, "--format", "json")
    assert code == 1
    missing = "2 participants saw lists that study.toml no longer contains: soccer. Restore these lists"
    assert missing in json.loads(said)["disagreements"]
    assert json.loads(said)["participants"]["took part"] == {"football": 0, "all lists": 2}


def test_status_reports_that_no_participant_has_taken_part(tmp_path: Path) -> None:
    folder = made.study(tmp_path)
    with raises(OptionError, "wrong-folder"):
        status(folder)
    with StudyStore(folder) as store:
        store.claim(load(folder).parts)
    code, said = status(folder)
    assert code == 0
    assert said.startswith("No participant has taken part yet.\n")
    _, said = status(folder, "--full")
    assert [line.split() for line in said.splitlines() if line.split()[:2] == ["took", "part"]] == [
        ["took", "part", "0", "0"]
    ]


def test_status_in_a_folder_without_a_study_is_an_error(tmp_path: Path) -> None:
    with raises(InputError, "missing-file:file"):
        status(tmp_path)
