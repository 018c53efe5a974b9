"""Test inpainting with Stable Diffusion and Stable Diffusion XL. Tiny random models run on the CPU."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.items.item import Box, Item
from spotball_gen.pipeline.config import find
from spotball_gen.stages.inpaint_stable_diffusion import StableDiffusion, StableDiffusionSettings
from tests.failures import raises
from tests.gen.making import context_of, item_of, printed_offline
from tests.gen.stages.inpainted import BALL, arrays, inpainted, picture
from tests.gen.tiny_models import save_inpainting, save_inpainting_xl

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
for library in ("torch", "transformers", "diffusers", "PIL"):
    pytest.importorskip(library, reason=f"{library} is not installed: it comes with the local extra")

import torch  # noqa: E402

PLAYER = Box(50, 20, 70, 60, label="player")
"""A player whose pixels are excluded from the mask, except where they overlap the ball."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_inpainting(tmp_path_factory.mktemp("models") / "tiny-inpainting")


def stage(model: Path, work: Path, seed: int = 7, **settings: Any) -> Any:
    given = {"model": str(model), "device": "cpu", "steps": 2, "size": 64, "shadow": 0, **settings}
    return StableDiffusion(StableDiffusionSettings.model_validate(given), context_of(work, seed=seed))


def filled(inpainting: Any, *items: Item) -> list[NDArray[np.uint8]]:
    """Return the inpainted images of items, in which only the pixels of the masks may differ from the frames."""
    return [arrays(done)[1] for done in inpainted(inpainting, *items)]


@pytest.mark.parametrize("size", [(90, 160), (97, 131), (61, 203), (360, 640), (720, 405)])
@pytest.mark.parametrize("shown", [64, 128])
def test_stable_diffusion_changes_only_the_mask_at_any_image_size(
    size: tuple[int, int], shown: int, model: Path, tmp_path: Path
) -> None:
    item = item_of(picture(size), tmp_path, ball=BALL)
    (done,) = inpainted(stage(model, tmp_path, size=shown), item)
    mask, result = arrays(done)
    assert (result[mask > 0] != item.image[mask > 0]).any(axis=1).mean() > 0.9


@pytest.mark.parametrize(("xl", "save"), [(False, save_inpainting), (True, save_inpainting_xl)])
def test_each_model_family_removes_the_ball_and_refuses_models_of_another_kind(
    xl: bool, save: Any, tmp_path: Path
) -> None:
    """Check each family with a tiny model, and with a network that has the input channels of another kind of model."""
    model = save(tmp_path / "tiny")
    white, black = (
        item_of(picture(color=color), tmp_path / str(color), ball=BALL, players=(PLAYER,)) for color in (250, 5)
    )
    (done,) = inpainted(stage(model, tmp_path, xl=xl), white)
    mask, image = arrays(done)
    assert (image[mask > 0] != white.image[mask > 0]).any(axis=1).mean() > 0.8
    assert done.notes["inpaint"]["weights"].startswith("tiny@")
    # The inpainted pixels do not depend on the color of the ball.
    (same,), (different,) = (filled(stage(model, tmp_path, seed, xl=xl), black) for seed in (7, 8))
    assert (image == same).all()
    assert (image != different).any()
    with raises(OptionError, "unusable-model:inpaint"):
        stage(save(tmp_path / "other", channels=4), tmp_path, xl=xl).process([white])


def test_inpainted_image_of_an_item_does_not_depend_on_other_items(model: Path, tmp_path: Path) -> None:
    items = [item_of(picture(), tmp_path, f"match-{number:09}", ball=BALL) for number in range(4)]
    together = filled(stage(model, tmp_path, batch_size=1), *items)
    assert len({array.tobytes() for array in together}) == 4
    assert np.array_equal(filled(stage(model, tmp_path, batch_size=1), *items[::-1])[::-1], together)
    assert np.array_equal(filled(stage(model, tmp_path), items[2]), together[2:3])


def test_images_inpainted_in_a_batch_differ_from_single_ones_only_by_rounding(model: Path, tmp_path: Path) -> None:
    items = [item_of(picture(), tmp_path, f"match-{number:09}", ball=BALL) for number in range(3)]
    items.insert(1, item_of(picture((64, 200)), tmp_path, f"match-{9:09}", ball=BALL))
    single, together = (filled(stage(model, tmp_path, batch_size=size), *items) for size in (1, 4))
    assert all(np.abs(other.astype(int) - one).max() <= 1 for one, other in zip(single, together, strict=True))


def test_process_notes_weights_prompts_and_seed_and_loads_no_safety_checker(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    item = item_of(picture(), tmp_path, sport="volleyball", ball=BALL)
    inpainting = stage(model, tmp_path, prompt="an empty {sport} court", negative_prompt="{sport}")
    (done,) = inpainting.process([item]).items
    note = dict(done.notes["inpaint"])
    assert note.pop("weights").startswith("tiny-inpainting@")
    prompts = {"prompt": "an empty volleyball court", "negative_prompt": "volleyball"}
    assert note == {**prompts, "seed": item.seed(7, "inpaint")}
    assert inpainting._model.pipeline.safety_checker is None
    assert "safety checker" not in caplog.text


@pytest.mark.parametrize(
    "changed",
    [{"prompt": "snow"}, {"negative_prompt": "snow"}, {"steps": 3}, {"guidance_scale": 2.0}, {"surroundings": 12.0}],
    ids=str,
)
def test_each_stable_diffusion_setting_changes_the_inpainted_image(
    changed: dict[str, Any], model: Path, tmp_path: Path
) -> None:
    item = item_of(picture((200, 300)), tmp_path, ball=BALL)
    (before,), (after,) = (filled(stage(model, tmp_path, **settings), item) for settings in ({}, changed))
    assert (before != after).any()


def test_bfloat16_images_nearly_equal_float32_images(model: Path, tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path, ball=BALL)
    (exact,), (coarse,) = (filled(stage(model, tmp_path, dtype=dtype), item) for dtype in ("float32", "bfloat16"))
    assert (exact != coarse).any()
    assert np.abs(exact.astype(int) - coarse).mean() < 2


def test_missing_model_device_or_library_is_an_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raises(OptionError, "missing-file"):
        stage(tmp_path / "nothing", tmp_path)
    if not torch.cuda.is_available():
        with raises(OptionError, "unsupported-device"):
            stage(model, tmp_path, device="cuda")
        assert stage(model, tmp_path, device="auto").device == "cpu"
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with raises(MissingExtraError, "missing-extra"):
        stage(model, tmp_path)


def test_unusable_model_long_prompt_or_missing_ball_raises_an_error(model: Path, tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path, ball=BALL)
    (tmp_path / "bare").mkdir()
    with raises(OptionError, "unusable-model"):
        stage(tmp_path / "bare", tmp_path).process([item])
    for name in ("prompt", "negative_prompt"):
        with raises(OptionError, "too-large:inpaint"):
            stage(model, tmp_path, **{name: "grass " * 24}).process([item])
    with pytest.raises(ValueError, match="finite"):
        stage(save_inpainting(tmp_path / "broken", vae="broken"), tmp_path).process([item])
    with pytest.raises(ValueError, match="ball"):
        stage(model, tmp_path).process([replace(item, ball=None)])


def test_hub_model_without_network_raises_option_error(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tests.gen.making import *\n"
        "from tests.gen.stages.test_inpaint_stable_diffusion import BALL, StableDiffusion, picture\n"
        "work = Path(sys.argv[1]); settings = StableDiffusion.Settings(device='cpu')\n"
        "try: StableDiffusion(settings, context_of(work)).process([item_of(picture(), work, ball=BALL)])\n"
        "except ValueError as error: print(type(error).__name__, error.code, error)"
    )
    assert printed_offline(code, tmp_path).startswith(
        "OptionError unusable-model inpaint: stable-diffusion-v1-5/stable-diffusion-inpainting: "
    )


def test_stable_diffusion_stage_is_registered_and_gives_the_same_image_after_pickling(
    model: Path, tmp_path: Path
) -> None:
    assert find("inpaint", "stable-diffusion") is StableDiffusion
    item, inpainting = item_of(picture(), tmp_path, ball=BALL), stage(model, tmp_path)
    sent = pickle.loads(pickle.dumps(inpainting))
    assert np.array_equal(filled(sent, item), filled(inpainting, item))
