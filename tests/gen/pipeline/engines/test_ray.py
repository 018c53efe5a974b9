"""Test generation on Ray with a local cluster of two nodes with one worker each, in real processes."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.run import generate
from tests.cli.process import spotball
from tests.conftest import ROOT
from tests.counting.engines.workers import cluster_address, processes
from tests.failures import raises
from tests.gen.runs import command, count_results, environment, files, query, run_process, write_config, write_videos
from tests.on_ray import spotball_on_ray
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("plugins")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start a cluster whose second node declares a GPU, so that GPU stages run as actors there."""
    yield from cluster_address(num_gpus=1)


def ledger_of(out: Path) -> list[Any]:
    """Return the contents of the ledger without time stamps."""
    rows = query(out, "SELECT item, stage, outcome, reason, detail, scores FROM results ORDER BY 1, 2")
    rows += query(out, "SELECT * FROM items ORDER BY item")
    return rows + query(out, "SELECT video, state, detail, frames FROM videos ORDER BY position")


def on_ray(config: Path, out: Path, plugins: Path, address: str) -> subprocess.CompletedProcess[str]:
    return run_process(config, out, plugins, "--engine", "ray", "--ray-address", address)


def test_generate_without_ray_or_with_an_address_for_another_engine_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raises(OptionError, "missing-option:--ray-address"):
        generate(None, tmp_path / "out", ray_address="127.0.0.1:6379")
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with raises(MissingExtraError, "missing-extra"):
        generate(None, tmp_path / "out", engine="ray")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
class TestOnACluster:
    def test_ray_gives_the_same_dataset_and_ledger_as_the_local_engine(
        self, tmp_path: Path, plugins: Path, address: str
    ) -> None:
        # The run has rejects, failures, a broken video, near duplicates across videos and a stage that needs all items.
        write_videos(tmp_path / "videos", {"b": 12, "c": 9})
        for name, shots in {"a": (Shot("play", 3, 1),), "d": (Shot("play", 4, 2), Shot("play", 3, 1))}.items():
            path = tmp_path / f"videos/{name}.avi"
            write_match(path, "synthetic-soccer", shots, width=320, height=180, rate=5)
        (tmp_path / "videos/e.avi").write_bytes(b"no video")
        config = write_config(
            tmp_path / "config.toml",
            frames={"duplicate_bits": 8},
            filter={"kind": "best"},
            detect={"reject_every": 5},
            label={"fail_at": (2,), "break_batch": True},
        )
        local = spotball("gen", "run", config, "--out", tmp_path / "local")
        run = ("gen", "run", config, "--out", tmp_path / "ray")
        first, again = spotball_on_ray(address, [run, run], cwd=tmp_path, env=environment(plugins))
        for done in (local, first):
            assert done.returncode == 1, done.stderr
            assert "failed: e-" in done.stderr
        assert "none of them new" in again.stderr
        assert files(tmp_path / "ray") == files(tmp_path / "local")
        assert ledger_of(tmp_path / "ray") == ledger_of(tmp_path / "local")
        reasons = {row[3] for row in ledger_of(tmp_path / "ray") if row[2] == "rejected"}
        assert reasons == {"near duplicate", "not of the better half", "that second"}
        work = [tmp_path / name / ".work" for name in ("ray", "local")]
        pictures = [sorted(p.name for ending in ("image", "png") for p in of.rglob(f"*.{ending}")) for of in work]
        assert pictures[0] == pictures[1]
        assert query(tmp_path / "ray", "SELECT engine, outcome FROM sessions") == [("ray", "finished")] * 2

    def test_ray_run_with_a_killed_task_or_actor_gives_the_same_dataset(
        self, tmp_path: Path, plugins: Path, address: str
    ) -> None:
        write_videos(tmp_path / "videos", {"a": 20, "b": 15, "c": 15})
        busy = {"seconds": 0.05}
        config = write_config(tmp_path / "config.toml", filter=busy, inpaint=busy, label={"reject_every": 7})
        line = [sys.executable, "-m", "tests.gen.ray_kill", address, str(config), str(tmp_path)]
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, env=environment(plugins))
        assert done.returncode == 0, done.stderr
        assert re.findall(r"^killed a busy (\w+)", done.stdout, re.M) == ["task", "actor"], done.stdout + done.stderr
        assert generate(config, tmp_path / "local").written.chosen > 25
        for out in (tmp_path / "task", tmp_path / "actor"):
            assert files(out) == files(tmp_path / "local")
            assert ledger_of(out) == ledger_of(tmp_path / "local")

    def test_ray_resumes_a_run_of_the_local_engine(self, tmp_path: Path, plugins: Path, address: str) -> None:
        write_videos(tmp_path / "videos", {"a": 30, "b": 20})
        config = write_config(tmp_path / "config.toml", filter={"seconds": 0.02})
        generate(config, tmp_path / "whole")
        out = tmp_path / "out"
        with subprocess.Popen(command(config, out), env=environment(plugins), stderr=subprocess.PIPE) as child:
            until(lambda: child.poll() is not None or count_results(out, "filter") >= 15)
            child.kill()
        assert count_results(out, "filter") >= 15
        assert on_ray(config, out, plugins, address).returncode == 0
        assert files(out) == files(tmp_path / "whole")

    def test_ray_run_with_a_broken_stage_exits_with_status_2(self, tmp_path: Path, plugins: Path, address: str) -> None:
        write_videos(tmp_path / "videos", {"a": 30})
        errors = {"spotball": "no weights there", "cuda is gone": "failed on the last"}
        runs = [
            ("gen", "run", write_config(tmp_path / f"{i}.toml", detect={"break_run": name}), "--out", tmp_path / f"{i}")
            for i, name in enumerate(errors)
        ]
        for done, error in zip(
            spotball_on_ray(address, runs, cwd=tmp_path, env=environment(plugins)), errors.values(), strict=True
        ):
            assert done.returncode == 2
            assert error in done.stderr
            assert "Traceback" not in done.stderr

    def test_interrupted_ray_run_keeps_completed_work_and_can_be_resumed(self, tmp_path: Path, plugins: Path) -> None:
        """Check a run that starts its own cluster."""
        pytest.importorskip("ray.data", reason='needs the "ray" extra')
        # The folder of the cluster's files identifies its processes. Its path is short, as socket paths must be.
        home = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        write_videos(tmp_path / "videos", {"a": 30, "b": 20})
        config, out = write_config(tmp_path / "config.toml", filter={"seconds": 0.1}), tmp_path / "out"
        line = command(config, out, "--engine", "ray")
        there = {**environment(plugins), "RAY_TMPDIR": str(home)}
        with subprocess.Popen(line, env=there, stderr=subprocess.PIPE, text=True) as child:
            # This includes the start of a cluster.
            until(lambda: child.poll() is not None or count_results(out, "filter"), seconds=180)
            child.send_signal(signal.SIGTERM)
            said = child.communicate(timeout=120)[1]
        assert child.returncode == 130, said
        assert said.splitlines()[-1] == "Interrupted. Completed work is kept. Run the same command again to continue."
        assert not processes(str(home))
        shutil.rmtree(home, ignore_errors=True)
        kept = query(out, "SELECT item, stage, outcome, at FROM results")
        assert 0 < sum(row[1] == "filter" for row in kept) < 50
        generate(config, out)
        assert set(kept) <= set(query(out, "SELECT item, stage, outcome, at FROM results"))
        generate(config, tmp_path / "whole")
        assert files(out) == files(tmp_path / "whole")
