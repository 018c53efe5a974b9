"""Test the embedder `gemini` with both of Google's SDKs and a server that implements its protocol."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from spotball_adapters.embedders.gemini import TASK_TYPES, GeminiEmbedder
from spotball_adapters.embedders.protocol import EmbedderAccess
from spotball_adapters.providers.gemini_sdk import KEY
from spotball_adapters.providers.protocol import PermanentError, ProviderError, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults, google_sdks
from tests.adapters.embedding import batch
from tests.adapters.faults import Fault, reply, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_embeddings import TASKS, GeminiEmbeddings, vector_of
from tests.failures import raises

TEXTS = tuple(f"He looks up {number} ü ⚽" for number in range(100))


@pytest.fixture(autouse=True, params=google_sdks.NAMES)
def sdk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv(KEY, "right-key")
    with google_sdks.only(request.param):
        yield request.param


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(GeminiEmbeddings(keys={"right-key"}), base_path="") as server:
        yield server


def made(server: LoopbackServer, model: str | None = None, task_type: str | None = None) -> GeminiEmbedder:
    return GeminiEmbedder(EmbedderAccess(model, base_url=server.url, task_type=task_type, timeout=20))


@pytest.mark.parametrize(
    ("named", "model"),
    [
        # The default is the model of the paper.
        (None, "embedding-001"),
        ("gemini-embedding-001", "gemini-embedding-001"),
        ("models/gemini-embedding-001", "gemini-embedding-001"),
    ],
)
def test_embed_requests_the_named_or_default_model_and_returns_one_vector_per_text(
    server: LoopbackServer, named: str | None, model: str
) -> None:
    embedder = made(server, named)
    found = batch(embedder, *TEXTS)
    np.testing.assert_array_equal(found.vectors, np.array([vector_of(text) for text in TEXTS], dtype=np.float32))
    (asked,) = server.asked
    assert (embedder.model, asked.model) == (f"models/{model}", model)
    assert [text for _, text in asked.turns] == list(TEXTS)
    assert asked.settings == {}
    assert asked.key == "right-key"


def test_each_task_type_is_sent_to_the_server_and_changes_the_embedder_identity(
    server: LoopbackServer, sdk: str
) -> None:
    for task in TASK_TYPES:
        embedder = made(server, task_type=task.upper())
        batch(embedder, "a", "b")
        assert embedder.identity != made(server).identity
        assert embedder.identity == made(server, task_type=task).identity
    sent = {task: asked.settings["taskType"] for task, asked in zip(TASK_TYPES, server.asked, strict=True)}
    assert len(set(sent.values())) == len(TASK_TYPES)
    for task, number in TASKS.items():
        assert sent[task] == (task.upper() if sdk == google_sdks.SUPPORTED else number)
    with raises(OptionError, "unknown-name:--task-type"):
        made(server, task_type="similar")


@pytest.mark.parametrize(
    ("fault", "kind", "said", "pause"),
    [
        (faults.DROP, TransientError, "Remote", None),
        (faults.OVERLOADED, TransientError, "HTTP 503: overloaded", None),
        (status(429, "too many", retry_after="7"), TransientError, "HTTP 429: too many", 7),
        (status(404, "no such model"), PermanentError, "HTTP 404: no such model", None),
        (faults.BROKEN_JSON, TransientError, "Unterminated string", None),
        *((reply(style), TransientError, "", None) for style in ("fewer", "ragged", "none")),
    ],
)
def test_server_error_or_response_without_one_vector_per_text_raises_transient_or_permanent_error(
    server: LoopbackServer, fault: Fault, kind: type[ProviderError], said: str, pause: float | None
) -> None:
    server.script(fault)
    with raises(kind, kind.code) as raised:
        batch(made(server), "a", "b")
    assert str(raised.value).startswith("gemini: ")
    assert said in str(raised.value)
    assert getattr(raised.value, "retry_after", None) == pause


def test_embed_with_a_wrong_or_missing_key_raises_permanent_error(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "wrong-key")
    with raises(PermanentError, "request-rejected"):
        batch(made(server), "a")
    monkeypatch.delenv(KEY)
    with raises(PermanentError, "missing-key"):
        batch(made(server), "a")
