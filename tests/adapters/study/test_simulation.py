"""Test `spotball study simulate`: participants take part in a pilot over HTTP, and the study is unchanged."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import httpx
import polars as pl

from spotball_adapters.study.server.serve import in_background, opened
from spotball_adapters.study.simulation.behavior import Action, Population
from spotball_adapters.study.simulation.browser import (
    EventSequence,
    SimulatedBrowser,
    SimulatedClock,
    SimulationError,
)
from spotball_adapters.study.simulation.pilot import START, simulate_pilot
from spotball_adapters.study.store import reading
from spotball_core.errors import InputError
from spotball_core.random import generator_for
from tests.adapters.study.asked import QUESTIONNAIRES, QUIZ, add
from tests.adapters.study.made import Person, change, choices, running, study
from tests.adapters.study.people import command
from tests.failures import raises


def rows_of(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row["participant"]: row for row in csv.DictReader(file)}


def test_simulated_pilot_is_exported_with_exclusions(tmp_path: Path) -> None:
    folder = study(tmp_path, images=3)
    before = {path.name for path in folder.iterdir()}
    said = command("simulate", folder, "--participants", "10", "--seed", "0")
    assert "10 simulated participants took part: 9 finished, 1 stopped early" in said
    assert "2 of those who finished did not look at attention checks" in said
    assert {path.name for path in folder.iterdir()} == before | {"pilot-1"}
    said = command("export", folder, "--pilot", "--out", tmp_path / "out")
    assert "these answers are from the pilot" in said
    assert "10 participants took part, 9 finished, 7 exported" in said
    assert "2 participants excluded by the rule checks" in said
    responses = pl.read_ndjson(tmp_path / "out/responses-people.jsonl")
    assert responses["respondent"].unique().to_list() == ["pilot"]
    assert responses["participant"].str.starts_with("simulated-").all()
    rows = rows_of(tmp_path / "out/participants.csv")
    assert list(rows) == [f"simulated-{number}" for number in range(1, 11)]
    assert all(float(row["minutes"]) > 0.5 for row in rows.values() if row["finished"] == "true")


def test_simulated_participants_pass_the_rules_for_times(tmp_path: Path) -> None:
    """Check that the default rules for times in study.toml keep attentive simulated participants."""
    strict = {"min_seconds_per_image = 0": "min_seconds_per_image = 1", "also = []": 'also = ["clock"]'}
    folder = study(tmp_path, images=3)
    change(folder, strict)
    simulate_pilot(folder, 5, population=Population(unfinished=0, careless=0))
    assert "5 participants took part, 5 finished, 5 exported" in command(
        "export", folder, "--pilot", "--out", tmp_path / "out"
    )


def test_simulation_with_the_same_seed_gives_the_same_data(tmp_path: Path) -> None:
    stored = []
    for seed in (7, 7, 8):
        shutil.rmtree(tmp_path, ignore_errors=True)
        tmp_path.mkdir()
        folder = study(tmp_path, sports=("soccer", "volleyball"), images=2)
        assert simulate_pilot(folder, 3, seed=seed).folder.name == "pilot-1"
        with reading(folder / "pilot-1") as reader:
            # The server generates a random id for the first event, the consent, so exclude it.
            stored.append([(one, reader.events(one.id)[1:]) for one in reader.participants()])
    assert stored[0] == stored[1]
    assert stored[0] != stored[2]


def test_each_simulation_uses_a_separate_pilot(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    assert simulate_pilot(folder, 1).folder.name == "pilot-1"
    assert simulate_pilot(folder, 1).folder.name == "pilot-2"
    with running(folder, pilot=True) as url, httpx.Client(base_url=url) as client:
        Person(client).whole()
    with reading(folder / "pilot-3") as reader:
        assert [one.participant.startswith("pilot-") for one in reader.participants()] == [True]
    assert command("delete", folder, "--pilot") == "deleted the data of all pilots: 3 participants\n"


def test_simulation_finishes_with_questionnaires_quiz_and_rate_limits(tmp_path: Path) -> None:
    """Check a study with questionnaires, a quiz, long explanations and strict rate limits."""
    folder = add(study(tmp_path, images=2), QUESTIONNAIRES, QUIZ)
    change(
        folder,
        {
            "explanation_letters = 10": "explanation_letters = 200",
            "starts_per_minute_address = 6000": "starts_per_minute_address = 1",
            "requests_per_minute = 600": "requests_per_minute = 2",
        },
    )
    pilot = simulate_pilot(folder, 3, population=Population(unfinished=0, careless=0))
    assert (len(pilot.labels), pilot.finished, pilot.careless, pilot.full) == (3, 3, 0, False)
    assert "3 exported" in command("export", folder, "--pilot", "--out", tmp_path / "out")
    assert len(rows_of(tmp_path / "out/questionnaires.csv")) == 3


def test_simulation_stops_when_the_study_is_full(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={"per_list = 0": "per_list = 2"})
    pilot = simulate_pilot(folder, 4, population=Population(unfinished=0, careless=0))
    assert (len(pilot.labels), pilot.full) == (2, True)


def test_simulation_of_a_choice_study_is_exported_with_exclusions(tmp_path: Path) -> None:
    folder = choices(tmp_path)
    pilot = simulate_pilot(folder, 8, population=Population(unfinished=0.25, careless=0.25))
    assert (pilot.finished, pilot.careless) == (6, 2)
    said = command("export", folder, "--pilot", "--out", tmp_path / "out")
    assert "8 participants took part, 6 finished, 4 exported" in said
    trials = pl.read_csv(tmp_path / "out/trials.csv")
    assert trials["respondent"].unique().to_list() == ["pilot"]


def test_simulation_with_a_missing_image_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    shutil.rmtree(tmp_path / "data/images")
    with raises(InputError, "missing-file:image"):
        simulate_pilot(folder, 1)
    assert not (folder / "pilot-1").exists()


def test_request_rejected_by_the_server_is_a_simulation_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    with opened(folder, pilot=True) as server, in_background(server) as port:
        events = EventSequence(SimulatedClock(START), generator_for(0, "test"))
        with SimulatedBrowser(port, events) as browser:
            browser.start()
            with raises(SimulationError, "study-failed"):
                browser.do(Action("stage", None, {"stage": "practice"}))
