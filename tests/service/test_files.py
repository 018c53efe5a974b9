"""Test that a file is written completely or not at all."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from spotball_core.service.files import replacing


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_replacing_creates_or_changes_the_file_only_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "a.json"
    with replacing(path) as beside:
        beside.write_text("new")
        assert not path.exists()
        assert (beside.parent, beside.suffix) == (path.parent, ".json")
        assert beside.name.startswith(".")
    assert path.read_text() == "new"
    assert names(path.parent) == ["a.json"]
    with path.open() as reader, replacing(path) as beside:
        beside.write_text("newer")
        assert path.read_text() == reader.read() == "new"
    assert path.read_text() == "newer"


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_replacing_keeps_the_old_file_after_a_failure(tmp_path: Path, failure: type[BaseException]) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as beside:
            beside.write_text("half")
            raise failure

    with pytest.raises(failure):
        fail()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_replacing_uses_the_permissions_of_a_new_file(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "a") as beside:
            beside.write_text("")
        (tmp_path / "b").write_text("")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_replacing_a_link_writes_its_target_and_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "a.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as beside:
        beside.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "real") == ["a.json"]


def test_replacing_a_pipe_writes_to_the_pipe_and_does_not_remove_it(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with replacing(pipe) as beside:
        beside.write_text("through")
    reader.join(60)
    assert got == ["through"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="the system has no /dev/fd")
def test_replacing_a_link_to_an_open_pipe_writes_to_the_pipe() -> None:
    """Check a link like /dev/stdout, whose target has no path."""
    reading, writing = os.pipe()
    with replacing(f"/dev/fd/{writing}") as beside:
        beside.write_text("through")
    os.close(writing)
    with os.fdopen(reading) as file:
        assert file.read() == "through"


def test_replacing_a_folder_or_a_path_below_a_file_raises_os_error(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(IsADirectoryError, match="kept"), replacing(tmp_path / "kept"):
        pass
    assert names(tmp_path) == ["kept"]
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError, match="a"), replacing(tmp_path / "a" / "b"):
        pass
