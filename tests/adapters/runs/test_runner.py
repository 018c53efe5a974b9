"""Test the runner with a provider in this process that fails on demand."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from spotball_adapters.prompts.picture import ScenePictures, encoded
from spotball_adapters.providers.protocol import Answer, PermanentError, Request, Settings, TransientError
from spotball_adapters.runs import runner as runner_module
from spotball_adapters.runs.plan import SamplePlan
from spotball_adapters.runs.runner import Runner
from spotball_adapters.runs.store import STORE, ReplyStore
from spotball_adapters.runs.writer import ReplyWriter
from spotball_core.io.scenes import read_scenes
from tests.adapters.run_process import dataset, query, replies
from tests.adapters.runs import running
from tests.adapters.runs.test_limits import Clockwork
from tests.adapters.tiny import BASE, CHAIN, QUICK, Tiny
from tests.builders import scene
from tests.conftest import examples

SCENES = (scene("1"), scene("2"), scene("1", "basketball"))
start, expected = partial(running.start, SCENES), partial(running.wanted, SCENES)


def failing(times: int, error: Exception | None = None, image: str = "") -> Tiny:
    """Return a provider that fails the first `times` attempts at each request, or at those about this soccer image."""
    provider = Tiny()

    def fault(request: Request, before: int) -> None:
        if before < times and (not image or request.scene.key == ("soccer", image)):
            raise error or TransientError(f"busy {before}")

    provider.fault = fault
    return provider


@given(
    max_samples=st.integers(1, 6),
    gives=st.sampled_from([None, 1, 2]),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 4)),
    concurrency=st.integers(1, 9),
    faulty=st.booleans(),
)
@settings(max_examples=examples(25))
def test_runner_stores_every_sample_and_repeats_only_failed_requests(
    tmp_path_factory: pytest.TempPathFactory,
    max_samples: int,
    gives: int | None,
    sizes: tuple[int, int],
    concurrency: int,
    faulty: bool,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    provider = failing(1) if faulty else Tiny()
    provider.max_samples, provider.gives = max_samples, gives
    prompts = (BASE, sizes[0]), (CHAIN, sizes[1])
    runner = start(folder, provider, *prompts, options=replace(QUICK, concurrency=concurrency))
    assert runner.why is None
    assert set(replies(folder)) == expected(*prompts)
    assert runner.tally.done == runner.tally.total == len(expected(*prompts))
    assert runner.tally.faults == (len(provider.asked) if faulty else 0)
    assert provider.most_under_way <= concurrency
    assert set(provider.asked.values()) == {2 if faulty else 1}


def test_runner_sends_as_many_requests_at_once_as_the_concurrency_option(tmp_path: Path) -> None:
    provider = Tiny(seconds=0.02)
    start(tmp_path, provider, (BASE, 4), options=replace(QUICK, concurrency=5))
    assert provider.most_under_way == 5


def test_last_step_of_a_chain_contains_the_earlier_answers_of_the_same_sample(tmp_path: Path) -> None:
    provider = Tiny(max_samples=3)
    start(tmp_path, provider, (CHAIN, 5))
    finals = [request for request in provider.requests if len(request.messages[0].text.splitlines()) == 3]
    assert len(finals) == 15
    for request in finals:
        (sample,) = request.samples
        said = f"Who plays? A{sample}\nWhere do they look? A{sample}\nWhere is the ball?"
        assert request.messages[0].text == said
    questions = [request for request in provider.requests if request not in finals]
    # Two requests (of three and two samples) per question, two questions, three images.
    assert Counter(len(request.samples) for request in questions) == {3: 6, 2: 6}


def test_resume_does_not_repeat_stored_requests(tmp_path: Path) -> None:
    first = Tiny()
    start(tmp_path, first, (CHAIN, 2), options=replace(QUICK, max_requests=8, concurrency=2))
    assert len(replies(tmp_path)) == 8
    again = Tiny()
    runner = start(tmp_path, again, (CHAIN, 2), (BASE, 1))
    assert set(replies(tmp_path)) == expected((CHAIN, 2), (BASE, 1))
    assert not set(first.asked) & set(again.asked)
    assert runner.tally.total == len(expected((CHAIN, 2), (BASE, 1))) - 8
    third = Tiny()
    start(tmp_path, third, (CHAIN, 2), (BASE, 1))
    assert not third.asked


def test_runner_requests_the_missing_samples_if_a_server_returns_fewer_than_requested(tmp_path: Path) -> None:
    provider = Tiny(max_samples=8, gives=1)
    start(tmp_path, provider, (BASE, 5), options=replace(QUICK, concurrency=1))
    assert set(replies(tmp_path)) == expected((BASE, 5))
    # The first request asks for five samples and returns one, so all others ask for one sample.
    assert [request.samples for request in provider.requests][:5] == [(1, 2, 3, 4, 5), (1,), (1,), (2,), (2,)]


@pytest.mark.slow
@pytest.mark.parametrize("held", [0, 20_000, 10**9])
def test_each_request_has_the_picture_of_its_scene_for_any_cache_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    data, provider = dataset(tmp_path / "data", images=5), Tiny()
    monkeypatch.setattr(runner_module, "HELD", held)
    scenes = read_scenes(data / "scenes.jsonl")
    running.start(scenes, tmp_path / "run", provider, (BASE, 3), pictures=ScenePictures(data, None))
    assert len(provider.requests) == 15
    assert all(request.picture == encoded(request.scene, data) for request in provider.requests)


class TestFaults:
    def test_runner_retries_transient_errors_until_the_request_succeeds(self, tmp_path: Path) -> None:
        runner = start(tmp_path, failing(2), (BASE, 2))
        assert runner.why is None
        assert (runner.tally.requests, runner.tally.faults, runner.tally.last_fault) == (18, 12, "busy 1")
        assert query(tmp_path, "SELECT DISTINCT attempt FROM requests") == [(3,)]

    def test_request_that_fails_on_every_attempt_is_requested_on_the_next_start(self, tmp_path: Path) -> None:
        provider = failing(99, image="2")
        runner = start(tmp_path, provider, (BASE, 2), (CHAIN, 2), options=replace(QUICK, concurrency=1))
        assert runner.why is None
        assert set(replies(tmp_path)) == {key for key in expected((BASE, 2), (CHAIN, 2)) if key[:2] != ("soccer", "2")}
        assert runner.tally.total - runner.tally.done == 8
        # Each request has three attempts. A chain whose first question fails is not continued.
        assert {n for key, n in provider.asked.items() if key[1] == "2"} == {3}
        assert not any("look" in key[2] for key in provider.asked if key[1] == "2")
        start(tmp_path, Tiny(), (BASE, 2), (CHAIN, 2))
        assert set(replies(tmp_path)) == expected((BASE, 2), (CHAIN, 2))

    def test_permanent_error_ends_the_run_and_stores_pending_replies(self, tmp_path: Path) -> None:
        provider = Tiny()
        answered = asyncio.Event()

        async def ask(request: Request) -> object:
            if request.samples == (2,):
                answered.set()
                raise PermanentError("no such model")
            await asyncio.wait_for(answered.wait(), 60)
            return await Tiny.ask(provider, request)

        provider.ask = ask  # type: ignore[method-assign, assignment]
        runner = start(tmp_path, provider, (BASE, 50), options=replace(QUICK, concurrency=4))
        assert isinstance(runner.error, PermanentError)
        # Three of the four pending requests are for sample 1, and are answered after the error.
        assert set(replies(tmp_path)) == {(*one.key, "base", 0, 1) for one in SCENES}
        assert runner.tally.requests == 4

    def test_unexpected_exception_ends_the_run_and_is_reported(self, tmp_path: Path) -> None:
        runner = start(tmp_path, failing(1, KeyError("choices")), (BASE, 50))
        assert isinstance(runner.error, KeyError)
        assert runner.tally.requests <= QUICK.concurrency

    def test_store_failure_ends_the_run(self, tmp_path: Path) -> None:
        provider = Tiny(seconds=0.005)

        def fault(request: Request, before: int) -> None:
            if len(provider.asked) == 20:
                with sqlite3.connect(tmp_path / STORE) as connection:
                    connection.execute("ALTER TABLE replies RENAME TO away")

        provider.fault = fault
        runner = start(tmp_path, provider, (BASE, 500))
        assert runner.why == "replies cannot be stored"
        assert "no such table: replies" in str(runner.error)
        assert 0 < runner.tally.lost <= 5 * QUICK.concurrency
        # No request is stored without its replies.
        for table in ("away", "requests"):
            assert query(tmp_path, f"SELECT count(*) FROM {table}") == [(runner.tally.done,)]


class TestLimits:
    def test_max_requests_ends_the_run(self, tmp_path: Path) -> None:
        runner = start(tmp_path, failing(1), (BASE, 9), options=replace(QUICK, max_requests=13, attempts=3))
        assert runner.tally.requests == 13
        assert runner.why == "the limit of 13 requests (--max-requests) was reached"
        assert runner.error is None
        assert len(replies(tmp_path)) == runner.tally.done == 13 - runner.tally.faults

    def test_max_tokens_ends_the_run(self, tmp_path: Path) -> None:
        runner = start(tmp_path, Tiny(), (BASE, 9), options=replace(QUICK, max_tokens=1000, concurrency=1))
        # Each request uses 112 tokens, so nine requests use 1,008.
        assert runner.tally.done == 9
        assert runner.why == "1,008 tokens were used, and --max-tokens is 1,000"

    def test_runner_spaces_requests_by_requests_per_minute_and_by_the_tokens_per_minute_of_answers(
        self, tmp_path: Path
    ) -> None:
        def gaps(samples: int, **options: float) -> list[float]:
            """Return the seconds between successive requests of a run."""
            times: list[float] = []
            provider = Tiny()
            provider.fault = lambda request, before: times.append(time.monotonic())
            start(tmp_path / str(samples), provider, (BASE, samples), options=replace(QUICK, **options))
            return [later - earlier for earlier, later in pairwise(times)]

        by_requests = gaps(2, requests_per_minute=1200)
        assert len(by_requests) == 5
        assert sum(by_requests) >= 5 * 0.05 - 0.01
        # Each request uses 112 tokens (the first is estimated at about 100). At 12,000 per minute, that takes 0.56 s.
        by_tokens = gaps(1, tokens_per_minute=12_000, concurrency=1)
        assert len(by_tokens) == 2
        assert min(by_tokens) >= 0.56 - 0.01

    def test_retry_after_pauses_all_requests(self, tmp_path: Path) -> None:
        sent: list[float] = []
        failed: list[float] = []

        class Limited(Tiny):
            async def ask(self, request: Request) -> Answer:
                sent.append(time.monotonic())
                if len(sent) == 5:
                    failed.append(time.monotonic())
                    raise TransientError("too many requests", status=429, retry_after=0.4)
                return await super().ask(request)

        runner = start(tmp_path, Limited(), (BASE, 10), options=replace(QUICK, concurrency=4))
        assert runner.tally.done == 30
        # Requests sent earlier may be pending, but no new request is sent before the pause is over.
        assert not [at for at in sent if failed[0] < at < failed[0] + 0.4]
        assert max(sent) >= failed[0] + 0.4

    def test_retry_after_above_the_limit_ends_the_run(self, tmp_path: Path) -> None:
        error = TransientError("quota is used up", status=429, retry_after=86400)
        runner = start(tmp_path, failing(1, error), (BASE, 10))
        assert runner.why is not None
        assert all(value in runner.why for value in ("86,400 s", "3,600 s", "quota"))
        assert runner.error is None


class TestExhaustedResources:
    @pytest.mark.slow
    def test_memory_error_for_one_response_counts_the_image_as_refused(self, tmp_path: Path) -> None:
        runner = start(tmp_path, failing(99, MemoryError(), image="2"), (BASE, 2))
        assert runner.error is None
        ((question, message),) = runner.tally.refused.items()
        assert question == ("soccer", "2", "base")
        assert "--max-response-mb" in message
        assert len(replies(tmp_path)) == 4

    def test_run_completes_if_no_new_thread_can_be_started(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def cannot(thread: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        provider = Tiny()
        provider.fault = lambda request, before: monkeypatch.setattr(threading.Thread, "start", cannot)
        runner = start(tmp_path, provider, (BASE, 2))
        assert runner.error is None
        assert runner.tally.done == 6

    def test_run_ends_with_an_error_if_the_writer_thread_runs_out_of_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_memory(writer: ReplyWriter, batch: object) -> None:
            raise MemoryError

        monkeypatch.setattr(ReplyWriter, "_do", no_memory)
        runner = start(tmp_path, Tiny(seconds=0.01), (BASE, 50))
        assert isinstance(runner.error, MemoryError)
        assert runner.why == "replies cannot be stored"


def test_long_wait_before_a_retry_is_announced(tmp_path: Path) -> None:
    lines: list[str] = []

    async def main() -> None:
        with ReplyStore(tmp_path) as store:
            plan, session = SamplePlan(SCENES[:1], ((BASE, 1),), {}), store.start_session({}, {})
            options = replace(QUICK, first_wait=9, longest_wait=50, attempts=6)
            asked = (failing(4), plan, None, {}, store, session, Settings(), options)
            await Runner(*asked, tell=lines.append).run()

    with asyncio.Runner(loop_factory=Clockwork) as loop:
        loop.run(main())
    assert lines == [
        f"waiting {seconds} s: attempt {attempt} of 6 follows; the last error: busy {attempt - 2}"
        for seconds, attempt in ((18, 3), (36, 4), (50, 5))
    ]
    assert len(replies(tmp_path)) == 1


@pytest.mark.parametrize(
    ("provider", "options", "stops", "done"),
    [
        pytest.param(Tiny(seconds=0.3), {}, (0.1,), QUICK.concurrency, id="pending replies are stored"),
        pytest.param(failing(99), {"first_wait": 3600, "longest_wait": 3600}, (0.2,), 0, id="no wait for retries"),
        pytest.param(Tiny(seconds=3600), {"grace": 0.1}, (0.1,), 0, id="no wait after the grace period"),
        pytest.param(Tiny(seconds=3600), {"grace": 3600}, (0.1, 0.2), 0, id="no wait after a second stop"),
    ],
)
def test_stop_sends_no_more_requests_and_waits_only_for_pending_requests(
    tmp_path: Path, provider: Tiny, options: dict[str, float], stops: tuple[float, ...], done: int
) -> None:
    runner = start(tmp_path, provider, (BASE, 50), options=replace(QUICK, **options), stops=stops)
    assert (runner.why, runner.tally.requests) == ("interrupted", QUICK.concurrency)
    assert len(replies(tmp_path)) == runner.tally.done == done
