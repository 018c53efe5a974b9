"""What every provider does, whether it reaches a server or answers on this machine."""

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

Found = TypeVar("Found")

MEMBERS = {name for name in vars(Provider) if not name.startswith("_")}
"""The methods of the protocol."""

OF_A_RUN = [name for name, case in LOCAL.items() if case.options]
"""Those that answer from what the run is about."""

FINISHES = {"stop", "length", "filtered", "refused", "other"}

WRONG: dict[str, list[float]] = {
    "temperature": [-0.1, 1000, float("nan"), float("inf")],
    "top_p": [-0.1, 0, 1.01, float("nan")],
    "max_output_tokens": [0, -1],
    "seed": [-1],
}
"""Values that no provider takes."""

RIGHT: dict[str, Any] = {
    "temperature": 0.75,
    "top_p": 0.5,
    "max_output_tokens": 16,
    "seed": 5,
    "reasoning_effort": "low",
    "extra_body": {"top_k": 20},
}


def use(subject: Subject, what: Callable[[Provider], Awaitable[Found]], **options: Any) -> Found:
    """Use a provider of its own, and close it."""

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
    """An answer is as the protocol says."""
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


def test_every_entry_point_is_covered() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][ENTRY_POINTS]
    missing = table.keys() - SERVICES.keys() - LOCAL.keys()
    assert not missing, f"add a line to tests/adapters/conformance/cases.py for {', '.join(sorted(missing))}"
    assert not SERVICES.keys() & LOCAL.keys()


def test_it_has_what_the_protocol_names(subject: Subject) -> None:
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


def test_versions_and_tokens_are_known_before_it_is_asked(subject: Subject) -> None:
    async def look(provider: Provider) -> None:
        versions = provider.versions()
        assert versions
        assert all(isinstance(part, str) and part for pair in versions.items() for part in pair)
        for size in ((1, 1), (640, 360), (4000, 3000)):
            tokens = provider.image_tokens(*size)
            assert tokens is None or (type(tokens) is int and tokens >= 0)

    use(subject, look)


@pytest.mark.parametrize("setting", WRONG)
def test_a_setting_out_of_range_is_refused_by_its_name(subject: Subject, setting: str) -> None:
    async def check(provider: Provider) -> None:
        for value in WRONG[setting]:
            with pytest.raises(OptionError, match=setting.replace("_", "[-_]")):
                provider.check(Settings(**{setting: value}))  # type: ignore[arg-type]

    use(subject, check)


def test_no_setting_is_required(subject: Subject) -> None:
    async def check(provider: Provider) -> None:
        provider.check(Settings())

    use(subject, check)


@pytest.mark.slow
@pytest.mark.parametrize("setting", RIGHT)
def test_a_setting_is_used_or_refused(subject: Subject, setting: str) -> None:
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
def test_each_sample_has_its_reply(subject: Subject, samples: int) -> None:
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
        # Some services send them in another order, with their numbers.
        texts = [text_of(asked.question, number) for number in range(given - n, given)]
        assert [one.text for one in answer.replies] == texts
        assert (answer.model or "").startswith(subject.model)
        assert (answer.input_tokens, answer.output_tokens) == (INPUT_TOKENS, n * OUTPUT_TOKENS)


@pytest.mark.parametrize("subject", params(*LOCAL), indirect=True)
def test_with_a_seed_a_sample_is_the_same_whatever_is_asked_with_it(subject: Subject) -> None:
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


def test_requests_at_the_same_time_get_what_they_would_alone(subject: Subject) -> None:
    async def ask(provider: Provider) -> tuple[list[Answer], list[Answer]]:
        seed = {"seed": 2} if takes_seed(provider) else {}
        requests = [subject.request(sample, **seed) for sample in range(1, 9)]
        together = await asyncio.gather(*(provider.ask(one) for one in requests))
        return together, [await provider.ask(one) for one in requests]

    together, alone = use(subject, ask)
    if subject.server:
        # Its server gives every reply a number: each is given to one request.
        assert len({answer.replies[0].text for answer in (*together, *alone)}) == 16
        assert {(answer.input_tokens, answer.output_tokens) for answer in together} == {(INPUT_TOKENS, OUTPUT_TOKENS)}
    else:
        assert together == alone


def test_a_request_that_is_given_up_leaves_the_others_alone(subject: Subject) -> None:
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
def test_it_may_be_closed_twice(subject: Subject, asked: bool) -> None:
    async def close(provider: Provider) -> None:
        if asked:
            await provider.ask(subject.request())
        await provider.close()
        await provider.close()

    use(subject, close)


@pytest.mark.parametrize("subject", params(*OF_A_RUN), indirect=True)
def test_an_item_that_is_not_of_the_run_is_an_error_of_the_provider(subject: Subject) -> None:
    other = Subject(subject.case, subject.make, subject.model, scene("other"), subject.text, subject.settings)
    with pytest.raises(PermanentError, match=r"the run does not contain the (scene|stimulus) .*other"):
        use(other, lambda provider: provider.ask(other.request()))


@pytest.mark.parametrize("subject", params(*OF_A_RUN), indirect=True)
def test_a_question_that_it_does_not_expect_is_answered_or_an_error_of_the_provider(subject: Subject) -> None:
    other = Subject(subject.case, subject.make, subject.model, subject.item, "Who plays?", subject.settings)

    async def ask(provider: Provider) -> None:
        (found,) = await asyncio.gather(provider.ask(other.request()), return_exceptions=True)
        assert isinstance(found, Answer | ProviderError), repr(found)

    use(other, ask)


@pytest.mark.parametrize("subject", params(*OF_A_RUN), indirect=True)
def test_what_runs_here_takes_no_base_url(subject: Subject) -> None:
    with pytest.raises(OptionError, match="Remove --base-url"):
        subject.make(base_url="http://127.0.0.1:1")


@pytest.mark.parametrize("name", [name for name, preset in PRESETS.items() if preset.provider in SERVICES])
def test_the_papers_settings_are_taken(name: str) -> None:
    preset = PRESETS[name]
    provider = SERVICES[preset.provider].at("http://127.0.0.1:1", model=preset.model)
    provider.check(preset.settings)
    asyncio.run(provider.close())
