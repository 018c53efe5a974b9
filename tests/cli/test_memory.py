"""Test that the command ends with a message, not a traceback, when memory is limited."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from spotball_core.cli.memory import is_no_memory
from tests.builders import dataset, scenes
from tests.cli.process import MODULE


def limited(megabytes: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    limit = f'ulimit -v {megabytes * 1024} && exec "$@"'
    command = ["bash", "-c", limit, "limited", *MODULE, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [100, 450, 500, 560])
def test_score_with_too_little_memory_prints_a_message_without_a_traceback(megabytes: int, tmp_path: Path) -> None:
    rows = [{"image": str(n % 3), "respondent": "me", "cell": "D5"} for n in range(300)]
    done = limited(megabytes, "score", dataset(tmp_path / "set", scenes("0", "1", "2"), me=rows))
    # The required memory depends on the library versions, but 450 MB are never enough.
    assert done.returncode == 1 or (megabytes > 450 and done.returncode == 0 and "accuracy" in done.stdout.lower())
    assert done.returncode == 0 or "memory" in done.stderr.split("error: ")[-1]
    assert "Traceback (most recent call last)" not in done.stderr


@pytest.mark.slow
def test_command_within_its_memory_limit_does_not_mention_memory(tmp_path: Path) -> None:
    wrong = limited(1 << 20, "score", tmp_path / "nothing.jsonl")
    right = limited(1 << 20, "--version")
    assert (wrong.returncode, right.returncode) == (2, 0)
    assert wrong.stderr.endswith("[missing-file]\n")
    assert right.stdout.startswith("spotball ")


@pytest.mark.parametrize(
    ("error", "no_memory"),
    [
        (MemoryError(), True),
        (ImportError("a.so: failed to map segment from shared object"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("can't start new thread"), True),
        (ImportError("No module named 'x'"), False),
    ],
)
def test_is_no_memory_recognizes_errors_caused_by_missing_memory(error: Exception, no_memory: bool) -> None:
    assert is_no_memory(error) == no_memory
