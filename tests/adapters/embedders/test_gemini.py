"""Test the embedder `gemini` with both of Google's SDKs and a server that implements its protocol."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from spotball_adapters.embedders.gemini import TASK_TYPES, GeminiEmbedder
from spotball_adapters.embedders.protocol import EmbedderAccess
from spotball_adapters.providers.gemini_sdk import KEY
from spotball_adapters.providers.protocol import PermanentError, TransientError
from spotball_core.errors import OptionError, SpotballError
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


def test_embed_returns_one_vector_per_text_with_the_default_model_of_the_paper(server: LoopbackServer) -> None:
    embedder = made(server)
    found = batch(embedder, *TEXTS)
    np.testing.assert_array_equal(found.vectors, np.array([vector_of(text) for text in TEXTS], dtype=np.float32))
    (asked,) = server.asked
    assert (embedder.model, asked.model) == ("models/embedding-001", "embedding-001")
    assert [text for _, text in asked.turns] == list(TEXTS)
    assert asked.settings == {}
    assert asked.key == "right-key"


@pytest.mark.parametrize("named", ["gemini-embedding-001", "models/gemini-embedding-001"])
def test_model_name_works_with_and_without_the_models_prefix(server: LoopbackServer, named: str) -> None:
    embedder = made(server, named)
    batch(embedder, "a")
    assert embedder.model == "models/gemini-embedding-001"
    assert server.asked[0].model == "gemini-embedding-001"


@pytest.mark.parametrize("task", sorted(TASKS))
def test_task_type_is_sent_and_changes_the_identity(server: LoopbackServer, task: str, sdk: str) -> None:
    embedder = made(server, task_type=task.upper())
    batch(embedder, "a", "b")
    sent = task.upper() if sdk == google_sdks.SUPPORTED else TASKS[task]
    assert server.asked[0].settings == {"taskType": sent}
    assert embedder.identity != made(server).identity
    assert embedder.identity == made(server, task_type=task).identity


def test_sdk_accepts_every_task_type(server: LoopbackServer) -> None:
    for task in TASK_TYPES:
        batch(made(server, task_type=task), "a")
    assert len({asked.settings["taskType"] for asked in server.asked}) == len(TASK_TYPES)


def test_unknown_task_type_is_an_error_that_lists_the_available_ones(server: LoopbackServer) -> None:
    with raises(OptionError, "unknown-name:--task-type"):
        made(server, task_type="similar")


@pytest.mark.parametrize(
    ("fault", "kind", "where", "said"),
    [
        (faults.DROP, TransientError, "provider-failed", "Remote"),
        (faults.OVERLOADED, TransientError, "provider-failed", "HTTP 503: overloaded"),
        (status(429, "too many", retry_after="7"), TransientError, "provider-failed", "HTTP 429: too many"),
        (status(404, "no such model"), PermanentError, "request-rejected", "HTTP 404: no such model"),
        (faults.BROKEN_JSON, TransientError, "provider-failed", "Unterminated string"),
    ],
    ids=["drop", "503", "429", "404", "broken"],
)
def test_server_errors_raise_transient_or_permanent_errors(
    server: LoopbackServer, fault: Fault, kind: type[SpotballError], where: str, said: str
) -> None:
    server.script(fault)
    with raises(kind, where) as raised:
        batch(made(server), "a")
    assert str(raised.value).startswith("gemini: ")
    assert said in str(raised.value)
    if isinstance(raised.value, TransientError) and raised.value.status == 429:
        assert raised.value.retry_after == 7


@pytest.mark.parametrize("style", ["fewer", "ragged", "none"])
def test_response_without_one_vector_per_text_is_malformed(server: LoopbackServer, style: str) -> None:
    server.script(reply(style))
    with raises(TransientError, "provider-failed"):
        batch(made(server), "a", "b")


def test_wrong_or_missing_key_raises_permanent_error_without_the_key(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "wrong-key")
    with raises(PermanentError, "request-rejected"):
        batch(made(server), "a")
    monkeypatch.delenv(KEY)
    with raises(PermanentError, "missing-key"):
        batch(made(server), "a")
