"""Datasets, exports and results go to the Hub and come back the same, by the real client library."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from spotball_core.errors import MissingExtraError, OptionError, SpotballError
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.leaderboard.columns import chosen
from spotball_core.leaderboard.model_index import model_index
from spotball_core.leaderboard.rankings import make_leaderboard
from spotball_core.leaderboard.reports import read_reports
from spotball_core.scoring.score import score
from spotball_gen.dataset.exports import FORMATS, export
from spotball_gen.dataset.exports.parquet import PER_FILE
from spotball_gen.hub import datasets as hub_datasets
from spotball_gen.hub.pull import pull
from spotball_gen.hub.push import push
from tests.gen.hub.server import FakeHub

REPO = "me/balls"

# Warnings of the client library about the HTTP library under it.
pytestmark = pytest.mark.filterwarnings("default")

LEFT = {"checksums.sha256", ".work", "with_ball"}
"""What is in a generated dataset and is not published."""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def published(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in contents(folder).items() if name.split("/")[0] not in LEFT}


def metadata_of(hub: FakeHub, repo: str = REPO) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(hub.repositories[repo].files["README.md"].decode().split("---\n")[1])
    return content


class TestDatasets:
    def test_all_files_come_back_to_the_byte(self, hub: FakeHub, answered: Path, tmp_path: Path) -> None:
        pushed = push(answered, REPO)
        assert pushed.commit == hub.repositories[REPO].commits[-1][0]
        assert any("checksums.sha256, with_ball/ (12 files)" in note for note in pushed.notes)
        assert pull(REPO, tmp_path / "pulled") == []
        assert contents(tmp_path / "pulled") == published(answered)
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []

    @pytest.mark.slow
    def test_it_scores_to_the_same_numbers(self, hub: FakeHub, answered: Path, tmp_path: Path) -> None:
        push(answered, REPO)
        pull(REPO, tmp_path / "pulled")
        before, after = (score(folder, bootstrap=30).model_dump_json() for folder in (answered, tmp_path / "pulled"))
        assert before == after
        assert json.loads(before)["provenance"]["parse_policies"] == ["lenient"]

    def test_the_card_has_the_signature_that_scoring_prints(self, hub: FakeHub, answered: Path) -> None:
        push(answered, REPO)
        card = hub.repositories[REPO].files["README.md"].decode()
        assert f"```text\n{score(answered, bootstrap=0).signature}\n```" in card
        metadata = metadata_of(hub)
        assert metadata["license"] == "cc0-1.0"
        assert [config["config_name"] for config in metadata["configs"]] == ["default", "responses"]
        assert "The ball is visible in 1 image" in card

    def test_without_images_split_and_responses(self, hub: FakeHub, answered: Path, tmp_path: Path) -> None:
        scenes = [scene.model_copy(update={"path": None}) for scene in read_scenes(answered / "scenes.jsonl")]
        write_scenes(scenes, tmp_path / "bare/scenes.jsonl")
        push(tmp_path / "bare", REPO, license="cc-by-4.0")
        assert [name for name in hub.repositories[REPO].files if name.startswith("data/")] == [
            "data/test-00000-of-00001.parquet"
        ]
        assert metadata_of(hub)["license"] == "cc-by-4.0"
        assert pull(REPO, tmp_path / "pulled") == []
        assert contents(tmp_path / "pulled") == contents(tmp_path / "bare")

    @pytest.mark.slow
    def test_line_ends_are_not_kept_and_the_user_learns_it(self, hub: FakeHub, answered: Path, tmp_path: Path) -> None:
        copy = shutil.copytree(answered, tmp_path / "copy")
        original = (copy / "scenes.jsonl").read_bytes()
        (copy / "scenes.jsonl").write_bytes(b"\xef\xbb\xbf" + original.replace(b"\n", b"\r\n"))
        pushed = push(copy, REPO)
        assert any(
            note.startswith("scenes.jsonl: `spotball pull` restores the same lines, but") for note in pushed.notes
        )
        assert pull(REPO, tmp_path / "pulled") == []
        assert (tmp_path / "pulled/scenes.jsonl").read_bytes() == original

    @pytest.mark.slow
    def test_large_files_are_in_pieces(
        self, hub: FakeHub, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("spotball_gen.dataset.exports.parquet.PER_FILE", 3)
        monkeypatch.setattr(hub_datasets, "LINES_PER_FILE", 50)
        push(answered, REPO)
        names = [name for name in hub.repositories[REPO].files if name.endswith(".parquet")]
        sizes = [len(json.loads((answered / "splits.json").read_text())[part]["images"]) for part in ("train", "test")]
        assert sum(name.startswith("data/") for name in names) == sum(math.ceil(n / 3) for n in sizes)
        assert sum(name.startswith("responses/") for name in names) > 3
        assert pull(REPO, tmp_path / "pulled") == []
        assert contents(tmp_path / "pulled") == published(answered)
        # Fewer pieces replace them: none of the earlier ones is left to be read.
        monkeypatch.setattr("spotball_gen.dataset.exports.parquet.PER_FILE", PER_FILE)
        push(answered, REPO)
        assert pull(REPO, tmp_path / "again") == []
        assert contents(tmp_path / "again") == published(answered)

    def test_a_missing_image(self, answered: Path, tmp_path: Path) -> None:
        shutil.copy(answered / "scenes.jsonl", tmp_path)
        with pytest.raises(SpotballError, match="found no such file, expected an image file in"):
            push(tmp_path, REPO, dry_run=True)

    def test_names_that_cannot_be_pulled(self, answered: Path, tmp_path: Path) -> None:
        copy = shutil.copytree(answered, tmp_path / "copy")
        scenes = read_scenes(copy / "scenes.jsonl")
        (copy / "images/.hidden.png").write_bytes(b"image")
        write_scenes([scenes[0].model_copy(update={"path": "images/.hidden.png"}), *scenes[1:]], copy / "scenes.jsonl")
        with pytest.raises(SpotballError, match=r"hidden\.png: path: found .*, expected a path without hidden folders"):
            push(copy, REPO, dry_run=True)
        write_scenes([scenes[0].model_copy(update={"path": "card.json"}), *scenes[1:]], copy / "scenes.jsonl")
        with pytest.raises(
            SpotballError, match=r"path: found card\.json, card\.json, expected names that differ in more"
        ):
            push(copy, REPO, dry_run=True)


class TestResults:
    def test_reports_come_back_and_the_card_has_the_model_index(
        self, hub: FakeHub, scored: Path, tmp_path: Path
    ) -> None:
        push(scored, "me/results", license="mit")
        board = make_leaderboard(read_reports([scored]))
        url = f"{hub.url}/datasets/me/results"
        metadata = metadata_of(hub, "me/results")
        assert metadata["model-index"] == model_index(board, chosen(None, board.metrics), url=url)
        assert len(metadata["model-index"]) >= 2
        card = hub.repositories["me/results"].files["README.md"].decode()
        assert all(source.report.signature in card for source in board.reports)
        assert pull("me/results", tmp_path / "pulled") == []
        expected = {name: content for name, content in contents(scored).items() if name.startswith("reports/")}
        assert contents(tmp_path / "pulled") == expected

    def test_a_folder_with_nothing_to_push(self, tmp_path: Path) -> None:
        (tmp_path / "other.json").write_text("{}")
        with pytest.raises(
            SpotballError,
            match=r"found no dataset, export or score report, expected scenes\.jsonl, README\.md with croi",
        ):
            push(tmp_path, REPO, dry_run=True)
        with pytest.raises(OptionError, match="not a folder"):
            push(tmp_path / "other.json", REPO, dry_run=True)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_exports_are_uploaded_unchanged(hub: FakeHub, made: Path, tmp_path: Path, format: str) -> None:
    export(made, format, tmp_path / "exported")
    push(tmp_path / "exported", REPO)
    assert pull(REPO, tmp_path / "pulled") == []
    assert contents(tmp_path / "pulled") == contents(tmp_path / "exported")
    files = {name: content for name, content in hub.repositories[REPO].files.items() if name != ".gitattributes"}
    assert files.keys() - {"spotball.json"} == contents(tmp_path / "exported").keys()


class TestRepeated:
    def test_the_same_again_makes_no_commit(self, hub: FakeHub, answered: Path) -> None:
        push(answered, REPO)
        n_commits, n_uploads = len(hub.repositories[REPO].commits), len(hub.uploads)
        again = push(answered, REPO)
        assert again.commit is None
        assert (len(hub.repositories[REPO].commits), len(hub.uploads)) == (n_commits, n_uploads)

    @pytest.mark.slow
    def test_only_what_has_changed_is_uploaded(self, hub: FakeHub, answered: Path, tmp_path: Path) -> None:
        push(answered, REPO)
        copy = shutil.copytree(answered, tmp_path / "copy")
        (copy / "responses-odd.jsonl").unlink()
        before = set(hub.repositories[REPO].files)
        n_uploads = len(hub.uploads)
        push(copy, REPO)
        assert before - set(hub.repositories[REPO].files) == {"responses/responses-odd.jsonl-00000-of-00001.parquet"}
        assert len(hub.uploads) == n_uploads
        assert hub.repositories[REPO].messages == ["initial commit", *["Push a dataset with spotball"] * 2]

    @pytest.mark.slow
    def test_an_interrupted_push_is_continued(self, hub: FakeHub, answered: Path, tmp_path: Path) -> None:
        hub.refuse_uploads_after = 2
        with pytest.raises(SpotballError, match="uploading to me/balls failed"):
            push(answered, REPO)
        assert len(hub.repositories[REPO].commits) == 1
        complete = set(hub.objects)
        assert len(complete) >= 2  # several are sent side by side
        hub.refuse_uploads_after = None
        n_requests = len(hub.requests)
        push(answered, REPO)
        sent = {path.rpartition("/")[2] for method, path, _ in hub.requests[n_requests:] if method == "PUT"}
        assert sent
        assert not sent & complete
        assert pull(REPO, tmp_path / "pulled") == []


class TestTokens:
    def test_it_goes_to_the_hub_only_and_is_stored_nowhere(self, hub: FakeHub, answered: Path, tmp_path: Path) -> None:
        told: list[str] = []
        push(answered, REPO, private=True, tell=told.append)
        assert hub.repositories[REPO].private
        pull(REPO, tmp_path / "pulled", tell=told.append)
        large = [token for _, path, token in hub.requests if path.startswith("/objects/")]
        assert large
        assert set(large) == {None}
        assert {token for _, path, token in hub.requests if not path.startswith("/objects/")} == {f"Bearer {hub.token}"}
        assert hub.token not in "".join(told)
        files = [*contents(tmp_path).values(), *hub.repositories[REPO].files.values()]
        assert not any(hub.token.encode() in content for content in files)

    @pytest.mark.slow
    def test_a_stored_login_is_not_used(
        self, hub: FakeHub, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        push(answered, REPO)
        monkeypatch.delenv("HF_TOKEN")
        n_requests = len(hub.requests)
        pull(REPO, tmp_path / "pulled")
        assert {token for _, _, token in hub.requests[n_requests:]} == {None}
        with pytest.raises(OptionError, match="Set the environment variable HF_TOKEN to a token that may write"):
            push(answered, REPO)

    def test_a_token_without_the_right(
        self, hub: FakeHub, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        push(answered, REPO, private=True)
        monkeypatch.setenv("HF_TOKEN", "hf_wrongToken")
        for call in (lambda: push(answered, REPO), lambda: pull(REPO, tmp_path / "pulled")):
            with pytest.raises(
                SpotballError, match="Set HF_TOKEN to a token that has the permission for this"
            ) as caught:
                call()
            assert "hf_wrongToken" not in str(caught.value)
        assert not (tmp_path / "pulled").exists()


class TestWithoutTheHub:
    def test_a_dry_run_uses_no_network_and_no_library(
        self, answered: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("the network was used"))
        monkeypatch.delenv("HF_ENDPOINT", raising=False)
        pushed = push(answered, REPO, dry_run=True)
        assert pushed.commit is None
        assert pushed.url == "https://huggingface.co/datasets/me/balls"
        assert pushed.sizes["card.md"] == (answered / "card.md").stat().st_size
        assert {"README.md", "croissant.json", "spotball.json"} <= pushed.sizes.keys()

    def test_without_the_library(self, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "huggingface_hub", None)
        with pytest.raises(MissingExtraError, match=r'push needs the "hub" extra: pip install "spotball-core\[hub\]"'):
            push(answered, REPO)
        with pytest.raises(MissingExtraError, match=r'pull needs the "hub" extra'):
            pull(REPO, tmp_path / "pulled")

    def test_a_hub_that_cannot_be_reached(self, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        with pytest.raises(SpotballError, match=r"http://127\.0\.0\.1:9: reading me/balls failed: .*[Cc]onnect"):
            pull(REPO, tmp_path / "pulled")


@pytest.mark.parametrize("name", ["a/b/c", "me/../you", "me/a b"])
def test_a_name_that_no_repository_has(hub: FakeHub, answered: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match="--repo: "):
        push(answered, name)
    with pytest.raises(OptionError, match="--repo: "):
        pull(name, tmp_path / "pulled")


def test_a_folder_that_is_not_empty_stays(hub: FakeHub, answered: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/mine.txt").write_text("mine")
    with pytest.raises(OptionError, match="exists already"):
        pull(REPO, tmp_path / "mine")
    assert contents(tmp_path / "mine") == {"mine.txt": b"mine"}


@pytest.mark.slow
def test_an_older_commit(hub: FakeHub, answered: Path, tmp_path: Path) -> None:
    first = push(answered, REPO).commit
    copy = shutil.copytree(answered, tmp_path / "copy")
    (copy / "responses-csv.csv").unlink()
    push(copy, REPO)
    pull(REPO, tmp_path / "new")
    pull(REPO, tmp_path / "old", revision=first)
    assert not (tmp_path / "new/responses-csv.csv").exists()
    assert contents(tmp_path / "old") == published(answered)


def test_checksums_of_the_manifest(hub: FakeHub, answered: Path) -> None:
    push(answered, REPO)
    manifest = json.loads(hub.repositories[REPO].files["spotball.json"])
    assert manifest["kind"] == "dataset"
    for file in manifest["files"]:
        content = (answered / file["path"]).read_bytes()
        assert (file["bytes"], file["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
