"""Test inpainting with Stable Diffusion. A tiny pipeline is loaded and run on the CPU."""

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
from spotball_gen.imaging.masks import ball_mask
from spotball_gen.items.item import Box, Item
from spotball_gen.items.pictures import PictureFile
from spotball_gen.pipeline.registry import find
from spotball_gen.stages.inpaint_stable_diffusion import StableDiffusion
from tests.failures import raises
from tests.gen.making import context_of, item_of, printed_offline
from tests.gen.tiny_models import save_inpainting

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
for library in ("torch", "transformers", "diffusers", "PIL"):
    pytest.importorskip(library, reason=f"{library} is not installed: it comes with the local extra")

import torch  # noqa: E402

BALL = Box(40, 30, 52, 42)
PLAYER = Box(54, 20, 70, 60, label="player")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_inpainting(tmp_path_factory.mktemp("models") / "tiny-inpainting")


def picture(size: tuple[int, int] = (90, 160), ball: Box = BALL, color: int = 250) -> NDArray[np.uint8]:
    """Return an image of noise with a ball."""
    pixels = np.random.default_rng(0).integers(60, 120, (*size, 3), dtype=np.uint8)
    y, x = np.mgrid[: size[0], : size[1]] + 0.5
    (at_x, at_y), radius = ball.center, ball.width / 2
    pixels[(x - at_x) ** 2 + (y - at_y) ** 2 <= radius**2] = color
    return pixels


def stage(model: Path, work: Path, seed: int = 7, **settings: Any) -> StableDiffusion:
    given = {"model": str(model), "device": "cpu", "steps": 2, "size": 64, "shadow": 0, **settings}
    made: StableDiffusion = StableDiffusion(StableDiffusion.Settings.model_validate(given), context_of(work, seed=seed))
    return made


def painted(items: list[Item], inpainting: StableDiffusion) -> dict[str, NDArray[np.uint8]]:
    outcome = inpainting.process(items)
    assert [item.id for item in outcome.items] == [item.id for item in items]
    assert not outcome.rejects
    assert not outcome.failures
    return {item.id: item.painted.array for item in outcome.items if item.painted is not None}


@pytest.mark.parametrize("size", [(90, 160), (97, 131), (61, 203), (360, 640), (720, 405)])
@pytest.mark.parametrize("shown", [64, 128])
def test_only_the_mask_changes_for_any_image_size(
    size: tuple[int, int], shown: int, model: Path, tmp_path: Path
) -> None:
    item = item_of(picture(size), tmp_path, ball=BALL)
    inpainting = stage(model, tmp_path, size=shown)
    (done,) = inpainting.process([item]).items
    assert done.mask is not None
    assert done.painted is not None
    mask, result = done.mask.array, done.painted.array
    assert (mask == ball_mask(item, inpainting.settings)).all()
    assert result.shape == (*size, 3)
    assert (result[mask == 0] == item.image[mask == 0]).all()
    assert (result[mask > 0] != item.image[mask > 0]).any(axis=1).mean() > 0.9
    # Check the stored files, which the ledger refers to.
    assert (PictureFile(done.painted.path).array == result).all()
    assert done.painted.within(tmp_path) == "painted/match/match-000001000.png"
    assert done.mask.within(tmp_path) == "masks/match/match-000001000.png"


def test_inpainted_pixels_do_not_depend_on_the_ball(model: Path, tmp_path: Path) -> None:
    """Check that the inpainted pixels do not depend on the color of the ball."""
    white, black = (
        item_of(picture(color=color), tmp_path / str(color), f"match-{7:09}", ball=BALL) for color in (250, 5)
    )
    inpainting = stage(model, tmp_path)
    (one,), (other,) = painted([white], inpainting).values(), painted([black], inpainting).values()
    assert (one == other).all()


def test_mask_keeps_most_pixels_of_a_player_near_the_ball(model: Path, tmp_path: Path) -> None:
    near = Box(46, 30, 58, 42)
    pixels = picture(ball=near)
    item = item_of(pixels, tmp_path, ball=near, players=(PLAYER,))
    inpainting = stage(model, tmp_path, margin=1.0)
    (done,) = inpainting.process([item]).items
    assert done.mask is not None
    assert done.painted is not None
    covered = ball_mask(replace(item, players=()), inpainting.settings)
    body = (slice(20, 60), slice(54, 70))
    assert (covered[body] > 0).sum() > 2 * (done.mask.array[body] > 0).sum() > 0
    assert (done.painted.array[body][done.mask.array[body] == 0] == pixels[body][done.mask.array[body] == 0]).all()


def test_seed_of_an_item_does_not_depend_on_other_items(model: Path, tmp_path: Path) -> None:
    items = [item_of(picture(), tmp_path, f"match-{number:09}", ball=BALL) for number in range(4)]
    together = painted(items, stage(model, tmp_path, batch_size=1))
    assert len({array.tobytes() for array in together.values()}) == 4
    backwards = painted(items[::-1], stage(model, tmp_path, batch_size=1))
    alone = painted(items[2:3], stage(model, tmp_path))
    for ident, array in together.items():
        assert (backwards[ident] == array).all()
    assert (alone[items[2].id] == together[items[2].id]).all()
    other = painted(items[2:3], stage(model, tmp_path, seed=8))
    assert (other[items[2].id] != together[items[2].id]).any()


def test_batched_images_differ_from_single_ones_only_by_rounding(model: Path, tmp_path: Path) -> None:
    items = [item_of(picture(), tmp_path, f"match-{number:09}", ball=BALL) for number in range(3)]
    items.insert(1, item_of(picture((64, 200)), tmp_path, f"match-{9:09}", ball=BALL))
    single = painted(items, stage(model, tmp_path, batch_size=1))
    together = painted(items, stage(model, tmp_path, batch_size=4))
    for ident, array in single.items():
        assert np.abs(together[ident].astype(int) - array).max() <= 1


def test_item_notes_weights_prompts_and_seed(model: Path, tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path, sport="volleyball", ball=BALL)
    inpainting = stage(model, tmp_path, prompt="an empty {sport} court", negative_prompt="{sport}")
    (done,) = inpainting.process([item]).items
    note = dict(done.notes["inpaint"])
    assert note.pop("weights").startswith("tiny-inpainting@")
    assert note == {
        "prompt": "an empty volleyball court",
        "negative_prompt": "volleyball",
        "seed": item.seed(7, "inpaint"),
    }


@pytest.mark.parametrize(
    "changed",
    [{"prompt": "snow"}, {"negative_prompt": "snow"}, {"steps": 3}, {"guidance_scale": 2.0}, {"surroundings": 12.0}],
    ids=str,
)
def test_every_setting_changes_the_image(changed: dict[str, Any], model: Path, tmp_path: Path) -> None:
    items = [item_of(picture((200, 300)), tmp_path, ball=BALL)]
    (before,) = painted(items, stage(model, tmp_path)).values()
    (after,) = painted(items, stage(model, tmp_path, **changed)).values()
    assert (before != after).any()


def test_no_safety_checker_is_loaded(model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pipeline = stage(model, tmp_path)._model.pipeline
    assert pipeline.safety_checker is None
    assert "safety checker" not in caplog.text


def test_bfloat16_images_nearly_equal_float32_images(model: Path, tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path, ball=BALL)
    exact, coarse = (painted([item], stage(model, tmp_path, dtype=dtype)) for dtype in ("float32", "bfloat16"))
    assert (exact[item.id] != coarse[item.id]).any()
    assert np.abs(exact[item.id].astype(int) - coarse[item.id]).mean() < 2


def test_missing_or_unsuitable_model_raises_option_error(model: Path, tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path, ball=BALL)
    for_text = save_inpainting(tmp_path / "for-text", channels=4)
    with raises(OptionError, "unusable-model:inpaint"):
        stage(for_text, tmp_path).process([item])
    (tmp_path / "bare").mkdir()
    with raises(OptionError, "unusable-model"):
        stage(tmp_path / "bare", tmp_path).process([item])
    with raises(OptionError, "missing-file"):
        stage(tmp_path / "nothing", tmp_path)


def test_non_finite_output_or_missing_ball_raises_value_error(model: Path, tmp_path: Path) -> None:
    broken = save_inpainting(tmp_path / "broken", vae="broken")
    with pytest.raises(ValueError, match="finite"):
        stage(broken, tmp_path).process([item_of(picture(), tmp_path, ball=BALL)])
    with pytest.raises(ValueError, match="ball"):
        stage(model, tmp_path).process([item_of(picture(), tmp_path)])


def test_too_long_prompt_raises_option_error(model: Path, tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path, ball=BALL)
    for name in ("prompt", "negative_prompt"):
        with raises(OptionError, "too-large:inpaint"):
            stage(model, tmp_path, **{name: "grass " * 24}).process([item])


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


@pytest.mark.skipif(torch.cuda.is_available(), reason="PyTorch finds CUDA here")
def test_cuda_device_without_cuda_raises_option_error(model: Path, tmp_path: Path) -> None:
    with raises(OptionError, "unsupported-device"):
        stage(model, tmp_path, device="cuda")
    assert stage(model, tmp_path, device="auto").device == "cpu"


def test_missing_diffusers_raises_missing_extra_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "diffusers", None)
    with raises(MissingExtraError, "missing-extra"):
        stage(model, tmp_path)


def test_stage_is_registered_and_can_be_pickled(model: Path, tmp_path: Path) -> None:
    assert find("inpaint", "stable-diffusion") is StableDiffusion
    item, inpainting = item_of(picture(), tmp_path, ball=BALL), stage(model, tmp_path)
    sent = pickle.loads(pickle.dumps(inpainting))
    assert (painted([item], sent)[item.id] == painted([item], inpainting)[item.id]).all()
