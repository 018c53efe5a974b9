"""Test the export of a choice study."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from spotball_adapters.study.results.columns import TRIALS
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.setup.init import init_study
from spotball_adapters.study.store import StudyStore
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import read_stimuli
from spotball_core.gaze.data.trials import COLUMNS, read_trials
from spotball_core.random import generator_for
from tests.adapters.study import made
from tests.adapters.study.stored import Clock, command, store_participant
from tests.builders import write_csv
from tests.failures import raises


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a study of photos 1 to 4 and check 9, with target vase. Ann is always right; Bob is wrong on 2 and 9."""
    folder = tmp_path_factory.mktemp("choices")
    (folder / "data").mkdir()
    Image.new("RGB", (640, 360), "gray").save(folder / "data/photo.png")
    shared = {"Angle": "front", "Proximity": 1, "Candidates": "cup+vase+book", "path": "photo.png", "label": "vase"}
    rows = [
        {**shared, "Stimulus_ID": number, "HeadTarget": head, "Site": "SiteB", "list_id": list_id}
        for number, head, list_id in ((1, -1, 0), (2, -1, 0), (3, -1, 0), (4, "cup", 0), (9, -1, -1))
    ]
    write_csv(folder / "data/stimuli.csv", rows)
    init_study(folder / "data", folder / "study", task="choice")
    made.change(folder / "study", {'currency = "USD"': 'currency = "EUR"', "bonus = 0.00": "bonus = 1.00"})
    design = load(folder / "study")
    with StudyStore(folder / "study") as store:
        store.claim(design.parts)
        for seed, (who, wrong) in enumerate((("ann", ()), ("bob", ("2", "9")))):
            trials = design.trials("list-0", seed)
            clock = Clock(generator_for(0, who))
            events = [clock.event("stage", None, {"stage": stage}) for stage in ("consent", "instructions")]
            for trial in trials:
                if trial.trial == 0:
                    events.append(clock.event("stage", None, {"stage": "practice"}))
                events.append(clock.event("shown", trial.trial, {}))
                option = trial.options.index("cup" if trial.image in wrong else "vase")
                events.append(clock.event("choice", trial.trial, {"option": option}, after=2.5))
            store_participant(store, design, who, "list-0", seed, trials, events, prolific=True)
    return folder / "study"


def test_export_excludes_a_participant_who_fails_an_attention_check(study: Path, tmp_path: Path) -> None:
    command("export", study, "--out", tmp_path / "mine.csv")
    rows = pl.read_csv(tmp_path / "mine.csv", infer_schema=False)
    assert rows.columns == list(TRIALS)
    assert rows.select("participant", "choice").rows() == [("ann", "vase")] * 5


@pytest.mark.parametrize("with_stimuli", [True, False])
def test_exported_choices_are_read_as_gaze_trials(study: Path, tmp_path: Path, with_stimuli: bool) -> None:
    command("export", study, "--out", tmp_path / "out", "--keep-all")
    assert set(COLUMNS) - {"sample"} <= set(TRIALS)
    photos = read_stimuli(study.parent / "data/stimuli.csv") if with_stimuli else ()
    trials = read_trials(tmp_path / "out/trials.csv", photos)
    # Both participants' answers to the check are excluded from the trials, and counted.
    assert (len(trials.frame), trials.n_checks) == (8, 2)
    assert trials.respondents == ["human"]
    command("export", study, "--out", tmp_path / "mine.csv", "--keep-all", "--respondent", "mine")
    assert read_trials(tmp_path / "mine.csv", photos).respondents == ["mine"]
    assert set(trials.frame["scene"]) == {"SiteB"}
    (fourth,) = trials.frame.filter(participant="bob", stimulus_id="4").to_dicts()
    assert (fourth["condition"], fourth["head"], fourth["gaze"], fourth["choice"]) == ("incongruent", 0, 1, 1)
    assert (fourth["response_time"], fourth["prompt_id"]) == (2.5, "base")


def test_export_to_a_folder_writes_trials_and_participants(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command("export", study, "--out", out, "--keep-all")
    assert sorted(path.name for path in out.iterdir()) == ["participants.csv", "trials.csv"]
    rows = pl.read_csv(out / "trials.csv", schema_overrides={"stimulus_id": pl.String})
    bob = {row["stimulus_id"]: row for row in rows.filter(participant="bob").to_dicts()}
    chosen = {"1": "vase", "2": "cup", "3": "vase", "4": "vase", "9": "cup"}
    assert {image: row["choice"] for image, row in bob.items()} == chosen
    assert (bob["1"]["objects"], bob["1"]["gaze_target"]) == ("cup+vase+book", "vase")
    assert {image for image, row in bob.items() if row["attention_check"]} == {"9"}
    assert {row["response_time"] for row in bob.values()} == {2.5}
    assert sorted(row["order"] for row in bob.values()) == [1, 2, 3, 4, 5]
    command("export", study, "--out", tmp_path / "lines", "--keep-all", "--format", "jsonl")
    assert len(pl.read_ndjson(tmp_path / "lines/trials.jsonl")) == 10
    people = pl.read_csv(out / "participants.csv").select("participant", "accuracy", "clicks_off_checks", "excluded")
    assert people.rows() == [("ann", 1.0, 0, None), ("bob", 0.75, 1, "checks")]


def test_bonus_of_a_choice_study_uses_the_accuracy_on_photos_that_are_not_checks(study: Path, tmp_path: Path) -> None:
    assert "2 bonuses, 1.75 EUR" in command("bonus", study, "--out", tmp_path / "bonus.csv")
    assert "1 bonuses, 1.00 EUR" in command("bonus", study, "--out", tmp_path / "bonus.csv", "--kept")


def test_export_of_choices_as_a_release_is_an_error(study: Path, tmp_path: Path) -> None:
    with raises(OptionError, "invalid-option"):
        command("export", study, "--out", tmp_path / "release", "--format", "release")
