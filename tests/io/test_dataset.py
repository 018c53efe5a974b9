"""Datasets: folders, files, and the scenes that belong to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.counting.responses import read_counts
from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import read_dataset, response_files
from tests.builders import dataset, scene, scenes, write_csv, write_jsonl

ROW = {"image": "1", "cell": "D5"}


def test_a_folder_brings_its_scenes_and_all_its_responses(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", scenes("1", "2"), a=[ROW], b=[ROW])
    write_csv(folder / "responses.csv", [ROW])
    write_csv(folder / "notes.csv", [ROW])
    (folder / "responses-notes.txt").write_text("nothing")
    (folder / ".responses-half.jsonl").write_text("{")
    read = read_dataset(folder)
    assert [one.image for one in read.scenes] == ["1", "2"]
    assert [file.name for file in read.response_files] == ["responses-a.jsonl", "responses-b.jsonl", "responses.csv"]
    assert read_dataset(str(folder)) == read == read_dataset([folder])


def test_folders_and_files_together(tmp_path: Path) -> None:
    one = dataset(tmp_path / "one", scenes("1"), a=[ROW])
    two = dataset(tmp_path / "two", [scene("1"), scene("2")], b=[ROW])
    more = write_jsonl(tmp_path / "more.jsonl", [ROW])
    read = read_dataset([one, two, more])
    assert [scene.key for scene in read.scenes] == [("soccer", "1"), ("soccer", "2")]
    assert [file.name for file in read.response_files] == ["responses-a.jsonl", "responses-b.jsonl", "more.jsonl"]


def test_scenes_of_their_own_are_used_instead(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", scenes("1"), a=[ROW])
    other = dataset(tmp_path / "other", scenes("7")) / "scenes.jsonl"
    assert [one.image for one in read_dataset(folder, other).scenes] == ["7"]
    (folder / "scenes.jsonl").unlink()
    assert [one.image for one in read_dataset(folder, other).scenes] == ["7"]


def test_scenes_that_contradict_each_other(tmp_path: Path) -> None:
    one = dataset(tmp_path / "one", scenes("1"), a=[ROW])
    two = dataset(tmp_path / "two", [scene("1", ball_cells=("D5",))], b=[ROW])
    with pytest.raises(
        InputError,
        match=r"two/scenes\.jsonl: image: found a scene soccer/1 that differs from the one in .*one/scenes\.jsonl,",
    ):
        read_dataset([one, two])


def test_a_folder_without_responses(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", scenes("1"))
    with pytest.raises(
        InputError, match=r"set: folder: found no responses file, expected a file named responses\*, ending in \.jsonl"
    ):
        read_dataset(folder)


def test_a_folder_without_scenes(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "responses.jsonl", [ROW])
    with pytest.raises(InputError, match=r"scenes\.jsonl: file: found no such file"):
        read_dataset(tmp_path)


def test_a_file_without_scenes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.jsonl: scenes: found none, expected a dataset folder or --scenes"):
        read_dataset(write_jsonl(tmp_path / "a.jsonl", [ROW]))


def test_nothing_given() -> None:
    with pytest.raises(OptionError, match="no dataset folder or responses file"):
        read_dataset([])
    with pytest.raises(OptionError, match="no dataset folder or responses file"):
        response_files([])


def test_a_file_that_its_folder_brings_already(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", scenes("1"), a=[ROW])
    read = read_dataset([folder, folder / "responses-a.jsonl"])
    with pytest.raises(
        InputError, match=r"responses-a\.jsonl: file: found a file that was given twice, expected each file once"
    ):
        read_counts(read.response_files, read.scenes)
