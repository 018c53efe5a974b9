"""Test which replies a plan still needs, and in which order it requests them."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.runs.plan import SamplePlan, limited
from spotball_core.errors import OptionError
from tests.adapters.tiny import BASE, CHAIN
from tests.builders import scene
from tests.failures import raises

THREE = (scene("1"), scene("2"), scene("1", "basketball"))


@st.composite
def plans(draw: st.DrawFn) -> tuple[SamplePlan, int]:
    """Draw a plan with random stored samples, and a number of samples per request."""
    sizes = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    done = {}
    for one in THREE:
        for prompt, steps in ((BASE, 1), (CHAIN, 3)):
            for step in range(steps):
                done[(*one.key, prompt.name, step)] = draw(st.integers(0, 2**8 - 1)) & ~1
    prompts = draw(st.sampled_from([((BASE, sizes[0]),), ((CHAIN, sizes[1]),), ((BASE, sizes[0]), (CHAIN, sizes[1]))]))
    return SamplePlan(THREE, prompts, done), draw(st.integers(1, 9))


@given(plans())
def test_plan_requests_each_missing_sample_once_and_no_stored_sample(drawn: tuple[SamplePlan, int]) -> None:
    plan, at_once = drawn
    asked = Counter(
        (*ask.item.key, ask.prompt.name, ask.step, sample) for ask in plan.asks(at_once) for sample in ask.samples
    )

    def is_stored(key: tuple[str, str], name: str, step: int, sample: int) -> bool:
        return bool(plan.done[(*key, name, step)] & (1 << sample))

    # A sample whose final reply is stored does not need the replies to its questions.
    missing = {
        (*one.key, prompt.name, step, sample)
        for one in THREE
        for prompt, samples in plan.prompts
        for sample in range(1, samples + 1)
        if not is_stored(one.key, prompt.name, len(prompt.questions), sample)
        for step in range(len(prompt.questions) + 1)
        if not is_stored(one.key, prompt.name, step, sample)
    }
    assert set(asked) == missing
    assert set(asked.values()) <= {1}
    assert all(len(ask.samples) <= at_once for ask in plan.asks(at_once))


def test_plan_requests_a_sample_for_all_prompts_and_images_before_the_next_sample() -> None:
    plan = SamplePlan(THREE, ((BASE, 4), (CHAIN, 2)), {})
    assert [(chain.samples, chain.prompt.name, chain.item) for chain in plan.chains(1)] == [
        ((sample,), name, one)
        for sample, names in ((1, ("base", "chain")), (2, ("base", "chain")), (3, ("base",)), (4, ("base",)))
        for name in names
        for one in THREE
    ]


def test_plan_batches_samples_except_for_the_last_step_of_a_chain() -> None:
    plan = SamplePlan(THREE[:1], ((BASE, 5), (CHAIN, 3)), {})
    assert [(ask.prompt.name, ask.step, ask.samples) for ask in plan.asks(3)] == [
        ("base", 0, (1, 2, 3)),
        *(("chain", step, (1, 2, 3)) for step in (0, 1)),
        *(("chain", 2, (sample,)) for sample in (1, 2, 3)),
        ("base", 0, (4, 5)),
    ]


def test_plan_requests_missing_samples_between_stored_samples() -> None:
    plan = SamplePlan(THREE[:1], ((BASE, 6),), {("soccer", "1", "base", 0): 0b11010})
    assert [chain.samples for chain in plan.chains(2)] == [(2, 5), (6,)]


def test_plan_is_computed_lazily() -> None:
    class Counting(dict[tuple[str, str, str, int], int]):
        looked = 0

        def get(self, *args: Any) -> Any:
            self.looked += 1
            return super().get(*args)

    done = Counting()
    chains = SamplePlan(tuple(scene(str(number)) for number in range(100)), ((BASE, 50),), done).chains(1)
    assert [chain.item.image for chain in islice(chains, 3)] == ["0", "1", "2"]
    assert done.looked == 3


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ((), "no-data:--prompt"),
        (((BASE, 1), (BASE, 2)), "duplicate:--prompt"),
        (((BASE, 1), (CHAIN, 0)), "invalid-option:--samples"),
    ],
)
def test_plan_with_invalid_prompts_is_an_error(prompts: tuple, message: str) -> None:  # type: ignore[type-arg]
    with raises(OptionError, message):
        SamplePlan(THREE, prompts, {})


@pytest.mark.parametrize("limit", [None, 2, 9])
def test_limited_alternates_between_sports(limit: int | None) -> None:
    scenes = [scene("1"), scene("2"), scene("3"), scene("1", "basketball")]
    expected = ["soccer/1", "basketball/1", "soccer/2", "soccer/3"]
    assert ["/".join(one.key) for one in limited(scenes, limit)] == expected[:limit]
