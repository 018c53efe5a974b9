"""Compare the provider `baseline` with the command `spotball baselines`."""

from __future__ import annotations

import random
from dataclasses import replace

import polars as pl
import pytest

from spotball_adapters.providers.baseline import BaselineProvider
from spotball_adapters.providers.protocol import Access, Settings
from spotball_core.baselines import BASELINES
from spotball_core.errors import OptionError
from spotball_core.io.scenes import write_scenes
from spotball_core.schema.scene import Scene
from tests.adapters.asking import answer, ask, request
from tests.builders import scene
from tests.cli.process import spotball
from tests.failures import raises

SAMPLES = 9


def some_scenes() -> list[Scene]:
    box = [[100.0, 80.0, 160.0, 250.0]]
    return [
        scene("1", players=box),
        scene("2", ball_cells=["D5", "E5"], players=box),
        scene("1", sport="volleyball", ball_cells=["B9"]),
        scene("3", ball_cells=None),
    ]


@pytest.fixture(scope="module", params=[0, 7])
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, pl.DataFrame]:
    """Return a seed and the responses that the command writes with it."""
    folder = tmp_path_factory.mktemp("drawn")
    write_scenes(some_scenes(), folder / "scenes.jsonl")
    done = spotball("baselines", folder, "--samples", str(SAMPLES), "--seed", str(request.param), "--quiet")
    assert done.returncode == 0, done.stderr
    return request.param, pl.read_ndjson(folder / "responses-baselines.jsonl")


def cell_in(text: str) -> str | None:
    return text.rpartition("Cell: ")[2] or None


@pytest.mark.parametrize("model", BASELINES)
def test_provider_samples_equal_those_of_the_baselines_command_in_any_order(
    model: str, drawn: tuple[int, pl.DataFrame]
) -> None:
    seed, rows = drawn
    provider = BaselineProvider(Access(model, scenes=some_scenes()))
    numbers = list(range(1, SAMPLES + 1))
    for one in some_scenes():
        expected = rows.filter(respondent=model, sport=one.sport, image=one.image).sort("sample")["cell"].to_list()
        # Samples must not depend on the order and grouping of the requests.
        random.Random(one.image).shuffle(numbers)
        for part in (numbers[:2], numbers[2:]):
            (found,) = ask(provider, replace(request(*part, seed=seed), scene=one))
            assert not isinstance(found, BaseException)
            assert [cell_in(reply.text) for reply in found.replies] == [expected[sample - 1] for sample in part]


def test_default_seed_is_0() -> None:
    provider = BaselineProvider(Access("uniform", scenes=some_scenes()))
    without, zero, one = ask(
        provider,
        *(replace(request(*range(1, 20), **given), scene=some_scenes()[0]) for given in ({}, {"seed": 0}, {"seed": 1})),
    )
    assert without == zero != one


def test_reply_has_the_reasoning_and_cell_format_of_the_prompts() -> None:
    provider = BaselineProvider(Access("oracle", scenes=some_scenes()))
    found = answer(provider, replace(request(3), scene=some_scenes()[0]))
    (one,) = found.replies
    assert one.text == "Reasoning: the ball's cells\nCell: C2"
    assert (one.finish, found.input_tokens, found.output_tokens) == ("stop", 0, 0)


def test_baseline_without_an_answer_returns_refused_replies() -> None:
    provider = BaselineProvider(Access("nearest-player", scenes=some_scenes()))
    found = answer(provider, replace(request(1, 2), scene=some_scenes()[3]))
    assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("", "refused", "no answer")] * 2


@pytest.mark.parametrize("setting", ["temperature", "top_p", "max_output_tokens"])
def test_check_of_a_setting_other_than_seed_is_an_error(setting: str) -> None:
    provider = BaselineProvider(Access("uniform", scenes=some_scenes()))
    with raises(OptionError, "unsupported-option"):
        provider.check(Settings(**{setting: 1}))


def test_unknown_baseline_is_an_error() -> None:
    with raises(OptionError, "unknown-name:--model"):
        BaselineProvider(Access("gpt"))


def test_image_tokens_are_0_and_versions_contain_numpy() -> None:
    provider = BaselineProvider(Access("uniform", scenes=some_scenes()))
    assert provider.image_tokens(640, 360) == 0
    assert provider.versions().keys() == {"numpy"}
