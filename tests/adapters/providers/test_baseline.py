"""Compare the provider `baseline` with the command `spotball baselines`."""

from __future__ import annotations

import random
from dataclasses import replace

import polars as pl
import pytest

from spotball_adapters.providers.baseline import BaselineProvider
from spotball_adapters.providers.protocol import Access, Answer, Reply, Settings
from spotball_core.baselines import BASELINES
from spotball_core.errors import OptionError
from spotball_core.io.scenes import write_scenes
from tests.adapters.asking import answer, ask, request
from tests.builders import scene
from tests.cli.process import spotball
from tests.failures import raises

SAMPLES = 9
BOX = [[100.0, 80.0, 160.0, 250.0]]
SCENES = (
    scene("1", players=BOX),
    scene("2", ball_cells=["D5", "E5"], players=BOX),
    scene("1", sport="volleyball", ball_cells=["B9"]),
    scene("3", ball_cells=None),
)


@pytest.fixture(scope="module", params=[0, 7])
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, pl.DataFrame]:
    """Return a seed and the responses that the command writes with it."""
    folder = tmp_path_factory.mktemp("drawn")
    write_scenes(SCENES, folder / "scenes.jsonl")
    done = spotball("baselines", folder, "--samples", str(SAMPLES), "--seed", str(request.param), "--quiet")
    assert done.returncode == 0, done.stderr
    return request.param, pl.read_ndjson(folder / "responses-baselines.jsonl")


def provider_of(model: str) -> BaselineProvider:
    return BaselineProvider(Access(model, scenes=SCENES))


@pytest.mark.parametrize("model", BASELINES)
def test_provider_samples_equal_those_of_the_baselines_command_in_any_order(
    model: str, drawn: tuple[int, pl.DataFrame]
) -> None:
    seed, rows = drawn
    provider = provider_of(model)
    numbers = list(range(1, SAMPLES + 1))
    for one in SCENES:
        expected = rows.filter(respondent=model, sport=one.sport, image=one.image).sort("sample")["cell"].to_list()
        # Samples must not depend on the order and grouping of the requests.
        random.Random(one.image).shuffle(numbers)
        for part in (numbers[:2], numbers[2:]):
            found = answer(provider, replace(request(*part, seed=seed), scene=one))
            cells = [reply.text.rpartition("Cell: ")[2] or None for reply in found.replies]
            assert cells == [expected[sample - 1] for sample in part]


def test_baseline_provider_without_a_seed_uses_seed_0() -> None:
    requests = (replace(request(*range(1, 20), **given), scene=SCENES[0]) for given in ({}, {"seed": 0}, {"seed": 1}))
    without, zero, one = ask(provider_of("uniform"), *requests)
    assert without == zero != one


@pytest.mark.parametrize(
    ("model", "place", "reply"),
    [
        ("oracle", 0, Reply("Reasoning: the ball's cells\nCell: C2", "stop", "stop")),
        # A scene without players has no nearest player.
        ("nearest-player", 3, Reply("", "refused", "no answer")),
    ],
)
def test_baseline_reply_has_the_format_of_the_prompts_or_is_a_refusal_if_the_baseline_has_no_cell(
    model: str, place: int, reply: Reply
) -> None:
    found = answer(provider_of(model), replace(request(1, 3), scene=SCENES[place]))
    assert found == Answer((reply, reply), model=None, input_tokens=0, output_tokens=0)


def test_provider_supports_only_seeds_and_known_models_and_reports_image_tokens_and_versions() -> None:
    provider = provider_of("uniform")
    for setting in ("temperature", "top_p", "max_output_tokens"):
        with raises(OptionError, "unsupported-option"):
            provider.check(Settings(**{setting: 1}))  # type: ignore[arg-type]
    with raises(OptionError, "unknown-name:--model"):
        provider_of("gpt")
    assert provider.image_tokens(640, 360) == 0
    assert provider.versions().keys() == {"numpy"}
