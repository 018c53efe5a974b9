"""Test that runs neither lose nor repeat replies after kills, full disks, concurrent starts, and server faults."""

from __future__ import annotations

import os
import random
import re
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.faults import BROKEN_JSON, DROP, OVERLOADED, RESET, TRUNCATED, status
from tests.adapters.run_process import ENV, STEPS, command, dataset, expected, query, replies, rows, run_process, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.disks import small_disk
from tests.failures import codes
from tests.waiting import until

Question = tuple[str, int]
"""The identifier of a question on the server, and the sample."""

LIMITED = status(429, "slow down", retry_after="0.05")
PASSING = (DROP, RESET, TRUNCATED, BROKEN_JSON, OVERLOADED, LIMITED, *(status(code) for code in (408, 409, 500, 502)))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """Start a server that ignores `n` and returns one reply per request, so that a run needs many requests."""
    with serve(OpenAIProtocol(give=1)) as started:
        yield started


def asked(server: LoopbackServer) -> list[Question]:
    """Return the received questions in order. With `--seed 1`, the seed of a request is its sample number."""
    return [(one.question, one.settings["seed"]) for one in server.asked]


def stored(out: Path) -> dict[Question, str]:
    """Return the stored replies by question and sample."""
    if not (out / "run.sqlite").exists() or query(out, "PRAGMA user_version") == [(0,)]:
        return {}
    found = {}
    for (*_, sample), text in replies(out).items():
        match = re.match(r"Reasoning: reply \d+ to question (\w+)\.", text)
        assert match, text
        found[match[1], sample] = text
    return found


def check_resumed(
    server: LoopbackServer, data: Path, out: Path, options: tuple[str, ...], kept: dict[Question, str]
) -> None:
    """Run until the end, and check that the kept replies remain and that their requests are not repeated."""
    before = len(asked(server))
    done = run_process(data, out, server.url, *options)
    assert done.returncode == 0, said(done)
    assert stored(out).items() >= kept.items()
    assert not kept.keys() & set(asked(server)[before:])


def check_all_there_once(out: Path, images: int, **samples: int) -> None:
    everything = replies(out)
    assert set(everything) == expected(images, **samples)
    assert len(set(everything.values())) == len(everything)
    found = Counter((row["sport"], row["image"], row["prompt"], row["sample"]) for row in rows(out))
    finals = {(*key[:3], key[4]) for key in expected(images, **samples) if key[3] == STEPS[key[2]] - 1}
    assert found == Counter(finals)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_run_after_many_kills_and_server_faults_is_complete_and_repeats_no_request(
    server: LoopbackServer, tmp_path: Path, seed: int
) -> None:
    data, out = dataset(tmp_path / "data", images=10), tmp_path / "run"
    rng = random.Random(seed)
    server.delay = 0.01
    server.script(*(rng.choice(PASSING) if rng.random() < 0.05 else None for _ in range(20_000)))
    options = ("--prompt", "base,cue,cot", "--samples", "30,30,10", "--seed", "1", "--concurrency", "16")
    line = command(data, out, server.url, *options)
    kept: dict[Question, str] = {}
    for number in range(6):
        before = len(asked(server))
        enough = before + rng.randrange(180)
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV}) as child:
            if number % 3 == 2:
                # Kill every third process during its start: while it imports, creates the store, or draws images.
                time.sleep(rng.random())
            else:
                until(lambda enough=enough: len(asked(server)) >= enough or child.poll() is not None)
            child.kill()
            _, stderr = child.communicate(timeout=60)
        assert "Traceback" not in stderr
        now = stored(out)
        assert now.items() >= kept.items()
        assert not kept.keys() & set(asked(server)[before:])
        kept = now
    check_resumed(server, data, out, options, kept)
    check_all_there_once(out, 10, base=30, cue=30, cot=10)


@pytest.mark.slow
def test_run_of_a_thousand_requests_with_5_percent_faults_is_complete(server: LoopbackServer, tmp_path: Path) -> None:
    data, out = dataset(tmp_path / "data", images=8), tmp_path / "run"
    rng = random.Random(0)
    server.keep = False
    server.script(*(rng.choice(PASSING) if rng.random() < 0.05 else None for _ in range(8_000)))
    done = run_process(data, out, server.url, "--concurrency", "32")
    assert done.returncode == 0, said(done)
    check_all_there_once(out, 8, base=50, cue=50, cot=20)
    assert len(rows(out)) == 960
    sent = server.log()["requests"]
    assert 0.035 < (sent - len(expected(8, base=50, cue=50, cot=20))) / sent < 0.065


@pytest.mark.slow
def test_second_run_in_the_same_folder_is_an_error_and_the_first_completes(
    server: LoopbackServer, tmp_path: Path
) -> None:
    data, out = dataset(tmp_path / "data", images=2), tmp_path / "run"
    server.delay = 2  # the first process must still run when the second one starts
    options = ("--prompt", "base", "--samples", "10", "--concurrency", "2")
    line = command(data, out, server.url, *options)
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV}) as first:
        until(lambda: first.poll() is not None or server.asked)
        assert first.poll() is None
        second = run_process(data, out, server.url, *options)
        server.delay = 0
        _, stderr = first.communicate(timeout=120)
    assert first.returncode == 0, stderr
    assert second.returncode == 2
    assert re.search(rf"error: .* is in use by process {first.pid} on .+, since 20", second.stderr)
    check_all_there_once(out, 2, base=10)
    assert len(server.asked) == 20


SIXTY = ("--prompt", "base", "--samples", "60", "--seed", "1")


def check_stopped_for_want_of_room(done: subprocess.CompletedProcess[str], out: Path) -> dict[Question, str]:
    """Check that a run stopped with an error about its store, and return the stored replies."""
    assert done.returncode == 2, said(done)
    (message,) = (text for text in done.stderr.splitlines() if text.startswith("error: "))
    assert message.startswith(f"error: {out}/run.sqlite: ")
    assert codes(message) == ["unusable-store"]
    assert "Traceback" not in done.stderr
    kept = stored(out)
    assert len(kept) < 240
    return kept


@pytest.mark.slow
def test_run_on_a_full_disk_stops_with_an_error_and_can_be_resumed(server: LoopbackServer, tmp_path: Path) -> None:
    data = dataset(tmp_path / "data", images=4)
    with small_disk(tmp_path / "disk", megabytes=16) as disk:
        out, filler = disk / "run", disk / "filler"
        run_process(data, out, server.url, *SIXTY, "--max-requests", "4", "--concurrency", "4")
        before = stored(out)
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        filler.write_bytes(bytes(max(free - 90_000, 0)))
        kept = check_stopped_for_want_of_room(run_process(data, out, server.url, *SIXTY), out)
        assert kept.items() >= before.items()
        filler.unlink()
        check_resumed(server, data, out, SIXTY, kept)
        check_all_there_once(out, 4, base=60)


@pytest.mark.slow
def test_run_with_a_file_size_limit_stops_with_an_error_and_can_be_resumed(
    server: LoopbackServer, tmp_path: Path
) -> None:
    # The file size limit simulates a disk quota. It needs no special rights, unlike mounting a file system.
    data, out = dataset(tmp_path / "data", images=4), tmp_path / "run"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))

    line, env = command(data, out, server.url, *SIXTY), {**os.environ, **ENV}
    full = subprocess.run(line, capture_output=True, text=True, check=False, env=env, preexec_fn=limit)
    kept = check_stopped_for_want_of_room(full, out)
    check_resumed(server, data, out, SIXTY, kept)
    check_all_there_once(out, 4, base=60)
