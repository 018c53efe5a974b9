"""Test that metrics of another package, registered by entry point, have the same value in every function."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core import METRICS
from tests.builders import dataset, scene
from tests.cli.process import spotball_process
from tests.conftest import ROOT
from tests.packages import install_package

TOY = ROOT / "tests/toy_metrics"
WITH_TOY = {"PYTHONPATH": os.pathsep.join([str(TOY), str(ROOT)])}
BOXES = [(10, 20, 50, 120), (300, 100, 340, 220), (500, 10, 560, 140)]
SCENES = [scene(str(n), ball_cells=(f"C{n + 1}",), players=BOXES[: 1 + n % 2]) for n in range(6)]


def rows(respondent: str, kind: str, samples: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng([samples, len(respondent)])
    cells = SCENES[0].layout.labels
    return [
        {"image": one.image, "respondent": respondent, "kind": kind, "sample": n, "cell": cells[int(rng.integers(60))]}
        for one in SCENES
        for n in range(1, samples + 1 + int(one.image) % 3)
    ]


GIVEN = {"people": rows("people", "human", 12), "gpt": rows("gpt", "model", 5), "llama": rows("llama", "model", 9)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("toy") / "set", SCENES, **GIVEN)


@pytest.fixture(scope="module")
def everywhere(folder: Path) -> Any:
    command = [sys.executable, str(TOY / "everywhere.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **WITH_TOY})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_plain_loops(respondent: str) -> dict[str, float]:
    """Compute the four metrics of the toy package with plain loops over responses."""
    answers = [(SCENES[int(row["image"])], row["cell"]) for row in GIVEN[respondent]]
    shares = []
    for one in SCENES:
        of_image = [[row for row in GIVEN[name] if row["image"] == one.image] for name in (respondent, "people")]
        mine, people = (Counter(row["cell"] for row in given) for given in of_image)
        shares.append(sum(min(mine[c] / mine.total(), people[c] / people.total()) for c in mine))
    guesses = Counter(cell for _, cell in answers)
    truth = Counter(cell for one in SCENES for cell in one.ball_cells or ())
    squares = []
    for one, cell in answers:
        x, y = one.layout.centers[one.layout.index(cell)]
        squares.append(min((x - (a + c) / 2) ** 2 + (y - (b + d) / 2) ** 2 for a, b, c, d in one.boxes))
    return {
        "toy_top_half": sum(cell[0] in "ABC" for _, cell in answers) / len(answers),
        "toy_overlap": sum(shares) / len(shares),
        "toy_affinity": sum(math.sqrt(guesses[c] / guesses.total() * truth[c] / truth.total()) for c in truth),
        "toy_player_distance": math.sqrt(sum(squares) / len(squares)),
    }


def test_metric_registry_is_read_only_and_has_no_metrics_of_a_package_that_is_not_installed() -> None:
    assert not [key for key in METRICS if key.startswith("toy_")]
    with pytest.raises(TypeError):
        METRICS["accuracy"] = METRICS["wasserstein"]  # type: ignore[index]


@pytest.mark.slow
def test_registered_metrics_in_score_score_arrays_and_accumulator_equal_plain_loops(everywhere: Any) -> None:
    for respondent in ("gpt", "llama"):
        assert everywhere["score"][respondent] == pytest.approx(by_plain_loops(respondent), rel=1e-12)
    # A metric that needs a reference has no value for the reference itself.
    people = {key: pytest.approx(value) for key, value in by_plain_loops("people").items()}
    assert everywhere["score"]["people"] == {**people, "toy_overlap": None}
    for function in ("arrays", "accumulator"):
        assert everywhere[function] == pytest.approx(by_plain_loops("gpt"), rel=1e-12)


def test_compare_gives_values_and_p_values_of_registered_metrics(everywhere: Any) -> None:
    one, other = by_plain_loops("gpt"), by_plain_loops("llama")
    for key, (a, b, p, reason) in everywhere["compare"].items():
        assert (a, b) == (pytest.approx(one[key]), pytest.approx(other[key]))
        if key == "toy_overlap":  # This metric depends on the number of responses and has no matched metric.
            assert (p, reason) == (None, "the metric depends on the number of responses")
        else:
            assert 0 < p <= 1


@pytest.mark.slow
def test_score_command_and_report_show_registered_metrics(folder: Path, tmp_path: Path) -> None:
    options = (folder, "--reference", "people", "--bootstrap", "50")
    done = spotball_process("score", *options, "--format", "json", env=WITH_TOY)
    assert done.returncode == 0, done.stderr
    groups = {group["respondent"]: group["metrics"] for group in json.loads(done.stdout)["groups"]}
    for key, value in by_plain_loops("gpt").items():
        found = groups["gpt"][key]
        assert found["value"] == pytest.approx(value)
        assert found["ci95"][0] <= found["value"] <= found["ci95"][1]
    page = spotball_process("report", *options, "--out", tmp_path / "page", env=WITH_TOY)
    assert page.returncode == 0, page.stderr
    html = (tmp_path / "page/report.html").read_text(encoding="utf-8")
    assert "Share in the top half" in html
    assert "Affinity with the truth" in html


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "said"),
    [("toy_metrics:nothing", "cannot be loaded"), ("toy_metrics:overlap", "expected spotball_core.extend.Metric")],
)
def test_score_command_with_an_invalid_metric_entry_point_fails(
    target: str, said: str, folder: Path, tmp_path: Path
) -> None:
    install_package(tmp_path, "broken", "spotball.metrics", {"broken": target})
    env = {"PYTHONPATH": os.pathsep.join([str(TOY), str(tmp_path), str(ROOT)])}
    done = spotball_process("score", folder, "--bootstrap", "0", env=env)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
