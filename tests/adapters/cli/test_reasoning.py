"""Test `spotball reasoning` from responses to report, with embeddings from a loopback server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_adapters.embedders.cache import CACHE
from spotball_adapters.embedders.embed import as_sent
from spotball_adapters.embedders.protocol import names
from spotball_core.io.dataset import read_dataset
from spotball_core.reasoning.analysis import analyze
from spotball_core.reasoning.rationales import read_rationales
from spotball_core.reasoning.templates import load_templates
from tests.adapters import faults
from tests.adapters.run_process import ENV, KEY, Done, check_error, dataset, good, here, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_embeddings import OpenAIEmbeddings, vector_of
from tests.builders import write_jsonl
from tests.cli.process import on_terminal
from tests.conftest import ROOT
from tests.waiting import until

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
    write_jsonl(folder / "responses.jsonl", rows)
    return folder


def arguments(data: Path, url: str, *more: str | Path) -> list[str]:
    fixed = ["reasoning", str(data), "--embedder", "openai", "--model", "small", "--base-url", url]
    return [*fixed, "--bootstrap", "50", *map(str, more)]


def reasoning(data: Path, server: LoopbackServer, *more: str | Path) -> Done:
    return here(*arguments(data, server.url, *more))


def report(data: Path, server: LoopbackServer, *more: str | Path) -> dict[str, Any]:
    """Run the command, check that it succeeds, and return its report."""
    found: dict[str, Any] = json.loads(good(*arguments(data, server.url, "--format", "json", *more)).stdout)
    return found


def asked(server: LoopbackServer) -> Counter[str]:
    """Return how often the server returned an embedding for each text."""
    answered = [one.asked for one in server.seen if one.asked is not None and one.status == 200]
    return Counter(text for one in answered for _, text in one.turns)


def test_reasoning_report_equals_the_analysis_of_embeddings_that_are_requested_once_per_text(
    data: Path, server: LoopbackServer
) -> None:
    found = report(data, server)
    sent = asked(server)
    known = read_dataset([str(data)])
    rationales, templates = read_rationales([str(data / "responses.jsonl")], known.scenes), load_templates()
    texts = [as_sent(text) for text in rationales.texts]
    expected = analyze(
        rationales,
        known.scenes,
        templates,
        np.array([vector_of(one.text) for one in texts]),
        np.array([vector_of(text) for text in templates.texts]),
        embedder="openai",
        model="small",
        truncated=[one.cut for one in texts],
        bootstrap=50,
    )
    assert found == json.loads(expected.model_dump_json())
    counts = found["texts"]
    assert (counts["n_responses"], counts["n_controls"], counts["n_empty"]) == (15 + len(ODD), 3, 2)
    assert (counts["n_without_letters"], counts["n_truncated"], counts["n_duplicates"]) == (1, 1, 9)
    assert counts["n_seem_not_english"] >= 1
    assert counts["longest"] == 10_000
    # Texts of controls and empty texts are not sent.
    words = {f"Her arm is raised, {number}." for number in range(5)} | {"They look at it."}
    odd = {as_sent(text).text for text in ODD.values()} - {""}
    assert sent == Counter(words | odd | set(templates.texts))
    assert all("\x00" not in text for text in sent)
    server.seen.clear()
    assert report(data, server) == found
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
def test_reasoning_writes_csv_markdown_and_text(data: Path, server: LoopbackServer, tmp_path: Path) -> None:
    beginnings = {".csv": "panel,sport,respondent", ".md": "**Published method", ".txt": "Published method"}
    for ending, beginning in beginnings.items():
        done = reasoning(data, server, "--out", tmp_path / f"out{ending}")
        assert done.returncode == 0, said(done)
        text = (tmp_path / f"out{ending}").read_text(encoding="utf-8")
        assert text.startswith(beginning), text[:80]
        assert "spotball-reasoning|v:" in text


def test_reasoning_uses_templates_from_a_user_file(data: Path, server: LoopbackServer, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('name = "mine"\nversion = "7"\n[categories]\nnear = ["It is close."]\nfar = ["It is far."]\n')
    assert report(data, server, "--templates", own)["categories"] == ["near", "far"]
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


class TestErrors:
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
        problem = "2 attempts failed. A request failed on every attempt: 127.0.0.1: HTTP 500"
        assert f"of 47 texts embedded, {problem}" in done.stderr
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
        check_error(done, "request-rejected", "127.0.0.1: HTTP 401: Incorrect API key provided: [key]")
        assert KEY not in said(done)
        assert KEY.encode() not in (data / CACHE).read_bytes()

    @pytest.mark.parametrize(
        ("options", "code", "named"),
        [
            ("--task-type clustering", "unsupported-option", "--task-type: "),
            ("--out report.pdf", "unsupported-format", "--out: "),
        ],
    )
    def test_reasoning_with_an_invalid_option_is_an_error_and_sends_nothing(
        self, data: Path, server: LoopbackServer, options: str, code: str, named: str
    ) -> None:
        check_error(reasoning(data, server, *options.split()), code, named)
        assert not server.seen

    def test_reasoning_with_another_file_as_cache_is_an_error_and_keeps_the_file(
        self, data: Path, server: LoopbackServer, tmp_path: Path
    ) -> None:
        notes = tmp_path / "notes.txt"
        notes.write_text("mine " * 200)
        check_error(reasoning(data, server, "--cache", notes), "damaged-store", str(notes))
        assert notes.read_text() == "mine " * 200
        assert not server.seen


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_reasoning_after_a_kill_or_interrupt_does_not_repeat_stored_texts(data: Path, number: signal.Signals) -> None:
    texts = {sample: f"He looks, {sample}." for sample in range(1, 401)}
    row = {"sport": "soccer", "image": "1", "cell": "C3"}
    write_jsonl(data / "responses.jsonl", ({**row, "sample": n, "reasoning": text} for n, text in texts.items()))
    with serve(OpenAIEmbeddings(keys={KEY}), delay=0.15) as server:
        line = arguments(data, server.url, "--concurrency", "2", "--quiet")
        command = [sys.executable, "-m", "spotball_core", *line]
        process = subprocess.Popen(command, env={**os.environ, **ENV}, stderr=subprocess.PIPE, text=True)
        until(lambda: len(server.asked) >= 5)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert process.returncode == (-9 if number is signal.SIGKILL else 130), err
        assert "Traceback" not in err
        before = asked(server)
        server.seen.clear()
        server.delay = 0.0
        good(*line)
        after = asked(server)
    # When the signal was sent, two requests of at most 32 texts each were in progress.
    assert sum((before & after).values()) <= 64
    assert len(before) >= 5 * 32 - 64
    assert set(before) | set(after) == {*texts.values(), *load_templates().texts}
