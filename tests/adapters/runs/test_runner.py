"""Test the runner with a provider in this process that fails on demand."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from spotball_adapters.prompts.picture import ScenePictures, encoded
from spotball_adapters.prompts.prompt import Prompt
from spotball_adapters.providers.protocol import Answer, PermanentError, Request, Settings, TransientError
from spotball_adapters.runs import runner as runner_module
from spotball_adapters.runs.plan import SamplePlan
from spotball_adapters.runs.runner import STORM, Options, Runner, StormError
from spotball_adapters.runs.store import STORE, ReplyStore
from spotball_adapters.runs.writer import ReplyWriter
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from tests.adapters.run_process import dataset
from tests.adapters.runs.test_limits import Clockwork
from tests.adapters.tiny import BASE, CHAIN, QUICK, Tiny, runner_of
from tests.builders import scene
from tests.conftest import examples

SCENES = (scene("1"), scene("2"), scene("1", "basketball"))


def start(
    folder: Path,
    provider: Tiny,
    *prompts: tuple[Prompt, int],
    options: Options = QUICK,
    scenes: tuple[Scene, ...] = SCENES,
    stop_after: float | None = None,
) -> Runner:
    """Run until the end, or stop after `stop_after` seconds, and return the runner."""

    async def main() -> Runner:
        store, runner = runner_of(folder, provider, scenes, *prompts, options=options)
        with store:
            async with asyncio.timeout(30):
                if stop_after is not None:
                    asyncio.get_running_loop().call_later(stop_after, runner.stop, "interrupted")
                await runner.run()
        return runner

    return asyncio.run(main())


def replies(folder: Path) -> dict[tuple[str, str, str, int, int], str]:
    with sqlite3.connect(folder / STORE) as connection:
        rows = connection.execute("SELECT sport, image, prompt, step, sample, text FROM replies").fetchall()
    return {row[:5]: row[5] for row in rows}


def expected(*prompts: tuple[Prompt, int]) -> set[tuple[str, str, str, int, int]]:
    return {
        (*one.key, prompt.name, step, sample)
        for one in SCENES
        for prompt, samples in prompts
        for step in range(len(prompt.questions) + 1)
        for sample in range(1, samples + 1)
    }


def failing(times: int, error: Exception | None = None) -> Tiny:
    """Return a provider that fails `times` times per request before it answers."""
    provider = Tiny()

    def fault(request: Request, before: int) -> None:
        if before < times:
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
def test_every_sample_is_requested_and_stored_once(
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


def test_runner_uses_the_full_concurrency(tmp_path: Path) -> None:
    provider = Tiny(seconds=0.02)
    start(tmp_path, provider, (BASE, 4), options=replace(QUICK, concurrency=5))
    assert provider.most_under_way == 5


def test_last_step_of_a_chain_contains_the_answers_of_its_own_sample(tmp_path: Path) -> None:
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


def test_runner_requests_the_rest_if_a_server_returns_fewer_samples(tmp_path: Path) -> None:
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
    data = dataset(tmp_path / "data", images=5)
    scenes = read_scenes(data / "scenes.jsonl")
    pictures, provider = ScenePictures(data, None), Tiny()
    monkeypatch.setattr(runner_module, "HELD", held)

    async def main() -> None:
        with ReplyStore(tmp_path / "run") as store:
            plan, session = SamplePlan(scenes, ((BASE, 3),), {}), store.start_session({}, {})
            await Runner(provider, plan, pictures, {}, store, session, Settings(), QUICK).run()

    asyncio.run(main())
    assert len(provider.requests) == 15
    assert all(request.picture == encoded(request.scene, data) for request in provider.requests)


class TestFaults:
    def test_transient_error_is_retried(self, tmp_path: Path) -> None:
        runner = start(tmp_path, failing(2), (BASE, 2))
        assert runner.why is None
        assert runner.tally.faults == 12
        assert runner.tally.requests == 18
        assert runner.tally.last_fault == "busy 1"
        with sqlite3.connect(tmp_path / STORE) as connection:
            assert connection.execute("SELECT DISTINCT attempt FROM requests").fetchall() == [(3,)]

    def test_request_that_fails_on_every_attempt_is_requested_on_the_next_start(self, tmp_path: Path) -> None:
        provider = Tiny()

        def fault(request: Request, before: int) -> None:
            if request.scene.key == ("soccer", "2"):
                raise TransientError("this image is too much for it")

        provider.fault = fault
        runner = start(tmp_path, provider, (BASE, 2), (CHAIN, 2), options=replace(QUICK, concurrency=1))
        assert runner.why is None
        assert set(replies(tmp_path)) == {key for key in expected((BASE, 2), (CHAIN, 2)) if key[:2] != ("soccer", "2")}
        assert runner.tally.total - runner.tally.done == 8
        # Each request has three attempts. A chain whose first question fails is not continued.
        assert {n for key, n in provider.asked.items() if key[1] == "2"} == {3}
        assert not any("look" in key[2] for key in provider.asked if key[1] == "2")
        start(tmp_path, Tiny(), (BASE, 2), (CHAIN, 2))
        assert set(replies(tmp_path)) == expected((BASE, 2), (CHAIN, 2))

    def test_many_consecutive_failures_end_the_run(self, tmp_path: Path) -> None:
        provider = failing(99)
        runner = start(tmp_path, provider, (BASE, 50))
        assert isinstance(runner.error, StormError)
        assert runner.error.code == "too-many-failures"
        assert str(STORM) in str(runner.error)
        assert str(runner.error).endswith("busy 2")
        assert runner.tally.requests <= 3 * (STORM + QUICK.concurrency)
        assert replies(tmp_path) == {}

    def test_permanent_error_ends_the_run_and_stores_pending_replies(self, tmp_path: Path) -> None:
        provider = Tiny()
        answered = asyncio.Event()

        async def ask(request: Request) -> object:
            if request.samples == (2,):
                answered.set()
                raise PermanentError("no such model")
            await answered.wait()
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
        with sqlite3.connect(tmp_path / STORE) as connection:
            assert connection.execute("SELECT count(*) FROM away").fetchone() == (runner.tally.done,)
            # No request is stored without its replies.
            assert connection.execute("SELECT count(*) FROM requests").fetchone() == (runner.tally.done,)


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

    def test_requests_per_minute_spaces_requests(self, tmp_path: Path) -> None:
        times = []
        provider = Tiny()
        provider.fault = lambda request, before: times.append(time.monotonic())
        start(tmp_path, provider, (BASE, 2), options=replace(QUICK, requests_per_minute=1200))
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert len(gaps) == 5
        assert sum(gaps) >= 5 * 0.05 - 0.01

    def test_tokens_per_minute_uses_the_tokens_of_the_answers(self, tmp_path: Path) -> None:
        times = []
        provider = Tiny()
        provider.fault = lambda request, before: times.append(time.monotonic())
        # Each request uses 112 tokens (the first is estimated at about 100). At 12,000 per minute, that takes 0.56 s.
        start(tmp_path, provider, (BASE, 1), options=replace(QUICK, tokens_per_minute=12_000, concurrency=1))
        assert times[1] - times[0] >= 0.56 - 0.01
        assert times[2] - times[1] >= 0.56 - 0.01

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


class TestNoMemory:
    @pytest.mark.slow
    def test_memory_error_for_one_response_counts_the_image_as_refused(self, tmp_path: Path) -> None:
        provider = Tiny()

        def fault(request: Request, before: int) -> None:
            if request.scene.key == ("soccer", "2"):
                raise MemoryError

        provider.fault = fault
        runner = start(tmp_path, provider, (BASE, 2))
        assert runner.error is None
        ((question, message),) = runner.tally.refused.items()
        assert question == ("soccer", "2", "base")
        assert "--max-response-mb" in message
        assert len(replies(tmp_path)) == 4

    def test_run_ends_if_no_new_thread_can_be_started(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        provider = Tiny()

        def fault(request: Request, before: int) -> None:
            def cannot(thread: threading.Thread) -> None:
                raise RuntimeError("can't start new thread")

            monkeypatch.setattr(threading.Thread, "start", cannot)

        provider.fault = fault
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


class TestAnnouncedWaits:
    def test_long_wait_before_a_retry_is_announced(self, tmp_path: Path) -> None:
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
            "waiting 18 s: attempt 3 of 6 follows; the last error: busy 1",
            "waiting 36 s: attempt 4 of 6 follows; the last error: busy 2",
            "waiting 50 s: attempt 5 of 6 follows; the last error: busy 3",
        ]
        assert len(replies(tmp_path)) == 1


class TestStopping:
    def test_stop_sends_no_more_requests_and_stores_pending_replies(self, tmp_path: Path) -> None:
        provider = Tiny(seconds=0.3)
        runner = start(tmp_path, provider, (BASE, 50), stop_after=0.1)
        assert runner.why == "interrupted"
        assert runner.tally.requests == runner.tally.done == QUICK.concurrency
        assert len(replies(tmp_path)) == QUICK.concurrency

    def test_stop_does_not_wait_for_scheduled_retries(self, tmp_path: Path) -> None:
        options = replace(QUICK, first_wait=3600, longest_wait=3600)
        runner = start(tmp_path, failing(99), (BASE, 50), options=options, stop_after=0.2)
        assert runner.tally.requests == QUICK.concurrency

    def test_stop_waits_for_pending_requests_at_most_the_grace_period(self, tmp_path: Path) -> None:
        runner = start(tmp_path, Tiny(seconds=3600), (BASE, 50), options=replace(QUICK, grace=0.1), stop_after=0.1)
        assert runner.tally.done == 0

    def test_second_stop_cancels_pending_requests(self, tmp_path: Path) -> None:
        async def main() -> Runner:
            store, runner = runner_of(tmp_path, Tiny(seconds=3600), SCENES, (BASE, 50), options=Options(grace=3600))
            with store:
                loop = asyncio.get_running_loop()
                loop.call_later(0.1, runner.stop, "interrupted")
                loop.call_later(0.2, runner.stop, "interrupted")
                async with asyncio.timeout(30):
                    await runner.run()
            return runner

        assert asyncio.run(main()).why == "interrupted"
