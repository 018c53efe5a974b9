"""Test the command `spotball study init`: its messages, files and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_adapters.study.setup.config import CONFIG, read_config
from tests.adapters.run_process import check_error, good, here
from tests.adapters.study.made import choices, dataset


def test_study_init_reports_the_images_per_sport_and_the_next_step(tmp_path: Path) -> None:
    data, out = dataset(tmp_path / "data", sports=("soccer", "tennis"), images=6), tmp_path / "study"
    done = good("study", "init", data, "--out", out, "--images", "4", "--seed", "7")
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "soccer: 4 images, 2 attention checks, 1 practice image",
        "tennis: 4 images, 2 attention checks, 1 practice image",
        "the instructions show a synthetic example. Add --originals to show one of your own images",
        f"{out / CONFIG}: review and edit it. Then run: spotball study check {out}",
    ]
    assert read_config(out).seed == 7


def test_study_init_with_sport_and_quiet_selects_the_sport_and_prints_nothing(tmp_path: Path) -> None:
    data, out = dataset(tmp_path / "data", sports=("soccer", "tennis")), tmp_path / "study"
    done = good("study", "init", data, "--out", out, "--sport", "tennis", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    assert [one.name for one in read_config(out).lists] == ["tennis"]


def test_study_init_with_task_choice_writes_the_task_to_the_config(tmp_path: Path) -> None:
    choices(tmp_path)
    good("study", "init", tmp_path / "data", "--out", tmp_path / "b", "--task", "choice")
    assert read_config(tmp_path / "b").task == "choice"


@pytest.mark.parametrize(("command", "file"), [("init", "scenes.jsonl"), ("serve", "study.toml")])
def test_study_init_or_serve_of_a_missing_folder_is_a_one_line_error(tmp_path: Path, command: str, file: str) -> None:
    options = ("--out", tmp_path / "study") if command == "init" else ()
    done = here("study", command, tmp_path / "nowhere", *options)
    check_error(done, "missing-file")
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {tmp_path}/nowhere/{file}: file: ")
    assert not (tmp_path / "study").exists()
