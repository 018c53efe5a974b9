"""Test `spotball run --until`: rules, when a run stops, and that it resumes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from spotball_adapters.runs.until import Until, shuffled
from spotball_core.errors import OptionError
from spotball_core.io.scenes import read_scenes
from spotball_core.stats.sequences import confidence_sequence
from tests.adapters import run_process
from tests.adapters.run_process import Done, said
from tests.adapters.server import LoopbackServer
from tests.failures import codes, raises
from tests.stats.build import scenes

IMAGES = 30


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_process.dataset(tmp_path_factory.mktemp("data"), images=IMAGES)


def run(data: Path, out: Path, server: LoopbackServer, rule: str, *options: str) -> Done:
    words = ("--prompt", "base,cue", "--samples", "2", "--concurrency", "3", "--until", rule, *options)
    return run_process.run(data, out, server.url, *words)


def images_of(out: Path) -> set[tuple[str, str]]:
    return {(row["sport"], row["image"]) for row in run_process.rows(out)}


def test_run_stops_as_soon_as_the_rule_holds_and_resumes(data: Path, tmp_path: Path, server: LoopbackServer) -> None:
    out, order = tmp_path / "run", [scene.key for scene in shuffled(read_scenes(data / "scenes.jsonl"))]
    done = run(data, out, server, "ci(accuracy) < 30")
    assert done.returncode == 0, said(done)
    n = len(images_of(out))
    assert n % 3 == 0
    assert 3 <= n < IMAGES
    assert images_of(out) == set(order[:n])
    assert len(run_process.rows(out)) == 2 * 2 * n
    # The rule did not hold three images earlier, for at least one prompt.
    widths = {}
    for prompt in ("base", "cue"):
        cells = {
            key: [r["cell"] for r in run_process.rows(out) if (r["sport"], r["image"]) == key and r["prompt"] == prompt]
            for key in order[:n]
        }
        hits = np.array([np.mean([cell == "C2" for cell in cells[key]]) for key in order[:n]])
        ends = confidence_sequence(hits, low=0.0, high=1.0)
        widths[prompt] = (ends[:, 1] - ends[:, 0]) / 2
    assert max(width[-1] for width in widths.values()) < 0.3
    assert n == 3 or max(width[-4] for width in widths.values()) >= 0.3
    sent = server.log()["requests"]
    again = run(data, out, server, "ci(accuracy) < 30")
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert server.log()["requests"] == sent
    more = run(data, out, server, "ci(accuracy) < 20")
    assert more.returncode == 0
    assert n < len(images_of(out)) <= IMAGES
    assert server.log()["requests"] - sent == 2 * (len(images_of(out)) - n)


def test_run_uses_all_images_if_the_rule_never_holds(data: Path, tmp_path: Path, server: LoopbackServer) -> None:
    done = run(data, tmp_path / "run", server, "ci(euclidean_error) < 0.5", "--limit", "7")
    assert done.returncode == 0
    assert len(images_of(tmp_path / "run")) == 7
    assert len(done.stdout.splitlines()) == 3


def test_run_stopped_by_a_limit_of_requests_continues(data: Path, tmp_path: Path, server: LoopbackServer) -> None:
    stopped = run(data, tmp_path / "run", server, "ci(accuracy) < 1", "--limit", "6", "--max-requests", "7")
    assert (stopped.returncode, stopped.stdout, server.log()["requests"]) == (1, "", 7)
    done = run(data, tmp_path / "run", server, "ci(accuracy) < 1", "--limit", "6")
    assert done.returncode == 0
    assert len(run_process.rows(tmp_path / "run")) == 2 * 2 * 6
    assert server.log()["requests"] == 2 * 6


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        *((rule, "invalid-option") for rule in ("accuracy < 3", "ci(accuracy) > 3", "ci(accuracy) < 0", "ci() < 3")),
        ("ci(acuracy) < 3", "unknown-name"),
        *((f"ci({key}) < 3", "invalid-option") for key in ("wasserstein", "center_ratio", "log_score")),
    ],
)
def test_unusable_rules_are_errors_and_send_nothing(
    data: Path, tmp_path: Path, server: LoopbackServer, rule: str, code: str
) -> None:
    done = run(data, tmp_path / "run", server, rule)
    assert (done.returncode, codes(done.stderr)) == (2, [code])
    assert server.log()["requests"] == 0
    assert not (tmp_path / "run").exists()


def test_limits_are_in_points_or_pixels() -> None:
    assert Until.parsed("ci(accuracy)<3", scenes(2)) == Until("accuracy", 0.03, 0.0, 1.0)
    found = Until.parsed(" ci( euclidean_error ) < 12.5 ", scenes(2))
    assert (found.limit, found.high) == (12.5, pytest.approx(np.hypot(640, 360)))
    with raises(OptionError, "invalid-option:--until"):
        Until.parsed("3", scenes(2))


def test_images_without_a_parsed_answer_count_for_accuracy_only() -> None:
    known = scenes(3)
    rows = pl.DataFrame(
        [
            {"sport": "soccer", "image": str(image), "respondent": "m", "kind": "model", "prompt": "base", "sample": 1}
            for image in range(3)
        ]
    ).with_columns(cell=pl.Series(["C3", None, "A1"]))
    (accuracy,) = Until.parsed("ci(accuracy) < 3", known).precisions(rows, known)
    (error,) = Until.parsed("ci(euclidean_error) < 3", known).precisions(rows, known)
    assert (accuracy.n_images, accuracy.mean) == (3, pytest.approx(1 / 3))
    assert error.n_images == 2
    (one,) = Until.parsed("ci(euclidean_error) < 3", known).precisions(rows[1:2], known[1:2])
    assert (one.n_images, one.ends[0]) == (0, 0.0)
