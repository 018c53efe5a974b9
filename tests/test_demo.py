"""Test `spotball demo` as a process: its files, output and errors."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spotball_core.version import install_command
from tests.cli.process import spotball
from tests.failures import codes

PICTURES = {"guess-maps.png", "accuracy.png"}
FILES = {"README.txt", "scenes.jsonl", "report.json", "images", *PICTURES}
FILES |= {"responses-simulated.jsonl", "responses-baselines.jsonl"}

Done = tuple[Path, subprocess.CompletedProcess[str]]

WITHOUT_MATPLOTLIB = (
    "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.figure'] = None;"
    "from spotball_core.cli.app import main; sys.argv[0] = 'spotball'; main()"
)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("demo") / "out here"
    return folder, spotball("demo", "--out", folder, "--bootstrap", "30")


@pytest.mark.slow
def test_demo_writes_the_documented_files_and_prints_the_report_and_the_next_commands(done: Done) -> None:
    folder, ran = done
    assert ran.returncode == 0, ran.stderr
    assert {path.name for path in folder.iterdir()} == FILES
    scenes = [json.loads(line) for line in (folder / "scenes.jsonl").read_text().splitlines()]
    assert len(scenes) == 60
    assert all(scene["sport"].startswith("synthetic-") for scene in scenes)
    pictures = folder.rglob("images/*/*.png")
    assert {scene["path"] for scene in scenes} == {path.relative_to(folder).as_posix() for path in pictures}
    assert len((folder / "responses-baselines.jsonl").read_text().splitlines()) == 5 * 60 * 50
    report = json.loads((folder / "report.json").read_text())
    groups = {(group["sport"], group["respondent"]): group for group in report["groups"]}
    assert len(groups) == 21
    kinds = {"simulated-people": "human", "simulated-model": "model"}
    people = [json.loads(line) for line in (folder / "responses-simulated.jsonl").read_text().splitlines()][:50]
    assert {person["participant"] for person in people} == {f"p{number}" for number in range(1, 26)}
    for (_, respondent), group in groups.items():
        assert group["kind"] == kinds.get(respondent, "baseline")
        assert (group["n_images"], group["n_responses"]) == (18, 900)  # two controls per sport are excluded
        if respondent == "oracle":
            assert group["metrics"]["accuracy"]["value"] == 1
        else:
            assert group["metrics"]["accuracy"]["value"] < 0.5
        if respondent not in ("oracle", "simulated-people"):
            assert group["metrics"]["wasserstein"]["reference"] == "simulated-people"
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in PICTURES)
    assert report["signature"] in ran.stdout
    assert "nearest-player" in ran.stdout
    said = ran.stderr.splitlines()
    assert sum("Everything here is synthetic" in line for line in said) == 1
    assert f"  spotball score '{folder}' --reference simulated-people --bootstrap 30\n" in ran.stderr
    assert f"  spotball score YOUR.csv --scenes '{folder}/scenes.jsonl'\n" in ran.stderr


@pytest.mark.slow
def test_score_command_printed_by_demo_writes_the_same_report_and_a_second_demo_writes_identical_files(
    done: Done, tmp_path: Path
) -> None:
    folder, first = done
    out = tmp_path / "again.json"
    score = spotball("score", folder, "--reference", "simulated-people", "--bootstrap", "30", "--out", out)
    assert score.returncode == 0, score.stderr
    assert out.read_text() == (folder / "report.json").read_text()
    before = contents(folder)
    (folder / "responses-mine.csv").write_text("image,cell\n1,D5\n")
    again = spotball("demo", "--out", folder, "--bootstrap", "30")
    (folder / "responses-mine.csv").unlink()
    assert again.returncode == 0, again.stderr
    assert contents(folder) == before
    assert again.stdout == first.stdout


@pytest.mark.slow
def test_demo_without_matplotlib_writes_no_pictures_and_deletes_those_of_an_earlier_run(
    done: Done, tmp_path: Path
) -> None:
    # Pictures of an earlier run would not match the new numbers.
    folder, _ = done
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    command = [sys.executable, "-c", WITHOUT_MATPLOTLIB, "demo", "--out", tmp_path, "--bootstrap", "0", "--seed", "5"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert {path.name for path in tmp_path.iterdir()} == FILES - PICTURES
    assert install_command("report") in ran.stderr


@pytest.mark.slow
def test_demo_quiet_prints_only_the_summary(tmp_path: Path) -> None:
    ran = spotball("demo", "--quiet", "--bootstrap", "0", cwd=tmp_path)
    assert ran.returncode == 0
    assert ran.stderr == ""
    assert ran.stdout.startswith("simulated-people finds the ball in ")
    assert {path.name for path in (tmp_path / "spotball-demo").iterdir()} == FILES


@pytest.mark.parametrize("name", ["scenes.jsonl", "README.txt"])
def test_demo_fails_and_writes_nothing_if_out_has_other_files_or_is_a_file_or_the_seed_is_negative(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_text("mine\n")
    for out in (tmp_path, file):
        ran = spotball("demo", "--out", out)
        assert (ran.returncode, codes(ran.stderr)) == (2, ["output-exists"])
        assert str(out) in ran.stderr
    assert spotball("demo", "--out", tmp_path / "new", "--seed", "-1").returncode == 2
    assert contents(tmp_path) == {name: b"mine\n"}
