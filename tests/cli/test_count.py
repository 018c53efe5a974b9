"""Test `spotball count` and the scoring of counts."""

from __future__ import annotations

from pathlib import Path

from tests.builders import dataset, scenes
from tests.cli.process import spotball
from tests.failures import codes

KNOWN = scenes("1", "2")
ROWS = [{"image": image, "cell": cell} for image in ("1", "2") for cell in ("C2", "F10", "?")]


def test_score_of_counts_equals_score_of_responses(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", KNOWN, m=ROWS)
    known = ("--scenes", folder / "scenes.jsonl")
    done = spotball("count", folder / "responses-m.jsonl", *known, "--out", tmp_path / "m.counts")
    assert done.returncode == 0
    assert done.stderr.strip() == f"wrote {tmp_path / 'm.counts'}: 6 responses in 6 rows of counts"
    assert done.stdout == ""
    options = ("--bootstrap", "10", "--format", "json")
    rows, counts = spotball("score", folder, *options), spotball("score", tmp_path / "m.counts", *known, *options)
    assert rows.stdout == counts.stdout
    assert rows.stdout.startswith("{")


def test_count_pools_duplicate_inputs_only_with_pool_and_keeps_the_old_file_after_an_error(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", KNOWN, m=ROWS)
    assert spotball("count", folder, "--out", tmp_path / "m.counts", "--quiet").stderr == ""
    before = (tmp_path / "m.counts").read_bytes()
    both = ("count", tmp_path / "m.counts", folder, "--out", tmp_path / "two.counts")
    refused = spotball(*both)
    assert (refused.returncode, {*codes(refused.stderr)}) == (2, {"duplicate"})
    twice = spotball(*both, "--pool")
    assert "12 responses in 6 rows of counts" in twice.stderr
    broken = dataset(tmp_path / "broken", KNOWN, m=[{"image": "9", "cell": "C2"}])
    done = spotball("count", broken, "--out", tmp_path / "m.counts")
    assert (done.returncode, codes(done.stderr)) == (2, ["unknown-image"])
    assert "'9'" in done.stderr
    assert (tmp_path / "m.counts").read_bytes() == before
