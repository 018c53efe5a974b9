"""Test the command `spotball study init`: its messages, files and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_adapters.study.setup.config import CONFIG, read_config
from tests.adapters.run_process import here
from tests.adapters.study.made import choices, dataset
from tests.failures import codes


def test_init_reports_the_images_per_sport_and_the_next_step(tmp_path: Path) -> None:
    data, out = dataset(tmp_path / "data", sports=("soccer", "tennis"), images=6), tmp_path / "study"
    done = here("study", "init", str(data), "--out", str(out), "--images", "4", "--seed", "7")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "soccer: 4 images, 2 attention checks, 1 practice image",
        "tennis: 4 images, 2 attention checks, 1 practice image",
        "the instructions show a synthetic example. Add --originals to show one of your own images",
        f"{out / CONFIG}: review and edit it. Then run: spotball study check {out}",
    ]
    assert read_config(out).seed == 7


def test_init_with_sport_and_quiet_selects_the_sport_and_prints_nothing(tmp_path: Path) -> None:
    data, out = dataset(tmp_path / "data", sports=("soccer", "tennis")), tmp_path / "study"
    done = here("study", "init", str(data), "--out", str(out), "--sport", "tennis", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [one.name for one in read_config(out).lists] == ["tennis"]


def test_init_with_task_choice_writes_the_task_to_the_config(tmp_path: Path) -> None:
    choices(tmp_path)
    done = here("study", "init", str(tmp_path / "data"), "--out", str(tmp_path / "b"), "--task", "choice")
    assert done.returncode == 0
    assert read_config(tmp_path / "b").task == "choice"


@pytest.mark.parametrize(
    ("arguments", "where", "code"),
    [
        (["init", "{0}/data", "--out", "{0}/study", "--sport", "golf"], "--sport: ", "unknown-name"),
        (["init", "{0}/nowhere", "--out", "{0}/study"], "{0}/nowhere/scenes.jsonl: file: ", "missing-file"),
        (["serve", "{0}/nowhere"], "{0}/nowhere/study.toml: file: ", "missing-file"),
        (["serve", "{0}/data"], "{0}/data/study.toml: file: ", "missing-file"),
    ],
)
def test_study_with_an_invalid_sport_or_folder_is_a_one_line_error(
    tmp_path: Path, arguments: list[str], where: str, code: str
) -> None:
    dataset(tmp_path / "data")
    done = here("study", *(word.format(tmp_path) for word in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {where.format(tmp_path)}")
    assert codes(done.stderr) == [code]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "study").exists()
