"""Test the output and exit status of `spotball push` and `spotball pull`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.failures import codes
from tests.gen.hub.server import FakeHub

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(
        "push" not in entry_points(group="spotball.commands").names, reason="the package needs to be installed again"
    ),
]


def spotball(*arguments: object, hub: FakeHub | None = None, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment |= {"HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "*"}
    if hub is not None:
        environment |= {"HF_ENDPOINT": hub.url, "HF_TOKEN": hub.token}
    command = [sys.executable, "-W", "ignore", "-m", "spotball_core", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_push_and_pull_commands_round_trip_a_dataset_and_print_a_summary(
    hub: FakeHub, answered: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    pushed = spotball("push", answered, "--repo", "me/balls", "--private", hub=hub, home=home)
    commit = hub.repositories["me/balls"].commits[-1][0]
    assert pushed.returncode == 0, pushed.stderr
    assert pushed.stdout == ""
    n_files = len(hub.repositories["me/balls"].files) - 1
    assert pushed.stderr.splitlines() == [
        "Preparing the files.",
        f"Uploading {n_files} of {n_files} files.",
        "note: Not uploaded: checksums.sha256, with_ball/ (12 files).",
        f"{hub.url}/datasets/me/balls: {n_files} files, commit {commit}",
    ]
    again = spotball("push", answered, "--repo", "me/balls", "--quiet", hub=hub, home=home)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    pulled = spotball("pull", "me/balls", "--out", tmp_path / "pulled", hub=hub, home=home)
    assert (pulled.returncode, pulled.stdout) == (0, ""), pulled.stderr
    assert pulled.stderr.splitlines()[-1] == f"wrote {tmp_path / 'pulled'}"
    before, after = (
        spotball("score", folder, "--bootstrap", 20, "--format", "json", home=home).stdout
        for folder in (answered, tmp_path / "pulled")
    )
    assert before == after
    assert json.loads(before)["groups"]
    assert json.loads(before)["provenance"]["parse_policies"] == ["lenient"]
    # The token must not be stored in any file.
    assert not any(hub.token.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_pull_of_a_changed_repository_exits_with_status_1(hub: FakeHub, answered: Path, tmp_path: Path) -> None:
    assert spotball("push", answered, "--repo", "me/balls", hub=hub, home=tmp_path / "home").returncode == 0
    repository = hub.repositories["me/balls"]
    repository.add({**repository.files, "card.md": b"# Edited\n"}, "edit")
    done = spotball("pull", "me/balls", "--out", tmp_path / "pulled", "--quiet", hub=hub, home=tmp_path / "home")
    assert (done.returncode, done.stdout) == (1, "card.md: the content differs from the pushed file.\n")


def test_push_without_a_token_exits_with_status_2_but_a_dry_run_lists_files_and_sizes(
    answered: Path, tmp_path: Path
) -> None:
    done = spotball("push", answered, "--repo", "me/balls", home=tmp_path)
    assert (done.returncode, codes(done.stderr)) == (2, ["missing-key"])
    assert "HF_TOKEN" in done.stderr
    done = spotball("push", answered, "--repo", "me/balls", "--dry-run", home=tmp_path)
    assert done.returncode == 0, done.stderr
    sizes = {name: int(size.replace(",", "")) for size, name in map(str.split, done.stdout.splitlines())}
    assert sizes["card.json"] == (answered / "card.json").stat().st_size
    assert "data/train-00000-of-00001.parquet" in sizes
    total = sum(sizes.values())
    assert done.stderr.splitlines()[-1] == (
        f"https://huggingface.co/datasets/me/balls: {len(sizes)} files, {total:,} bytes; nothing was uploaded"
    )
