"""Test inpainting with Stable Diffusion XL, FLUX.1 Fill and LaMa. Tiny random models run on the CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.imaging.masks import ball_mask
from spotball_gen.items.item import Box, Item
from spotball_gen.stages.inpaint_flux_fill import FluxFill
from spotball_gen.stages.inpaint_lama import Lama
from spotball_gen.stages.inpaint_stable_diffusion_xl import StableDiffusionXL
from tests.failures import raises
from tests.gen.making import context_of, item_of
from tests.gen.tiny_models import save_flux_fill, save_inpainting_xl

BALL = Box(40, 30, 52, 42)


def picture(color: int = 250) -> NDArray[np.uint8]:
    """Return an image of noise with a ball."""
    pixels = np.random.default_rng(0).integers(60, 120, (90, 160, 3), dtype=np.uint8)
    y, x = np.mgrid[:90, :160] + 0.5
    pixels[(x - 46) ** 2 + (y - 36) ** 2 <= 36] = color
    return pixels


def painted(inpainting: Any, item: Item) -> Item:
    outcome = inpainting.process([item])
    assert not outcome.failures, outcome.failures
    (done,) = outcome.items
    mask = ball_mask(item, inpainting.settings)
    assert (done.mask.array == mask).all()
    assert (done.painted.array[mask == 0] == item.image[mask == 0]).all()
    assert (done.painted.array[mask > 0] != item.image[mask > 0]).any(axis=1).mean() > 0.8
    return done


@pytest.fixture(scope="module", params=["xl", "flux"])
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Path]:
    for library in ("torch", "transformers", "diffusers", "PIL"):
        pytest.importorskip(library, reason=f"{library} is not installed: it comes with the local extra")
    kind, save = {"xl": (StableDiffusionXL, save_inpainting_xl), "flux": (FluxFill, save_flux_fill)}[request.param]
    return kind, save, save(tmp_path_factory.mktemp("models") / f"tiny-{request.param}")


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
class TestDiffusion:
    def stage(self, kind: Any, model: Path, work: Path, seed: int = 7, **settings: Any) -> Any:
        given = {"model": str(model), "device": "cpu", "steps": 2, "size": 64, "shadow": 0, **settings}
        return kind(kind.Settings.model_validate(given), context_of(work, seed=seed))

    def test_inpainting_removes_the_ball_and_changes_only_the_mask(
        self, family: tuple[Any, Any, Path], tmp_path: Path
    ) -> None:
        kind, _, model = family
        inpainting = self.stage(kind, model, tmp_path)
        white, black = (item_of(picture(color), tmp_path / str(color), ball=BALL) for color in (250, 5))
        one, other = painted(inpainting, white), painted(inpainting, black)
        mask = ball_mask(white, inpainting.settings) > 0
        # The inpainted pixels do not depend on the color of the ball.
        assert one.painted is not None
        assert other.painted is not None
        assert (one.painted.array[mask] == other.painted.array[mask]).all()
        assert one.notes["inpaint"]["weights"].startswith(model.name + "@")

    def test_same_seed_gives_the_same_image_and_another_seed_a_different_one(
        self, family: tuple[Any, Any, Path], tmp_path: Path
    ) -> None:
        kind, _, model = family
        item = item_of(picture(), tmp_path, ball=BALL)
        arrays = [painted(self.stage(kind, model, tmp_path, seed), item).painted for seed in (1, 1, 2)]
        first, again, other = (array.array for array in arrays if array is not None)
        assert (first == again).all()
        assert (first != other).any()

    def test_model_that_is_not_for_inpainting_raises_option_error(
        self, family: tuple[Any, Any, Path], tmp_path: Path
    ) -> None:
        kind, save, _ = family
        other = save(tmp_path / "other", channels=4 if kind is StableDiffusionXL else 16)
        item = item_of(picture(), tmp_path, ball=BALL)
        with raises(OptionError, "unusable-model:inpaint"):
            self.stage(kind, other, tmp_path).process([item])


def test_flux_settings_refuse_a_negative_prompt() -> None:
    with pytest.raises(ValueError, match="negative_prompt"):
        FluxFill.Settings.model_validate({"negative_prompt": "ball"})


class TestLama:
    """Test LaMa with a graph that has its inputs and output and fills the mask with gray."""

    @pytest.fixture(autouse=True)
    def _libraries(self) -> None:
        pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed: it comes with the gen extra")
        pytest.importorskip("onnx", reason="onnx, which only these tests need, is not installed")

    def write(self, path: Path, side: int | str = 64, names: tuple[str, str] = ("image", "mask")) -> Path:
        import onnx
        from onnx import TensorProto, helper

        nodes = [
            helper.make_node("Mul", [names[0], "white"], ["colors"]),
            helper.make_node("Greater", [names[1], "half"], ["inside"]),
            helper.make_node("Where", ["inside", "gray", "colors"], ["output"]),
        ]
        constants = [
            helper.make_tensor(name, TensorProto.FLOAT, [], [value])
            for name, value in (("white", 255.0), ("half", 0.5), ("gray", 77.0))
        ]
        shapes = {names[0]: [1, 3, side, side], names[1]: [1, 1, side, side]}
        graph = helper.make_graph(
            nodes,
            "lama",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
            [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, 3, side, side])],
            constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, path)
        return path

    def stage(self, model: Path, work: Path, **settings: Any) -> Lama:
        given = {"model": str(model), "shadow": 0, **settings}
        return Lama(Lama.Settings.model_validate(given), context_of(work))  # type: ignore[arg-type]

    @pytest.mark.parametrize("side", [64, "side"])
    def test_inpainting_removes_the_ball_and_changes_only_the_mask(self, side: int | str, tmp_path: Path) -> None:
        inpainting = self.stage(self.write(tmp_path / "lama.onnx", side), tmp_path)
        item = item_of(picture(), tmp_path, ball=BALL)
        done = painted(inpainting, item)
        assert done.painted is not None
        inside = ball_mask(item, inpainting.settings) > 0
        assert np.abs(done.painted.array[inside].astype(int) - 77).mean() < 12
        assert done.notes["inpaint"]["weights"].startswith("lama.onnx@")

    def test_output_max_scales_the_model_output(self, tmp_path: Path) -> None:
        model = self.write(tmp_path / "lama.onnx")
        item = item_of(picture(), tmp_path, ball=BALL)
        (done,) = self.stage(model, tmp_path, output_max=510).process([item]).items
        assert done.painted is not None
        assert done.painted.array[36, 46].max() < 50

    def test_missing_broken_or_other_model_file_raises_option_error(self, tmp_path: Path) -> None:
        item = item_of(picture(), tmp_path, ball=BALL)
        with raises(OptionError, "missing-file"):
            self.stage(tmp_path / "gone.onnx", tmp_path).process([item])
        (tmp_path / "broken.onnx").write_bytes(b"no model")
        with raises(OptionError, "unusable-model"):
            self.stage(tmp_path / "broken.onnx", tmp_path).process([item])
        other = self.write(tmp_path / "other.onnx", names=("pixels", "hole"))
        with raises(OptionError, "unusable-model"):
            self.stage(other, tmp_path).process([item])


def test_missing_onnx_runtime_raises_missing_extra_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else find_spec(name))
    with raises(MissingExtraError, "missing-extra"):
        Lama(Lama.Settings.model_validate({"model": "lama.onnx"}), context_of(tmp_path))  # type: ignore[arg-type]
