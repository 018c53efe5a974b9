"""Test the embedding of many texts: order, duplicates, retries, and the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from spotball_adapters.embedders.cache import CACHE, Cache
from spotball_adapters.embedders.embed import LONGEST, as_sent, embed_texts, outlook
from spotball_adapters.providers.protocol import PermanentError, ProviderError, TransientError
from tests.adapters.embedding import QUICK, Tiny, embed
from tests.adapters.speaks_embeddings import vector_of
from tests.failures import raises


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / CACHE


def failing(error: Exception, times: int = 99, text: str = "", max_batch: int = 2) -> Tiny:
    """Return an embedder whose first `times` batches fail, or only those of them that contain `text`."""
    embedder = Tiny(max_batch=max_batch)

    def fault(texts: Sequence[str], before: int) -> None:
        if before < times and (not text or text in texts):
            raise error

    embedder.fault = fault
    return embedder


@given(
    texts=st.lists(st.sampled_from(["a", "b ", " b", "\tc", "", " ", "a much longer text", "⚽", "\x00"]), max_size=20)
)
@example(texts=[])
@example(texts=["", " "])
def test_embed_returns_the_vector_of_each_text_and_embeds_duplicates_once(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, embedder = tmp_path_factory.mktemp("cache") / CACHE, Tiny(max_batch=3)
    found = embed(texts, embedder, path)
    meant = [text.strip("\x00 \t") for text in texts]
    assert embedder.texts == sorted(set(meant) - {""})
    assert max(map(len, embedder.batches), default=0) <= 3
    assert found.n_new == found.n_different == len(embedder.texts)
    for text, vector in zip(meant, found.vectors, strict=True):
        expected = vector_of(text) if text else np.zeros(len(vector))
        np.testing.assert_array_equal(vector, np.asarray(expected, dtype=np.float32))
    idle = Tiny()
    again = embed(texts, idle, path)
    assert not idle.batches
    assert again.n_new == 0
    np.testing.assert_array_equal(again.vectors, found.vectors)


class TestLongTexts:
    def test_embed_truncates_a_long_text_and_marks_it_as_cut(self, path: Path) -> None:
        long = " ".join(f"word{number}" for number in range(10_000))
        embedder = Tiny()
        found = embed([long, "short"], embedder, path)
        assert found.cut.tolist() == [True, False]
        (sent,) = [text for text in embedder.texts if text != "short"]
        assert LONGEST - 20 < len(sent.encode()) <= LONGEST
        assert long.startswith(sent + " ")

    def test_cache_remembers_which_texts_the_model_truncated(self, path: Path) -> None:
        for _ in range(2):
            assert embed(["x" * 51, "x" * 50], Tiny(), path).cut.tolist() == [True, False]

    @given(text=st.text(st.characters()), longest=st.integers(4, 40))
    def test_as_sent_returns_a_prefix_in_valid_utf_8_without_nul_within_the_byte_limit(
        self, text: str, longest: int
    ) -> None:
        whole, sent = as_sent(text, 10**6), as_sent(text, longest)
        assert "\x00" not in whole.text
        assert whole.text.encode().decode() == whole.text
        assert whole.text.startswith(sent.text)
        assert len(sent.text.encode()) <= longest
        assert sent.cut == (sent.text != whole.text)
        assert bool(sent.text) == bool(whole.text)
        assert sent.text == sent.text.strip()

    def test_as_sent_joins_surrogate_pairs_and_replaces_lone_surrogates(self) -> None:
        assert as_sent("up \ud83d\udc4d \ud800").text == "up \U0001f44d \ufffd"


class TestFaults:
    def test_embed_retries_transient_errors_and_reports_the_attempts(self, path: Path) -> None:
        told: list[tuple[int, ...]] = []
        embedder = failing(TransientError("busy", retry_after=0.001), times=2)
        found = embed(["a"], embedder, path, on_progress=lambda *state: told.append(state))
        np.testing.assert_array_equal(found.vectors[0], np.float32(vector_of("a")))
        assert told == [(0, 1, 0), (0, 1, 1), (0, 1, 2), (1, 1, 2)]

    def test_embed_raises_after_the_last_failed_attempt_and_caches_the_vectors_of_the_other_texts(
        self, path: Path
    ) -> None:
        embedder = failing(TransientError("busy"), text="longest", max_batch=1)
        with raises(TransientError, "provider-failed"):
            embed(["longest", "a", "b"], embedder, path, replace(QUICK, concurrency=1))
        assert embedder.texts == ["a", "b", "longest", "longest", "longest"]
        after = Tiny()
        embed(["longest", "a", "b"], after, path)
        assert after.texts == ["longest"]

    @pytest.mark.parametrize(
        "error", [PermanentError("no such model"), TransientError("come back tomorrow", retry_after=86_400)]
    )
    def test_embed_with_a_permanent_error_or_a_too_long_requested_pause_raises_without_a_retry(
        self, path: Path, error: ProviderError
    ) -> None:
        embedder = failing(error)
        with raises(type(error), error.code):
            embed(["a"], embedder, path)
        assert len(embedder.batches) == 1

    def test_cancelled_embed_keeps_received_vectors_in_the_cache(self, path: Path) -> None:
        embedder = Tiny(max_batch=1)

        async def run() -> None:
            with Cache(path, embedder) as cache:
                task: asyncio.Task[object] = asyncio.create_task(
                    embed_texts(["a", "bb", "ccc"], embedder, cache, replace(QUICK, concurrency=1))
                )

                def fault(texts: Sequence[str], before: int) -> None:
                    if texts == ["ccc"]:
                        task.cancel()

                embedder.fault = fault
                await task

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(run())
        after = Tiny()
        embed(["a", "bb", "ccc"], after, path)
        assert after.texts in (["ccc"], [])


def test_embed_sends_as_many_batches_at_once_as_the_concurrency_option(path: Path) -> None:
    embedder = Tiny(max_batch=1)
    embed([f"text {number}" for number in range(40)], embedder, path, replace(QUICK, concurrency=3))
    assert embedder.most_under_way == 3


def test_embed_uses_a_reduced_max_batch_for_the_next_batches(path: Path) -> None:
    embedder = Tiny(max_batch=8)

    def fault(texts: Sequence[str], before: int) -> None:
        embedder.max_batch = 2

    embedder.fault = fault
    embed([f"text {number}" for number in range(14)], embedder, path, replace(QUICK, concurrency=1))
    assert [len(batch) for batch in embedder.batches] == [8, 2, 2, 2]


def test_outlook_counts_equal_those_of_a_subsequent_embed_and_leave_the_cache_unchanged(path: Path) -> None:
    embed(["a", "known"], Tiny(), path)
    texts = ["a", "new", "new ", "", "known", "é", "word " * 3000]
    before = path.read_bytes()
    seen = outlook(texts, Tiny(), path)
    assert path.read_bytes() == before
    assert (seen.n_different, seen.n_cached, seen.n_cut) == (5, 2, 1)
    embedder = Tiny()
    found = embed(texts, embedder, path)
    assert (found.n_different, found.n_new) == (seen.n_different, seen.n_different - seen.n_cached)
    assert seen.n_bytes == sum(len(text.encode()) for text in embedder.texts)
