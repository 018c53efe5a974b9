"""Test pilots, real and simulated: they work like the study, do not lock its settings, and one command deletes them."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import polars as pl
import pytest

from spotball_adapters.study.server.serve import in_background, opened
from spotball_adapters.study.simulation.behavior import Action, Population
from spotball_adapters.study.simulation.pilot import (
    START as SIMULATED_START,
    EventSequence,
    SimulatedBrowser,
    SimulatedClock,
    SimulationError,
    simulate_pilot,
)
from spotball_adapters.study.store import reading
from spotball_core.errors import InputError, OptionError
from spotball_core.random import generator_for
from tests.adapters.run_process import here
from tests.adapters.study.asked import QUESTIONNAIRES, QUIZ, add
from tests.adapters.study.made import START, change, choices, people, running, study
from tests.adapters.study.stored import command
from tests.failures import raises

ATTENTIVE = Population(unfinished=0, careless=0)


def test_pilot_is_served_exported_and_deleted_separately_from_the_study(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    with people(folder, {"pid": "p", "study": "s", "session": "v"}, pilot=True) as (person,):
        assert person.client.get("/api/study").json()["pilot"] is True
        person.whole()
        assert person.state["participant"].startswith("pilot-")
    assert not (folder / "study.sqlite").exists()
    # A pilot does not lock study.toml: after a change of a text, a new pilot and the study can be served.
    change(folder, {"Each photo is divided": "A photo is divided"})
    with people(folder, None, None, pilot=True) as (person, other):
        person.whole()
        other.start()
    with people(folder, None) as (person,):
        assert person.client.get("/api/study").json()["pilot"] is False
        person.whole()
        # Export while the server runs.
        exported = command("export", folder, "--out", tmp_path / "people")
        assert "1 participant took part, 1 finished, 1 exported" in exported
    said = command("export", folder, "--out", tmp_path / "pilot", "--pilot")
    assert "2 participants took part, 1 finished, 1 exported" in said
    rows = pl.read_ndjson(tmp_path / "pilot/responses-people.jsonl")
    assert rows.select("respondent", "cell").rows() == [("pilot", "C2")] * 12
    assert rows["reasoning"].drop_nulls().to_list() == ["They all look there."] * 2
    assert rows["participant"].str.starts_with("pilot-").all()
    assert "took part" in here("study", "status", str(folder), "--pilot").stdout
    assert command("delete", folder, "--pilot", "--yes") == "deleted the data of all pilots: 3 participants\n"
    assert [path.name for path in folder.iterdir() if path.name.startswith("pilot")] == []
    with reading(folder) as reader:
        assert len(reader.participants()) == 1
    for arguments in (("delete", folder, "--pilot", "--yes"), ("status", folder, "--pilot")):
        with raises(OptionError, "wrong-folder"):
            command(*arguments)


def test_pilot_resumes_after_a_restart_of_the_server(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    with people(folder, None, pilot=True) as (person,):
        person.begin()
    with running(folder, pilot=True) as url, httpx.Client(base_url=url, cookies=person.client.cookies) as client:
        assert client.get("/api/state").json()["stage"] == "trials"


def test_list_in_the_link_is_accepted_only_in_a_pilot(tmp_path: Path) -> None:
    folder = study(tmp_path, sports=("soccer", "volleyball"), images=2, changes={"per_list = 0": "per_list = 1"})

    def start(client: httpx.Client, name: str | None) -> httpx.Response:
        return client.post("/api/start", json={**START, "list": name})

    with running(folder, pilot=True) as url, httpx.Client(base_url=url) as client:
        for name in ("volleyball", "volleyball", "soccer", "volleyball"):
            assert start(client, name).json()["list"] == name
        assert start(client, "tennis").status_code == 422
    with reading(folder / "pilot-1") as reader:
        # The second request for the same list resumed the same participant.
        assert [one.list for one in reader.participants()] == ["volleyball", "soccer", "volleyball"]
    with running(folder) as url, httpx.Client(base_url=url) as client:
        assert start(client, "soccer").status_code == 422
        assert "list" not in start(client, None).json()


def test_delete_of_a_pilot_in_use_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    with opened(folder, pilot=True), raises(OptionError, "in-use"):
        command("delete", folder, "--pilot", "--yes")
    assert (folder / "pilot-1").is_dir()


@pytest.mark.parametrize("options", [(), ("a", "--pilot"), ("a", "--prolific", "b")])
def test_delete_requires_exactly_one_of_label_prolific_and_pilot(tmp_path: Path, options: tuple[str, ...]) -> None:
    with raises(OptionError, "conflicting-options"):
        command("delete", study(tmp_path, images=2), *options)


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
    rows = pl.read_csv(tmp_path / "out/participants.csv")
    assert rows["participant"].to_list() == [f"simulated-{number}" for number in range(1, 11)]
    assert (rows.filter(finished=True)["minutes"] > 0.5).all()


def test_attentive_simulated_participants_pass_the_rules_fast_and_clock(tmp_path: Path) -> None:
    strict = {"min_seconds_per_image = 0": "min_seconds_per_image = 1", "also = []": 'also = ["clock"]'}
    folder = study(tmp_path, images=3)
    change(folder, strict)
    simulate_pilot(folder, 5, population=ATTENTIVE)
    said = command("export", folder, "--pilot", "--out", tmp_path / "out")
    assert "5 participants took part, 5 finished, 5 exported" in said


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
    with people(folder, None, pilot=True) as (person,):
        person.whole()
    with reading(folder / "pilot-3") as reader:
        assert [one.participant.startswith("pilot-") for one in reader.participants()] == [True]
    assert command("delete", folder, "--pilot", "--yes") == "deleted the data of all pilots: 3 participants\n"


def test_simulation_finishes_with_questionnaires_quiz_and_rate_limits(tmp_path: Path) -> None:
    folder = add(study(tmp_path, images=2), QUESTIONNAIRES, QUIZ)
    letters = {"explanation_letters = 10": "explanation_letters = 200"}
    limits = {"starts_per_minute_address = 6000": "starts_per_minute_address = 1"}
    change(folder, {**letters, **limits, "requests_per_minute = 600": "requests_per_minute = 2"})
    pilot = simulate_pilot(folder, 3, population=ATTENTIVE)
    assert (len(pilot.labels), pilot.finished, pilot.careless, pilot.full) == (3, 3, 0, False)
    assert "3 exported" in command("export", folder, "--pilot", "--out", tmp_path / "out")
    assert pl.read_csv(tmp_path / "out/questionnaires.csv")["participant"].n_unique() == 3


def test_simulation_stops_when_the_study_is_full(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={"per_list = 0": "per_list = 2"})
    pilot = simulate_pilot(folder, 4, population=ATTENTIVE)
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
        events = EventSequence(SimulatedClock(SIMULATED_START), generator_for(0, "test"))
        with SimulatedBrowser(port, events) as browser:
            browser.start()
            with raises(SimulationError, "study-failed"):
                browser.do(Action("stage", None, {"stage": "practice"}))
