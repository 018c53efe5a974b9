"""Test downloads with yt-dlp: with a stand-in program, and with yt-dlp itself if it is installed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from spotball_core.errors import OptionError, SpotballError
from spotball_gen.run import generate
from spotball_gen.video.sources import fetch
from tests.failures import raises
from tests.gen.runs import query, write_config, write_videos

PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib, shutil, sys
arguments = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps(arguments) + "\\n")
place = arguments[arguments.index("--output") + 1]
failing = os.environ.get("FAIL")
for path in sorted(pathlib.Path({videos!r}).glob("*.avi")):
    out = place.replace("%(id)s", path.stem).replace("%(ext)s", "avi")
    info = {{"id": path.stem, "ext": "avi", "webpage_url": "https://video.example/" + path.stem}}
    if path.stem == "a":
        info["license"] = "Creative Commons Attribution license (reuse allowed)"
    pathlib.Path(out).with_suffix(".info.json").write_text(json.dumps(info))
    if failing == path.stem:
        print("ERROR: [youtube] " + path.stem + ": Private video", file=sys.stderr)
    else:
        shutil.copy(path, out)
sys.exit(bool(failing))
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a stand-in for yt-dlp that finds two videos. Return the file where it logs its arguments."""
    write_videos(tmp_path / "remote", {"a": 3, "b": 2})
    (tmp_path / "bin").mkdir()
    program, log = tmp_path / "bin" / "yt-dlp", tmp_path / "log.jsonl"
    program.write_text(PROGRAM.format(videos=str(tmp_path / "remote"), log=str(log)))
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin" / "python"))
    return log


def config(tmp_path: Path, entry: str) -> Path:
    path = write_config(tmp_path / "config.toml")
    path.write_text(path.read_text().replace('path = "videos"', entry))
    return path


@pytest.mark.usefixtures("plugins")
class TestSearch:
    @pytest.mark.slow
    def test_query_is_passed_to_yt_dlp_and_license_and_origin_are_stored(self, tmp_path: Path, log: Path) -> None:
        path = config(tmp_path, 'query = "handball best"\ncount = 3\nmatch = "license ~= \'Creative Commons\'"')
        assert generate(path, tmp_path / "out").written.chosen == 5
        (asked,) = map(json.loads, log.read_text().splitlines())
        assert asked[-2:] == ["--", "ytsearch3:handball best"]
        assert asked[asked.index("--match-filters") + 1] == "license ~= 'Creative Commons'"
        assert query(tmp_path / "out", "SELECT license, origin FROM videos ORDER BY position") == [
            ("Creative Commons Attribution license (reuse allowed)", "https://video.example/a"),
            ("CC0", "https://video.example/b"),
        ]
        # A second run neither searches nor downloads.
        assert not generate(path, tmp_path / "out").written.fresh
        assert len(log.read_text().splitlines()) == 1

    @pytest.mark.slow
    def test_sources_are_searched_by_url_or_by_the_queries_of_the_sport(self, tmp_path: Path, log: Path) -> None:
        generate(config(tmp_path, "count = 2"), tmp_path / "out")
        generate(config(tmp_path, 'query = "https://video.example/list?x=1"'), tmp_path / "other")
        asked = [json.loads(line)[-1] for line in log.read_text().splitlines()]
        queries = ["ytsearch2:soccer best moments", "ytsearch2:soccer highlights"]
        assert asked == [*queries, "https://video.example/list?x=1"]

    def test_failed_download_is_reported_and_other_videos_are_used(
        self, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAIL", "b")
        told: list[str] = []
        ended = generate(config(tmp_path, 'query = "x"'), tmp_path / "out", tell=told.append)
        assert ended.written.chosen == 3
        assert any("yt-dlp could not download all of ytsearch10:x" in line and "Private video" in line for line in told)

    def test_search_without_any_download_or_without_yt_dlp_is_an_error(
        self, tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "remote" / "b.avi").unlink()
        monkeypatch.setenv("FAIL", "a")
        with raises(SpotballError, "download-failed"):
            generate(config(tmp_path, 'query = "x"'), tmp_path / "out")
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
        (tmp_path / "bin" / "yt-dlp").unlink()
        with raises(OptionError, "missing-package"):
            generate(config(tmp_path, 'query = "x"'), tmp_path / "other")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None: ...

    serving = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "remote")))
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    thread.join(timeout=60)
    serving.server_close()


@pytest.mark.slow
def test_real_yt_dlp_downloads_once_from_a_local_server(tmp_path: Path, server: str) -> None:
    pytest.importorskip("yt_dlp", reason="needs yt-dlp, which make test-all installs")
    write_videos(tmp_path / "remote", {"a": 2})
    told: list[str] = []
    (found,) = fetch(f"{server}/a.avi", tmp_path / "in", match=None, tell=told.append)
    assert found.path.read_bytes() == (tmp_path / "remote" / "a.avi").read_bytes()
    assert (found.address, found.license, told) == (f"{server}/a.avi", "", [])
    before = found.path.stat().st_mtime_ns
    assert fetch(f"{server}/a.avi", tmp_path / "in", match=None, tell=told.append)[0].path.stat().st_mtime_ns == before
    with raises(SpotballError, "download-failed"):
        fetch(f"{server}/none.avi", tmp_path / "other", match=None, tell=told.append)
