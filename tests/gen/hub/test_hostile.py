"""Test that `pull` rejects malicious or damaged repositories, and writes nothing."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spotball_core.errors import InputError, SpotballError
from spotball_gen.hub.client import Hub, RemoteFile
from spotball_gen.hub.pull import pull
from spotball_gen.hub.push import push
from tests.failures import raises
from tests.gen.hub.conftest import direct
from tests.gen.hub.server import FakeHub, Repository, entry, serve

REPO = "me/balls"
TEST_PART = "data/test-00000-of-00001.parquet"
ODD = "responses/responses-odd.jsonl-00000-of-00001.parquet"
RESTORED, UNPACKED = "spotball_gen.hub.restore.MOST_BYTES", "spotball_core.service.unpacked_size.MOST_BYTES"

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def commits(answered: Path) -> list[tuple[str, dict[str, bytes]]]:
    """Return the commits of a repository after a push."""
    with serve() as hub, pytest.MonkeyPatch.context() as patch:
        direct(hub, patch)
        push(answered, REPO)
        return hub.repositories[REPO].commits


@pytest.fixture
def place(hub: FakeHub, commits: list[tuple[str, dict[str, bytes]]], tmp_path: Path) -> Path:
    """Return a folder for a pull, next to a file that must not change."""
    hub.repositories[REPO] = Repository(private=False, commits=list(commits))
    (tmp_path / "work").mkdir()
    (tmp_path / "outside.txt").write_text("mine")
    return tmp_path / "work"


def refused(place: Path, where: str, *named: str, **options: Any) -> None:
    """Check that a pull leaves no files, and that its error has this code and field and names these values."""
    before = {path: path.read_bytes() for path in place.parent.rglob("*") if path.is_file()}
    with raises(SpotballError, where) as caught:
        pull(REPO, place / "pulled", **options)
    assert all(text in str(caught.value) for text in named)
    assert list(place.iterdir()) == []
    assert {path: path.read_bytes() for path in place.parent.rglob("*") if path.is_file()} == before
    assert str(place) not in str(caught.value)


def change(hub: FakeHub, name: str, content: bytes) -> None:
    """Commit new content for a file."""
    repository = hub.repositories[REPO]
    repository.add({**repository.files, name: content}, f"change {name}")


def remove(hub: FakeHub, name: str) -> None:
    repository = hub.repositories[REPO]
    repository.add({path: content for path, content in repository.files.items() if path != name}, f"remove {name}")


def change_manifest(hub: FakeHub, edit: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads(hub.repositories[REPO].files["spotball.json"])
    edit(manifest)
    change(hub, "spotball.json", json.dumps(manifest).encode())


def rows_of(hub: FakeHub, name: str) -> pl.DataFrame:
    return pl.read_parquet(hub.repositories[REPO].files[name])


def change_rows(hub: FakeHub, name: str, frame: pl.DataFrame) -> None:
    """Replace the rows of a Parquet file."""
    file = io.BytesIO()
    frame.write_parquet(file, statistics=False)
    change(hub, name, file.getvalue())


def change_path(hub: FakeHub, path: str) -> None:
    """Change the image path of the first scene."""
    frame = rows_of(hub, TEST_PART)
    first, *others = frame["line"].to_list()
    lines = pl.Series([json.dumps({**json.loads(first), "path": path}), *others])
    change_rows(hub, TEST_PART, frame.with_columns(line=lines))


@pytest.mark.parametrize(
    "path",
    [
        *("../outside.txt", "images/../../outside.txt", "/tmp/outside.txt", "C:outside.txt", "images\\outside.txt"),
        *(".git/config", "images/.hidden/a.png", "a\x1b[2J.txt", "a" * 2000, ""),
    ],
)
class TestPaths:
    def test_pull_with_an_unsafe_path_in_the_manifest_is_an_error(self, hub: FakeHub, place: Path, path: str) -> None:
        change(hub, path or "empty", b"evil")
        evil = {"path": path, "stored": "file", "bytes": 4, "sha256": hashlib.sha256(b"evil").hexdigest()}
        change_manifest(hub, lambda manifest: manifest["files"].insert(0, evil))
        refused(place, "invalid-value:files.0.path", "spotball.json: ")

    @pytest.mark.slow
    def test_pull_with_an_unsafe_image_path_in_a_scene_is_an_error(self, hub: FakeHub, place: Path, path: str) -> None:
        change_path(hub, path)
        is_hidden = path in (".git/config", "images/.hidden/a.png")
        where = "invalid-path:path" if is_hidden else "invalid-value:row 5.path"
        refused(place, where, "test-00000-of-00001.parquet: ")

    @pytest.mark.slow
    def test_pull_with_an_unsafe_parquet_file_name_writes_nothing_outside_the_output_folder(
        self, hub: FakeHub, place: Path, path: str
    ) -> None:
        """Check an unsafe name in the list of files that has the form of a Parquet file of responses."""
        name = f"responses/{path}-00000-of-00001.parquet"
        hub.listed[name] = {**entry(name, b"PAR1"), "path": name}
        hub.served[name] = b"PAR1"
        try:
            pull(REPO, place / "pulled")
        except SpotballError:
            assert list(place.iterdir()) == []
        found = {path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()}
        assert not any("outside" in name or ".git" in name or "hidden" in name for name in found)
        assert (place.parent / "outside.txt").read_text() == "mine"


class TestNames:
    @pytest.mark.slow
    @pytest.mark.parametrize("path", ["scenes.jsonl", "card.json", "images", "card.json/a.png"])
    def test_pull_with_an_image_path_that_conflicts_with_another_file_is_an_error(
        self, hub: FakeHub, place: Path, path: str
    ) -> None:
        change_path(hub, path)
        with pytest.raises(InputError):
            pull(REPO, place / "pulled")
        assert list(place.iterdir()) == []

    def test_pull_with_two_images_of_the_same_path_is_an_error(self, hub: FakeHub, place: Path) -> None:
        taken = json.loads(rows_of(hub, TEST_PART)["line"][1])["path"]
        change_path(hub, taken)
        refused(place, "duplicate:path", taken)

    def test_pull_with_file_names_that_differ_only_in_case_is_an_error(self, hub: FakeHub, place: Path) -> None:
        def twice(manifest: dict[str, Any]) -> None:
            (card,) = (file for file in manifest["files"] if file["path"] == "card.json")
            manifest["files"].append({**card, "path": "CARD.json"})

        change(hub, "CARD.json", b"{}")
        change_manifest(hub, twice)
        refused(place, "invalid-value:file", "spotball.json: ", "card.json")


@pytest.mark.slow
class TestSizes:
    def test_pull_of_more_bytes_than_the_limit_or_the_free_disk_space_is_an_error(
        self, hub: FakeHub, place: Path
    ) -> None:
        refused(place, "too-large:size", "1,000", "--max-size", most_bytes=1000)
        name = "data/test-00001-of-00002.parquet"
        hub.listed[name] = {"type": "file", "path": name, "size": 10**18, "oid": "0" * 40}
        refused(place, "too-large:size", "1,000,000,000,000,", most_bytes=10**19)
        hub.listed["spotball.json"] = {"type": "file", "path": "spotball.json", "size": 10**10, "oid": "0" * 40}
        refused(place, "too-large:file", "spotball.json: ", "10,000,000,000")

    @pytest.mark.parametrize("more", [0, 10**6])
    def test_pull_of_a_file_with_wrong_checksum_or_size_is_an_error(self, hub: FakeHub, place: Path, more: int) -> None:
        size = len(hub.repositories[REPO].files["card.json"]) + more
        hub.served["card.json"] = b" " * size
        refused(place, "download-failed", "card.json: ", f"{size:,}")

    def test_pull_with_a_parquet_file_above_a_size_limit_is_an_error(
        self, hub: FakeHub, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        odd = rows_of(hub, ODD)
        for limit, most, frame, where in (
            (RESTORED, 1000, odd, "too-large:file"),
            (UNPACKED, 10**6, odd.with_columns(cell=pl.lit("D5" * 10**6)), "wrong-file:file"),
            # Parquet stores this repeated text only once, so neither the file nor its unpacked pages are large.
            (RESTORED, 10**6, pl.concat([odd.with_columns(line=pl.lit("D5" * 10**4))] * 500), "too-large:file"),
        ):
            change_rows(hub, ODD, frame)
            with monkeypatch.context() as patch:
                patch.setattr(limit, most)
                refused(place, where, ".parquet: ", f" {most:,} ")


class TestContent:
    def test_pull_without_a_manifest_or_with_a_newer_manifest_format_is_an_error(
        self, hub: FakeHub, place: Path
    ) -> None:
        change_manifest(hub, lambda manifest: manifest.update(format=2))
        refused(place, "invalid-value:format", "spotball.json: ", " 2")
        hub.repositories[REPO].add({"README.md": b"hello"}, "something else")
        refused(place, "wrong-folder:repository", "spotball.json")

    @pytest.mark.parametrize(
        ("content", "where"),
        [
            *((content, "invalid-json:file") for content in (b"", b"{", b"\xff", b"{" * 10**5)),
            (b"[]", "invalid-value:file"),
            (b'{"kind": "dataset", "files": []}', "invalid-value:files"),
        ],
    )
    def test_pull_with_broken_manifest_is_an_error(self, hub: FakeHub, place: Path, content: bytes, where: str) -> None:
        change(hub, "spotball.json", content)
        refused(place, where, "spotball.json: ")

    @pytest.mark.slow
    @pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"])
    def test_pull_with_a_damaged_parquet_file_is_an_error(self, hub: FakeHub, place: Path, content: bytes) -> None:
        change(hub, TEST_PART, content)
        refused(place, "unreadable-file:file", "test-00000-of-00001.parquet: ", "image, position, line")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [TEST_PART, ODD])
    def test_pull_with_wrong_parquet_columns_or_values_is_an_error(self, hub: FakeHub, place: Path, name: str) -> None:
        frame, position = rows_of(hub, name), pl.col("position")
        for wrong, where, *named in (
            (frame.rename({"line": "text"}), "unreadable-file:file", "position, line"),
            (frame.with_columns(position.cast(str)), "invalid-value:position", "String", "Int64"),
            (frame.with_columns(line=pl.lit("{}\n{}")), "invalid-value:line", repr("{}\n{}")),
            (frame.with_columns(line=pl.lit(None, pl.String)), "invalid-value:line", "None"),
            (frame.with_columns(position * 0), "duplicate:position", " 0 "),
            (frame.with_columns(position + 100), "missing-value:position"),
        ):
            change_rows(hub, name, wrong)
            refused(place, where, *named)

    @pytest.mark.slow
    def test_pull_with_rows_that_are_not_scenes_is_an_error(self, hub: FakeHub, place: Path) -> None:
        wrong = rows_of(hub, TEST_PART).with_columns(line=pl.lit('{"sport": "soccer"}'))
        change_rows(hub, TEST_PART, wrong)
        refused(place, "missing-value:row 5.image")
        no_image = pl.lit(None, pl.Struct({"bytes": pl.Binary, "path": pl.String}))
        change_rows(hub, TEST_PART, wrong.with_columns(image=no_image))
        refused(place, "download-failed", "me/balls/scenes.jsonl:")

    def test_download_of_a_symbolic_link_is_an_error(
        self, hub: FakeHub, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Check that a link is rejected, although the library writes regular files today."""
        client = Hub("pull")
        target = place.parent / "outside.txt"

        def link(*_: object, local_dir: str, **__: object) -> str:
            (Path(local_dir) / "card.json").symlink_to(target)
            return str(Path(local_dir) / "card.json")

        monkeypatch.setattr(client._api, "hf_hub_download", link)
        file = RemoteFile(4, hashlib.sha1(b"blob 4\0mine").hexdigest(), None)
        with raises(SpotballError, "download-failed"):
            client.download(REPO, "card.json", "main", file, place)


@pytest.mark.slow
class TestEditedRepository:
    """Test that valid changes are pulled and listed."""

    def test_pull_of_an_edited_repository_lists_changed_files(self, hub: FakeHub, place: Path) -> None:
        change(hub, "card.md", b"# Edited\n")
        image = json.loads(hub.repositories[REPO].files["splits.json"])["test"]["images"][0].removeprefix("soccer/")
        edited = json.dumps({"image": image, "cell": "A1"})
        change_rows(hub, ODD, rows_of(hub, ODD).with_columns(line=pl.lit(edited)))
        assert pull(REPO, place / "pulled") == [
            "card.md: the content differs from the pushed file.",
            "responses-odd.jsonl: the content differs from the pushed file.",
        ]
        assert (place / "pulled/card.md").read_text() == "# Edited\n"
        assert (place / "pulled/responses-odd.jsonl").read_text().splitlines() == [edited] * 9

    def test_pull_lists_added_and_removed_files(self, hub: FakeHub, place: Path) -> None:
        change_path(hub, "images/new.png")
        remove(hub, ODD)
        differences = pull(REPO, place / "pulled")
        assert "responses-odd.jsonl: the repository does not contain this file." in differences
        assert "images/new.png: spotball.json does not list this file." in differences
        assert "scenes.jsonl: the content differs from the pushed file." in differences

    def test_pull_of_a_repository_without_a_file_that_the_manifest_lists_is_an_error(
        self, hub: FakeHub, place: Path
    ) -> None:
        remove(hub, "card.md")
        refused(place, "missing-file:card.md", "me/balls: ", "spotball.json")
