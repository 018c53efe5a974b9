"""Test `spotball reasoning` from responses to report, with embeddings from a loopback server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_adapters.embedders.cache import CACHE
from spotball_adapters.embedders.find import names
from spotball_adapters.embedders.texts import as_sent
from spotball_core.io.dataset import read_dataset
from spotball_core.reasoning.analysis import analyze
from spotball_core.reasoning.rationales import read_rationales
from spotball_core.reasoning.templates import load_templates
from tests.adapters import faults
from tests.adapters.run_process import ENV, KEY, Done, dataset, here, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_embeddings import OpenAIEmbeddings, vector_of
from tests.cli.process import on_terminal
from tests.conftest import ROOT
from tests.failures import codes

ODD = {
    "empty": "",
    "blanks": " \n\t",
    "nul": "He\x00looks\x00up at the ball over there.",
    "emoji": "⚽👀🏐",
    "german": "Der Torwart schaut nach links oben zum Ball",
    "long": " ".join(f"word{number}" for number in range(10_000)),
    "human": "Everyone is looking to the left, and so is the ball.",
}


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIEmbeddings(keys={KEY})) as server:
        yield server


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a dataset of six images, the last a control, with rationales of a model and of people."""
    folder = dataset(tmp_path / "data", images=6, controls=1)
    rows: list[dict[str, Any]] = []
    for number in range(6):
        sport, image = ("soccer", "volleyball")[number % 2], str(number // 2 + 1)
        key = {"sport": sport, "image": image}
        for sample in range(1, 4):
            words = f"Her arm is raised, {number}." if sample < 3 else "They look at it."
            rows.append(key | {"respondent": "m", "kind": "model", "prompt": "cot", "sample": sample, "cell": "C3"})
            rows[-1]["reasoning"] = words if number < 5 else f"Only of a control, {sample}."
    key = {"sport": "soccer", "image": "1", "respondent": "human", "kind": "human", "prompt": "base", "cell": "D4"}
    rows += [key | {"participant": name, "reasoning": words} for name, words in ODD.items()]
    _write(folder, rows)
    return folder


def _write(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def arguments(data: Path, url: str, *more: str | Path) -> list[str]:
    fixed = ["reasoning", str(data), "--embedder", "openai", "--model", "small", "--base-url", url]
    return [*fixed, "--bootstrap", "50", "--labelings", "50", *map(str, more)]


def reasoning(data: Path, server: LoopbackServer, *more: str | Path) -> Done:
    return here(*arguments(data, server.url, *more))


def asked(server: LoopbackServer) -> Counter[str]:
    """Count the texts that the server returned embeddings for."""
    answered = [one.asked for one in server.seen if one.asked is not None and one.status == 200]
    return Counter(text for one in answered for _, text in one.turns)


def test_reasoning_report_equals_the_analysis_of_the_embeddings(data: Path, server: LoopbackServer) -> None:
    done = reasoning(data, server, "--format", "json")
    assert done.returncode == 0, said(done)
    known = read_dataset([str(data)])
    rationales, templates = read_rationales([str(data / "responses.jsonl")], known.scenes), load_templates()
    sent = [as_sent(text) for text in rationales.texts]
    expected = analyze(
        rationales,
        known.scenes,
        templates,
        np.array([vector_of(one.text) for one in sent]),
        np.array([vector_of(text) for text in templates.texts]),
        embedder="openai",
        model="small",
        truncated=[one.cut for one in sent],
        bootstrap=50,
        labelings=50,
    )
    assert json.loads(done.stdout) == json.loads(expected.model_dump_json())


def test_reasoning_counts_empty_long_and_unusual_texts(data: Path, server: LoopbackServer) -> None:
    counts = json.loads(reasoning(data, server, "--format", "json").stdout)["texts"]
    assert counts["n_responses"] == 15 + len(ODD)
    assert counts["n_controls"] == 3
    assert counts["n_empty"] == 2
    assert counts["n_without_letters"] == 1
    assert counts["n_seem_not_english"] >= 1
    assert counts["n_truncated"] == 1
    assert counts["longest"] == 10_000
    assert counts["n_duplicates"] == 9


def test_reasoning_sends_each_text_once_and_no_empty_or_control_texts(data: Path, server: LoopbackServer) -> None:
    done = reasoning(data, server)
    assert done.returncode == 0, said(done)
    sent = asked(server)
    words = {f"Her arm is raised, {number}." for number in range(5)} | {"They look at it."}
    odd = {as_sent(text).text for text in ODD.values()} - {""}
    assert set(sent) == words | odd | set(load_templates().texts)
    assert set(sent.values()) == {1}
    assert all("\x00" not in text for text in sent)
    server.seen.clear()
    again = reasoning(data, server)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert not server.seen
    assert (data / CACHE).is_file()


def test_reasoning_dry_run_reports_the_texts_to_embed_and_sends_nothing(data: Path, server: LoopbackServer) -> None:
    n = 6 + 5 + len(load_templates().texts)
    before = reasoning(data, server, "--dry-run", "--cache", data / "mine.sqlite")
    assert before.returncode == 0, said(before)
    assert not server.seen
    assert not (data / "mine.sqlite").exists()
    lines = {line[:12].strip(): line[12:] for line in before.stdout.splitlines()}
    assert lines["responses"] == "25, 23 of which contain text"
    assert lines["texts"] == f"{n} different texts and templates; 1 would be truncated"
    assert lines["stored"].startswith("0 embeddings in ")
    assert lines["to embed"].startswith(f"{n} texts of ")
    assert lines["to embed"].endswith(" bytes, for a fee")
    reasoning(data, server, "--cache", data / "mine.sqlite")
    after = reasoning(data, server, "--dry-run", "--cache", data / "mine.sqlite")
    assert f"stored      {n} embeddings in {data / 'mine.sqlite'}\nto embed    0 texts of 0 bytes" in after.stdout


@pytest.mark.slow
def test_reasoning_writes_csv_markdown_text_and_a_figure(data: Path, server: LoopbackServer, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: it comes with the report extra")
    for ending, beginning in (
        (".csv", "panel,sport,respondent"),
        (".md", "**Published method"),
        (".txt", "Published method"),
    ):
        done = reasoning(data, server, "--out", tmp_path / f"out{ending}", "--figure", tmp_path / "shares.png")
        assert done.returncode == 0, said(done)
        text = (tmp_path / f"out{ending}").read_text(encoding="utf-8")
        assert text.startswith(beginning), text[:80]
        assert "spotball-reasoning|v:" in text
        assert f"wrote {tmp_path / 'shares.png'}" in done.stderr
    assert (tmp_path / "shares.png").read_bytes().startswith(b"\x89PNG")


def test_reasoning_uses_templates_from_a_user_file(data: Path, server: LoopbackServer, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('name = "mine"\nversion = "7"\n[categories]\nnear = ["It is close."]\nfar = ["It is far."]\n')
    done = reasoning(data, server, "--templates", own, "--format", "json")
    assert done.returncode == 0, said(done)
    assert json.loads(done.stdout)["categories"] == ["near", "far"]
    assert {"It is close.", "It is far."} <= set(asked(server))


def test_embedder_names_contain_the_entry_points_of_pyproject() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spotball.embedders"]
    assert {"gemini", "openai", "sentence-transformers"} == set(table) <= set(names())


@pytest.mark.slow
def test_reasoning_on_a_terminal_shows_a_progress_bar(
    data: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    status, seen = on_terminal(*arguments(data, server.url), columns=100)
    assert status == 0, seen
    assert "━" in seen
    assert "47 of 47 texts embedded\n" in seen


class TestWhatGoesWrong:
    @pytest.mark.slow
    def test_reasoning_retries_transient_errors_silently_with_quiet(self, data: Path, server: LoopbackServer) -> None:
        server.script(faults.STORM, faults.DROP, faults.status(429, retry_after="0.01"))
        done = reasoning(data, server, "--quiet")
        assert (done.returncode, done.stderr) == (0, "")
        assert set(asked(server).values()) == {1}

    @pytest.mark.slow
    def test_reasoning_with_lasting_server_errors_exits_with_1_and_keeps_received_embeddings(
        self, data: Path, server: LoopbackServer
    ) -> None:
        server.script(None)
        server.always(faults.STORM)
        done = reasoning(data, server, "--attempts", "2", "--concurrency", "1")
        assert done.returncode == 1, said(done)
        assert (
            "of 47 texts embedded, 2 attempts failed. A request failed on every attempt: 127.0.0.1: HTTP 500"
            in done.stderr
        )
        assert done.stdout == ""
        first = asked(server)
        assert first
        server.seen.clear()
        server.always(None)
        assert reasoning(data, server).returncode == 0
        assert not set(first) & set(asked(server))

    def test_reasoning_with_a_wrong_key_exits_with_2_and_does_not_show_the_key(self, data: Path) -> None:
        with serve(OpenAIEmbeddings(keys={"another"})) as other:
            done = reasoning(data, other)
        assert (done.returncode, codes(done.stderr)) == (2, ["request-rejected"])
        assert "127.0.0.1: HTTP 401: Incorrect API key provided: [key]" in done.stderr
        assert KEY not in said(done)
        assert KEY.encode() not in (data / CACHE).read_bytes()

    def test_reasoning_of_responses_without_rationales_is_an_error(self, data: Path, server: LoopbackServer) -> None:
        _write(data, [{"sport": "soccer", "image": "1", "cell": "C3"}])
        done = reasoning(data, server)
        assert (done.returncode, codes(done.stderr)) == (2, ["invalid-value"])
        assert "reasoning: " in done.stderr
        assert not (data / CACHE).exists()

    @pytest.mark.parametrize(
        ("options", "code", "named"),
        [
            (["--embedder", "nobody"], "unknown-name", "'nobody'"),
            (["--task-type", "clustering"], "unsupported-option", "--task-type: "),
            (["--templates", "no-such"], "unknown-name", "'no-such'"),
            (["--figure", "shares.gif"], "unsupported-format", "--figure: "),
            (["--out", "report.pdf"], "unsupported-format", "--out: "),
        ],
    )
    def test_reasoning_with_an_invalid_option_is_an_error_and_sends_nothing(
        self, data: Path, server: LoopbackServer, options: list[str], code: str, named: str
    ) -> None:
        done = reasoning(data, server, *options)
        assert (done.returncode, codes(done.stderr)) == (2, [code])
        assert named in done.stderr
        assert not server.seen

    def test_reasoning_with_another_file_as_cache_is_an_error_and_keeps_the_file(
        self, data: Path, server: LoopbackServer, tmp_path: Path
    ) -> None:
        (tmp_path / "notes.txt").write_text("mine " * 200)
        done = reasoning(data, server, "--cache", tmp_path / "notes.txt")
        assert (done.returncode, codes(done.stderr)) == (2, ["damaged-store"])
        assert str(tmp_path / "notes.txt") in done.stderr
        assert (tmp_path / "notes.txt").read_text() == "mine " * 200
        assert not server.seen


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_reasoning_after_a_kill_or_interrupt_does_not_repeat_stored_texts(data: Path, number: signal.Signals) -> None:
    rows = [
        {"sport": "soccer", "image": "1", "sample": sample, "cell": "C3", "reasoning": f"He looks, {sample}."}
        for sample in range(1, 401)
    ]
    _write(data, rows)
    with serve(OpenAIEmbeddings(keys={KEY}), delay=0.15) as server:
        line = arguments(data, server.url, "--concurrency", "2", "--quiet")
        process = subprocess.Popen(
            [sys.executable, "-m", "spotball_core", *line], env={**os.environ, **ENV}, stderr=subprocess.PIPE, text=True
        )
        until = time.monotonic() + 120
        while len(server.asked) < 5 and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert process.returncode == (-9 if number is signal.SIGKILL else 130), err
        assert "Traceback" not in err
        before = asked(server)
        server.seen.clear()
        server.delay = 0.0
        done = here(*line)
        assert done.returncode == 0, said(done)
        after = asked(server)
    # Two requests of at most 32 texts each were in progress.
    assert sum((before & after).values()) <= 64
    assert len(before) >= 5 * 32 - 64
    assert set(before) | set(after) == {row["reasoning"] for row in rows} | set(load_templates().texts)
