"""Test that files of other tools are scored correctly, or stopped with the right kind of error.

Each line of `variants.jsonl` has the name and the source of a variant, the command, the file, and the outcome: the
accuracy in percent, or the code of the error. Most files contain the right cell of each scene; scenes are synthetic.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.process import spotball

HERE = Path(__file__).parent
VARIANTS = [json.loads(line) for line in (HERE / "variants.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("variants")
    for name in ("scenes.jsonl", "predictions.csv"):
        (folder / name).write_bytes((HERE / name).read_bytes())
    return folder


@pytest.mark.parametrize("variant", VARIANTS, ids=[variant["name"] for variant in VARIANTS])
def test_score_of_a_file_of_another_tool_has_the_right_accuracy_or_error(variant: dict[str, Any], folder: Path) -> None:
    (folder / variant["file"]).write_text(variant["text"], encoding="utf-8", newline="")
    done = spotball(*variant["words"].split(), "--format", "json", cwd=folder)
    (folder / variant["file"]).unlink()
    printed = json.loads(done.stdout)
    if isinstance(variant["outcome"], str):
        assert (done.returncode, printed["error"]["code"]) == (2, variant["outcome"])
    else:
        accuracy = printed["groups"][0]["metrics"]["accuracy"]["value"]
        assert (done.returncode, round(100 * accuracy, 1)) == (0, variant["outcome"])
