"""Test inpainting with LaMa, with a graph that has its inputs and output and fills the mask with gray."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.stages.inpaint_lama import Lama
from tests.failures import raises
from tests.gen.making import context_of, item_of
from tests.gen.stages.inpainted import BALL, arrays, inpainted, picture


def write(path: Path, side: int | str = 64, names: tuple[str, str] = ("image", "mask")) -> Path:
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed: it comes with the gen extra")
    onnx = pytest.importorskip("onnx", reason="onnx, which only these tests need, is not installed")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Mul", [names[0], "white"], ["colors"]),
        helper.make_node("Greater", [names[1], "half"], ["inside"]),
        helper.make_node("Where", ["inside", "gray", "colors"], ["output"]),
    ]
    numbers = {"white": 255.0, "half": 0.5, "gray": 77.0}
    constants = [helper.make_tensor(name, kind, [], [value]) for name, value in numbers.items()]
    *inputs, output = (
        helper.make_tensor_value_info(name, kind, [1, channels, side, side])
        for name, channels in ((names[0], 3), (names[1], 1), ("output", 3))
    )
    graph = helper.make_graph(nodes, "lama", inputs, [output], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def stage(model: Path, work: Path, **settings: Any) -> Lama:
    given = {"model": str(model), "shadow": 0, **settings}
    return Lama(Lama.Settings.model_validate(given), context_of(work))  # type: ignore[arg-type]


@pytest.mark.parametrize("side", [64, "side"])
def test_inpainting_removes_the_ball_and_changes_only_the_mask(side: int | str, tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path, ball=BALL)
    (done,) = inpainted(stage(write(tmp_path / "lama.onnx", side), tmp_path), item)
    mask, image = arrays(done)
    assert (image[mask > 0] != item.image[mask > 0]).any(axis=1).mean() > 0.8
    assert np.abs(image[mask > 0].astype(int) - 77).mean() < 12
    assert done.notes["inpaint"]["weights"].startswith("lama.onnx@")


def test_output_max_scales_the_model_output(tmp_path: Path) -> None:
    inpainting = stage(write(tmp_path / "lama.onnx"), tmp_path, output_max=510)
    (done,) = inpainted(inpainting, item_of(picture(), tmp_path, ball=BALL))
    assert arrays(done)[1][36, 46].max() < 50


def test_missing_broken_or_unsuitable_model_file_raises_option_error(tmp_path: Path) -> None:
    write(tmp_path / "other.onnx", names=("pixels", "hole"))
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    item = item_of(picture(), tmp_path, ball=BALL)
    for name, code in (("gone", "missing-file"), ("broken", "unusable-model"), ("other", "unusable-model")):
        with raises(OptionError, code):
            stage(tmp_path / f"{name}.onnx", tmp_path).process([item])


def test_missing_onnx_runtime_raises_missing_extra_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxruntime" else find_spec(name))
    with raises(MissingExtraError, "missing-extra"):
        Lama(Lama.Settings.model_validate({"model": "lama.onnx"}), context_of(tmp_path))  # type: ignore[arg-type]
