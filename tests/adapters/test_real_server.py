"""Test complete runs against `transformers serve` and llama-cpp-python with tiny models of random weights."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.adapters.run_process import dataset, good, here, query, replies, said
from tests.adapters.tiny_models import save_llama, save_llava_gguf

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from transformers.cli.transformers import main
sys.argv = ["transformers", "serve", "--host", "127.0.0.1", "--port", "0", "--device", "cpu"]
main()
"""

NEEDED = ("torch", "transformers", "fastapi", "uvicorn", "openai", "accelerate")
"""Modules that the server imports; `pip install "transformers[serving]" torch` installs them."""

GRAMMAR = r"""root ::= "Reasoning: none\nCell: " [A-F] [1-9]"""
"""Grammar that limits llama.cpp to replies of this form."""


@contextmanager
def serving(*arguments: str, cache: Path) -> Iterator[str]:
    """Start a server in a separate process and yield the base URL of its API."""
    environment = {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1"}
    with subprocess.Popen(
        [sys.executable, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment
    ) as server:
        assert server.stderr
        lines = []
        try:
            for line in server.stderr:
                lines.append(line)
                if started := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
                    break
            else:
                pytest.fail(f"the server did not start: {''.join(lines[-20:])}")
            # Keep reading the log, because the server blocks when the pipe is full.
            threading.Thread(target=server.stderr.read, daemon=True).start()
            yield started[1] + "/v1"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    for module in NEEDED:
        pytest.importorskip(module, reason=f'{module} is not installed: pip install "transformers[serving]" torch')
    with serving("-c", PROGRAM, cache=tmp_path_factory.mktemp("cache")) as url:
        yield url


def test_run_against_transformers_serve_gets_a_reply_for_every_sample(address: str, tmp_path: Path) -> None:
    data, out = dataset(tmp_path / "data", images=2), tmp_path / "out"
    line = ("run", data, "--provider", "openai", "--base-url", address, "--model", save_llama(tmp_path), "--out", out)
    line += ("--prompt", "base,cot", "--samples", "3,1", "--temperature", "0.6", "--max-output-tokens", "8")
    good(*line, "--concurrency", "2", "--attempts", "2", env={})
    prompts = [key[2] for key in replies(out)]
    # The cot prompt asks three questions before the final answer, so each of its samples needs four replies.
    assert (prompts.count("base"), prompts.count("cot")) == (6, 8)
    ((tokens,),) = query(out, "SELECT min(output_tokens) FROM requests")
    assert tokens == 8
    good(*line, env={})
    assert len(replies(out)) == 14


def test_run_with_the_responses_api_gets_a_reply_for_every_sample(address: str, tmp_path: Path) -> None:
    data, out = dataset(tmp_path / "data", images=1), tmp_path / "out"
    line = ("run", data, "--provider", "openai", "--base-url", address, "--model", save_llama(tmp_path), "--out", out)
    options = ("--api", "responses", "--max-output-tokens", "16", "--attempts", "2")
    good(*line, "--prompt", "base", "--samples", "2", *options, env={})
    assert len(replies(out)) == 2


def test_interrupted_run_against_llama_cpp_resumes_and_completes(tmp_path: Path) -> None:
    for module in ("llama_cpp", "gguf", "sse_starlette"):
        pytest.importorskip(module, reason=f'{module} is not installed: pip install "llama-cpp-python[server]" gguf')
    text, images = save_llava_gguf(tmp_path)
    options = ("--model", str(text), "--clip_model_path", str(images), "--chat_format", "llava-1-5", "--n_ctx", "4096")
    data, out = dataset(tmp_path / "data", images=3), tmp_path / "out"
    with serving("-m", "llama_cpp.server", *options, "--host", "127.0.0.1", "--port", "0", cache=tmp_path) as url:
        line = ("run", data, "--provider", "openai", "--base-url", url, "--model", "tiny", "--out", out)
        line += ("--prompt", "base,cot", "--samples", "3,1", "--max-output-tokens", "40", "--attempts", "2")
        line += ("--concurrency", "1", "--extra-body", json.dumps({"grammar": GRAMMAR}))
        stopped = here(*line, "--max-requests", "5", env={})
        first = replies(out)
        assert (stopped.returncode, len(first)) == (1, 5), said(stopped)
        done = good(*line, env={})
    assert len(replies(out)) == 3 * (3 + 4)
    assert first.items() <= replies(out).items()
    # The server ignores the number of samples and returns one reply per request.
    assert query(out, "SELECT count(*) FROM requests") == [(21,)]
    assert "0 of 12 samples could not be parsed" in done.stderr
