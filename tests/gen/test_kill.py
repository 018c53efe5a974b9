"""Test that a generation loses and repeats no work if it is killed, interrupted, started twice, or out of space."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from spotball_core.io.scenes import read_scenes
from tests.disks import small_disk
from tests.gen import runs
from tests.gen.runs import command, count_results, environment, files, query
from tests.waiting import until

pytestmark = pytest.mark.slow

N_RESULTS = 340
"""The approximate number of results of a complete run."""

SLOW = {"filter": {"reject_every": 7, "seconds": 0.01}, "inpaint": {"seconds": 0.01}}


@dataclass(frozen=True)
class Generation:
    """A run of the test stages on the test videos, in other processes."""

    config: Path
    out: Path
    plugins: Path

    def run(self) -> subprocess.CompletedProcess[str]:
        return runs.run_process(self.config, self.out, self.plugins)

    def start(self) -> subprocess.Popen[str]:
        line = command(self.config, self.out)
        return subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment(self.plugins))

    def wait_for(self, child: subprocess.Popen[str], stage: str, count: int = 1) -> None:
        """Wait until a stage has stored results of at least `count` items."""
        until(lambda: child.poll() is not None or count_results(self.out, stage) >= count)
        assert count_results(self.out, stage) >= count, child.communicate(timeout=60)

    def stored(self) -> dict[tuple[str, str], Any]:
        """Return the stored results by item and stage, with their times."""
        if not (self.out / ".work/ledger.sqlite").exists() or not query(self.out, "PRAGMA user_version")[0][0]:
            return {}
        rows = query(self.out, "SELECT item, stage, outcome, reason, detail, at FROM results")
        return {row[:2]: row for row in rows}

    def check_resumes(self, expected: dict[str, bytes], settles: str | None = None) -> None:
        """Check that the next run repeats no work and writes the same files as an uninterrupted run.

        Args:
            settles: the stage that makes its final decision at the end of the run, and so may reject items that it
                accepted earlier; its results are not compared.
        """
        kept = {key: row for key, row in self.stored().items() if key[1] != settles}
        assert self.run().returncode == 1  # d.avi is not a video
        assert self.stored().items() >= kept.items()
        assert files(self.out) == expected

    def undisturbed(self) -> dict[str, bytes]:
        """Return the files of an uninterrupted run in another folder."""
        other = replace(self, out=self.out.with_name("undisturbed"))
        done = other.run()
        assert done.returncode == 1, done.stderr
        assert len(read_scenes(other.out / "scenes.jsonl")) >= 20
        return files(other.out)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    """Install the test stages, and write four videos, of which one is broken."""
    folder = tmp_path_factory.mktemp("shared")
    runs.write_videos(folder / "videos", {"a": 25, "b": 10, "c": 15})
    (folder / "videos/d.avi").write_bytes(b"no video")
    config = runs.write_config(folder / "config.toml", **SLOW)
    return Generation(config, folder / "out", runs.install(folder / "plugins"))


@pytest.fixture(scope="module")
def expected(shared: Generation) -> dict[str, bytes]:
    return shared.undisturbed()


@pytest.fixture
def generation(tmp_path: Path, shared: Generation) -> Generation:
    (tmp_path / "videos").symlink_to(shared.config.with_name("videos"))
    return replace(shared, config=runs.write_config(tmp_path / "config.toml", **SLOW), out=tmp_path / "out")


def test_temporary_files_of_a_killed_run_are_removed(generation: Generation, expected: dict[str, bytes]) -> None:
    with generation.start() as child:
        generation.wait_for(child, "filter")
        child.kill()
    # A kill while a picture or a review is written leaves these files.
    picture, review = generation.out / ".work/frames/.a.x1y2z3_4.image", generation.out / ".review.a1b2c3d4"
    picture.touch()
    review.mkdir()
    (review / "scenes.jsonl").touch()
    generation.check_resumes(expected)
    assert not picture.exists()
    assert not review.exists()


@pytest.mark.parametrize(("seed", "settles"), [(0, None), (2, "filter")])
def test_run_killed_six_times_repeats_no_work_and_gives_the_same_files(
    generation: Generation, expected: dict[str, bytes], seed: int, settles: str | None
) -> None:
    if settles:
        runs.write_config(generation.config, **{**SLOW, settles: {"kind": "best", "seconds": 0.01}})
        expected = generation.undisturbed()
    rng = random.Random(seed)
    kept: dict[tuple[str, str], Any] = {}
    for number in range(6):
        with generation.start() as child:
            # Half of the kills come during the work, in its first, second and last third. The others come at any time
            # from start to end.
            if number % 2:
                enough = max(len(kept) + 1, round((number // 2 + rng.random()) / 3 * N_RESULTS))
                until(lambda enough=enough: child.poll() is not None or count_results(generation.out) >= enough)
            else:
                time.sleep(rng.uniform(0.2, 2.5))
            child.kill()
            _, said = child.communicate(timeout=60)
        assert "Traceback" not in said
        now = generation.stored()
        assert now.items() >= kept.items()
        kept = {key: row for key, row in now.items() if key[1] != settles}
    generation.check_resumes(expected, settles)


def test_run_killed_while_writing_the_dataset_gives_the_same_files(generation: Generation) -> None:
    expected, rng = generation.undisturbed(), random.Random(5)
    shutil.copytree(generation.out.with_name("undisturbed"), generation.out)
    for _ in range(4):
        shutil.rmtree(generation.out / "images", ignore_errors=True)
        with generation.start() as child:
            # The kill comes between the check of existing files and the end of the run.
            time.sleep(rng.uniform(0.8, 1.3))
            child.kill()
    generation.check_resumes(expected)
    assert not list((generation.out / ".work").glob("new*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_exits_with_130_and_keeps_completed_work(
    generation: Generation, expected: dict[str, bytes], number: signal.Signals
) -> None:
    with generation.start() as child:
        generation.wait_for(child, "label")
        child.send_signal(number)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said.splitlines()[-1] == "Interrupted. Completed work is kept. Run the same command again to continue."
    assert "Traceback" not in said
    assert query(generation.out, "SELECT outcome FROM sessions") == [("interrupted",)]
    generation.check_resumes(expected)


def test_second_run_on_a_folder_in_use_is_an_error(generation: Generation) -> None:
    with generation.start() as first:
        generation.wait_for(first, "frames")
        first.send_signal(signal.SIGSTOP)  # keeps the first run alive during the second
        second = generation.run()
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (1, 2)
    assert re.search(rf"error: {generation.out} is in use by process {first.pid} on .+, since 20", second.stderr)


def test_run_on_a_full_disk_is_an_error_and_keeps_completed_work(
    generation: Generation, tmp_path: Path, expected: dict[str, bytes]
) -> None:
    with small_disk(tmp_path / "disk", megabytes=32) as disk:
        on_disk, filler = replace(generation, out=disk / "out"), disk / "filler"
        with on_disk.start() as child:
            on_disk.wait_for(child, "label", 5)
            child.kill()
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        filler.write_bytes(bytes(max(free - 200_000, 0)))
        check_stopped_for_want_of_room(on_disk.run())
        filler.unlink()
        on_disk.check_resumes(expected)


def test_run_with_a_file_size_limit_is_an_error_and_keeps_completed_work(
    generation: Generation, expected: dict[str, bytes]
) -> None:
    # A file size limit acts like a quota and does not need the right to mount a disk.
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))

    line, env = command(generation.config, generation.out), environment(generation.plugins)
    full = subprocess.run(line, capture_output=True, text=True, check=False, env=env, preexec_fn=limit)
    check_stopped_for_want_of_room(full)
    generation.check_resumes(expected)


def check_stopped_for_want_of_room(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 2, done.stderr
    (message,) = (text for text in done.stderr.splitlines() if text.startswith("error: "))
    assert re.search("No space left|File too large|Free space on the disk", message), message
    assert "Traceback" not in done.stderr
