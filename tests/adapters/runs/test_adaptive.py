"""Test `spotball run --adaptive`: its rounds, its estimate, and that it resumes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from spotball_core.counting.parse_record import is_adaptive
from spotball_core.dataset import load
from spotball_core.errors import InputError
from spotball_core.io.scenes import read_scenes
from spotball_core.metrics.registry import METRICS
from spotball_core.planning.adaptive import allocation
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.scene import Scene
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import score
from tests.adapters import run_process
from tests.adapters.run_process import KEY, Done, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.failures import codes, raises

IMAGES, SAMPLES, SIZES = 12, 20, (5, 5, 10)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_process.dataset(tmp_path_factory.mktemp("data"), images=IMAGES)


def run(data: Path, out: Path, server: LoopbackServer, *options: str) -> Done:
    words = ("--prompt", "base", "--samples", str(SAMPLES), "--adaptive", "euclidean_error", *options)
    return run_process.run(data, out, server.url, *words)


def rows(out: Path) -> dict[tuple[str, str], list[str]]:
    """Return the cells of each image, in the order of the samples."""
    found: dict[tuple[str, str], dict[int, str]] = {}
    for row in run_process.rows(out):
        found.setdefault((row["sport"], row["image"]), {})[row["sample"]] = row["cell"]
    return {key: [cells[sample] for sample in sorted(cells)] for key, cells in found.items()}


def own_error(scene: Scene, label: str) -> float:
    """Return the distance from a cell to the nearest cell of the ball, in pixels, for cells of 64 x 60 pixels."""
    (x, y), *ball = [(64 * int(one[1:]), 60 * ord(one[0])) for one in (label, *(scene.ball_cells or ()))]
    return min(math.hypot(x - u, y - v) for u, v in ball)


def test_run_asks_in_rounds_and_prints_the_estimate(data: Path, tmp_path: Path, server: LoopbackServer) -> None:
    done = run(data, tmp_path / "run", server)
    assert done.returncode == 0, said(done)
    cells, known = rows(tmp_path / "run"), read_scenes(data / "scenes.jsonl")
    assert sum(map(len, cells.values())) == IMAGES * SAMPLES
    assert len({len(own) for own in cells.values()}) > 1
    totals, estimate = np.zeros(IMAGES, dtype=int), 0.0
    for size in SIZES:
        new = np.full(IMAGES, size)
        if totals.any():
            earlier = [
                {"sport": scene.sport, "image": scene.image, "prompt": "base", "sample": sample, "cell": cell}
                for scene, n in zip(known, totals, strict=True)
                for sample, cell in enumerate(cells[scene.key][:n], start=1)
            ]
            data_so_far = load(earlier, known)
            scoring = Scoring(data_so_far.counts, known, ScorePolicy.standard(by=("prompt",), bootstrap=0))
            new = allocation(scoring.estimator(scoring.groups[0]), METRICS["euclidean_error"], size)
        for scene, start, n in zip(known, totals, new, strict=True):
            own = cells[scene.key][start : start + n]
            errors = [own_error(scene, cell) for cell in own]
            estimate += size / SAMPLES / IMAGES * float(np.mean(errors))
        totals = totals + new
    assert [len(cells[scene.key]) for scene in known] == totals.tolist()
    report = score(tmp_path / "run", bootstrap=0)
    assert sum("responses.jsonl: sample: " in warning for warning in report.warnings) == 1
    with raises(InputError, "adaptive-answers:sample"):
        score(tmp_path / "run", bootstrap=0, strict=True)
    # Parsing the replies again keeps the record.
    run_process.good("parse", tmp_path / "run")
    assert is_adaptive(tmp_path / "run/responses.jsonl")
    printed = re.search(r"euclidean_error ([\d.]+)", done.stdout)
    assert printed is not None
    assert float(printed[1]) == pytest.approx(estimate, abs=0.051)


def test_run_continues_after_a_limit_of_all_rounds_and_repeats_no_request(data: Path, tmp_path: Path) -> None:
    finished = []
    for name, limits in (("whole", [()]), ("parts", [("--max-requests", str(IMAGES + 3)), ()])):
        with serve(OpenAIProtocol(keys={KEY})) as server:
            for limit in limits:
                done = run(data, tmp_path / name, server, *limit)
                if limit:
                    assert (done.returncode, done.stdout, server.log()["requests"]) == (1, "", IMAGES + 3)
            sent = server.log()["requests"]
            assert run(data, tmp_path / name, server).stdout == done.stdout
            assert server.log()["requests"] == sent
            finished.append((done.returncode, done.stdout, rows(tmp_path / name)))
    assert finished[0] == finished[1]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--adaptive", "acuracy"), "unknown-name"),
        (("--adaptive", "wasserstein"), "invalid-option"),
        (("--adaptive", "center_ratio"), "invalid-option"),
        (("--samples", "5"), "invalid-option"),
        (("--prompt", "base,cue"), "conflicting-options"),
        (("--until", "ci(accuracy) < 3"), "conflicting-options"),
    ],
)
def test_unusable_options_are_errors_and_send_nothing(
    data: Path, tmp_path: Path, server: LoopbackServer, options: tuple[str, str], code: str
) -> None:
    done = run(data, tmp_path / "run", server, *options)
    assert (done.returncode, codes(done.stderr)) == (2, [code])
    assert server.log()["requests"] == 0
