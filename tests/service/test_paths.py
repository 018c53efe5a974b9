"""Test that paths from data stay inside their folder, and that different names never share a file."""

from __future__ import annotations

import os
import socket
import tempfile
import unicodedata
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from spotball_core.errors import InputError, Problem
from spotball_core.service.paths import (
    confined,
    data_file,
    file_fault,
    find_file,
    image_ending,
    is_relative,
    output_name,
)
from tests.builders import scene
from tests.failures import raises

ABOVE = ["..", "../secret.png", "images/../../secret.png", "images\\..\\..\\secret.png"]
ABSOLUTE = ["/etc/passwd", "C:\\secret.png", "C:/secret.png", "c:secret.png", "\\\\server\\share\\secret.png"]
CONTROL = ["images/a\0.png", "images/a\x1b[2J.png", "images/a\n.png"]
LEADING_OUT = [*ABOVE, *ABSOLUTE, "//server/share/secret.png", *CONTROL, "", "a/" * 512 + "a"]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Return a folder with one image, with a secret file next to the folder."""
    folder = tmp_path / "dataset"
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "1.png").write_bytes(b"picture")
    (tmp_path / "secret.png").write_bytes(b"secret")
    return folder


def refusal(dataset: Path, name: str) -> Problem:
    with pytest.raises(InputError) as error:
        data_file(dataset, name)
    assert find_file([dataset], name) is None
    (problem,) = error.value.problems
    return problem


class TestDataFile:
    def test_data_file_returns_a_file_in_the_folder_and_follows_links_within_it(
        self, dataset: Path, tmp_path: Path
    ) -> None:
        assert data_file(dataset, "images/1.png") == (dataset / "images/1.png").resolve()
        assert find_file([dataset / "images", dataset], "images/1.png") == (dataset / "images/1.png").resolve()
        (dataset / "again.png").symlink_to("images/1.png")
        (dataset / "same").symlink_to(dataset / "images")
        (tmp_path / "link").symlink_to(dataset)
        for folder, name in ((dataset, "again.png"), (dataset, "same/1.png"), (tmp_path / "link", "images/1.png")):
            assert data_file(folder, name).read_bytes() == b"picture"

    @pytest.mark.parametrize("name", LEADING_OUT)
    def test_data_file_with_a_path_outside_the_folder_raises_input_error(self, dataset: Path, name: str) -> None:
        assert refusal(dataset, name).code == "invalid-path"
        with raises(InputError, "invalid-path:path"):
            confined(dataset, name)
        with pytest.raises(ValidationError) as error:
            scene("1", path=name)
        assert [fault["loc"] for fault in error.value.errors()] == [("path",)]

    def test_data_file_with_a_link_outside_the_folder_raises_input_error(self, dataset: Path, tmp_path: Path) -> None:
        (dataset / "file.png").symlink_to(tmp_path / "secret.png")
        (dataset / "folder").symlink_to(tmp_path)
        (dataset / "chain.png").symlink_to("file.png")
        # The name of this folder, which is outside the dataset, starts with the name of the dataset folder.
        (tmp_path / "dataset-2").mkdir()
        (tmp_path / "dataset-2" / "1.png").write_bytes(b"secret")
        (dataset / "other").symlink_to(tmp_path / "dataset-2")
        for name in ("file.png", "folder/secret.png", "chain.png", "folder/nothing.png", "other/1.png"):
            assert refusal(dataset, name).code == "invalid-path"

    def test_data_file_with_anything_but_a_regular_file_raises_input_error(
        self, dataset: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.mkfifo(dataset / "fifo.png")
        (dataset / "nothing.png").symlink_to("gone.png")
        (dataset / "circle.png").symlink_to("circle.png")
        monkeypatch.chdir(dataset)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket.png")
            for name, kind in (("fifo.png", "FIFO"), ("images", "folder"), ("socket.png", "socket")):
                assert kind in refusal(dataset, name).found
        for name in ("fifo.png", "images", "socket.png", "gone.png", "a" * 300, "nothing.png"):
            assert refusal(dataset, name).code == "missing-file"
        refusal(dataset, "circle.png")
        assert "device" in str(file_fault(Path("/dev/zero")))
        with raises(InputError, "missing-value:image"):
            data_file(dataset, None)


@given(st.text(st.sampled_from("ab./\\:C\0 "), max_size=8))
def test_is_relative_accepts_only_paths_that_stay_inside_the_folder_on_posix_and_windows(text: str) -> None:
    if not is_relative(text):
        return
    assert os.path.commonpath(["/folder", os.path.normpath(f"/folder/{text}")]) == "/folder"
    windows = PureWindowsPath(text)
    assert not windows.drive
    assert not windows.root
    assert ".." not in windows.parts


NAMES = st.text(st.characters(exclude_categories=()), max_size=8) | st.text(st.sampled_from("aA./\\~-e\u0301\u00e9"))
CLASHING = [("Soccer", "soccer"), ("a/b", "a-b"), ("é", "e\u0301"), ("a ", "a"), ("a.", "a"), ("..", "."), ("ß", "ss")]
CLASHING += [("x" * 300, "x" * 301), ("Qwen/Qwen2-VL", "Qwen_Qwen2-VL")]


def as_stored(path: str) -> str:
    """Return a path as compared by file systems that ignore case, Unicode forms, and trailing dots and spaces."""
    return "/".join(part.rstrip(". ") for part in unicodedata.normalize("NFKD", path).casefold().split("/"))


class TestOutputName:
    @given(NAMES, NAMES)
    def test_output_name_differs_for_different_names(self, one: str, other: str) -> None:
        if one != other:
            assert as_stored(output_name(one, ending=".png")) != as_stored(output_name(other, ending=".png"))

    @pytest.mark.parametrize(("one", "other"), CLASHING)
    def test_output_name_differs_for_names_that_file_systems_confuse(self, one: str, other: str) -> None:
        assert as_stored(output_name(one)) != as_stored(output_name(other))

    @given(st.lists(NAMES, min_size=1, max_size=3))
    def test_output_name_of_any_names_is_a_writable_ascii_path_inside_the_folder(self, names: list[str]) -> None:
        name = output_name(*names, ending=".png")
        assert is_relative(name)
        assert name.isascii()
        assert name.count("/") == len(names) - 1
        assert max(map(len, name.split("/"))) <= 104
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
            assert path.resolve().is_relative_to(Path(folder).resolve())

    @pytest.mark.parametrize("name", ["con", "CON", "nul.txt", "com1", "lpt9.a.b", "aux"])
    def test_output_name_is_not_reserved_on_windows(self, name: str) -> None:
        assert not PureWindowsPath(output_name(name, ending=".png")).is_reserved()

    @pytest.mark.parametrize("name", ["soccer", "163", "match-1a2b3c4d-000012000", "302_wball", "1.2"])
    def test_output_name_keeps_lower_case_names_of_safe_characters_unchanged(self, name: str) -> None:
        assert output_name("images", name, ending=".jpg") == f"images/{name}.jpg"

    def test_output_name_applied_twice_changes_the_name_again_and_ids_1_and_1_png_get_different_files(self) -> None:
        assert output_name(output_name("A b")) != output_name("A b")
        paths = [output_name("1.png", ending=image_ending("a")), output_name("1", ending=image_ending("a.PNG"))]
        assert paths == ["1.png.image", "1.png"]
