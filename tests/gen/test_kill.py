"""Test that a generation loses and repeats no work if it is killed, interrupted, started twice, or out of space."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spotball_core.io.scenes import read_scenes
from tests.disks import small_disk
from tests.gen.runs import command, environment, files, install, query, run_process, write_config, write_videos
from tests.waiting import until

SLOW = {"filter": {"reject_every": 7, "seconds": 0.01}, "inpaint": {"seconds": 0.01}}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the test stages for use by child processes."""
    return install(tmp_path_factory.mktemp("plugins") / "plugins")


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "videos"
    write_videos(folder, {"a": 25, "b": 10, "c": 15})
    (folder / "d.avi").write_bytes(b"no video")
    return folder


@pytest.fixture
def config(tmp_path: Path, videos: Path) -> Path:
    (tmp_path / "videos").symlink_to(videos)
    return write_config(tmp_path / "config.toml", **SLOW)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, videos: Path, plugins: Path) -> dict[str, bytes]:
    """Return the files of an undisturbed run."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "videos").symlink_to(videos)
    return whole(write_config(folder / "config.toml", **SLOW), folder / "whole", plugins)


def stored(out: Path) -> dict[tuple[str, str], Any]:
    """Return the stored results by item and stage, with their times."""
    if not (out / ".work/ledger.sqlite").exists() or not query(out, "PRAGMA user_version")[0][0]:
        return {}
    return {row[:2]: row for row in query(out, "SELECT item, stage, outcome, reason, detail, at FROM results")}


@contextmanager
def started(config: Path, out: Path, plugins: Path) -> Iterator[subprocess.Popen[str]]:
    line = command(config, out)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=environment(plugins)) as child:
        yield child


def wait_for(out: Path, stage: str, child: subprocess.Popen[str], count: int = 1) -> None:
    """Wait until a stage has stored results of at least `count` items."""
    while child.poll() is None:
        try:
            if sum(key[1] == stage for key in stored(out)) >= count:
                return
        except sqlite3.OperationalError:
            pass  # The file is still being created.
        time.sleep(0.002)
    raise AssertionError(child.communicate(timeout=60))


def kill_and_go_on(
    config: Path, out: Path, plugins: Path, *, kills: int, rng: random.Random, settles: str | None = None
) -> None:
    """Kill a run `kills` times at random moments, and check that it does not repeat stored results.

    Args:
        settles: the stage that can reject items at the end that it kept before.
    """
    kept: dict[tuple[str, str], Any] = {}
    for number in range(kills):
        with started(config, out, plugins) as child:
            # Half of the kills come during the work. The others come at any time from start to end.
            if number % 2:
                enough = len(kept) + rng.randrange(1, 60)
                until(lambda enough=enough: child.poll() is not None or len(_safely(out)) >= enough)
            else:
                time.sleep(rng.uniform(0.2, 2.5))
            child.kill()
            _, said = child.communicate(timeout=60)
        assert "Traceback" not in said
        now = stored(out)
        assert now.items() >= kept.items()
        kept = {key: row for key, row in now.items() if key[1] != settles}
    done = run_process(config, out, plugins)
    assert done.returncode == 1, done.stderr  # d.avi is not a video
    assert stored(out).items() >= kept.items()


def _safely(out: Path) -> dict[tuple[str, str], Any]:
    try:
        return stored(out)
    except sqlite3.OperationalError:
        return {}


def whole(config: Path, out: Path, plugins: Path) -> dict[str, bytes]:
    done = run_process(config, out, plugins)
    assert done.returncode == 1, done.stderr
    assert len(read_scenes(out / "scenes.jsonl")) >= 20
    return files(out)


@pytest.mark.slow
def test_run_killed_at_random_moments_gives_the_same_files(
    config: Path, tmp_path: Path, plugins: Path, expected: dict[str, bytes]
) -> None:
    kill_and_go_on(config, tmp_path / "out", plugins, kills=5, rng=random.Random(1))
    assert files(tmp_path / "out") == expected


@pytest.mark.slow
def test_temporary_files_of_a_killed_run_are_removed(
    config: Path, tmp_path: Path, plugins: Path, expected: dict[str, bytes]
) -> None:
    out = tmp_path / "out"
    with started(config, out, plugins) as child:
        wait_for(out, "filter", child)
        child.kill()
    # A kill while a picture or a review is written leaves these files.
    picture, review = out / ".work/frames/.a.x1y2z3_4.image", out / ".review.a1b2c3d4"
    picture.touch()
    review.mkdir()
    (review / "scenes.jsonl").touch()
    assert run_process(config, out, plugins).returncode == 1
    assert not picture.exists()
    assert not review.exists()
    assert files(out) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_run_killed_twenty_times_gives_the_same_files(config: Path, tmp_path: Path, plugins: Path, seed: int) -> None:
    settles = "filter" if seed == 2 else None
    if settles:
        write_config(config, **{**SLOW, "filter": {"kind": "best", "seconds": 0.01}})
    expected = whole(config, tmp_path / "whole", plugins)
    kill_and_go_on(config, tmp_path / "out", plugins, kills=20, rng=random.Random(seed), settles=settles)
    assert files(tmp_path / "out") == expected


@pytest.mark.slow
def test_run_killed_while_writing_the_dataset_gives_the_same_files(config: Path, tmp_path: Path, plugins: Path) -> None:
    expected = whole(config, tmp_path / "whole", plugins)
    out, rng = tmp_path / "out", random.Random(5)
    shutil.copytree(tmp_path / "whole", out)
    for _ in range(12):
        shutil.rmtree(out / "images", ignore_errors=True)
        with started(config, out, plugins) as child:
            # The kill comes between the check of existing files and the end of the run.
            time.sleep(rng.uniform(0.8, 1.3))
            child.kill()
    assert run_process(config, out, plugins).returncode == 1
    assert files(out) == expected
    assert not list((out / ".work").glob("new*"))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_exits_with_130_and_keeps_completed_work(
    config: Path, tmp_path: Path, plugins: Path, expected: dict[str, bytes], number: signal.Signals
) -> None:
    out = tmp_path / "out"
    with started(config, out, plugins) as child:
        wait_for(out, "label", child)
        child.send_signal(number)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 130
    assert said.splitlines()[-1] == "Interrupted. Completed work is kept. Run the same command again to continue."
    assert "Traceback" not in said
    assert query(out, "SELECT outcome FROM sessions") == [("interrupted",)]
    kept = stored(out)
    assert run_process(config, out, plugins).returncode == 1
    assert stored(out).items() >= kept.items()
    assert files(out) == expected


@pytest.mark.slow
def test_second_run_on_a_folder_in_use_is_an_error(config: Path, tmp_path: Path, plugins: Path) -> None:
    out = tmp_path / "out"
    with started(config, out, plugins) as first:
        wait_for(out, "frames", first)
        first.send_signal(signal.SIGSTOP)  # keeps the first run alive during the second
        second = run_process(config, out, plugins)
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=60)
    assert first.returncode == 1
    assert second.returncode == 2
    assert re.search(rf"error: {out} is in use by process {first.pid} on .+, since 20", second.stderr)


@pytest.mark.slow
def test_run_on_a_full_disk_is_an_error_and_keeps_completed_work(
    config: Path, tmp_path: Path, plugins: Path, expected: dict[str, bytes]
) -> None:
    with small_disk(tmp_path / "disk", megabytes=32) as disk:
        out, filler = disk / "out", disk / "filler"
        with started(config, out, plugins) as child:
            wait_for(out, "label", child, 5)
            child.kill()
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        filler.write_bytes(bytes(max(free - 200_000, 0)))
        full = run_process(config, out, plugins)
        check_stopped_for_want_of_room(full)
        kept = stored(out)
        filler.unlink()
        assert run_process(config, out, plugins).returncode == 1
        assert stored(out).items() >= kept.items()
        assert files(out) == expected


@pytest.mark.slow
def test_run_with_a_file_size_limit_is_an_error_and_keeps_completed_work(
    config: Path, tmp_path: Path, plugins: Path, expected: dict[str, bytes]
) -> None:
    # A file size limit acts like a quota and does not need the right to mount a disk.
    out = tmp_path / "out"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))

    line = command(config, out)
    full = subprocess.run(line, capture_output=True, text=True, check=False, env=environment(plugins), preexec_fn=limit)
    check_stopped_for_want_of_room(full)
    kept = stored(out)
    assert run_process(config, out, plugins).returncode == 1
    assert stored(out).items() >= kept.items()
    assert files(out) == expected


def check_stopped_for_want_of_room(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 2, done.stderr
    (message,) = (text for text in done.stderr.splitlines() if text.startswith("error: "))
    assert re.search("No space left|File too large|Free space on the disk", message), message
    assert "Traceback" not in done.stderr
