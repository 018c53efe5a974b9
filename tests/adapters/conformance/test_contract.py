"""Test the contract of every provider, whether it uses a server or runs on this machine."""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from spotball_adapters.providers.protocol import ENTRY_POINTS, Answer, PermanentError, Provider, ProviderError, Settings
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.conformance.cases import LOCAL, SERVICES, Local, Subject, params
from tests.adapters.speech import INPUT_TOKENS, OUTPUT_TOKENS, text_of
from tests.builders import scene
from tests.conftest import ROOT
from tests.failures import raises

FINISHES = {"stop", "length", "filtered", "refused", "other"}

WRONG: dict[str, list[float]] = {
    "temperature": [-0.1, 1000, float("nan"), float("inf")],
    "top_p": [-0.1, 0, 1.01, float("nan")],
    "max_output_tokens": [0, -1],
    "seed": [-1],
}
"""Values that no provider accepts."""

RIGHT: dict[str, Any] = {
    "temperature": 0.75,
    "top_p": 0.5,
    "max_output_tokens": 16,
    "seed": 5,
    "reasoning_effort": "low",
    "extra_body": {"top_k": 20},
}


def with_provider(test: Callable[[Subject, Provider], Awaitable[None]]) -> Callable[[Subject], None]:
    """Return a test that creates a provider, calls an asynchronous test with it, and closes it."""

    def run(subject: Subject) -> None:
        async def whole() -> None:
            provider = subject.make()
            try:
                async with asyncio.timeout(60):
                    await test(subject, provider)
            finally:
                await provider.close()

        asyncio.run(whole())

    return run


def takes_seed(provider: Provider) -> bool:
    try:
        provider.check(Settings(seed=1))
    except OptionError:
        return False
    return True


def check_answer(answer: Answer, samples: int) -> None:
    """Check that an answer follows the protocol."""
    assert isinstance(answer, Answer)
    assert 1 <= len(answer.replies) <= samples
    assert isinstance(answer.replies, tuple)
    for one in answer.replies:
        one.text.encode()
        one.finish_said.encode()
        assert one.finish in FINISHES
    assert answer.model is None or (isinstance(answer.model, str) and answer.model)
    for tokens in (answer.input_tokens, answer.output_tokens):
        assert tokens is None or (type(tokens) is int and tokens >= 0)


def test_every_provider_entry_point_has_a_conformance_case() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][ENTRY_POINTS]
    missing = table.keys() - SERVICES.keys() - LOCAL.keys()
    assert not missing, f"add a line to tests/adapters/conformance/cases.py for {', '.join(sorted(missing))}"
    assert not SERVICES.keys() & LOCAL.keys()


@with_provider
async def test_provider_has_the_members_of_the_protocol_and_reports_versions_and_image_tokens_before_the_first_request(
    subject: Subject, provider: Provider
) -> None:
    assert (provider.name, provider.model) == (subject.case.name, subject.model)
    assert type(provider.max_samples) is int
    assert provider.max_samples >= 1
    for name in (name for name in vars(Provider) if not name.startswith("_")):
        wanted, given = getattr(Provider, name), getattr(provider, name)
        assert list(inspect.signature(given).parameters) == list(inspect.signature(wanted).parameters)[1:], name
        assert inspect.iscoroutinefunction(given) == inspect.iscoroutinefunction(wanted), name
    versions = provider.versions()
    assert versions
    assert all(isinstance(part, str) and part for pair in versions.items() for part in pair)
    for size in ((1, 1), (640, 360), (4000, 3000)):
        tokens = provider.image_tokens(*size)
        assert tokens is None or (type(tokens) is int and tokens >= 0)


@with_provider
async def test_check_accepts_default_settings_and_rejects_an_out_of_range_setting_with_an_error_that_names_it(
    subject: Subject, provider: Provider
) -> None:
    provider.check(Settings())
    for setting, value in ((setting, value) for setting, values in WRONG.items() for value in values):
        with pytest.raises(OptionError, match=setting.replace("_", "[-_]")):
            provider.check(Settings(**{setting: value}))  # type: ignore[arg-type]


@pytest.mark.slow
@with_provider
async def test_ask_uses_each_setting_that_check_accepts(subject: Subject, provider: Provider) -> None:
    taken = set()
    for setting, value in RIGHT.items():
        try:
            provider.check(Settings(**{setting: value}))
        except OptionError:
            continue
        taken.add(setting)
        check_answer(await provider.ask(subject.request(**{setting: value})), 1)
        if subject.server:
            sent = value.values() if setting == "extra_body" else [value]
            assert set(sent) <= set(subject.server.asked[-1].settings.values()), setting
    if isinstance(subject.case, Local):
        assert taken == set(subject.case.takes)


@with_provider
async def test_ask_returns_one_reply_per_sample_in_order(subject: Subject, provider: Provider) -> None:
    for n in {1, min(3, provider.max_samples)}:
        answer = await provider.ask(subject.request(*range(4, 4 + n)))
        check_answer(answer, n)
        assert len(answer.replies) == n
        assert all(one.text and one.finish in ("stop", "length") for one in answer.replies)
        if subject.server:
            asked = subject.server.asked[-1]
            assert asked.n == n
            given = subject.server.given[asked.question]
            # Some services send the replies in another order, with their indices.
            texts = [text_of(asked.question, number) for number in range(given - n, given)]
            assert [one.text for one in answer.replies] == texts
            assert (answer.model or "").startswith(subject.model)
            assert (answer.input_tokens, answer.output_tokens) == (INPUT_TOKENS, n * OUTPUT_TOKENS)


@pytest.mark.parametrize("subject", params(*LOCAL), indirect=True)
@with_provider
async def test_seeded_sample_does_not_depend_on_the_other_samples_of_the_request(
    subject: Subject, provider: Provider
) -> None:
    seed = {"seed": 11} if takes_seed(provider) else {}
    lots: tuple[list[tuple[int, ...]], ...] = (
        [(1,), (2,), (3,)],
        [(1,), (3,), (2,)],
        [(2, 3), (1,)] if provider.max_samples > 1 else [(3,), (1,), (2,)],
    )
    found = []
    for lot in lots:
        texts = {}
        for samples in lot:
            answer = await provider.ask(subject.request(*samples, **seed))
            texts |= dict(zip(samples, (one.text for one in answer.replies), strict=True))
        found.append(texts)
    assert found[0] == found[1] == found[2]
    assert found[0].keys() == {1, 2, 3}


@with_provider
async def test_concurrent_requests_get_the_same_answers_as_single_requests(
    subject: Subject, provider: Provider
) -> None:
    seed = {"seed": 2} if takes_seed(provider) else {}
    requests = [subject.request(sample, **seed) for sample in range(1, 9)]
    together = await asyncio.gather(*(provider.ask(one) for one in requests))
    alone = [await provider.ask(one) for one in requests]
    if subject.server:
        # The server numbers its replies, and each reply belongs to one request.
        assert len({answer.replies[0].text for answer in (*together, *alone)}) == 16
        assert {(answer.input_tokens, answer.output_tokens) for answer in together} == {(INPUT_TOKENS, OUTPUT_TOKENS)}
    else:
        assert together == alone


@with_provider
async def test_cancelled_request_does_not_affect_later_requests(subject: Subject, provider: Provider) -> None:
    given_up = asyncio.create_task(provider.ask(subject.request(1)))
    if server := subject.server:
        server.script(faults.HANG)
        before = len(server.seen)
        while len(server.seen) == before and not given_up.done():
            await asyncio.sleep(0.01)
    else:
        await asyncio.sleep(0.05)
    given_up.cancel()
    await asyncio.gather(given_up, return_exceptions=True)
    for sample in (2, 3):
        check_answer(await provider.ask(subject.request(sample)), 1)


@with_provider
async def test_close_can_be_called_twice_with_and_without_a_request(subject: Subject, provider: Provider) -> None:
    unused = subject.make()
    await provider.ask(subject.request())
    for one in (unused, unused, provider, provider):
        await one.close()


@pytest.mark.parametrize("subject", params(*(name for name, case in LOCAL.items() if case.options)), indirect=True)
@with_provider
async def test_provider_created_with_scenes_or_stimuli_rejects_unknown_images_and_a_base_url(
    subject: Subject, provider: Provider
) -> None:
    with raises(PermanentError, "unknown-image"):
        await provider.ask(replace(subject, item=scene("other")).request())
    unexpected = replace(subject, text="Who plays?").request()
    (found,) = await asyncio.gather(provider.ask(unexpected), return_exceptions=True)
    assert isinstance(found, Answer | ProviderError), repr(found)
    with raises(OptionError, "unsupported-option"):
        subject.make(base_url="http://127.0.0.1:1")
