"""Test reading datasets from folders and files, with the scenes that belong to them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import read_dataset, response_files
from spotball_core.scoring.score import score
from tests.builders import dataset, scene, scenes, write_csv, write_jsonl
from tests.failures import raises

ROW = {"image": "1", "cell": "D5"}


def test_read_dataset_of_a_folder_finds_its_scenes_and_all_response_files(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", scenes("1", "2"), a=[ROW], b=[ROW])
    write_csv(folder / "responses.csv", [ROW])
    write_csv(folder / "notes.csv", [ROW])
    (folder / "responses-notes.txt").write_text("nothing")
    (folder / ".responses-half.jsonl").write_text("{")
    read = read_dataset(folder)
    assert [one.image for one in read.scenes] == ["1", "2"]
    assert [file.name for file in read.response_files] == ["responses-a.jsonl", "responses-b.jsonl", "responses.csv"]
    assert read_dataset(str(folder)) == read == read_dataset([folder])


def test_read_dataset_of_folders_and_files_combines_them(tmp_path: Path) -> None:
    one = dataset(tmp_path / "one", scenes("1"), a=[ROW])
    two = dataset(tmp_path / "two", [scene("1"), scene("2")], b=[ROW])
    more = write_jsonl(tmp_path / "more.jsonl", [ROW])
    read = read_dataset([one, two, more])
    assert [scene.key for scene in read.scenes] == [("soccer", "1"), ("soccer", "2")]
    assert [file.name for file in read.response_files] == ["responses-a.jsonl", "responses-b.jsonl", "more.jsonl"]


def test_read_dataset_with_given_scenes_ignores_scenes_of_the_folder(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", scenes("1"), a=[ROW])
    other = dataset(tmp_path / "other", scenes("7")) / "scenes.jsonl"
    assert [one.image for one in read_dataset(folder, other).scenes] == ["7"]
    (folder / "scenes.jsonl").unlink()
    assert [one.image for one in read_dataset(folder, other).scenes] == ["7"]


def test_read_dataset_with_different_scenes_of_one_image_and_read_counts_with_a_file_given_twice_raise_input_error(
    tmp_path: Path,
) -> None:
    one = dataset(tmp_path / "one", scenes("1"), a=[ROW])
    two = dataset(tmp_path / "two", [scene("1", ball_cells=("D5",))], b=[ROW])
    with raises(InputError, "duplicate:image"):
        read_dataset([one, two])
    read = read_dataset([one, one / "responses-a.jsonl"])
    with raises(InputError, "duplicate:file"):
        read_counts(read.response_files, read.scenes)


def test_read_dataset_and_response_files_without_sources_responses_or_scenes_raise_errors(tmp_path: Path) -> None:
    for read in (read_dataset, response_files):
        with raises(OptionError, "no-data"):
            read([])
    with raises(InputError, "wrong-folder:folder"):
        read_dataset(dataset(tmp_path / "set", scenes("1")))
    file = write_jsonl(tmp_path / "responses.jsonl", [ROW])
    with raises(InputError, "missing-file:file"):
        read_dataset(tmp_path)
    with raises(InputError, "missing-truth:scenes"):
        read_dataset(file)


@pytest.mark.parametrize("name", ["scenes.jsonl", "responses-a.jsonl"])
def test_score_of_a_dataset_with_a_link_out_of_its_folder_is_an_error_without_the_content(
    name: str, tmp_path: Path
) -> None:
    folder = dataset(tmp_path / "set", scenes("1"), a=[ROW])
    (tmp_path / "secret.jsonl").write_text("secret")
    (folder / name).unlink()
    (folder / name).symlink_to(tmp_path / "secret.jsonl")
    with raises(InputError, "invalid-path:file") as caught:
        score(folder)
    assert "secret" not in str(caught.value)
    (folder / name).unlink()
    (folder / "within.jsonl").write_text((dataset(tmp_path / "two", scenes("1"), a=[ROW]) / name).read_text())
    (folder / name).symlink_to("within.jsonl")
    assert score(folder, bootstrap=0).groups


def test_score_of_a_fifo_as_responses_or_scenes_is_an_error(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", scenes("1"), a=[ROW])
    os.mkfifo(tmp_path / "p.csv")
    os.mkfifo(tmp_path / "s.jsonl")
    for arguments in ((tmp_path / "p.csv", folder / "scenes.jsonl"), (folder, tmp_path / "s.jsonl")):
        with raises(InputError, "wrong-file:file"):
            score(*arguments)
