"""Test that push and pull keep datasets, exports and results unchanged, with the real client library."""

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
from markdown_it import MarkdownIt

from spotball_core.errors import MissingExtraError, OptionError, SpotballError
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.leaderboard.rankings import make_leaderboard
from spotball_core.leaderboard.reports import read_reports
from spotball_core.scoring.score import score
from spotball_gen.dataset.exports import FORMATS, export
from spotball_gen.dataset.exports.parquet import PER_FILE
from spotball_gen.hub import datasets as hub_datasets
from spotball_gen.hub.cards import results_card
from spotball_gen.hub.pull import pull
from spotball_gen.hub.push import push
from tests.failures import raises
from tests.gen.hub.server import FakeHub
from tests.leaderboard.made import board_of, given

REPO = "me/balls"

# The client library emits warnings about its HTTP library.
pytestmark = pytest.mark.filterwarnings("default")

LEFT = {"checksums.sha256", ".work", "with_ball"}
"""Parts of a generated dataset that are not published."""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def published(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in contents(folder).items() if name.split("/")[0] not in LEFT}


def metadata_of(hub: FakeHub, repo: str = REPO) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(hub.repositories[repo].files["README.md"].decode().split("---\n")[1])
    return content


class TestDatasets:
    @pytest.mark.slow
    def test_push_resumes_after_interruption_and_pull_keeps_every_byte(
        self, hub: FakeHub, answered: Path, tmp_path: Path
    ) -> None:
        hub.refuse_uploads_after = 2
        with raises(SpotballError, "download-failed"):
            push(answered, REPO)
        commits, complete, n_requests = hub.repositories[REPO].commits, set(hub.objects), len(hub.requests)
        assert len(commits) == 1
        assert len(complete) >= 2  # several files are sent in parallel
        hub.refuse_uploads_after = None
        pushed = push(answered, REPO)
        sent = {path.rpartition("/")[2] for method, path, _ in hub.requests[n_requests:] if method == "PUT"}
        assert sent
        assert not sent & complete
        assert pushed.commit == commits[-1][0]
        assert any("checksums.sha256, with_ball/ (12 files)" in note for note in pushed.notes)
        assert pull(REPO, tmp_path / "pulled") == []
        assert contents(tmp_path / "pulled") == published(answered)
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
        # A push of unchanged content makes no commit.
        n_commits, n_uploads = len(commits), len(hub.uploads)
        assert push(answered, REPO).commit is None
        assert (len(commits), len(hub.uploads)) == (n_commits, n_uploads)

    def test_push_writes_a_card_with_the_scoring_signature_and_a_manifest(self, hub: FakeHub, answered: Path) -> None:
        push(answered, REPO)
        card = hub.repositories[REPO].files["README.md"].decode()
        assert f"```text\n{score(answered, bootstrap=0).signature}\n```" in card
        metadata = metadata_of(hub)
        assert metadata["license"] == "cc0-1.0"
        assert [config["config_name"] for config in metadata["configs"]] == ["default", "responses"]
        assert "The ball is visible in 1 image" in card
        manifest = json.loads(hub.repositories[REPO].files["spotball.json"])
        assert manifest["kind"] == "dataset"
        for file in manifest["files"]:
            content = (answered / file["path"]).read_bytes()
            assert (file["bytes"], file["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())

    def test_push_and_pull_round_trip_a_dataset_that_has_only_scenes(
        self, hub: FakeHub, answered: Path, tmp_path: Path
    ) -> None:
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
    def test_push_normalizes_line_endings_of_scenes_and_adds_a_note(
        self, hub: FakeHub, answered: Path, tmp_path: Path
    ) -> None:
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
    def test_push_splits_large_files_and_removes_old_parts(
        self, hub: FakeHub, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(hub_datasets, "LINES_PER_FILE", 50)
        sizes = [len(json.loads((answered / "splits.json").read_text())[part]["images"]) for part in ("train", "test")]
        # The second push has fewer parts, and must remove the earlier ones.
        for per_file in (3, PER_FILE):
            monkeypatch.setattr("spotball_gen.dataset.exports.parquet.PER_FILE", per_file)
            push(answered, REPO)
            names = [name for name in hub.repositories[REPO].files if name.endswith(".parquet")]
            assert sum(name.startswith("data/") for name in names) == sum(math.ceil(n / per_file) for n in sizes)
            assert sum(name.startswith("responses/") for name in names) > 3
            assert pull(REPO, tmp_path / str(per_file)) == []
            assert contents(tmp_path / str(per_file)) == published(answered)

    @pytest.mark.slow
    def test_push_uploads_only_changed_files_and_pull_can_restore_an_earlier_revision(
        self, hub: FakeHub, answered: Path, tmp_path: Path
    ) -> None:
        first = push(answered, REPO).commit
        copy = shutil.copytree(answered, tmp_path / "copy")
        (copy / "responses-odd.jsonl").unlink()
        before, n_uploads = set(hub.repositories[REPO].files), len(hub.uploads)
        push(copy, REPO)
        assert before - set(hub.repositories[REPO].files) == {"responses/responses-odd.jsonl-00000-of-00001.parquet"}
        assert len(hub.uploads) == n_uploads
        assert hub.repositories[REPO].messages == ["initial commit", *["Push a dataset with spotball"] * 2]
        pull(REPO, tmp_path / "new")
        pull(REPO, tmp_path / "old", revision=first)
        assert not (tmp_path / "new/responses-odd.jsonl").exists()
        assert contents(tmp_path / "old") == published(answered)

    def test_push_with_missing_or_unsafe_images_is_an_error(self, answered: Path, tmp_path: Path) -> None:
        copy = shutil.copytree(answered, tmp_path / "copy")
        first, *others = read_scenes(copy / "scenes.jsonl")
        (copy / "images/.hidden.png").write_bytes(b"image")
        for path, where in (
            ("images/none.png", "missing-file:image"),
            ("images/.hidden.png", "invalid-path:path"),
            ("card.json", "duplicate:path"),
        ):
            write_scenes([first.model_copy(update={"path": path}), *others], copy / "scenes.jsonl")
            with raises(SpotballError, where):
                push(copy, REPO, dry_run=True)


class TestResults:
    def test_push_and_pull_round_trip_score_reports_and_the_readme_has_their_signatures(
        self, hub: FakeHub, scored: Path, tmp_path: Path
    ) -> None:
        push(scored, "me/results", license="mit")
        board = make_leaderboard(read_reports([scored]))
        card = hub.repositories["me/results"].files["README.md"].decode()
        assert all(source.report.signature in card for source in board.reports)
        assert pull("me/results", tmp_path / "pulled") == []
        expected = {name: content for name, content in contents(scored).items() if name.startswith("reports/")}
        assert contents(tmp_path / "pulled") == expected

    def test_push_without_publishable_content_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "other.json").write_text("{}")
        with raises(SpotballError, "wrong-folder:folder"):
            push(tmp_path, REPO, dry_run=True)
        with raises(OptionError, "wrong-folder"):
            push(tmp_path / "other.json", REPO, dry_run=True)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_push_uploads_exports_unchanged(hub: FakeHub, made: Path, tmp_path: Path, format: str) -> None:
    export(made, format, tmp_path / "exported")
    push(tmp_path / "exported", REPO)
    assert pull(REPO, tmp_path / "pulled") == []
    assert contents(tmp_path / "pulled") == contents(tmp_path / "exported")
    files = {name: content for name, content in hub.repositories[REPO].files.items() if name != ".gitattributes"}
    assert files.keys() - {"spotball.json"} == contents(tmp_path / "exported").keys()


class TestTokens:
    def test_hub_token_is_sent_only_to_the_hub_and_never_stored_and_a_wrong_token_is_an_error(
        self, hub: FakeHub, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[str] = []
        push(answered, REPO, private=True, tell=told.append)
        assert hub.repositories[REPO].private
        pull(REPO, tmp_path / "pulled", tell=told.append)
        large = {token for _, path, token in hub.requests if path.startswith("/objects/")}
        assert large == {None}
        assert {token for _, path, token in hub.requests if not path.startswith("/objects/")} == {f"Bearer {hub.token}"}
        assert hub.token not in "".join(told)
        files = [*contents(tmp_path).values(), *hub.repositories[REPO].files.values()]
        assert not any(hub.token.encode() in content for content in files)
        # This token has no permission.
        monkeypatch.setenv("HF_TOKEN", "hf_wrongToken")
        for call in (lambda: push(answered, REPO), lambda: pull(REPO, tmp_path / "again")):
            with raises(SpotballError, "download-failed") as caught:
                call()
            assert "hf_wrongToken" not in str(caught.value)
        assert not (tmp_path / "again").exists()

    @pytest.mark.slow
    def test_pull_and_push_without_hf_token_do_not_use_the_stored_login(
        self, hub: FakeHub, answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        push(answered, REPO)
        monkeypatch.delenv("HF_TOKEN")
        n_requests = len(hub.requests)
        pull(REPO, tmp_path / "pulled")
        assert {token for _, _, token in hub.requests[n_requests:]} == {None}
        with raises(OptionError, "missing-key"):
            push(answered, REPO)


class TestWithoutTheHub:
    def test_push_dry_run_works_without_network_and_hub_library_but_push_and_pull_raise_missing_extra_error(
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
        for call in (lambda: push(answered, REPO), lambda: pull(REPO, tmp_path / "pulled")):
            with raises(MissingExtraError, "missing-extra"):
                call()

    def test_pull_from_an_unreachable_hub_or_to_an_existing_folder_is_an_error(
        self, hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine/mine.txt").write_text("mine")
        with raises(OptionError, "output-exists:--out"):
            pull(REPO, tmp_path / "mine")
        assert contents(tmp_path / "mine") == {"mine.txt": b"mine"}
        monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
        with raises(SpotballError, "download-failed"):
            pull(REPO, tmp_path / "pulled")


@pytest.mark.parametrize("name", ["a/b/c", "me/../you", "me/a b"])
def test_push_and_pull_with_an_invalid_repository_name_raise_option_error(
    hub: FakeHub, answered: Path, tmp_path: Path, name: str
) -> None:
    for call in (lambda: push(answered, name), lambda: pull(name, tmp_path / "pulled")):
        with raises(OptionError, "invalid-option:--repo"):
            call()


def test_results_card_with_hostile_names_has_all_rows_and_no_markup_from_names() -> None:
    names = ("<script>alert(1)</script>", "a|b", "two\nlines", "[x](https://example.org)", "\x1b[2J\x00\u202e")
    board = board_of(given(dict.fromkeys(names, (0.1, (0.1, 0.9))), sport="<i>soc|cer</i>\n# x"))
    card = results_card(board, ("accuracy",), REPO, license=None)
    rendered = MarkdownIt("commonmark").enable("table").render(card)
    assert rendered.count("<tr>") == 1 + len(names) + 1  # The header and uniform guessing.
    assert not any(markup in rendered for markup in ("<script", "<i>", 'href="https:'))
