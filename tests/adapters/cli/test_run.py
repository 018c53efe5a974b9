"""Test `spotball run` and `spotball reparse` as processes, against a loopback server."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from spotball_adapters.cli import run as command_module
from spotball_adapters.prompts.prompt import load_prompt
from spotball_adapters.runs import limits
from spotball_adapters.runs.store import STORE
from tests.adapters.faults import BROKEN_JSON, DROP, ENDLESS, OVERLOADED, RESET, TRUNCATED, body, reply, status
from tests.adapters.run_process import (
    ENV,
    KEY,
    MODEL,
    command,
    dataset,
    expected,
    here,
    query,
    replies,
    rows,
    run,
    run_process,
    said,
)
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import INPUT_TOKENS, OUTPUT_TOKENS, cell_of
from tests.cli.process import on_terminal, spotball
from tests.damage import DAMAGES
from tests.failures import codes

KEYS = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
ALL = ("--prompt", "base,cue,cot", "--samples", "4,3,2")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol(keys={KEY})) as started:
        yield started


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


class TestAWholeRun:
    def test_run_stores_every_sample_once_and_score_reads_the_responses(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        done = run(data, out, server.url, *ALL)
        assert done.returncode == 0, said(done)
        assert set(replies(out)) == expected(3, base=4, cue=3, cot=2)
        assert len(set(replies(out).values())) == len(replies(out))
        # Each request is billed for its image: base, cue and each question of cot request all samples at once.
        assert server.log()["requests"] == 3 * (1 + 1 + 3 + 2)
        found = rows(out)
        assert len(found) == 3 * (4 + 3 + 2)
        assert {(row["respondent"], row["kind"], row["participant"]) for row in found} == {(MODEL, "model", None)}
        for row in found:
            step = 3 if row["prompt"] == "cot" else 0
            text = replies(out)[row["sport"], row["image"], row["prompt"], step, row["sample"]]
            number, question = re.match(r"Reasoning: reply (\d+) to question (\w+)\.", text).groups()  # type: ignore[union-attr]
            assert row["cell"] == cell_of(question, int(number))
            assert row["reasoning"] == f"reply {number} to question {question}."
        score = spotball("score", out, "--bootstrap", "0", "--format", "csv")
        assert score.returncode == 0, said(score)
        assert done.stderr.count("Completed 45 of 45 replies; 0 of 27 samples could not be parsed.\n") == 1
        shown = [line.split() for line in done.stderr.splitlines() if re.match(r"(base|cue|cot|all) ", line)]
        table = {prompt: counts for prompt, *counts in shown}
        assert table == {
            "base": ["12", "12", "0"],
            "cue": ["9", "9", "0"],
            "cot": ["6", "6", "0"],
            "all": ["27", "27", "0"],
        }
        assert f"Responses: {out}/responses.jsonl\n" in done.stderr

    def test_run_sends_the_settings_images_and_prompts_of_the_command(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        settings = ("--temperature", "0.7", "--top-p", "0.9", "--max-output-tokens", "300", "--seed", "5")
        assert run(data, out, server.url, "--prompt", "cue", "--samples", "2", *settings).returncode == 0
        assert {asked.key for asked in server.asked} == {KEY}
        wanted = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 300, "seed": 5}
        assert [dict(asked.settings) for asked in server.asked] == [wanted] * 3
        pictures = {picture[1] for asked in server.asked for picture in asked.pictures}
        assert pictures == {path.read_bytes() for path in (out / "pictures").iterdir()}
        assert len(pictures) == 3
        sports = {"soccer": 2, "volleyball": 1}
        for sport, n in sports.items():
            turns = (("user", load_prompt("cue").final(sport)[0].text),)
            assert [asked.turns for asked in server.asked].count(turns) == n

    def test_run_stores_its_identity_token_counts_and_package_versions(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        run(data, out, server.url, "--prompt", "cot", "--samples", "2", "--temperature", "0.6")
        identity = dict(query(out, "SELECT name, value FROM run"))
        assert identity["provider"] == '"openai"'
        assert identity["model"] == f'"{MODEL}"'
        assert identity["base_url"] == f'"{server.url}"'
        assert identity["temperature"] == "0.6"
        assert load_prompt("cot").digest in identity["prompt cot"]
        assert query(out, "SELECT DISTINCT model, attempt, input_tokens, length(picture) FROM requests") == [
            (f"{MODEL}-2025-04-14", 1, INPUT_TOKENS, 64)
        ]
        assert query(out, "SELECT sum(output_tokens) FROM requests") == [(3 * 2 * 4 * OUTPUT_TOKENS,)]
        ((packages, outcome),) = query(out, "SELECT packages, outcome FROM sessions")
        assert outcome == "finished"
        assert "httpx" in packages
        assert "spotball-core" in packages

    def test_run_with_format_parquet_replaces_the_jsonl_responses(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        run(data, out, server.url, *ALL)
        lines = rows(out)
        assert run(data, out, server.url, *ALL, "--format", "parquet").returncode == 0
        assert pl.read_parquet(out / "responses.parquet").to_dicts() == lines
        assert not (out / "responses.jsonl").exists()

    def test_run_excludes_controls_without_the_controls_option(
        self, tmp_path: Path, out: Path, server: LoopbackServer
    ) -> None:
        data = dataset(tmp_path / "data", images=4, controls=2)
        assert run(data, out, server.url, "--prompt", "base", "--samples", "2").returncode == 0
        assert set(replies(out)) == expected(2, base=2)
        assert run(data, out, server.url, "--prompt", "base", "--samples", "2", "--controls").returncode == 0
        assert set(replies(out)) == expected(4, base=2)

    def test_run_with_a_limit_takes_images_from_the_sports_in_turn(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        assert run(data, out, server.url, "--prompt", "base", "--samples", "1", "--limit", "2").returncode == 0
        assert set(replies(out)) == expected(2, base=1)

    def test_run_accepts_a_prompt_file_of_the_user(
        self, data: Path, out: Path, server: LoopbackServer, tmp_path: Path
    ) -> None:
        mine = tmp_path / "mine.toml"
        mine.write_text('name = "mine"\nversion = "3"\ntext = "Where in this {sport} image?"\n')
        assert run(data, out, server.url, "--prompt", f"base,{mine}", "--samples", "1,2").returncode == 0
        assert {(row["prompt"], row["sample"]) for row in rows(out)} == {("base", 1), ("mine", 1), ("mine", 2)}

    @pytest.mark.slow
    def test_run_prints_nothing_with_quiet_and_shows_progress_on_a_terminal(
        self, data: Path, tmp_path: Path, server: LoopbackServer
    ) -> None:
        done = run(data, tmp_path / "quiet", server.url, *ALL, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        server.delay = 0.1
        options = command(data, tmp_path / "terminal", server.url, *ALL, "--concurrency", "1")[3:]
        os.environ.update(ENV)
        try:
            code, shown = on_terminal(*options)
        finally:
            del os.environ["OPENAI_API_KEY"]
        assert code == 0, shown
        assert re.search(r"\d+ of 45 replies, \d+\.\d per second, [\d,]+ tokens, 0 failed requests", shown)


class TestAgain:
    def test_rerun_of_a_complete_run_sends_no_requests(self, data: Path, out: Path, server: LoopbackServer) -> None:
        run(data, out, server.url, *ALL)
        before, requests = replies(out), server.log()["requests"]
        done = run(data, out, server.url, *ALL)
        assert done.returncode == 0, said(done)
        assert server.log()["requests"] == requests
        assert replies(out) == before

    def test_rerun_with_more_samples_prompts_and_images_sends_only_the_missing_requests(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        run(data, out, server.url, "--prompt", "base", "--samples", "2", "--limit", "1")
        before = replies(out)
        assert run(data, out, server.url, *ALL).returncode == 0
        after = replies(out)
        assert set(after) == expected(3, base=4, cue=3, cot=2)
        assert {key: after[key] for key in before} == before
        assert sum(server.given.values()) == len(after)

    @pytest.mark.parametrize(
        ("options", "difference"),
        [
            (("--temperature", "0.9"), "temperature: 0.5 -> 0.9"),
            (("--temperature", "0.5", "--seed", "1"), "seed: .+ -> 1"),
            (("--temperature", "0.5", "--respondent", "other"), f"respondent: {MODEL} -> other"),
            (("--temperature", "0.5", "--model", "other"), f"model: {MODEL} -> other"),
        ],
    )
    def test_rerun_with_different_settings_is_an_error(
        self, data: Path, out: Path, server: LoopbackServer, options: tuple[str, ...], difference: str
    ) -> None:
        run(data, out, server.url, "--prompt", "base", "--samples", "1", "--temperature", "0.5")
        before, requests = replies(out), server.log()["requests"]
        done = run(data, out, server.url, "--prompt", "base", "--samples", "2", *options)
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert re.search(f"^  {difference}$", done.stderr, re.MULTILINE)
        assert server.log()["requests"] == requests
        assert replies(out) == before

    @pytest.mark.parametrize(
        ("options", "difference"),
        [
            (("--extra-body", '{"top_k": 20}'), "extra_body: .+ -> top_k 20"),
            (("--reasoning-effort", "low"), "reasoning_effort: .+ -> low"),
        ],
    )
    def test_rerun_reads_a_store_without_extra_body_and_reasoning_effort_as_not_set(
        self, data: Path, out: Path, server: LoopbackServer, options: tuple[str, ...], difference: str
    ) -> None:
        asked = ("--prompt", "base", "--samples")
        run(data, out, server.url, *asked, "1")
        store = sqlite3.connect(out / STORE)
        with store:
            # The previous version did not write these fields.
            store.execute("DELETE FROM run WHERE name IN ('extra_body', 'reasoning_effort')")
        store.close()
        done = run(data, out, server.url, *asked, "2", *options)
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert re.search(f"^  {difference}$", done.stderr, re.MULTILINE)
        assert run(data, out, server.url, *asked, "2").returncode == 0
        assert set(replies(out)) == expected(3, base=2)

    def test_run_sends_and_stores_extra_body_and_reasoning_effort(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        options = ("--prompt", "base", "--extra-body", '{"top_k": 20}', "--reasoning-effort", "low")
        dry = run(data, out, server.url, *options, "--dry-run")
        assert 'settings    reasoning_effort low, extra_body {"top_k": 20}\n' in dry.stdout
        assert run(data, out, server.url, *options, "--samples", "1").returncode == 0
        assert [dict(asked.settings) for asked in server.asked] == [{"top_k": 20, "reasoning_effort": "low"}] * 3
        identity = dict(query(out, "SELECT name, value FROM run"))
        assert (identity["extra_body"], identity["reasoning_effort"]) == ('{"top_k": 20}', '"low"')
        assert run(data, out, server.url, *options, "--samples", "2").returncode == 0
        done = run(data, out, server.url, "--prompt", "base", "--samples", "2", "--extra-body", '{"top_k": 5}')
        assert "  extra_body: top_k 20 -> top_k 5\n" in done.stderr

    def test_rerun_distinguishes_true_from_1_in_extra_body(self, data: Path, out: Path, server: LoopbackServer) -> None:
        command = ("--prompt", "base", "--samples", "1", "--extra-body")
        assert run(data, out, server.url, *command, '{"top_k": 1}').returncode == 0
        done = run(data, out, server.url, *command, '{"top_k": true}')
        assert done.returncode == 2
        assert "  extra_body: top_k 1 -> top_k True\n" in done.stderr
        assert run(data, out, server.url, *command, '{"top_k": 1}').returncode == 0

    @pytest.mark.parametrize(
        ("text", "code", "value"),
        [
            ("top_k=20", "invalid-option", ""),
            ("[20]", "invalid-option", "'[20]'"),
            ("{}", "invalid-option", "'{}'"),
            ('{"a": NaN}', "invalid-option", "NaN"),
            ('{"n": 2}', "conflicting-options", "'n'"),
        ],
    )
    def test_run_with_an_invalid_extra_body_is_an_error(
        self, data: Path, out: Path, server: LoopbackServer, text: str, code: str, value: str
    ) -> None:
        done = run(data, out, server.url, "--extra-body", text)
        assert (done.returncode, codes(done.stderr)) == (2, [code])
        assert re.search(f"--extra-body: .*{re.escape(value)}", done.stderr)
        assert not out.exists()

    def test_rerun_accepts_another_number_of_samples_per_request(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        asked = ("--prompt", "base", "--samples", "5", "--limit", "1")
        assert run(data, out, server.url, *asked, "--samples-per-request", "2").returncode == 0
        assert sorted(seen.json.get("n", 1) for seen in server.seen) == [1, 2, 2]
        more = ("--prompt", "base", "--samples", "9", "--limit", "1", "--samples-per-request", "3")
        assert run(data, out, server.url, *more).returncode == 0
        assert sorted(seen.json.get("n", 1) for seen in server.seen[3:]) == [1, 3]
        assert set(replies(out)) == expected(1, base=9)
        dry = run(data, out, server.url, *asked, "--samples-per-request", "500", "--dry-run")
        assert "up to 128 samples per request" in dry.stdout

    def test_rerun_with_changed_scenes_prompts_or_images_is_an_error(
        self, tmp_path: Path, out: Path, server: LoopbackServer
    ) -> None:
        prompt = tmp_path / "mine.toml"
        prompt.write_text('name = "mine"\nversion = "3"\ntext = "Where in this {sport} image?"\n')
        data = dataset(tmp_path / "data", images=2)
        options = ("--prompt", prompt, "--samples", "1")
        run(data, out, server.url, *options)
        scenes = (data / "scenes.jsonl").read_text()
        (data / "scenes.jsonl").write_text(scenes.replace("C2", "C3", 1))
        assert re.search(r"  scenes: \w{64} -> \w{64}\n", run(data, out, server.url, *options).stderr)
        (data / "scenes.jsonl").write_text(scenes)
        prompt.write_text('name = "mine"\nversion = "3"\ntext = "Where in that {sport} image?"\n')
        assert "  prompt mine: " in run(data, out, server.url, *options).stderr
        prompt.write_text('name = "mine"\nversion = "3"\ntext = "Where in this {sport} image?"\n')
        (data / "images/soccer/1.png").write_bytes((data / "images/volleyball/1.png").read_bytes())
        done = run(data, out, server.url, *options)
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert "soccer/1" in done.stderr
        assert len(replies(out)) == 2


class TestFaults:
    @pytest.mark.slow
    def test_run_completes_after_transient_errors(self, data: Path, out: Path, server: LoopbackServer) -> None:
        faults = (DROP, RESET, TRUNCATED, BROKEN_JSON, OVERLOADED, *(status(code) for code in (408, 409, 429, 500)))
        server.script(*faults)
        done = run(data, out, server.url, "--prompt", "base", "--samples", "3")
        assert done.returncode == 0, said(done)
        assert set(replies(out)) == expected(3, base=3)
        # The server may mean by status 500 that it supports only one sample: one is requested, then the others.
        assert f"sent {4 + len(faults)} requests, of which {len(faults)} failed" in done.stderr
        assert "stamina" not in done.stderr

    def test_run_stores_the_reason_for_each_unparsed_reply(self, data: Path, out: Path, server: LoopbackServer) -> None:
        server.script(*(reply(style) for style in ("refusal", "filtered", "empty", "cut-off")))
        done = run(data, out, server.url, "--prompt", "base,cue", "--samples", "1", "--concurrency", "1")
        assert done.returncode == 0, said(done)
        problems = query(out, "SELECT problem, count(*) FROM parsed GROUP BY problem ORDER BY problem")
        assert problems == [(None, 2), ("cut off", 1), ("empty", 1), ("filtered", 1), ("refused", 1)]
        assert sum(row["cell"] is None for row in rows(out)) == 4
        assert "Completed 6 of 6 replies; 4 of 6 samples could not be parsed.\n" in done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("Unparsed samples by reason: ")]
        assert sorted(line[28:-1].split(", ")) == ["cut off 1", "empty 1", "filtered 1", "refused 1"]
        finishes = query(out, "SELECT finish FROM replies ORDER BY request")
        assert finishes == [("refused",), ("filtered",), ("stop",), ("length",), ("stop",), ("stop",)]

    def test_run_stops_at_a_permanent_error_with_a_one_line_message(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        server.script(None, status(404, "no such model", code="model_not_found"))
        done = run(data, out, server.url, "--prompt", "base", "--samples", "5", "--concurrency", "1")
        assert (done.returncode, codes(done.stderr)) == (2, ["request-rejected"])
        assert "127.0.0.1: HTTP 404: no such model" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
        assert len(replies(out)) == 5
        assert len(rows(out)) == 5
        assert server.log()["requests"] == 2

    def test_run_stops_after_ten_failed_requests_in_a_row_and_can_be_resumed(
        self, tmp_path: Path, out: Path, server: LoopbackServer
    ) -> None:
        data = dataset(tmp_path / "data", images=6)
        server.always(status(500, "overheated"))
        done = run(data, out, server.url, *ALL, "--attempts", "1", "--concurrency", "1")
        assert done.returncode == 1
        assert re.search(r"^90 of 90 .*\b10\b.*: 127\.0\.0\.1: HTTP 500: overheated$", done.stderr, re.MULTILINE)
        # The first requests are repeated for one sample, because a server may refuse several with status 500.
        assert 10 < server.log()["requests"] <= 20
        server.always(None)
        assert run(data, out, server.url, *ALL).returncode == 0
        assert set(replies(out)) == expected(6, base=4, cue=3, cot=2)

    @pytest.mark.slow
    def test_run_reports_a_long_pause_that_the_server_requests(
        self, data: Path, out: Path, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "LONG_WAIT", 0.6)
        server.script(status(429, "too many requests", retry_after="3"))
        done = run(data, out, server.url, "--prompt", "base", "--samples", "1")
        assert done.returncode == 0, said(done)
        # The message comes after the usual pause before a retry, so the rest of the pause is shorter.
        announced = "waiting [123] s: the server requested a pause: 127.0.0.1: HTTP 429: too many requests"
        assert len(re.findall(announced, done.stderr)) == 1
        server.script(status(503, "overloaded"))
        assert "waiting" not in run(data, out, server.url, "--prompt", "cue", "--samples", "1", "--quiet").stderr

    def test_run_names_the_image_that_failed_on_every_attempt(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        server.script(*[status(500, "overheated")] * 2)
        line = ("--prompt", "base", "--samples", "1", "--attempts", "2", "--concurrency", "1")
        done = run(data, out, server.url, *line)
        assert done.returncode == 1
        fault = "soccer/1 failed on every attempt; the last error: 127.0.0.1: HTTP 500: overheated"
        assert f"1 of 3 replies are missing: {fault}\n" in done.stderr

    def test_run_stops_at_a_response_larger_than_the_limit_and_can_be_resumed(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        server.always(ENDLESS)
        done = run(data, out, server.url, *ALL, "--max-response-mb", "0.5", "--concurrency", "1")
        assert (done.returncode, codes(done.stderr)) == (2, ["request-rejected"])
        assert re.match(r"error: soccer/1: 127\.0\.0\.1: .*\b0\.5 MB\b", done.stderr.splitlines()[-1])
        server.always(None)
        assert run(data, out, server.url, *ALL).returncode == 0

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
    def test_run_without_enough_memory_ends_with_an_error_message(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        import resource

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_DATA, (600 * 10**6, 600 * 10**6))

        server.always(ENDLESS)
        line = command(data, out, server.url, *ALL, "--max-response-mb", "100000", "--limit", "1")
        threads = {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        done = subprocess.run(
            line, capture_output=True, text=True, check=False, env={**os.environ, **ENV, **threads}, preexec_fn=limited
        )
        # Depending on where memory runs out, the run stops by itself, or the command ends without a code.
        endings = (2, ["out-of-memory"]), (2, ["request-rejected"]), (1, [])
        assert (done.returncode, codes(done.stderr)) in endings, said(done)
        assert re.search(r"error: .*memory.*\n$", done.stderr), said(done)
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("tokens", [10**9, 10**9 + 1, 2**63, 10**30])
    def test_run_stores_no_token_count_above_one_billion(
        self, data: Path, out: Path, server: LoopbackServer, tokens: int
    ) -> None:
        usage = {"prompt_tokens": tokens, "completion_tokens": tokens}
        answer = {"choices": [{"message": {"content": "Cell: D5"}}], "usage": usage}
        server.always(body(json.dumps(answer)))
        done = run(data, out, server.url, "--prompt", "base", "--samples", "9", "--concurrency", "1")
        assert done.returncode == 0, said(done)
        assert len(rows(out)) == 27
        stored = query(out, "SELECT max(input_tokens) FROM requests")
        assert stored == [(tokens if tokens <= 10**9 else None,)]

    def test_run_stops_at_max_requests_or_max_tokens_and_can_be_resumed(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        done = run(data, out, server.url, *ALL, "--max-requests", "4")
        assert done.returncode == 1
        assert server.log()["requests"] == 4
        assert "replies are missing: the limit of 4 requests (--max-requests) was reached" in done.stderr
        done = run(data, out, server.url, *ALL, "--max-tokens", "1", "--concurrency", "1")
        assert done.returncode == 1
        assert server.log()["requests"] == 5
        assert run(data, out, server.url, *ALL).returncode == 0
        assert sum(server.given.values()) == len(replies(out)) == 45

    def test_max_requests_counts_a_rejected_request_and_its_repetition_with_one_sample(
        self, data: Path, out: Path
    ) -> None:
        with serve(OpenAIProtocol(keys={KEY}, most=1)) as one_at_a_time:
            limits = ("--max-requests", "4", "--concurrency", "1")
            done = run(data, out, one_at_a_time.url, "--prompt", "base", "--samples", "3", *limits)
            assert done.returncode == 1
            assert one_at_a_time.statuses == {400: 1, 200: 3}
        assert "sent 4 requests, of which 1 failed" in done.stderr
        assert len(replies(out)) == 3

    @pytest.mark.slow
    def test_interrupted_run_stores_the_replies_of_requests_in_progress(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        server.delay = 0.3
        options = ("--prompt", "base", "--samples", "40", "--concurrency", "2", "--seed", "1")
        server.speaks.most = 1  # type: ignore[attr-defined]
        line = command(data, out, server.url, *options)
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV}) as child:
            while server.log()["requests"] < 4:
                assert child.poll() is None
            child.send_signal(signal.SIGINT)
            _, stderr = child.communicate(timeout=60)
        assert child.returncode == 130, stderr
        assert "missing: interrupted" in stderr
        assert len(replies(out)) == sum(server.given.values()) == len(rows(out)) > 0
        assert query(out, "SELECT outcome FROM sessions") == [("interrupted",)]


@pytest.mark.parametrize("damage", ["empty", "truncated"])
def test_run_and_reparse_with_a_damaged_store_are_errors_and_send_nothing(
    data: Path, out: Path, server: LoopbackServer, damage: str
) -> None:
    run(data, out, server.url, *ALL)
    requests = server.log()["requests"]
    DAMAGES[damage](out / STORE)
    before = (out / STORE).read_bytes()
    commands = (lambda: run(data, out, server.url, *ALL), lambda: run(data, out, server.url, *ALL, "--dry-run"))
    for done in (*(start() for start in commands), here("reparse", str(out))):
        assert (done.returncode, done.stdout, codes(done.stderr)) == (2, "", ["damaged-store"]), said(done)
        assert f"error: {out / STORE}: " in done.stderr
        assert "Traceback" not in done.stderr
    assert server.log()["requests"] == requests
    assert (out / STORE).read_bytes() == before


class TestNoKey:
    @pytest.fixture(autouse=True)
    def _no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for variable in KEYS.values():
            monkeypatch.delenv(variable, raising=False)

    @pytest.mark.parametrize("provider", KEYS)
    def test_run_without_a_key_is_an_error_and_writes_nothing(self, data: Path, out: Path, provider: str) -> None:
        options = ["run", str(data), "--provider", provider, "--model", MODEL, "--out", str(out)]
        done = here(*options, env={})
        assert (done.returncode, done.stdout, codes(done.stderr)) == (2, "", ["missing-key"]), said(done)
        assert provider in done.stderr
        assert KEYS[provider] in done.stderr
        assert done.stderr.count("\n") == 1
        assert not out.exists()
        assert here(*options, "--dry-run", env={}).returncode == 0

    def test_rerun_of_a_complete_run_does_not_need_a_key(self, out: Path, tmp_path: Path) -> None:
        data = dataset(tmp_path / "data", images=1)
        options = ["run", str(data), "--provider", "anthropic", "--model", MODEL, "--prompt", "base", "--out", str(out)]
        with serve(AnthropicProtocol(keys={KEY}), base_path="") as server:
            options += ["--base-url", server.url]
            assert here(*options, "--samples", "2", env={KEYS["anthropic"]: KEY}).returncode == 0
        before = rows(out)
        (out / "responses.jsonl").unlink()
        done = here(*options, "--samples", "2", env={})
        assert done.returncode == 0, said(done)
        assert rows(out) == before
        assert here(*options, "--samples", "3", env={}).returncode == 2


class TestSecrets:
    @pytest.mark.slow
    def test_run_never_writes_or_prints_the_key_even_if_the_server_echoes_it(self, data: Path, out: Path) -> None:
        with serve(OpenAIProtocol(keys={KEY})) as good, serve(OpenAIProtocol(keys={"another"})) as bad:
            done = [
                run(data, out, good.url, *ALL),
                run_process(data, out.with_name("refused"), bad.url, *ALL),
                run_process(data, out.with_name("debug"), bad.url, *ALL, "--debug"),
                run(data, out.with_name("dry"), bad.url, *ALL, "--dry-run"),
            ]
            good.always(status(500, f"boom {KEY}"))
            done.append(run(data, out, good.url, *ALL, "--samples", "5", "--attempts", "1"))
        assert [one.returncode for one in done] == [0, 2, 2, 0, 1]
        assert "Incorrect API key provided: [key]" in done[1].stderr
        assert "Traceback" in done[2].stderr
        files = [path for path in out.parent.rglob("*") if path.is_file()]
        assert len(files) > 10
        for content in (*(path.read_bytes() for path in files), *((o.stdout + o.stderr).encode() for o in done)):
            assert KEY.encode() not in content

    def test_run_with_a_key_in_the_base_url_is_an_error(self, data: Path, out: Path) -> None:
        done = run_process(data, out, f"http://me:{KEY}@127.0.0.1:9/v1", *ALL)
        assert done.returncode == 2
        assert KEY not in done.stdout + done.stderr
        assert not out.exists()


class TestDryRun:
    def test_dry_run_shows_the_requests_and_sends_nothing(self, data: Path, out: Path, server: LoopbackServer) -> None:
        done = run(data, out, server.url, *ALL, "--dry-run", "--temperature", "0.5")
        assert done.returncode == 0, said(done)
        assert not out.exists()
        assert server.log()["requests"] == 0
        table = [line.split() for line in done.stdout.splitlines() if re.match(r"(base|cue|cot|all) ", line)]
        assert table == [
            ["base", "1", "12", "12", "3", "3", "unknown"],
            ["cue", "1", "9", "9", "3", "3", "unknown"],
            ["cot", "1", "6", "6", "15", "15", "unknown"],
            ["all", "27", "27", "21", "21", "unknown"],
        ]
        assert "settings    temperature 0.5\n" in done.stdout
        for name in ("base", "cue"):
            shown = "\n".join(line.removeprefix("    ") for line in done.stdout.splitlines())
            assert load_prompt(name).final("soccer")[0].text in shown
        assert all(question in done.stdout for question in load_prompt("cot").questions)

    def test_dry_run_does_not_count_requests_for_stored_replies(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        run(data, out, server.url, "--prompt", "base", "--samples", "4", "--limit", "2")
        done = run(data, out, server.url, *ALL, "--dry-run")
        assert re.search(r"^base 1 +12 +4 +1 +1 +unknown$", done.stdout, re.MULTILINE)

    def test_dry_run_counts_as_many_requests_as_the_run_sends(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        done = run(data, out, server.url, *ALL, "--dry-run")
        (planned,) = re.findall(r"^all +27 +27 +(\d+)", done.stdout, re.MULTILINE)
        run(data, out, server.url, *ALL)
        assert server.log()["requests"] == int(planned)


class TestReparse:
    def test_reparse_lists_samples_that_are_parsed_differently(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        run(data, out, server.url, "--prompt", "base", "--samples", "2")
        before = (out / "responses.jsonl").read_bytes()
        again = spotball("reparse", out)
        assert (again.returncode, again.stdout) == (0, "0 of 6 samples are parsed differently than before\n")
        assert (out / "responses.jsonl").read_bytes() == before
        # Simulate a run that an older version could not parse.
        with sqlite3.connect(out / STORE) as connection:
            connection.execute("UPDATE parsed SET cell = NULL, problem = 'no answer' WHERE image = '2'")
        (out / "responses.jsonl").unlink()
        again = spotball("reparse", out)
        cells = [row["cell"] for row in rows(out) if row["image"] == "2"]
        assert again.stdout.splitlines() == [
            f"soccer/2 base 1: unparsed (no answer) -> {cells[0]}",
            f"soccer/2 base 2: unparsed (no answer) -> {cells[1]}",
            "2 of 6 samples are parsed differently than before",
        ]
        assert (out / "responses.jsonl").read_bytes() == before

    def test_reparse_keeps_the_parse_policy_and_score_names_it_in_the_signature(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        run(data, out, server.url, "--prompt", "base", "--samples", "2")
        assert (out / "parsing.responses.json").read_text() == '{"parse_policy": "strict"}\n'
        assert here("score", str(out), "--bootstrap", "0").stdout.rstrip().endswith("|parse:strict")
        with sqlite3.connect(out / STORE) as connection:
            connection.execute("UPDATE replies SET text = 'The ball is most likely in D4.' WHERE image = '2'")
        assert here("reparse", str(out)).returncode == 0
        assert {row["cell"] for row in rows(out) if row["image"] == "2"} == {None}
        lenient = here("reparse", str(out), "--parse-policy", "lenient")
        assert "soccer/2 base 1: unparsed (no answer) -> D4" in lenient.stdout
        # Without the option, the run keeps its policy in every output format.
        assert here("reparse", str(out), "--format", "parquet").stdout.startswith(
            "0 of 6 samples are parsed differently"
        )
        assert here("score", str(out), "--bootstrap", "0").stdout.rstrip().endswith("|parse:lenient")

    def test_reparse_of_a_folder_without_a_run_is_an_error(self, tmp_path: Path) -> None:
        done = spotball("reparse", tmp_path)
        assert (done.returncode, codes(done.stderr)) == (2, ["wrong-folder"])
        assert list(tmp_path.iterdir()) == []


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "code", "value"),
        [
            (("--samples", "1,2"), "invalid-option", "--samples: "),
            (("--samples", "many"), "invalid-option", "'many'"),
            (("--samples", "0"), "invalid-option", "base"),
            (("--prompt", "best"), "unknown-name", "'best'"),
            (("--prompt", "base,base"), "duplicate", "--prompt: base"),
            (("--temperature", "9"), "invalid-option", "--temperature: "),
        ],
    )
    def test_run_with_an_invalid_option_is_an_error_and_writes_nothing(
        self, data: Path, out: Path, options: tuple[str, ...], code: str, value: str
    ) -> None:
        done = run(data, out, "http://127.0.0.1:9/v1", *options)
        assert (done.returncode, codes(done.stderr)) == (2, [code]), said(done)
        assert value in done.stderr
        assert not out.exists()

    def test_run_with_an_unreadable_image_is_an_error_and_sends_nothing(
        self, tmp_path: Path, out: Path, server: LoopbackServer
    ) -> None:
        data = dataset(tmp_path / "data", images=3)
        (data / "images/soccer/2.png").write_bytes(b"no image")
        done = run(data, out, server.url, *ALL)
        assert (done.returncode, codes(done.stderr)) == (2, ["unreadable-file"])
        assert "2.png: image: " in done.stderr
        assert server.log()["requests"] == 0
        # No request was sent yet, so the dataset may still be changed.
        mended = dataset(data, images=4)
        assert run(mended, out, server.url, *ALL).returncode == 0
        assert (out / "scenes.jsonl").read_bytes() == (mended / "scenes.jsonl").read_bytes()

    def test_preset_uses_the_settings_of_the_paper_and_options_override_it(self, data: Path, tmp_path: Path) -> None:
        def shown(*options: str) -> str:
            return here("run", str(data), "--dry-run", *options).stdout

        gpt = shown("--preset", "gpt")
        assert "model       gpt-4.1-mini, stored as model gpt\n" in gpt
        assert "settings    temperature 0.6\n" in gpt
        assert re.search(r"^base 1 +150 ", gpt, re.MULTILINE)
        assert re.search(r"^cot 1 +60 ", gpt, re.MULTILINE)
        other = shown("--preset", "gpt", "--model", "gpt-4.1", "--prompt", "cot", "--temperature", "1", "--seed", "3")
        assert "model       gpt-4.1, stored as model gpt-4.1\n" in other
        assert "settings    temperature 1.0, seed 3\n" in other
        assert re.findall(r"^(\w+) 1 +(\d+) ", other, re.MULTILINE) == [("cot", "60")]
        plain = shown("--provider", "openai", "--model", "m")
        assert re.findall(r"^(\w+) 1 +(\d+) ", plain, re.MULTILINE) == [("base", "150"), ("cue", "150"), ("cot", "60")]

    def test_run_without_a_known_provider_model_or_preset_is_an_error(self, data: Path) -> None:
        for options, code, values in (
            (["--model", "m"], "missing-option", ["--provider", "--model", "--preset"]),
            (["--preset", "gtp"], "unknown-name", ["'gtp'", "'gpt'", "gemini, gpt, llama, qwen"]),
            (["--provider", "opanai", "--model", "m"], "unknown-name", ["'opanai'"]),
        ):
            done = here("run", str(data), *options)
            assert (done.returncode, codes(done.stderr)) == (2, [code])
            assert all(value in done.stderr for value in values)

    @pytest.mark.slow
    @pytest.mark.parametrize("missing", ["stamina", "filelock", "PIL"])
    def test_run_without_the_adapters_extra_is_an_error(self, data: Path, out: Path, missing: str) -> None:
        code = (
            f"import sys; sys.modules[{missing!r}] = None;"
            "from spotball_core.cli.app import main; sys.argv[0] = 'spotball'; main()"
        )
        arguments = command(data, out, "http://127.0.0.1:9/v1", *ALL)[3:]
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, codes(done.stderr)) == (2, ["missing-extra"]), said(done)
        assert "spotball-core[adapters]" in done.stderr
        assert "Traceback" not in done.stderr

    def test_import_of_the_run_command_loads_no_heavy_packages(self) -> None:
        code = (
            f"import sys; import {command_module.__name__};"
            "print(*{'stamina', 'httpx', 'PIL', 'polars', 'filelock'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == []
