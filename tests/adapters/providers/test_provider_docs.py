"""Test the how-tos on providers: each recipe with a server of its protocol, and the custom provider."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.adapters.own_provider import PAGE, install, listing
from tests.adapters.run_process import dataset, here, rows, said
from tests.adapters.server import serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_gemini import GeminiProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speaks_responses import ResponsesProtocol
from tests.adapters.speech import Speaks
from tests.conftest import ROOT

HOW_TO = ROOT / "docs" / "how-to"
KEY = "sk-of-a-recipe"

RECIPES: dict[str, tuple[Callable[[], Speaks], str]] = {
    "OpenAI": (lambda: OpenAIProtocol(keys={KEY}), "/v1"),
    "Gemini": (lambda: GeminiProtocol(keys={KEY}), ""),
    "Gemini, compatible": (lambda: OpenAIProtocol(keys={KEY}, most=8), "/v1"),
    "Anthropic": (lambda: AnthropicProtocol(keys={KEY}), ""),
    "vLLM": (lambda: OpenAIProtocol(), "/v1"),
    "Ollama": (lambda: OpenAIProtocol(give=1), "/v1"),
    "llama.cpp": (lambda: OpenAIProtocol(give=1), "/v1"),
    "LM Studio": (lambda: OpenAIProtocol(give=1), "/v1"),
    "OpenRouter": (lambda: OpenAIProtocol(keys={KEY}), "/v1"),
    "Azure OpenAI": (lambda: OpenAIProtocol(keys={KEY}), "/v1"),
    "Responses API": (lambda: ResponsesProtocol(), "/v1"),
    "Other request fields": (lambda: OpenAIProtocol(), "/v1"),
}


def recipes() -> dict[str, str]:
    """Return the code block below each heading; the key of a second block ends with ", compatible"."""
    text = (HOW_TO / "models.md").read_text(encoding="utf-8")
    found = {}
    for heading, section in re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL):
        blocks = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
        for block, end in zip(blocks, ("", ", compatible"), strict=False):
            found[heading + end] = block
    return found


def test_recipe_headings_in_models_md_equal_the_keys_of_recipes_in_this_file() -> None:
    assert recipes().keys() == RECIPES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_recipe_in_models_md_runs_and_writes_a_cell_for_every_sample(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    lines = recipes()[name].replace("\\\n", " ").splitlines()
    keys = {match[1]: KEY for line in lines if (match := re.match(r"export (\w+_API_KEY)=", line))}
    (shown,) = (shlex.split(line) for line in lines if line.startswith("spotball run dataset "))
    speaks, base_path = RECIPES[name]
    data = dataset(tmp_path / "data", images=2)
    with serve(speaks(), base_path=base_path) as server:
        # Later options override earlier ones, so the run uses our server and fewer images and samples.
        ours = ["--base-url", server.url, "--out", str(tmp_path / "out"), "--limit", "1", "--samples", "3,2,2"]
        done = here("run", str(data), *shown[3:], *ours, env=keys)
        assert done.returncode == 0, said(done)
        model = shown[shown.index("--model") + 1]
        assert {asked.model for asked in server.asked} == {model}
        assert {asked.settings["temperature"] for asked in server.asked} == {0.6}
        assert all(asked.pictures for asked in server.asked)
    answers = rows(tmp_path / "out")
    assert sorted((row["prompt"], row["sample"]) for row in answers) == [
        *(("base", n) for n in (1, 2, 3)),
        *(("cot", n) for n in (1, 2)),
        *(("cue", n) for n in (1, 2)),
    ]
    assert all(row["cell"] for row in answers)


@pytest.mark.slow
def test_custom_provider_in_models_md_has_at_most_30_lines_and_finds_the_ball(tmp_path: Path) -> None:
    written = [line for line in listing("python").splitlines() if line.strip()]
    assert len(written) <= 30
    assert max(map(len, written)) <= 120
    package = install(tmp_path / "package")
    data = dataset(tmp_path / "data", images=1)
    pixels = np.zeros((360, 640, 3), np.uint8)
    # Cell C7 is in the third row of 60 pixels and the seventh column of 64 pixels.
    pixels[120:180, 384:448] = 255
    Image.fromarray(pixels).save(data / "images" / "soccer" / "1.png")
    (shown,) = re.findall("^spotball (run .* --provider brightest .*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    arguments = [str(data) if part == "dataset" else part for part in shlex.split(shown)]
    command = [sys.executable, "-m", "spotball_core", *arguments, "--out", str(tmp_path / "out")]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert [row["cell"] for row in rows(tmp_path / "out")] == ["C7"]
