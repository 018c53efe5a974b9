"""Test `spotball run` and `spotball parse` as processes, against a loopback server."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spotball_adapters.cli import run as command_module
from spotball_adapters.prompts.prompt import load_prompt
from spotball_adapters.runs import limits
from spotball_adapters.runs.store import STORE
from spotball_core.version import install_command
from tests.adapters import run_process
from tests.adapters.faults import ENDLESS, body, reply, status
from tests.adapters.run_process import ENV, KEY, MODEL, Done, check_error, dataset, expected, good, here, query, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import INPUT_TOKENS, OUTPUT_TOKENS, cell_of
from tests.cli.process import on_terminal
from tests.damage import DAMAGES
from tests.failures import codes

KEYS = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
ALL = ("--prompt", "base,cue,cot", "--samples", "4,3,2")
MINE = 'name = "mine"\nversion = "3"\ntext = "Where in this {sport} image?"\n'
NOWHERE = "http://127.0.0.1:9/v1"


@dataclass
class Case:
    """A dataset, the folder of a run, and a server."""

    data: Path
    out: Path
    server: LoopbackServer

    def run(self, *options: str | Path) -> Done:
        return run_process.run(self.data, self.out, self.server.url, *options)

    def good(self, *options: str | Path) -> Done:
        done = self.run(*options)
        assert done.returncode == 0, said(done)
        return done

    def base(self, samples: int, *options: str | Path) -> Done:
        return self.run("--prompt", "base", "--samples", str(samples), *options)

    @property
    def sent(self) -> int:
        """Return the number of requests that the server received."""
        return int(self.server.log()["requests"])

    @property
    def replies(self) -> dict[run_process.Sample, str]:
        return run_process.replies(self.out)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return run_process.rows(self.out)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture
def case(data: Path, tmp_path: Path) -> Iterator[Case]:
    with serve(OpenAIProtocol(keys={KEY})) as server:
        yield Case(data, tmp_path / "run", server)


class TestCompleteRun:
    def test_run_stores_every_sample_once_and_score_reads_the_responses(self, case: Case) -> None:
        done = case.good(*ALL)
        stored, found = case.replies, case.rows
        assert set(stored) == expected(3, base=4, cue=3, cot=2)
        assert len(set(stored.values())) == len(stored)
        # Every request is charged for its image, so base, cue and each question of cot request all samples at once.
        assert case.sent == 3 * (1 + 1 + 3 + 2)
        assert len(found) == 3 * (4 + 3 + 2)
        assert {(row["respondent"], row["kind"], row["participant"]) for row in found} == {(MODEL, "model", None)}
        for row in found:
            step = 3 if row["prompt"] == "cot" else 0
            text = stored[row["sport"], row["image"], row["prompt"], step, row["sample"]]
            number, question = re.match(r"Reasoning: reply (\d+) to question (\w+)\.", text).groups()  # type: ignore[union-attr]
            assert row["cell"] == cell_of(question, int(number))
            assert row["reasoning"] == f"reply {number} to question {question}."
        good("score", case.out, "--bootstrap", "0", "--format", "csv")
        assert done.stderr.count("Completed 45 of 45 replies; 0 of 27 samples could not be parsed.\n") == 1
        table = {" ".join(line.split()) for line in done.stderr.splitlines() if re.match(r"(base|cue|cot|all) ", line)}
        assert table == {"base 12 12 0", "cue 9 9 0", "cot 6 6 0", "all 27 27 0"}
        assert f"Responses: {case.out}/responses.jsonl\n" in done.stderr

    def test_run_sends_and_stores_its_settings_images_prompt_tokens_and_versions(self, case: Case) -> None:
        settings = ("--temperature", "0.7", "--top-p", "0.9", "--max-output-tokens", "300", "--seed", "5")
        case.good("--prompt", "cue", "--samples", "2", *settings)
        assert {asked.key for asked in case.server.asked} == {KEY}
        wanted = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 300, "seed": 5}
        assert [dict(asked.settings) for asked in case.server.asked] == [wanted] * 3
        pictures = {picture[1] for asked in case.server.asked for picture in asked.pictures}
        assert pictures == {path.read_bytes() for path in (case.out / "pictures").iterdir()}
        assert len(pictures) == 3
        for sport, n in {"soccer": 2, "volleyball": 1}.items():
            turns = (("user", load_prompt("cue").final(sport)[0].text),)
            assert [asked.turns for asked in case.server.asked].count(turns) == n
        identity = dict(query(case.out, "SELECT name, value FROM run"))
        stored = {"provider": '"openai"', "model": f'"{MODEL}"', "base_url": f'"{case.server.url}"'}
        assert identity.items() >= {**stored, "temperature": "0.7"}.items()
        assert load_prompt("cue").digest in identity["prompt cue"]
        requests = query(case.out, "SELECT DISTINCT model, attempt, input_tokens, length(picture) FROM requests")
        assert requests == [(f"{MODEL}-2025-04-14", 1, INPUT_TOKENS, 64)]
        assert query(case.out, "SELECT sum(output_tokens) FROM requests") == [(3 * 2 * OUTPUT_TOKENS,)]
        ((packages, outcome),) = query(case.out, "SELECT packages, outcome FROM sessions")
        assert outcome == "finished"
        assert "httpx" in packages
        assert "spotball-core" in packages

    def test_run_excludes_controls_without_the_controls_option(self, case: Case, tmp_path: Path) -> None:
        case.data = dataset(tmp_path / "data", images=4, controls=2)
        assert case.base(2).returncode == 0
        assert set(case.replies) == expected(2, base=2)
        assert case.base(2, "--controls").returncode == 0
        assert set(case.replies) == expected(4, base=2)

    def test_run_accepts_a_prompt_file_of_the_user(self, case: Case, tmp_path: Path) -> None:
        (tmp_path / "mine.toml").write_text(MINE)
        case.good("--prompt", f"base,{tmp_path / 'mine.toml'}", "--samples", "1,2")
        assert {(row["prompt"], row["sample"]) for row in case.rows} == {("base", 1), ("mine", 1), ("mine", 2)}

    @pytest.mark.slow
    def test_run_prints_nothing_with_quiet_and_shows_progress_on_a_terminal(
        self, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done = case.good(*ALL, "--quiet")
        assert (done.stdout, done.stderr) == ("", "")
        case.server.delay = 0.1
        line = run_process.command(case.data, tmp_path / "terminal", case.server.url, *ALL, "--concurrency", "1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        code, shown = on_terminal(*line[3:])
        assert code == 0, shown
        assert re.search(r"\d+ of 45 replies, \d+\.\d per second, [\d,]+ tokens, 0 failed requests", shown)


class TestRerun:
    def test_rerun_of_a_complete_run_sends_no_requests_and_format_parquet_replaces_the_jsonl(self, case: Case) -> None:
        case.run(*ALL)
        before, lines, sent = case.replies, case.rows, case.sent
        case.good(*ALL, "--format", "parquet")
        assert case.sent == sent
        assert case.replies == before
        assert pl.read_parquet(case.out / "responses.parquet").to_dicts() == lines
        assert not (case.out / "responses.jsonl").exists()

    def test_rerun_with_more_samples_prompts_and_images_sends_only_the_missing_requests(self, case: Case) -> None:
        case.base(2, "--limit", "1")
        before = case.replies
        case.good(*ALL)
        assert set(case.replies) == expected(3, base=4, cue=3, cot=2)
        assert before.items() <= case.replies.items()
        assert sum(case.server.given.values()) == len(case.replies)

    @pytest.mark.parametrize(
        ("first", "again", "difference"),
        [
            ("--temperature 0.5", "--temperature 0.9", "temperature: 0.5 -> 0.9"),
            ("", "--seed 1", "seed: .+ -> 1"),
            ("", "--respondent other", f"respondent: {MODEL} -> other"),
            ("", "--model other", f"model: {MODEL} -> other"),
            ('--extra-body {"top_k":20}', '--extra-body {"top_k":5}', "extra_body: top_k 20 -> top_k 5"),
            ('--extra-body {"top_k":1}', '--extra-body {"top_k":true}', "extra_body: top_k 1 -> top_k True"),
        ],
    )
    def test_rerun_with_different_settings_is_an_error(
        self, case: Case, first: str, again: str, difference: str
    ) -> None:
        assert case.base(1, *first.split()).returncode == 0
        before, sent = case.replies, case.sent
        done = case.base(2, *again.split())
        check_error(done, "different-settings")
        assert re.search(f"^  {difference}$", done.stderr, re.MULTILINE)
        assert (case.sent, case.replies) == (sent, before)

    def test_rerun_treats_extra_body_and_reasoning_effort_that_are_missing_in_the_store_as_not_set(
        self, case: Case
    ) -> None:
        case.base(1)
        store = sqlite3.connect(case.out / STORE)
        with store:
            # The previous version did not write these fields.
            store.execute("DELETE FROM run WHERE name IN ('extra_body', 'reasoning_effort')")
        store.close()
        for option, value, difference in (
            ("--extra-body", '{"top_k": 20}', "extra_body: .+ -> top_k 20"),
            ("--reasoning-effort", "low", "reasoning_effort: .+ -> low"),
        ):
            done = case.base(2, option, value)
            check_error(done, "different-settings")
            assert re.search(f"^  {difference}$", done.stderr, re.MULTILINE)
        assert case.base(2).returncode == 0
        assert set(case.replies) == expected(3, base=2)

    def test_run_sends_and_stores_extra_body_and_reasoning_effort(self, case: Case) -> None:
        options = ("--extra-body", '{"top_k": 20}', "--reasoning-effort", "low")
        dry = case.base(1, *options, "--dry-run")
        assert 'settings    reasoning_effort low, extra_body {"top_k": 20}\n' in dry.stdout
        assert case.base(1, *options).returncode == 0
        assert [dict(asked.settings) for asked in case.server.asked] == [{"top_k": 20, "reasoning_effort": "low"}] * 3
        identity = dict(query(case.out, "SELECT name, value FROM run"))
        assert (identity["extra_body"], identity["reasoning_effort"]) == ('{"top_k": 20}', '"low"')
        assert case.base(2, *options).returncode == 0

    def test_rerun_with_changed_scenes_prompts_or_images_is_an_error(self, case: Case, tmp_path: Path) -> None:
        prompt, data = tmp_path / "mine.toml", dataset(tmp_path / "data", images=2)
        prompt.write_text(MINE)
        case.data = data
        options = ("--prompt", prompt, "--samples", "1")
        case.run(*options)
        scenes = (data / "scenes.jsonl").read_text()
        (data / "scenes.jsonl").write_text(scenes.replace("C2", "C3", 1))
        assert re.search(r"  scenes: \w{64} -> \w{64}\n", case.run(*options).stderr)
        (data / "scenes.jsonl").write_text(scenes)
        prompt.write_text(MINE.replace("this", "that"))
        assert "  prompt mine: " in case.run(*options).stderr
        prompt.write_text(MINE)
        (data / "images/soccer/1.png").write_bytes((data / "images/volleyball/1.png").read_bytes())
        check_error(case.run(*options), "different-settings", "soccer/1")
        assert len(case.replies) == 2


class TestFaults:
    def test_run_stores_the_reason_for_each_unparsed_reply(self, case: Case) -> None:
        case.server.script(*(reply(style) for style in ("refusal", "filtered", "empty", "cut-off")))
        done = case.good("--prompt", "base,cue", "--samples", "1", "--concurrency", "1")
        problems = query(case.out, "SELECT problem, count(*) FROM parsed GROUP BY problem ORDER BY problem")
        assert problems == [(None, 2), ("cut off", 1), ("empty", 1), ("filtered", 1), ("refused", 1)]
        assert sum(row["cell"] is None for row in case.rows) == 4
        assert "Completed 6 of 6 replies; 4 of 6 samples could not be parsed.\n" in done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("Unparsed samples by reason: ")]
        assert sorted(line[28:-1].split(", ")) == ["cut off 1", "empty 1", "filtered 1", "refused 1"]
        finishes = [finish for (finish,) in query(case.out, "SELECT finish FROM replies ORDER BY request")]
        assert finishes == ["refused", "filtered", "stop", "length", "stop", "stop"]

    def test_run_stops_at_a_permanent_error_with_a_one_line_message(self, case: Case) -> None:
        case.server.script(None, status(404, "no such model", code="model_not_found"))
        done = case.base(5, "--concurrency", "1")
        check_error(done, "request-rejected")
        assert "127.0.0.1: HTTP 404: no such model" in done.stderr.splitlines()[-1]
        assert (len(case.replies), len(case.rows), case.sent) == (5, 5, 2)

    def test_run_stops_after_ten_failed_requests_in_a_row_and_can_be_resumed(self, case: Case, tmp_path: Path) -> None:
        case.data = dataset(tmp_path / "data", images=6)
        case.server.always(status(500, "overheated"))
        done = case.run(*ALL, "--attempts", "1", "--concurrency", "1")
        assert done.returncode == 1
        assert re.search(r"^90 of 90 .*\b10\b.*: 127\.0\.0\.1: HTTP 500: overheated$", done.stderr, re.MULTILINE)
        # The first requests are repeated for one sample, because a server may reject several samples with status 500.
        assert 10 < case.sent <= 20
        case.server.always(None)
        case.good(*ALL)
        assert set(case.replies) == expected(6, base=4, cue=3, cot=2)

    @pytest.mark.slow
    def test_run_reports_a_long_pause_that_the_server_requests(
        self, case: Case, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "LONG_WAIT", 0.6)
        case.server.script(status(429, "too many requests", retry_after="3"))
        done = case.base(1)
        assert done.returncode == 0, said(done)
        # The message comes after the usual pause before a retry, so the rest of the pause is shorter.
        announced = "waiting [123] s: the server requested a pause: 127.0.0.1: HTTP 429: too many requests"
        assert len(re.findall(announced, done.stderr)) == 1
        case.server.script(status(503, "overloaded"))
        assert "waiting" not in case.run("--prompt", "cue", "--samples", "1", "--quiet").stderr

    def test_run_names_the_image_that_failed_on_every_attempt(self, case: Case) -> None:
        case.server.script(*[status(500, "overheated")] * 2)
        done = case.base(1, "--attempts", "2", "--concurrency", "1")
        assert done.returncode == 1
        fault = "soccer/1 failed on every attempt; the last error: 127.0.0.1: HTTP 500: overheated"
        assert f"1 of 3 replies are missing: {fault}\n" in done.stderr
        assert "stamina" not in done.stderr

    def test_run_stops_at_a_response_larger_than_the_limit_and_can_be_resumed(self, case: Case) -> None:
        case.server.always(ENDLESS)
        done = case.run(*ALL, "--max-response-mb", "0.5", "--concurrency", "1")
        check_error(done, "request-rejected")
        assert re.match(r"error: soccer/1: 127\.0\.0\.1: .*\b0\.5 MB\b", done.stderr.splitlines()[-1])
        case.server.always(None)
        case.good(*ALL)

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
    def test_run_without_enough_memory_ends_with_an_error_message(self, case: Case) -> None:
        import resource

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_DATA, (600 * 10**6, 600 * 10**6))

        case.server.always(ENDLESS)
        options = ("--max-response-mb", "100000", "--limit", "1")
        line = run_process.command(case.data, case.out, case.server.url, *ALL, *options)
        env = {**os.environ, **ENV, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=env, preexec_fn=limited)
        # Depending on where memory runs out, the run stops by itself, or the command ends without an error code.
        endings = (2, ["out-of-memory"]), (2, ["request-rejected"]), (1, [])
        assert (done.returncode, codes(done.stderr)) in endings, said(done)
        assert re.search(r"error: .*memory.*\n$", done.stderr), said(done)
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("tokens", [10**9, 10**9 + 1, 2**63, 10**30])
    def test_run_stores_no_token_count_above_one_billion(self, case: Case, tokens: int) -> None:
        usage = {"prompt_tokens": tokens, "completion_tokens": tokens}
        answer = {"choices": [{"message": {"content": "Cell: D5"}}], "usage": usage}
        case.server.always(body(json.dumps(answer)))
        done = case.base(9, "--concurrency", "1")
        assert done.returncode == 0, said(done)
        assert len(case.rows) == 27
        stored = query(case.out, "SELECT max(input_tokens) FROM requests")
        assert stored == [(tokens if tokens <= 10**9 else None,)]

    def test_run_stops_at_max_requests_or_max_tokens_and_can_be_resumed(self, case: Case) -> None:
        done = case.run(*ALL, "--max-requests", "4")
        assert (done.returncode, case.sent) == (1, 4)
        assert "replies are missing: the limit of 4 requests (--max-requests) was reached" in done.stderr
        done = case.run(*ALL, "--max-tokens", "1", "--concurrency", "1")
        assert (done.returncode, case.sent) == (1, 5)
        case.good(*ALL)
        assert sum(case.server.given.values()) == len(case.replies) == 45

    def test_max_requests_counts_a_rejected_request_and_its_repetition_with_one_sample(self, case: Case) -> None:
        case.server.speaks.most = 1  # type: ignore[attr-defined]
        done = case.base(3, "--max-requests", "4", "--concurrency", "1")
        assert done.returncode == 1
        assert case.server.statuses == {400: 1, 200: 3}
        assert "sent 4 requests, of which 1 failed" in done.stderr
        assert len(case.replies) == 3

    @pytest.mark.slow
    def test_interrupted_run_stores_the_replies_of_requests_in_progress(self, case: Case) -> None:
        case.server.delay = 0.3
        case.server.speaks.most = 1  # type: ignore[attr-defined]
        options = ("--prompt", "base", "--samples", "40", "--concurrency", "2", "--seed", "1")
        line = run_process.command(case.data, case.out, case.server.url, *options)
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV}) as child:
            while case.sent < 4:
                assert child.poll() is None
            child.send_signal(signal.SIGINT)
            _, stderr = child.communicate(timeout=60)
        assert child.returncode == 130, stderr
        assert "missing: interrupted" in stderr
        assert len(case.replies) == sum(case.server.given.values()) == len(case.rows) > 0
        assert query(case.out, "SELECT outcome FROM sessions") == [("interrupted",)]


@pytest.mark.parametrize("damage", ["empty", "truncated"])
def test_run_and_parse_with_a_damaged_store_are_errors_and_send_nothing(case: Case, damage: str) -> None:
    store = case.out / STORE
    case.run(*ALL)
    sent = case.sent
    DAMAGES[damage](store)
    before = store.read_bytes()
    for start in (lambda: case.run(*ALL), lambda: case.run(*ALL, "--dry-run"), lambda: here("parse", case.out)):
        done = start()
        check_error(done, "damaged-store", f"error: {store}: ")
        assert done.stdout == ""
    assert case.sent == sent
    assert store.read_bytes() == before


class TestMissingKey:
    @pytest.fixture(autouse=True)
    def _no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for variable in KEYS.values():
            monkeypatch.delenv(variable, raising=False)

    @pytest.mark.parametrize("provider", KEYS)
    def test_run_without_a_key_is_an_error_and_writes_nothing(self, data: Path, tmp_path: Path, provider: str) -> None:
        options = ("run", data, "--provider", provider, "--model", MODEL, "--out", tmp_path / "run")
        done = here(*options, env={})
        check_error(done, "missing-key", provider, KEYS[provider])
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
        assert not (tmp_path / "run").exists()
        good(*options, "--dry-run", env={})

    def test_rerun_of_a_complete_run_does_not_need_a_key(self, tmp_path: Path) -> None:
        data, out = dataset(tmp_path / "data", images=1), tmp_path / "run"
        options = ("run", data, "--provider", "anthropic", "--model", MODEL, "--prompt", "base", "--out", out)
        with serve(AnthropicProtocol(keys={KEY}), base_path="") as server:
            options += ("--base-url", server.url)
            good(*options, "--samples", "2", env={KEYS["anthropic"]: KEY})
        before = run_process.rows(out)
        (out / "responses.jsonl").unlink()
        good(*options, "--samples", "2", env={})
        assert run_process.rows(out) == before
        assert here(*options, "--samples", "3", env={}).returncode == 2


@pytest.mark.slow
def test_run_never_writes_or_prints_the_key_even_if_the_server_echoes_it(data: Path, tmp_path: Path) -> None:
    with serve(OpenAIProtocol(keys={"another"})) as server:
        refused, debug, dry = (
            run_process.run_process(data, tmp_path / str(place), server.url, *ALL, *options)
            for place, options in enumerate(((), ("--debug",), ("--dry-run",)))
        )
    assert [one.returncode for one in (refused, debug, dry)] == [2, 2, 0]
    assert "Incorrect API key provided: [key]" in refused.stderr
    assert "Traceback" in debug.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 2
    printed = [(one.stdout + one.stderr).encode() for one in (refused, debug, dry)]
    assert not any(KEY.encode() in content for content in (*printed, *(path.read_bytes() for path in files)))


class TestDryRun:
    def test_dry_run_shows_the_requests_and_sends_nothing(self, case: Case) -> None:
        done = case.good(*ALL, "--dry-run", "--temperature", "0.5")
        assert not case.out.exists()
        assert case.sent == 0
        table = [" ".join(line.split()) for line in done.stdout.splitlines() if re.match(r"(base|cue|cot|all) ", line)]
        assert table == [
            "base 1 12 12 3 3 unknown",
            "cue 1 9 9 3 3 unknown",
            "cot 1 6 6 15 15 unknown",
            "all 27 27 21 21 unknown",
        ]
        assert "settings    temperature 0.5\n" in done.stdout
        shown = "\n".join(line.removeprefix("    ") for line in done.stdout.splitlines())
        assert all(load_prompt(name).final("soccer")[0].text in shown for name in ("base", "cue"))
        assert all(question in done.stdout for question in load_prompt("cot").questions)

    def test_dry_run_does_not_count_requests_for_stored_replies(self, case: Case) -> None:
        case.base(4, "--limit", "2")
        done = case.run(*ALL, "--dry-run")
        assert re.search(r"^base 1 +12 +4 +1 +1 +unknown$", done.stdout, re.MULTILINE)


class TestReparse:
    def test_run_with_points_records_the_policy_until_parse_names_another_one(self, case: Case, tmp_path: Path) -> None:
        def policy() -> str:
            return str(json.loads((case.out / "parsing.responses.json").read_text())["parse_policy"])

        (tmp_path / "mine.toml").write_text(MINE)
        case.good("--prompt", tmp_path / "mine.toml", "--samples", "1", "--answer", "point", "--point-scale", "1000")
        assert policy() == "point-1000"
        # The server answers with cells.
        assert {row["cell"] for row in case.rows} == {None}
        good("parse", case.out, "--answer", "box", "--point-scale", "gemini")
        assert policy() == "box-gemini"
        good("parse", case.out, "--parse-policy", "lenient")
        assert policy() == "lenient"
        assert None not in {row["cell"] for row in case.rows}

    def test_parse_lists_samples_that_are_parsed_differently(self, case: Case) -> None:
        case.base(2)
        path = case.out / "responses.jsonl"
        before = path.read_bytes()
        assert good("parse", case.out).stdout == "0 of 6 samples are parsed differently than before\n"
        assert path.read_bytes() == before
        # Simulate a run that an older version could not parse.
        with sqlite3.connect(case.out / STORE) as connection:
            connection.execute("UPDATE parsed SET cell = NULL, problem = 'no answer' WHERE image = '2'")
        path.unlink()
        again = here("parse", case.out)
        cells = [row["cell"] for row in case.rows if row["image"] == "2"]
        assert again.stdout.splitlines() == [
            f"soccer/2 base 1: unparsed (no answer) -> {cells[0]}",
            f"soccer/2 base 2: unparsed (no answer) -> {cells[1]}",
            "2 of 6 samples are parsed differently than before",
        ]
        assert path.read_bytes() == before

    def test_parse_keeps_the_parse_policy_and_score_names_it_in_the_signature(self, case: Case) -> None:
        def scored() -> str:
            return here("score", case.out, "--bootstrap", "0").stdout.rstrip()

        case.base(2)
        assert (case.out / "parsing.responses.json").read_text() == '{"parse_policy": "strict"}\n'
        assert scored().endswith("|parse:strict")
        with sqlite3.connect(case.out / STORE) as connection:
            connection.execute("UPDATE replies SET text = 'The ball is most likely in D4.' WHERE image = '2'")
        good("parse", case.out)
        assert {row["cell"] for row in case.rows if row["image"] == "2"} == {None}
        lenient = here("parse", case.out, "--parse-policy", "lenient")
        assert "soccer/2 base 1: unparsed (no answer) -> D4" in lenient.stdout
        # Without the option, the run keeps its policy.
        again = here("parse", case.out)
        assert again.stdout.startswith("0 of 6 samples are parsed differently")
        assert scored().endswith("|parse:lenient")


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "code", "message"),
        [
            ("--samples 0", "invalid-option", "base"),
            ("--prompt best", "unknown-name", "'best'"),
            ("--extra-body [20]", "invalid-option", r"--extra-body: .*'\[20\]'"),
            ("--extra-body {}", "invalid-option", "--extra-body: .*'{}'"),
            ('--extra-body {"a":NaN}', "invalid-option", "--extra-body: .*NaN"),
            ('--extra-body {"n":2}', "conflicting-options", "--extra-body: .*'n'"),
        ],
    )
    def test_run_with_an_invalid_option_is_an_error_and_writes_nothing(
        self, data: Path, tmp_path: Path, options: str, code: str, message: str
    ) -> None:
        done = run_process.run(data, tmp_path / "run", NOWHERE, *options.split())
        check_error(done, code)
        assert re.search(message, done.stderr)
        assert not (tmp_path / "run").exists()

    def test_run_with_an_unreadable_image_is_an_error_and_sends_nothing(self, case: Case, tmp_path: Path) -> None:
        case.data = dataset(tmp_path / "data", images=3)
        (case.data / "images/soccer/2.png").write_bytes(b"no image")
        check_error(case.run(*ALL), "unreadable-file", "2.png: image: ")
        assert case.sent == 0
        # No request was sent yet, so the dataset may still be changed.
        dataset(case.data, images=4)
        case.good(*ALL)
        assert (case.out / "scenes.jsonl").read_bytes() == (case.data / "scenes.jsonl").read_bytes()

    def test_preset_uses_the_settings_of_the_paper_and_options_override_it(self, data: Path) -> None:
        def shown(options: str) -> str:
            return here("run", data, "--dry-run", *options.split()).stdout

        gpt = shown("--preset gpt")
        assert "model       gpt-4.1-mini, stored as model gpt\n" in gpt
        assert "settings    temperature 0.6\n" in gpt
        assert re.search(r"^base 1 +150 ", gpt, re.MULTILINE)
        assert re.search(r"^cot 1 +60 ", gpt, re.MULTILINE)
        other = shown("--preset gpt --model gpt-4.1 --prompt cot --temperature 1 --seed 3")
        assert "model       gpt-4.1, stored as model gpt-4.1\n" in other
        assert "settings    temperature 1.0, seed 3\n" in other
        assert re.findall(r"^(\w+) 1 +(\d+) ", other, re.MULTILINE) == [("cot", "60")]
        plain = shown("--provider openai --model m")
        assert re.findall(r"^(\w+) 1 +(\d+) ", plain, re.MULTILINE) == [("base", "150"), ("cue", "150"), ("cot", "60")]

    def test_run_without_a_provider_is_an_error(self, data: Path) -> None:
        check_error(here("run", data, "--model", "m"), "missing-option", "--provider", "--model", "--preset")

    @pytest.mark.slow
    @pytest.mark.parametrize("missing", ["stamina", "filelock", "PIL"])
    def test_run_without_the_adapters_extra_is_an_error(self, data: Path, tmp_path: Path, missing: str) -> None:
        code = (
            f"import sys; sys.modules[{missing!r}] = None;"
            "from spotball_core.cli.app import main; sys.argv[0] = 'spotball'; main()"
        )
        arguments = run_process.command(data, tmp_path / "run", NOWHERE, *ALL)[3:]
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        check_error(done, "missing-extra", install_command("adapters"))

    def test_import_of_the_run_command_loads_no_heavy_packages(self) -> None:
        code = (
            f"import sys; import {command_module.__name__};"
            "print(*{'stamina', 'httpx', 'PIL', 'polars', 'filelock'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == []


@pytest.mark.parametrize("option", ["--out", "--scenes", "--respondent", "--prompt", "--index"])
def test_parse_of_a_run_with_an_option_for_files_is_an_error(option: str, tmp_path: Path) -> None:
    done = here("parse", tmp_path, option, "a.jsonl")
    assert (done.returncode, codes(done.stderr)) == (2, ["conflicting-options"])
    assert option in done.stderr


@pytest.mark.parametrize(("missing", "given"), [("--out", "--scenes"), ("--scenes", "--out")])
def test_parse_of_a_table_without_scenes_or_output_is_an_error(missing: str, given: str, tmp_path: Path) -> None:
    (tmp_path / "replies.csv").write_text("image,reply\n1,D5\n")
    done = here("parse", tmp_path / "replies.csv", given, "a.jsonl")
    assert (done.returncode, codes(done.stderr)) == (2, ["missing-option"])
    assert missing in done.stderr


def test_parse_of_a_missing_file_names_it_before_missing_options(tmp_path: Path) -> None:
    done = here("parse", tmp_path / "replies.csv")
    assert (done.returncode, codes(done.stderr)) == (2, ["missing-file"])
    assert "replies.csv" in done.stderr
