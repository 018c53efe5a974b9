from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from spotball_core.gaze.data.stimuli import write_stimuli
from spotball_core.gaze.data.trials import together, write_trials
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.cli.process import spotball
from tests.failures import codes

DESIGN = [one for one in factorial_design() if one.view == "front" and one.proximity < 3]

OF_ONE = ("--bootstrap", "0", "--jobs", "1")
"""Options that disable the bootstrap and worker processes, because starting workers takes longer than the work."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gaze")
    for name, observer in {"heady": Observer("head", noise=0.4, lapse=0.1), "guess": Observer("guess")}.items():
        write_trials(simulate(observer, DESIGN, prompts=4, respondent=name), folder / f"{name}.csv")
    write_stimuli(DESIGN, folder / "stimuli.csv")
    return folder


@pytest.mark.slow
def test_analyze_prints_json_and_writes_the_same_report_to_a_folder(folder: Path, tmp_path: Path) -> None:
    words = ("--stimuli", folder / "stimuli.csv", "--bootstrap", "50", "--out", tmp_path / "report")
    done = spotball("gaze", "analyze", folder / "heady.csv", folder / "guess.csv", *words, "--format", "json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    types = {one["respondent"]: one["type"] for one in said["respondents"]}
    assert types == {"heady": "head-only", "guess": "at chance"}
    assert json.loads((tmp_path / "report/report.json").read_text(encoding="utf-8")) == said
    assert (tmp_path / "report/report.html").is_file()
    assert "tested heady" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "mark"),
    [(["--full"], "Table 2: types and tests"), (["--format", "markdown"], "**Table 2"), ([], "guess: ")],
)
def test_analyze_prints_tables_with_full_or_markdown_and_a_summary_by_default(
    folder: Path, options: list[str], mark: str
) -> None:
    done = spotball("gaze", "analyze", folder / "guess.csv", *OF_ONE, *options, "--quiet")
    assert done.returncode == 0, done.stderr
    assert mark in done.stdout
    assert done.stdout.rstrip().endswith("boot:0|seed:0")
    assert done.stderr == ""


@pytest.mark.slow
def test_analyze_applies_the_options_for_tests_hints_models_people_and_comparison(folder: Path, tmp_path: Path) -> None:
    models = tmp_path / "models.csv"
    models.write_text("respondent,released,parameters\nheady,2024-01-01,7\n", encoding="utf-8")
    tests = ("--alpha", "0.01", "--multiplicity", "holm", "--hinted", "2, 3")
    groups = ("--models", models, "--people", "guess", "--compare", "heady", "guess")
    trials = (folder / "heady.csv", folder / "guess.csv")
    done = spotball("gaze", "analyze", *trials, "--format", "json", *OF_ONE, *tests, *groups)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {"people:guess", "alpha:0.01", "multiplicity:holm"} < set(said["signature"].split("|"))
    assert said["fleet"]["compared"]["a"] == "heady"
    assert said["respondents"][0]["checks"]["hint"]["of"].startswith("prompts with a hint (2, 3)")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "values"),
    [
        (["analyze", "guess.csv", "--alpha", "0"], "invalid-option", ["--alpha: "]),
        (["analyze", "guess.csv", "--people", "nobody"], "unknown-name", ["'nobody'"]),
        (["analyze", "guess.csv", "--stimuli", "none.csv"], "missing-file", ["none.csv: file: "]),
        (["analyze", "guess.csv", "--hinted", "77"], "unknown-name", ["--hinted: ", "77"]),
        (["analyze", "guess.csv", "--images", "photos"], "missing-option", ["--images: ", "--out", "--stimuli"]),
        (["analyze", "guess.csv", "--only", "weights", "--out", "report"], "conflicting-options", ["--out"]),
    ],
)
def test_analyze_with_invalid_options_exit_with_status_2(
    folder: Path, arguments: list[str], code: str, values: list[str]
) -> None:
    done = spotball("gaze", *arguments, cwd=folder)
    assert (done.returncode, codes(done.stderr)) == (2, [code])
    assert all(value in done.stderr for value in values)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_analyze_finds_photos_next_to_the_stimuli_or_in_the_images_folder(tmp_path: Path) -> None:
    some = [one.model_copy(update={"image": "photo.png"}) for one in DESIGN if one.head_target is None][:4]
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (40, 40)).save(tmp_path / "photos/photo.png")
    write_trials(simulate(Observer("guess"), some, prompts=1), tmp_path / "trials.csv")
    for folder, images in (("photos", []), (".", ["--images", tmp_path / "photos"])):
        write_stimuli(some, tmp_path / folder / "stimuli.csv")
        words = ("--stimuli", tmp_path / folder / "stimuli.csv", *images, "--out", tmp_path / "report", *OF_ONE)
        done = spotball("gaze", "analyze", tmp_path / "trials.csv", *words, "--quiet")
        assert done.returncode == 0, done.stderr
        assert "data:image/webp" in (tmp_path / "report/report.html").read_text(encoding="utf-8")


def test_analyze_of_an_invalid_file_or_into_a_folder_with_other_files_exits_with_status_2(
    folder: Path, tmp_path: Path
) -> None:
    done = spotball("gaze", "analyze", folder / "guess.csv", "--out", folder)
    assert (done.returncode, codes(done.stderr)) == (2, ["output-exists"])
    bad = tmp_path / "bad.csv"
    bad.write_text("stimulus_id,view,proximity,objects,gaze_target,choice\na,front,1,x+y,x,z\n", encoding="utf-8")
    done = spotball("gaze", "analyze", bad)
    assert (done.returncode, codes(done.stderr)) == (2, ["invalid-value"])
    assert all(part in done.stderr for part in (f"{bad}:2: choice: ", "'z'", "x, y"))


def test_analyze_accepts_a_file_with_several_respondents(tmp_path: Path) -> None:
    both = together([simulate(Observer("guess"), DESIGN[:60], prompts=1, respondent=name) for name in ("x", "y")])
    write_trials(both, tmp_path / "both.csv")
    done = spotball("gaze", "analyze", tmp_path / "both.csv", *OF_ONE, "--format", "json", "--quiet")
    assert [one["respondent"] for one in json.loads(done.stdout)["respondents"]] == ["x", "y"]


@pytest.mark.slow
def test_analyze_with_only_weights_prints_the_estimated_mechanism_of_each_respondent_as_json_or_text(
    folder: Path,
) -> None:
    command = ("gaze", "analyze", folder / "heady.csv", folder / "guess.csv", "--only", "weights", "--jobs", "1")
    done = spotball(*command, "--format", "json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [one["mechanism"]["kind"] for one in said["respondents"]] == ["head", "guess"]
    assert said["respondents"][0]["mechanism"]["w"]["ci95"][1] == 1.0
    assert said["respondents"][0]["mechanism"]["q"]["value"] is None
    table = spotball(*command, "--quiet")
    assert "heady: Follows the head" in table.stdout
    assert table.stderr == ""


def test_follow_reports_the_errors_of_a_model_and_of_the_annotators(tmp_path: Path) -> None:
    lines = [f"x/0.jpg,{person},0,0,1,1,0.1,0.1,{x},0.1,1,1,9,9,s,m\n" for person, x in ((1, 0.5), (2, 0.7))]
    (tmp_path / "test.txt").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "model.csv").write_text("image,x,y\nx/0.jpg,0.6,0.3\n", encoding="utf-8")
    (tmp_path / "x").mkdir()
    Image.new("RGB", (100, 50)).save(tmp_path / "x/0.jpg")
    command = ("gaze", "follow", tmp_path / "test.txt", tmp_path / "model.csv", "--images", tmp_path)
    done = spotball(*command, "--format", "json")
    assert done.returncode == 0, done.stderr
    model, people = json.loads(done.stdout)["respondents"]
    assert model["average_distance"]["value"] == pytest.approx(0.2)
    assert model["angle"]["value"] == pytest.approx(11.31, abs=0.01)
    assert people["respondent"] == "annotators"
    wrong = spotball(*command[:3], tmp_path / "none.csv")
    assert wrong.returncode == 2
    assert "none.csv" in wrong.stderr
