"""Test the embedder `openai` with a server that implements its protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from spotball_adapters.embedders.openai import OpenAIEmbedder
from spotball_adapters.embedders.protocol import EmbedderAccess
from spotball_adapters.providers.openai import KEY
from spotball_adapters.providers.protocol import PermanentError, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.embedding import batch
from tests.adapters.faults import Fault, body, reply, status
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_embeddings import OpenAIEmbeddings, vector_of
from tests.failures import raises

TEXTS = ("He looks up.", "Sie schaut nach oben ü", "⚽👀")


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIEmbeddings()) as server:
        yield server


def made(server: LoopbackServer, model: str | None = "small") -> OpenAIEmbedder:
    return OpenAIEmbedder(EmbedderAccess(model, base_url=server.url, timeout=5))


@pytest.mark.parametrize("indexed", [True, False])
def test_embed_returns_one_vector_per_text_in_order_and_has_a_default_model(indexed: bool) -> None:
    with serve(OpenAIEmbeddings(indexed=indexed)) as server:
        found = batch(made(server), *TEXTS)
        np.testing.assert_array_equal(found.vectors, np.array([vector_of(text) for text in TEXTS], dtype=np.float32))
        assert found.vectors.dtype == np.float32
        assert not found.cut.any()
        batch(made(server, None), "a")
        first, second = server.asked
        assert (first.model, second.model) == ("small", "text-embedding-3-small")
        assert [text for _, text in first.turns] == list(TEXTS)


def test_key_is_sent_to_the_server_but_is_not_part_of_the_embedder_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, "sk-planted")
    with serve(OpenAIEmbeddings(keys={"sk-planted"})) as server:
        batch(made(server), "a")
        assert server.asked[0].key == "sk-planted"
    with serve(OpenAIEmbeddings(keys={"another"})) as server:
        embedder = made(server)
        with raises(PermanentError, "request-rejected"):
            batch(embedder, "a")
        assert "sk-planted" not in repr(vars(embedder)["identity"])


def test_embed_with_openai_server_and_no_key_raises_permanent_error() -> None:
    with raises(PermanentError, "missing-key"):
        batch(OpenAIEmbedder(EmbedderAccess("small")), "a")


def test_embed_splits_a_batch_that_the_server_rejects_as_too_large_in_halves_and_lowers_max_batch() -> None:
    texts = [f"text {number}" for number in range(11)]
    with serve(OpenAIEmbeddings(most=3)) as server:
        embedder = made(server)
        found = batch(embedder, *texts)
        sizes = [asked.n for asked in server.asked]
    np.testing.assert_array_equal(found.vectors, np.array([vector_of(text) for text in texts], dtype=np.float32))
    assert sizes == [2, 3, 3, 3]
    assert embedder.max_batch == 2


def test_text_that_is_too_long_raises_the_error_of_the_server_without_a_retry() -> None:
    with serve(OpenAIEmbeddings(longest=5)) as server:
        with raises(PermanentError, "request-rejected"):
            batch(made(server), "longer than that", "b")
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("fault", "texts"),
    [
        *((fault, ["a"]) for fault in (faults.DROP, faults.STORM, faults.HTML, faults.BROKEN_JSON, faults.TRUNCATED)),
        (status(429, retry_after="1"), ["a"]),
        *((reply(style), TEXTS) for style in ("fewer", "ragged", "nan", "none", "same-index", "no-list")),
        (body('{"data": [{"embedding": "AAAA", "index": 0}]}'), ["a"]),
        (body('{"data": [{"index": "0"}]}'), ["a"]),
    ],
)
def test_retryable_fault_or_response_without_one_vector_per_text_raises_transient_error(
    server: LoopbackServer, fault: Fault, texts: Sequence[str]
) -> None:
    server.script(fault)
    with raises(TransientError, "provider-failed"):
        batch(made(server), *texts)


def test_embedder_identity_depends_on_the_base_url() -> None:
    here, there = (OpenAIEmbedder(EmbedderAccess("small", base_url=f"http://localhost:{n}/v1")) for n in (1, 2))
    assert here.identity != there.identity


@pytest.mark.parametrize(
    ("access", "where"),
    [
        (EmbedderAccess(task_type="clustering"), "unsupported-option:--task-type"),
        (EmbedderAccess(base_url="ftp://x"), "invalid-option:--base-url"),
        (EmbedderAccess(base_url="http://me:secret@x/v1"), "invalid-option:--base-url"),
    ],
)
def test_embedder_with_an_invalid_option_is_an_error(access: EmbedderAccess, where: str) -> None:
    with raises(OptionError, where) as caught:
        OpenAIEmbedder(access)
    assert "secret" not in str(caught.value)
