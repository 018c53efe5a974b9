"""Repositories that anyone may have made: `pull` refuses them, and writes nothing."""

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
from spotball_gen.hub import restore
from spotball_gen.hub.client import Hub, RemoteFile
from spotball_gen.hub.pull import pull
from spotball_gen.hub.push import push
from tests.gen.hub.conftest import direct
from tests.gen.hub.server import FakeHub, Repository, entry, serve

REPO = "me/balls"
TEST_PART = "data/test-00000-of-00001.parquet"
ODD = "responses/responses-odd.jsonl-00000-of-00001.parquet"

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def commits(answered: Path) -> list[tuple[str, dict[str, bytes]]]:
    """The commits of a repository after a push."""
    with serve() as hub, pytest.MonkeyPatch.context() as patch:
        direct(hub, patch)
        push(answered, REPO)
        return hub.repositories[REPO].commits


@pytest.fixture
def place(hub: FakeHub, commits: list[tuple[str, dict[str, bytes]]], tmp_path: Path) -> Path:
    """A folder in which to pull, next to a file that must stay."""
    hub.repositories[REPO] = Repository(private=False, commits=list(commits))
    (tmp_path / "work").mkdir()
    (tmp_path / "outside.txt").write_text("mine")
    return tmp_path / "work"


def refused(place: Path, match: str, **options: Any) -> None:
    """Pull, which fails and leaves nothing."""
    before = {path: path.read_bytes() for path in place.parent.rglob("*") if path.is_file()}
    with pytest.raises(SpotballError, match=match) as caught:
        pull(REPO, place / "pulled", **options)
    assert list(place.iterdir()) == []
    assert {path: path.read_bytes() for path in place.parent.rglob("*") if path.is_file()} == before
    assert str(place) not in str(caught.value)


def change(hub: FakeHub, name: str, content: bytes) -> None:
    """Commit another content of a file."""
    repository = hub.repositories[REPO]
    repository.add({**repository.files, name: content}, f"change {name}")


def change_manifest(hub: FakeHub, edit: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads(hub.repositories[REPO].files["spotball.json"])
    edit(manifest)
    change(hub, "spotball.json", json.dumps(manifest).encode())


def change_rows(hub: FakeHub, name: str, edit: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Replace the rows of a Parquet file."""
    file = io.BytesIO()
    edit(pl.read_parquet(hub.repositories[REPO].files[name])).write_parquet(file, statistics=False)
    change(hub, name, file.getvalue())


def with_path(path: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Give the first scene's image another path."""

    def edit(frame: pl.DataFrame) -> pl.DataFrame:
        first, *others = frame["line"].to_list()
        return frame.with_columns(line=pl.Series([json.dumps({**json.loads(first), "path": path}), *others]))

    return edit


@pytest.mark.parametrize(
    "path",
    [
        *("../outside.txt", "images/../../outside.txt", "/tmp/outside.txt", "C:outside.txt", "images\\outside.txt"),
        *(".git/config", "images/.hidden/a.png", "a\x1b[2J.txt", "a" * 2000, ""),
    ],
)
class TestPaths:
    def test_of_the_manifest(self, hub: FakeHub, place: Path, path: str) -> None:
        change(hub, path or "empty", b"evil")
        evil = {"path": path, "stored": "file", "bytes": 4, "sha256": hashlib.sha256(b"evil").hexdigest()}
        change_manifest(hub, lambda manifest: manifest["files"].append(evil))
        refused(place, r"spotball\.json: files\.\d+\.path: found ")

    @pytest.mark.slow
    def test_of_an_image(self, hub: FakeHub, place: Path, path: str) -> None:
        change_rows(hub, TEST_PART, with_path(path))
        refused(place, r"test-00000-of-00001\.parquet: (row 5\.)?path: found ")

    @pytest.mark.slow
    def test_of_a_table(self, hub: FakeHub, place: Path, path: str) -> None:
        """A name in the listing that looks like a Parquet file of responses."""
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
    def test_an_image_in_the_place_of_another_file(self, hub: FakeHub, place: Path, path: str) -> None:
        change_rows(hub, TEST_PART, with_path(path))
        try:
            differences = pull(REPO, place / "pulled")
        except InputError:
            assert list(place.iterdir()) == []
        else:
            pytest.fail(f"{path} was written: {differences}")

    def test_two_images_of_one_path(self, hub: FakeHub, place: Path) -> None:
        lines = pl.read_parquet(hub.repositories[REPO].files[TEST_PART])["line"]
        taken = json.loads(lines[1])["path"]
        change_rows(hub, TEST_PART, with_path(taken))
        refused(place, "found two images for")

    def test_names_that_differ_in_case_only(self, hub: FakeHub, place: Path) -> None:
        def twice(manifest: dict[str, Any]) -> None:
            (card,) = (file for file in manifest["files"] if file["path"] == "card.json")
            manifest["files"].append({**card, "path": "CARD.json"})

        change(hub, "CARD.json", b"{}")
        change_manifest(hub, twice)
        refused(place, "expected paths that differ in more than upper and lower case")


@pytest.mark.slow
class TestSizes:
    def test_a_repository_that_is_too_large(self, hub: FakeHub, place: Path) -> None:
        refused(
            place,
            r"size: found [\d,]+ bytes, expected at most 1,000 bytes. Increase --max-size to allow more",
            most_bytes=1000,
        )

    def test_more_than_fits_on_the_disk(self, hub: FakeHub, place: Path) -> None:
        name = "data/test-00001-of-00002.parquet"
        hub.listed[name] = {"type": "file", "path": name, "size": 10**18, "oid": "0" * 40}
        refused(place, r"expected at most half of the [\d,]+ bytes that are free on the disk", most_bytes=10**19)

    def test_a_file_that_is_longer_than_it_is_listed(self, hub: FakeHub, place: Path) -> None:
        hub.served["card.json"] = b" " * 10**6
        refused(place, r"card\.json")

    def test_a_file_with_other_content_of_the_same_length(self, hub: FakeHub, place: Path) -> None:
        hub.served["card.json"] = b" " * len(hub.repositories[REPO].files["card.json"])
        refused(place, r"card\.json: found other content \([\d,]+ bytes\), expected the content that the Hub lists")

    def test_a_manifest_that_is_too_large(self, hub: FakeHub, place: Path) -> None:
        hub.listed["spotball.json"] = {"type": "file", "path": "spotball.json", "size": 10**10, "oid": "0" * 40}
        refused(place, r"spotball\.json: file: found 10,000,000,000 bytes")

    def test_a_table_that_is_too_large(self, hub: FakeHub, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(restore, "MOST_BYTES", 1000)
        refused(place, r"\.parquet: file: found [\d,]+ bytes, expected at most 1,000")

    def test_a_table_that_unpacks_to_far_more(self, hub: FakeHub, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("spotball_core.service.unpacked_size.MOST_BYTES", 10**6)
        change_rows(hub, ODD, lambda frame: frame.with_columns(cell=pl.lit("D5" * 10**6)))
        refused(place, r"that unpacks to [\d,]+")

    def test_a_long_text_that_many_rows_share(self, hub: FakeHub, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is stored once, so neither the file nor its unpacked pages are large."""
        monkeypatch.setattr(restore, "MOST_BYTES", 10**6)
        change_rows(hub, ODD, lambda frame: pl.concat([frame.with_columns(line=pl.lit("D5" * 10**4))] * 500))
        refused(place, r"file: found rows of [\d,]+ bytes, expected at most 1,000,000")


class TestContent:
    def test_a_repository_of_something_else(self, hub: FakeHub, place: Path) -> None:
        repository = hub.repositories[REPO]
        repository.add({"README.md": b"hello"}, "something else")
        refused(place, r"found no file spotball\.json, expected a repository that `spotball push` wrote\. Check")

    @pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"kind": "dataset", "files": []}', b"{" * 10**5])
    def test_a_damaged_manifest(self, hub: FakeHub, place: Path, content: bytes) -> None:
        change(hub, "spotball.json", content)
        refused(place, r"spotball\.json: ")

    def test_a_newer_manifest(self, hub: FakeHub, place: Path) -> None:
        change_manifest(hub, lambda manifest: manifest.update(format=2))
        refused(place, r"spotball\.json: format: found 2")

    @pytest.mark.slow
    @pytest.mark.parametrize("content", [b"", b"PAR1", b"no Parquet", b"PAR1" + b"\xff" * 100 + b"PAR1"])
    def test_damaged_tables(self, hub: FakeHub, place: Path, content: bytes) -> None:
        change(hub, TEST_PART, content)
        refused(
            place, r"test-00000-of-00001\.parquet: file: found .*, expected a Parquet file with the columns image, "
        )

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [TEST_PART, ODD])
    def test_tables_of_something_else(self, hub: FakeHub, place: Path, name: str) -> None:
        change_rows(hub, name, lambda frame: frame.rename({"line": "text"}))
        refused(place, "expected a Parquet file with the columns")
        change_rows(hub, name, lambda frame: frame.rename({"text": "line"}).with_columns(pl.col("position").cast(str)))
        refused(place, "position: found String, expected Int64")

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [TEST_PART, ODD])
    def test_lines_that_are_no_lines(self, hub: FakeHub, place: Path, name: str) -> None:
        change_rows(hub, name, lambda frame: frame.with_columns(line=pl.lit("{}\n{}")))
        refused(place, "found .*, expected one line of text")
        change_rows(hub, name, lambda frame: frame.with_columns(line=pl.lit(None, pl.String)))
        refused(place, "found None, expected one line of text")

    @pytest.mark.slow
    def test_places_twice_and_gaps(self, hub: FakeHub, place: Path) -> None:
        change_rows(hub, ODD, lambda frame: pl.concat([frame, frame.head(1)]))
        refused(place, "position: found 0 again, expected each position once")
        change_rows(hub, ODD, lambda frame: frame.head(-1).tail(-1))
        refused(place, "position: found missing positions")

    @pytest.mark.slow
    def test_lines_that_are_no_scenes(self, hub: FakeHub, place: Path) -> None:
        change_rows(hub, TEST_PART, lambda frame: frame.with_columns(line=pl.lit('{"sport": "soccer"}')))
        refused(place, r"row \d+\.image: found nothing, expected a value")
        no_image = pl.lit(None, pl.Struct({"bytes": pl.Binary, "path": pl.String}))
        change_rows(hub, TEST_PART, lambda frame: frame.with_columns(image=no_image))
        refused(place, r"me/balls/scenes\.jsonl:\d+: ")

    def test_a_link_is_not_followed(self, hub: FakeHub, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The library writes regular files; should it ever make a link, the link is refused."""
        client = Hub("pull")
        target = place.parent / "outside.txt"

        def link(*_: object, local_dir: str, **__: object) -> str:
            (Path(local_dir) / "card.json").symlink_to(target)
            return str(Path(local_dir) / "card.json")

        monkeypatch.setattr(client._api, "hf_hub_download", link)
        file = RemoteFile(4, hashlib.sha1(b"blob 4\0mine").hexdigest(), None)
        with pytest.raises(SpotballError, match=r"card\.json: found a link, expected the content"):
            client.download(REPO, "card.json", "main", file, place)


@pytest.mark.slow
class TestEdited:
    """Changes that are valid are pulled, and listed."""

    def test_what_differs_is_listed(self, hub: FakeHub, place: Path) -> None:
        change(hub, "card.md", b"# Edited\n")
        image = json.loads(hub.repositories[REPO].files["splits.json"])["test"]["images"][0].removeprefix("soccer/")
        edited = json.dumps({"image": image, "cell": "A1"})
        change_rows(hub, ODD, lambda frame: frame.with_columns(line=pl.lit(edited)))
        assert pull(REPO, place / "pulled") == [
            "card.md: the content differs from the pushed file.",
            "responses-odd.jsonl: the content differs from the pushed file.",
        ]
        assert (place / "pulled/card.md").read_text() == "# Edited\n"
        assert (place / "pulled/responses-odd.jsonl").read_text().splitlines() == [edited] * 9

    def test_more_and_fewer_files(self, hub: FakeHub, place: Path) -> None:
        change_rows(hub, TEST_PART, with_path("images/new.png"))
        repository = hub.repositories[REPO]
        repository.add({name: content for name, content in repository.files.items() if name != ODD}, "remove responses")
        differences = pull(REPO, place / "pulled")
        assert "responses-odd.jsonl: the repository does not contain this file." in differences
        assert "images/new.png: spotball.json does not list this file." in differences
        assert "scenes.jsonl: the content differs from the pushed file." in differences

    def test_a_file_that_the_manifest_lists_is_gone(self, hub: FakeHub, place: Path) -> None:
        repository = hub.repositories[REPO]
        repository.add({name: content for name, content in repository.files.items() if name != "card.md"}, "no card")
        refused(
            place, r"me/balls: card\.md: found no such file, expected the file that spotball\.json lists\. The repo"
        )
