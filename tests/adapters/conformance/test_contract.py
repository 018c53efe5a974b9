"""Test the contract of every provider, whether it uses a server or runs on this machine."""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from spotball_adapters.providers.presets import PRESETS
from spotball_adapters.providers.protocol import (
    ENTRY_POINTS,
    Answer,
    PermanentError,
    Provider,
    ProviderError,
    Settings,
)
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.conformance.cases import LOCAL, SERVICES, Local, Subject, params
from tests.adapters.speech import INPUT_TOKENS, OUTPUT_TOKENS, text_of
from tests.builders import scene
from tests.conftest import ROOT
from tests.failures import raises

Found = TypeVar("Found")

MEMBERS = {name for name in vars(Provider) if not name.startswith("_")}
"""The methods of the protocol."""

OF_A_RUN = [name for name, case in LOCAL.items() if case.options]
"""The local providers that need the scenes or stimuli of the run."""

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


def use(subject: Subject, what: Callable[[Provider], Awaitable[Found]], **options: Any) -> Found:
    """Create a provider, call a function with it, and close it."""

    async def whole() -> Found:
        provider = subject.make(**options)
        try:
            async with asyncio.timeout(60):
                return await what(provider)
        finally:
            await provider.close()

    return asyncio.run(whole())


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


def test_provider_has_the_attributes_and_methods_of_the_protocol(subject: Subject) -> None:
    async def look(provider: Provider) -> None:
        assert provider.name == subject.case.name
        assert provider.model == subject.model
        assert type(provider.max_samples) is int
        assert provider.max_samples >= 1
        for name in MEMBERS:
            wanted, given = getattr(Provider, name), getattr(provider, name)
            assert list(inspect.signature(given).parameters) == list(inspect.signature(wanted).parameters)[1:], name
            assert inspect.iscoroutinefunction(given) == inspect.iscoroutinefunction(wanted), name

    use(subject, look)


def test_versions_and_image_tokens_are_available_before_the_first_request(subject: Subject) -> None:
    async def look(provider: Provider) -> None:
        versions = provider.versions()
        assert versions
        assert all(isinstance(part, str) and part for pair in versions.items() for part in pair)
        for size in ((1, 1), (640, 360), (4000, 3000)):
            tokens = provider.image_tokens(*size)
            assert tokens is None or (type(tokens) is int and tokens >= 0)

    use(subject, look)


@pytest.mark.parametrize("setting", WRONG)
def test_check_of_a_setting_out_of_range_is_an_error_that_names_the_setting(subject: Subject, setting: str) -> None:
    async def check(provider: Provider) -> None:
        for value in WRONG[setting]:
            with pytest.raises(OptionError, match=setting.replace("_", "[-_]")):
                provider.check(Settings(**{setting: value}))  # type: ignore[arg-type]

    use(subject, check)


def test_check_of_empty_settings_passes(subject: Subject) -> None:
    async def check(provider: Provider) -> None:
        provider.check(Settings())

    use(subject, check)


@pytest.mark.slow
@pytest.mark.parametrize("setting", RIGHT)
def test_each_setting_is_either_used_or_an_error(subject: Subject, setting: str) -> None:
    async def asked(provider: Provider) -> bool:
        settings = {setting: RIGHT[setting]}
        try:
            provider.check(Settings(**settings))  # type: ignore[arg-type]
        except OptionError:
            return False
        check_answer(await provider.ask(subject.request(**settings)), 1)
        return True

    taken = use(subject, asked)
    if isinstance(subject.case, Local):
        assert taken is (setting in subject.case.takes)
    elif taken:
        assert subject.server
        sent = RIGHT[setting].values() if setting == "extra_body" else [RIGHT[setting]]
        assert set(sent) <= set(subject.server.asked[-1].settings.values())


@pytest.mark.parametrize("samples", [1, 3])
def test_ask_returns_one_reply_per_sample_in_order(subject: Subject, samples: int) -> None:
    async def ask(provider: Provider) -> tuple[int, Answer]:
        n = min(samples, provider.max_samples)
        return n, await provider.ask(subject.request(*range(4, 4 + n)))

    n, answer = use(subject, ask)
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
def test_seeded_sample_does_not_depend_on_the_other_samples_of_the_request(subject: Subject) -> None:
    async def ask(provider: Provider) -> list[list[str]]:
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
            found.append([texts[sample] for sample in (1, 2, 3)])
        return found

    first, second, third = use(subject, ask)
    assert first == second == third


def test_concurrent_requests_get_the_same_answers_as_single_requests(subject: Subject) -> None:
    async def ask(provider: Provider) -> tuple[list[Answer], list[Answer]]:
        seed = {"seed": 2} if takes_seed(provider) else {}
        requests = [subject.request(sample, **seed) for sample in range(1, 9)]
        together = await asyncio.gather(*(provider.ask(one) for one in requests))
        return together, [await provider.ask(one) for one in requests]

    together, alone = use(subject, ask)
    if subject.server:
        # The server numbers its replies, and each reply belongs to one request.
        assert len({answer.replies[0].text for answer in (*together, *alone)}) == 16
        assert {(answer.input_tokens, answer.output_tokens) for answer in together} == {(INPUT_TOKENS, OUTPUT_TOKENS)}
    else:
        assert together == alone


def test_cancelled_request_does_not_affect_later_requests(subject: Subject) -> None:
    async def ask(provider: Provider) -> list[Answer]:
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
        return [await provider.ask(subject.request(sample)) for sample in (2, 3)]

    for answer in use(subject, ask):
        check_answer(answer, 1)


@pytest.mark.parametrize("asked", [False, True])
def test_close_can_be_called_twice(subject: Subject, asked: bool) -> None:
    async def close(provider: Provider) -> None:
        if asked:
            await provider.ask(subject.request())
        await provider.close()
        await provider.close()

    use(subject, close)


@pytest.mark.parametrize("subject", params(*OF_A_RUN), indirect=True)
def test_ask_about_an_item_outside_the_run_raises_permanent_error(subject: Subject) -> None:
    other = Subject(subject.case, subject.make, subject.model, scene("other"), subject.text, subject.settings)
    with raises(PermanentError, "unknown-image"):
        use(other, lambda provider: provider.ask(other.request()))


@pytest.mark.parametrize("subject", params(*OF_A_RUN), indirect=True)
def test_ask_with_an_unexpected_question_returns_an_answer_or_raises_provider_error(subject: Subject) -> None:
    other = Subject(subject.case, subject.make, subject.model, subject.item, "Who plays?", subject.settings)

    async def ask(provider: Provider) -> None:
        (found,) = await asyncio.gather(provider.ask(other.request()), return_exceptions=True)
        assert isinstance(found, Answer | ProviderError), repr(found)

    use(other, ask)


@pytest.mark.parametrize("subject", params(*OF_A_RUN), indirect=True)
def test_local_provider_with_a_base_url_is_an_error(subject: Subject) -> None:
    with raises(OptionError, "unsupported-option"):
        subject.make(base_url="http://127.0.0.1:1")


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.provider in SERVICES])
def test_provider_accepts_the_settings_of_its_preset(name: str) -> None:
    preset = PRESETS[name]
    provider = SERVICES[preset.provider].at("http://127.0.0.1:1", model=preset.model)
    provider.check(preset.settings)
    asyncio.run(provider.close())
