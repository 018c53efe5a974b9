"""Send requests concurrently, retry failures, and pass every reply to the store as it arrives."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol

from spotball_adapters.providers.protocol import (
    Answer,
    Message,
    PermanentError,
    Picture,
    Provider,
    RefusedError,
    Reply,
    Request,
    Settings,
    TransientError,
)
from spotball_adapters.runs.limits import RateLimiter, RetryPolicy, Waits
from spotball_adapters.runs.plan import Ask, Chain, ItemT, ItemT_contra, PromptOf, SamplePlan
from spotball_adapters.runs.store import Question, ReplyStore
from spotball_adapters.runs.work_queue import Due, Final, WorkQueue
from spotball_adapters.runs.writer import AnswerRecord, ReplyWriter, storable
from spotball_core.errors import SpotballError
from spotball_core.service.sqlite_file import now

STORM = 10
"""Number of consecutive failures that stops a run: requests that failed on every attempt, or refused images."""

HELD = 64 * 2**20
"""Maximum total size of the images that are kept in memory, in bytes. Further images are read again when needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(RetryPolicy):
    """Settings for sending and retrying requests. These options do not change answers.

    Attributes:
        concurrency: maximum number of simultaneous requests.
        requests_per_minute: maximum request rate, or None for no limit.
        tokens_per_minute: maximum rate of input and output tokens, or None for no limit.
        max_requests: stop after this many requests, including failed ones. Requests in progress may exceed it by a few.
        max_tokens: stop after this many input and output tokens. Requests in progress are finished.
        requests_before: number of requests that this session has sent in earlier steps.
        tokens_before: number of tokens that this session has used in earlier steps.
        grace: seconds that requests in progress may take after the run starts to stop.
        skip_refused: exclude images that the provider refused, also in earlier sessions. They are not sent again.
    """

    attempts: int = 12
    concurrency: int = 8
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_requests: int | None = None
    max_tokens: int | None = None
    requests_before: int = 0
    tokens_before: int = 0
    grace: float = 30.0
    skip_refused: bool = False


@dataclass(slots=True)
class RunTally:
    """Counts of the replies, requests and tokens of one session of a run.

    Attributes:
        total: number of replies that were missing at the start.
        done: number of these replies that have been stored.
        lost: number of replies that arrived but could not be stored.
        requests: number of sent requests, including failed ones and those that a provider repeated for fewer samples.
        faults: number of failed requests.
        input_tokens: input tokens that the provider reported.
        output_tokens: output tokens that the provider reported.
        last_fault: the message of the last failure.
        given_up: for each image with a request that failed on every attempt, the message of the last failure.
        refused: for each image and prompt that the provider refused twice, the provider's message.
    """

    total: int
    done: int = 0
    lost: int = 0
    requests: int = 0
    faults: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    last_fault: str = ""
    given_up: dict[str, str] = field(default_factory=dict)
    refused: dict[Question, str] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Return the sum of input and output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, later: RunTally) -> RunTally:
        """Return the counts of two steps of a session together, with the messages of the later one."""
        names = ("total", "done", "lost", "requests", "faults", "input_tokens", "output_tokens")
        return replace(later, **{name: getattr(self, name) + getattr(later, name) for name in names})


class StormError(SpotballError):
    """Too many requests in a row failed."""

    code = "too-many-failures"


class _HaltedError(Exception):
    """The run is stopping, and a request was not sent."""


class PicturesOf(Protocol[ItemT_contra]):
    """Interface of objects that return the image of an item."""

    def of(self, item: ItemT_contra, /) -> Picture:
        """Return the image to send for an item."""
        ...


class Runner(Generic[ItemT]):
    """One session of a run: sends requests until nothing is missing or something stops it.

    Args:
        pictures: source of the images, or None for providers that do not use images.
        digests: digest of each image's bytes, by sport and image; stored with the replies about the image.
        session: the number of this session in the store.
        tell: called with a line of text about each long wait.
    """

    def __init__(
        self,
        provider: Provider,
        plan: SamplePlan[ItemT],
        pictures: PicturesOf[ItemT] | None,
        digests: Mapping[tuple[str, str], str],
        store: ReplyStore,
        session: int,
        settings: Settings,
        options: Options,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._provider, self._plan, self._pictures, self._digests = provider, plan, pictures, digests
        self._store, self._session = store, session
        self._settings, self._options = settings, options
        self.tally = RunTally(total=sum(len(ask.samples) for ask in plan.asks(provider.max_samples)))
        self.why: str | None = None
        """The reason why the run stopped early, in a few words, or None."""
        self.error: BaseException | None = None
        """The error that stopped the run, or None."""
        self._failed_in_row = self._refused_in_row = self._replies_counted = self._held_bytes = 0
        self._answered = bool(plan.done)
        self._postponed = {} if options.skip_refused else store.refused()
        # Answers to the questions of refused chains, because the store may not have them yet.
        self._texts: dict[Question, dict[tuple[int, int], str]] = {}
        self._held: dict[tuple[str, str], Picture] = {}
        self._waits = Waits(tell)
        self._limiter = RateLimiter(
            requests_per_minute=options.requests_per_minute,
            tokens_per_minute=options.tokens_per_minute,
            waits=self._waits,
        )
        self._queue: WorkQueue[ItemT] = WorkQueue(plan.chains(provider.max_samples))
        # Limits the answers in memory if the disk is slower than the provider.
        self._unstored = asyncio.Semaphore(4 * options.concurrency)
        self._asking: set[asyncio.Task[None]] = set()
        self._workers: list[asyncio.Task[None]] = []

    async def run(self) -> RunTally:
        """Send all missing requests, or stop early. Returns after all received replies are stored."""
        loop = asyncio.get_running_loop()

        def stored(records: Sequence[AnswerRecord], failure: BaseException | None) -> None:
            loop.call_soon_threadsafe(self._after_storing, records, failure)

        all_stored = asyncio.Event()
        self._writer = ReplyWriter(
            self._store.path, self._session, stored, lambda: loop.call_soon_threadsafe(all_stored.set)
        )
        try:
            if self.why is None:
                self._workers = [asyncio.create_task(self._work()) for _ in range(self._options.concurrency)]
                await asyncio.wait(self._workers)
        finally:
            for worker in self._workers:
                worker.cancel()
            # Called in this thread, because a new thread cannot start when memory is exhausted.
            self._writer.finish()
            await all_stored.wait()
        if self.tally.refused:
            # After all answers, because storing an answer deletes the image's refusal.
            self._store.refuse(self.tally.refused)
        return self.tally

    def stop(self, why: str, error: BaseException | None = None) -> None:
        """Stop sending. Requests in progress may finish within the grace period. A second call cancels them."""
        first = self.why is None
        if first:
            self.why, self.error = why, error
            asyncio.get_running_loop().call_later(self._options.grace, self._cancel, self._workers)
        if first or error is None:
            self._cancel([worker for worker in self._workers if not first or worker not in self._asking])

    def _cancel(self, workers: Sequence[asyncio.Task[None]]) -> None:
        for worker in workers:
            worker.cancel()

    async def _work(self) -> None:
        while self.why is None and (item := await self._queue.take()) is not None:
            try:
                await self._do(item)
            except _HaltedError:
                return
            except Exception as error:
                # Permanent failures and all other errors: further requests would fail in the same way.
                self.stop("every further request would fail with the same error", error)
                return
            finally:
                self._queue.finish()

    async def _do(self, item: Due[ItemT]) -> None:
        question = _question(item)
        if question in self.tally.refused:
            return
        if question in self._postponed and not self._queue.retrying:
            self._queue.postpone(item)
            return
        if isinstance(item, Final):
            ask = item.ask
            try:
                await self._ask(ask, ask.prompt.last(ask.item, ask.samples[0], item.answers))
            except RefusedError as error:
                self._refuse(item, error)
            return
        scene, prompt = item.item, item.prompt
        at_once = self._provider.max_samples
        samples, rest = item.samples[:at_once], item.samples[at_once:]
        if rest:
            # The provider supports fewer samples per request than the plan assumed.
            self._queue.put_last(Chain(scene, prompt, rest))
        try:
            await self._do_chain(scene, prompt, samples)
        except RefusedError as error:
            self._refuse(Chain(scene, prompt, samples), error)

    async def _do_chain(self, scene: ItemT, prompt: PromptOf[ItemT], samples: tuple[int, ...]) -> None:
        if prompt.questions:
            answers = await self._answers(scene, prompt, samples)
            for sample, answers_so_far in answers.items():
                self._queue.put_first(Final(Ask(scene, prompt, len(prompt.questions), (sample,)), answers_so_far))
            return
        replies = await self._ask(Ask(scene, prompt, 0, samples), prompt.last(scene, samples[0]))
        if 0 < len(replies) < len(samples):
            self._queue.put_last(Chain(scene, prompt, samples[len(replies) :]))

    async def _answers(
        self, scene: ItemT, prompt: PromptOf[ItemT], samples: Sequence[int]
    ) -> dict[int, tuple[str, ...]]:
        """Return each sample's answers to the prompt's questions, after requesting those that are not stored.

        The result is empty if a request failed on every attempt.
        """
        steps = range(len(prompt.questions))
        texts = dict(self._texts.get((*scene.key, prompt.name), {}))
        if any(self._plan.done.get((*scene.key, prompt.name, step)) for step in steps):
            texts |= self._store.texts(*scene.key, prompt.name, samples)
        for step in steps:
            missing = tuple(sample for sample in samples if (step, sample) not in texts)
            while missing:
                batch = missing[: self._provider.max_samples]
                try:
                    replies = await self._ask(Ask(scene, prompt, step, batch), prompt.question(step))
                except RefusedError:
                    self._texts.setdefault((*scene.key, prompt.name), {}).update(texts)
                    raise
                if not replies:
                    # This request failed on every attempt. The next session repeats it.
                    return {}
                for sample, reply in zip(batch, replies, strict=False):
                    texts[step, sample] = storable(reply.text)
                missing = missing[len(replies) :]
        return {sample: tuple(texts[step, sample] for step in steps) for sample in samples}

    async def _ask(self, ask: Ask[ItemT], messages: tuple[Message, ...]) -> tuple[Reply, ...]:
        """Send a request with retries, pass the replies to the store, and return them; none if every attempt failed."""
        request = Request(ask.item, self._picture(ask.item), messages, self._settings, ask.samples)
        digest = self._digests.get(ask.item.key) if any(message.picture for message in messages) else None
        await self._unstored.acquire()
        try:
            async for attempt in self._options.tries(self._may_pass):
                with attempt:
                    answer, latency = await self._send(request, attempt.num)
        except BaseException as error:
            self._unstored.release()
            if isinstance(error, TransientError):
                self._give_up(ask, error)
                return ()
            raise
        self._failed_in_row = self._refused_in_row = 0
        self._answered = True
        self._writer.put(AnswerRecord(ask, answer, now(), latency, attempt.num, digest))
        self._count_tokens(answer)
        return answer.replies

    async def _send(self, request: Request, attempt: int) -> tuple[Answer, float]:
        """Make one attempt, and return the answer and its duration in seconds."""
        expected = self._expected_tokens(request)
        await self._limiter.enter(expected)
        most = self._options.max_requests
        if self.why is None and most is not None and self._options.requests_before + self.tally.requests >= most:
            self.stop(f"the limit of {most:,} requests (--max-requests) was reached")
        if self.why is not None:
            raise _HaltedError
        self.tally.requests += 1
        worker = asyncio.current_task()
        assert worker is not None
        self._asking.add(worker)
        start = time.perf_counter()
        answer = None
        try:
            answer = await self._provider.ask(request)
        except MemoryError:
            # Its traceback holds the objects that filled the memory, so no other error may refer to it.
            pass
        except TransientError as error:
            self._count_repeated(error.requests - 1)
            self.tally.faults += 1
            self.tally.last_fault = str(error)
            self._heed(error, attempt)
            # The cause is dropped, because it would keep the whole response in memory.
            error.__context__ = None
            raise error.with_traceback(None) from None
        except PermanentError as error:
            self._count_repeated(error.requests - 1)
            self.tally.faults += 1
            raise
        finally:
            self._asking.discard(worker)
        if answer is None:
            self.tally.faults += 1
            gc.collect()
            raise RefusedError(
                "not enough memory to read the response. Lower --concurrency or --max-response-mb", code="out-of-memory"
            )
        self._count_repeated(answer.requests - 1)
        if answer.input_tokens is not None:
            self._limiter.correct(answer.input_tokens + (answer.output_tokens or 0) - expected)
        return answer, time.perf_counter() - start

    def _count_repeated(self, requests: int) -> None:
        """Count failed requests that the provider itself repeated."""
        if requests:
            self.tally.requests += requests
            self.tally.faults += requests
            self._limiter.correct_requests(requests)

    def _may_pass(self, error: Exception) -> bool:
        return isinstance(error, TransientError) and self.why is None

    def _heed(self, error: TransientError, attempt: int) -> None:
        if attempt < self._options.attempts and self.why is None:
            why = f"attempt {attempt + 1} of {self._options.attempts} follows; the last error: {error}"
            self._waits.announce(self._options.wait_after(attempt), why)
        if error.retry_after is None:
            return
        if error.retry_after > self._options.longest_pause:
            longest = self._options.longest_pause
            self.stop(
                f"the server requested a pause of {error.retry_after:,.0f} s, but a run waits at most {longest:,.0f} "
                f"s: {error}"
            )
        else:
            self._limiter.pause(error.retry_after, f"the server requested a pause: {error}")

    def _refuse(self, item: Due[ItemT], error: RefusedError) -> None:
        """Postpone a refused request, or give it up if it was already postponed and sent again."""
        question = _question(item)
        refusal = RefusedError(str(error), code=error.code, file="/".join(question[:2]))
        if self._queue.retrying:
            if not self._answered:
                # The images are probably not the cause.
                self.stop("the provider refused every image", refusal)
            elif self.why is None:
                self.tally.refused[question] = str(error)
            return
        self._queue.postpone(item)
        if question in self._postponed:
            return
        self._postponed[question] = str(error)
        self._refused_in_row += 1
        if self._refused_in_row == STORM and self.why is None:
            message = f"{STORM} images in a row were refused; the last refusal: {refusal}"
            self.stop("too many refusals", StormError(message) if self._answered else refusal)

    def _give_up(self, ask: Ask[ItemT], error: TransientError) -> None:
        if self.why is not None:
            return
        self.tally.given_up["/".join(ask.item.key)] = str(error)
        self._failed_in_row += 1
        if self._failed_in_row == STORM:
            message = f"{STORM} requests in a row failed on every attempt; the last error: {error}"
            self.stop("too many failed requests", StormError(message))

    def _expected_tokens(self, request: Request) -> float:
        """Return the expected number of tokens of a request, or 0 without a limit of tokens.

        It is based on the average of earlier replies, or, before the first reply, on the request's text and images.
        """
        if self._options.tokens_per_minute is None:
            return 0
        if self.tally.tokens:
            return self.tally.tokens / self._replies_counted * len(request.samples)
        image = self._provider.image_tokens(request.picture.width, request.picture.height) or 0
        return sum((image if message.picture else 0) + len(message.text) / 4 for message in request.messages)

    def _count_tokens(self, answer: Answer) -> None:
        tally, most = self.tally, self._options.max_tokens
        if answer.input_tokens is not None:
            self._replies_counted += len(answer.replies)
        tally.input_tokens += answer.input_tokens or 0
        tally.output_tokens += answer.output_tokens or 0
        tokens = self._options.tokens_before + tally.tokens
        if most is not None and tokens >= most and self.why is None:
            self.stop(f"{tokens:,} tokens were used, and --max-tokens is {most:,}")

    def _picture(self, scene: ItemT) -> Picture:
        if self._pictures is None:
            return Picture(b"", "", 0, 0)
        if (cached := self._held.get(scene.key)) is not None:
            return cached
        picture = self._pictures.of(scene)
        # Images are requested in cyclic order, so evicting the oldest image would make the cache useless.
        if self._held_bytes + len(picture.data) <= HELD:
            self._held[scene.key] = picture
            self._held_bytes += len(picture.data)
        return picture

    def _after_storing(self, records: Sequence[AnswerRecord], failure: BaseException | None) -> None:
        replies = 0
        for record in records:
            self._unstored.release()
            replies += len(record.answer.replies)
        if failure is None:
            self.tally.done += replies
        else:
            self.tally.lost += replies
            self.stop("replies cannot be stored", failure)
            self._cancel(self._workers)


def _question(item: Due[ItemT]) -> Question:
    about = item.ask if isinstance(item, Final) else item
    sport, image = about.item.key
    return sport, image, about.prompt.name
