"""Test counting and scoring on Ray with a local cluster of two nodes, each with one worker process."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spotball_core.counting.engines import check_engine, engine_named
from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.scoring.estimates import IMAGES_AT_ONCE
from tests.builders import dataset, scenes, write_csv, write_jsonl
from tests.cli.process import MODULE, Done, spotball, spotball_process
from tests.conftest import ROOT
from tests.counting.engines.workers import busy_workers, cluster_address, first_at_work, processes
from tests.failures import codes, raises
from tests.on_ray import spotball_on_ray
from tests.waiting import until

KNOWN = scenes("1", "2", "3", players=[[0, 0, 100, 100]])
LABELS = ["A1", "C2", "d5", "E7", "F10", "nowhere"]
BROKEN = ("row", "late row", "file", "empty", "kinds", "samples", "twice", "missing")
RELATIVE = ("count", "responses-a.jsonl", "responses-large.parquet", "--scenes", "scenes.jsonl")


def rows_of(n: int, respondent: str, *, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    made = [{"image": rng.choice("123"), "respondent": respondent, "cell": rng.choice(LABELS)} for _ in range(n)]
    for row in made[::7]:
        share = rng.random()
        row |= {"cell": None, "probabilities": {"A1": share / 3, "D5": share * 2 / 3, "E7": 1 - share}}
    return made


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    yield from cluster_address()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dataset with all file formats, cells and distributions, and one file large enough for several pieces."""
    folder = dataset(tmp_path_factory.mktemp("set"), KNOWN, a=rows_of(3000, "a", seed=1))
    write_csv(folder / "responses-b.csv", rows_of(2000, "b", seed=2))
    write_jsonl(folder / "responses-b2.jsonl", rows_of(500, "b", seed=3))
    large = pl.DataFrame({"image": ["1", "2", "3", "3"], "cell": ["C2", "D5", "F10", None]})
    pl.concat([large] * 525_000).write_parquet(folder / "responses-large.parquet", row_group_size=300_000)
    known, out = folder / "scenes.jsonl", folder / "responses-d.counts"
    assert spotball("count", folder / "responses-b.csv", "--scenes", known, "--out", out).returncode == 0
    return folder


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    for i in range(24):
        write_csv(folder / f"{i}.csv", rows_of(20_000, "m", seed=i))
    return folder


def broken_files(folder: Path, name: str) -> list[Path]:
    """Write two files, of which the second or both together have the named fault, and return their paths."""
    folder.mkdir()
    good = write_jsonl(folder / "good.jsonl", rows_of(50, "g", seed=1))
    files = [good, folder / "broken.jsonl"]
    if name == "row":
        write_jsonl(files[1], [*rows_of(30, "m", seed=2), {"image": "9", "cell": "D5"}])
    elif name == "late row":
        files[1] = folder / "broken.parquet"
        images = ["1"] * 2_100_000 + ["9"]
        pl.DataFrame({"image": images, "cell": "D5"}).write_parquet(files[1], row_group_size=500_000)
    elif name == "file":
        files[1] = folder / "broken.parquet"
        files[1].write_bytes(b"PAR1 no PAR1")
    elif name == "empty":
        files[1].write_text("\n", encoding="utf-8")
    elif name == "kinds":
        write_jsonl(files[1], [{"image": "1", "respondent": "g", "kind": "baseline", "cell": "D5"}])
    elif name == "samples":
        for i, file in enumerate(files):
            rows = [{"image": "1", "respondent": "s", "sample": k + 7 * i, "cell": "D5"} for k in range(1, 9)]
            write_jsonl(file, rows)
    elif name == "twice":
        files[1] = good
    return files


@dataclass(frozen=True)
class OnRay:
    """The results of commands that ran on Ray in one process.

    Attributes:
        relative: the result of a command with relative paths.
        counts: the file that this command writes.
        commands: commands that count broken files, by the name of the fault.
        broken: the results of these commands.
        folder: the folder that these commands would write counts to.
    """

    relative: Done
    counts: Path
    commands: dict[str, list[str | Path]]
    broken: dict[str, Done]
    folder: Path


@pytest.fixture(scope="module")
def on_ray(folder: Path, address: str, tmp_path_factory: pytest.TempPathFactory) -> OnRay:
    out, written = tmp_path_factory.mktemp("on-ray"), tmp_path_factory.mktemp("counts")
    known, counts = folder / "scenes.jsonl", written / "ray.counts"
    commands: dict[str, list[str | Path]] = {
        name: ["count", *broken_files(out / name, name), "--scenes", known, "--out", out / f"{name}.counts", "--quiet"]
        for name in BROKEN
    }
    relative, *broken = spotball_on_ray(address, [[*RELATIVE, "--out", counts], *commands.values()], cwd=folder)
    return OnRay(relative, counts, commands, dict(zip(BROKEN, broken, strict=True)), out)


class TestWithoutRay:
    def test_engine_named_with_an_unknown_engine_or_a_ray_address_for_the_local_engine_is_an_error(self) -> None:
        with raises(OptionError, "missing-option:--ray-address"):
            engine_named("local", ray_address="127.0.0.1:6379")
        with raises(OptionError, "invalid-option:engine"):
            engine_named("spark")  # type: ignore[arg-type]
        check_engine("ray", "127.0.0.1:6379")

    def test_engine_named_ray_without_ray_installed_raises_missing_extra_error(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "ray", None)
        monkeypatch.setitem(sys.modules, "ray.data", None)
        with raises(MissingExtraError, "missing-extra"):
            engine_named("ray")


@pytest.mark.slow
class TestOnACluster:
    def test_score_on_ray_prints_the_same_as_the_local_engine(self, folder: Path, address: str) -> None:
        options = ("--bootstrap", "20", "--format", "json", "--reference", "a", "--quiet")
        local = spotball("score", folder, *options)
        there = spotball_process("score", folder, *options, "--engine", "ray", "--ray-address", address)
        assert (there.returncode, there.stderr) == (0, "")
        assert there.stdout == local.stdout
        assert there.stdout.startswith("{")

    def test_score_on_ray_of_several_blocks_of_images_equals_the_local_engine_on_one_and_two_workers(
        self, address: str, tmp_path: Path
    ) -> None:
        names, rng = [str(number) for number in range(1, 2 * IMAGES_AT_ONCE + 100)], random.Random(5)
        cells = {"m": (LABELS, 6), "human": (LABELS[:3], 5)}
        rows, people = (
            [{"image": name, "respondent": by, "cell": rng.choice(chosen)} for name in names for _ in range(n)]
            for by, (chosen, n) in cells.items()
        )
        known = scenes(*names, players=[[0, 0, 100, 100]])
        folder = dataset(tmp_path / "set", known, human=people, m=rows)
        command = ["score", folder, "--bootstrap", "20", "--format", "json", "--reference", "human", "--quiet"]
        local = spotball(*command)
        (two,) = spotball_on_ray(address, [command], cwd=tmp_path)
        one = spotball_process(*command, "--engine", "ray", env={"RAY_OVERRIDE_RESOURCES": '{"CPU": 1}'})
        assert local.returncode == 0, local.stderr
        for done in (two, one):
            assert done.returncode == 0, done.stderr
            assert (done.stderr, done.stdout) == (local.stderr, local.stdout)

    def test_count_on_ray_with_relative_paths_writes_the_same_file_as_the_local_engine(
        self, folder: Path, on_ray: OnRay, tmp_path: Path
    ) -> None:
        done, counts = on_ray.relative, tmp_path / "local.counts"
        assert done.returncode == 0, done.stderr
        assert "parts of the files counted: 3 done" in done.stderr
        assert spotball(*RELATIVE, "--out", counts, cwd=folder).returncode == 0
        assert on_ray.counts.read_bytes() == counts.read_bytes()

    def test_count_on_ray_with_a_killed_worker_writes_the_same_file_as_the_local_engine(
        self, folder: Path, shards: Path, address: str, tmp_path: Path
    ) -> None:
        known, module = folder / "scenes.jsonl", "tests.counting.engines.workers"
        command = map(str, [sys.executable, "-m", module, address, known, shards, tmp_path / "ray.counts"])
        done = subprocess.run([*command], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "with 1 of 24 done" in done.stdout
        counts = tmp_path / "local.counts"
        assert spotball("count", *sorted(shards.iterdir()), "--scenes", known, "--out", counts).returncode == 0
        assert (tmp_path / "ray.counts").read_bytes() == counts.read_bytes()

    @pytest.mark.parametrize("name", BROKEN)
    def test_count_on_ray_prints_the_same_errors_as_the_local_engine(self, on_ray: OnRay, name: str) -> None:
        there, out = on_ray.broken[name], on_ray.folder / f"{name}.counts"
        assert not out.exists()
        local = spotball(*on_ray.commands[name])
        assert (there.returncode, there.stderr) == (2, local.stderr)
        assert there.stderr.startswith("error: ")
        assert not out.exists()


@pytest.mark.slow
class TestOnATemporaryCluster:
    @pytest.fixture
    def home(self) -> Iterator[Path]:
        """Return a folder for the cluster's files. Its path identifies processes, and is short, as sockets require."""
        pytest.importorskip("ray.data", reason='needs the "ray" extra')
        folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        yield folder
        shutil.rmtree(folder, ignore_errors=True)

    def test_score_with_an_unreachable_ray_address_is_an_error(self, home: Path, tmp_path: Path) -> None:
        folder = dataset(tmp_path / "set", KNOWN, a=rows_of(3, "a", seed=1))
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))  # The port is bound, but nothing listens on it.
            address = f"127.0.0.1:{bound.getsockname()[1]}"
            options = ("--engine", "ray", "--ray-address", address)
            done = spotball_process("score", folder, *options, env={"RAY_TMPDIR": str(home)})
        assert (done.returncode, codes(done.stderr)) == (2, ["worker-failed"])
        assert address in done.stderr
        assert not processes(str(home))

    def test_score_on_a_temporary_ray_cluster_stops_all_its_processes(self, home: Path, tmp_path: Path) -> None:
        folder = dataset(tmp_path / "set", KNOWN, a=rows_of(300, "a", seed=1), b=rows_of(300, "b", seed=2))
        options = ("--bootstrap", "0", "--format", "csv")
        there = spotball_process("score", folder, *options, "--engine", "ray", env={"RAY_TMPDIR": str(home)})
        alone = spotball("score", folder, *options)
        assert there.stdout == alone.stdout
        # On a busy machine, progress lines come first.
        assert there.stderr.endswith(f"parts of the files counted: 2 done\n{alone.stderr}")
        assert there.stderr.count("parts of the files counted: 0 done") == 0
        assert any(home.iterdir())
        assert not processes(str(home))

    def test_count_on_a_temporary_ray_cluster_stops_all_its_processes_after_ctrl_c(
        self, home: Path, shards: Path, tmp_path: Path
    ) -> None:
        dataset(tmp_path, KNOWN)
        known, out = tmp_path / "scenes.jsonl", tmp_path / "x.counts"
        command = [*MODULE, "count", *sorted(shards.iterdir()), "--scenes", known, "--engine", "ray", "--out", out]
        environment = {**os.environ, "RAY_TMPDIR": str(home)}
        with subprocess.Popen([*map(str, command)], env=environment, stderr=subprocess.PIPE, text=True) as process:
            # Search rarely while the cluster starts, because a search takes milliseconds.
            until(lambda: processes("ray::IDLE") or busy_workers(str(home)), seconds=120)
            first_at_work(str(home), seconds=120)
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=120)[1]
        assert process.returncode == 130
        assert all(line.startswith("parts of the files counted: ") for line in said.splitlines())
        assert not processes(str(home))
        assert not out.exists()
