"""Write ONNX files with the interface of YOLOv8 that detect red areas (a ball) and blue areas (a person).

Pose models detect both red and blue areas as people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

COCO_LIKE = {number: f"class {number}" for number in range(80)} | {0: "person", 32: "sports ball"}
"""80 class names, of which the two relevant ones have their names and indices in COCO."""

PLACES = 8400

Side = int | str
Pixels = NDArray[np.uint8]


Edges = tuple[int, ...]


def picture(red: Edges | None = None, blue: Edges | None = None, size: tuple[int, int] = (360, 640)) -> Pixels:
    """Return a gray image with a red and a blue rectangle with these edges, which the models below detect."""
    pixels = np.full((*size, 3), 90, dtype=np.uint8)
    for edges, color in ((red, (250, 20, 20)), (blue, (20, 20, 250))):
        if edges is not None:
            x1, y1, x2, y2 = edges
            pixels[y1:y2, x1:x2] = color
    return pixels


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        names = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def parts(self, of: str, count: int) -> Iterator[str]:
        """Yield the parts of a tensor along its second axis."""
        return (self("Slice", of, np.array([at]), np.array([at + 1]), np.array([1])) for at in range(count))

    def end(self, kind: str, of: str, name: str, **attributes: Any) -> None:
        """Add the node that writes an output."""
        self.nodes.append(helper.make_node(kind, [of], [name], **attributes))

    def save(self, path: Path, image: Any, outputs: Sequence[Any], metadata: Mapping[str, str]) -> Path:
        graph = helper.make_graph(self.nodes, path.stem, [image], outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model)
        onnx.save(model, path)
        return path


def write_detector(
    path: Path,
    *,
    batch: Side = 1,
    height: Side = 640,
    width: Side = 640,
    names: Mapping[int, str] = COCO_LIKE,
    metadata: Mapping[str, str] | None = None,
    half: bool = False,
    transposed: bool = False,
    masks: bool = False,
) -> Path:
    """Write a file with the inputs, outputs and metadata of a YOLOv8 export, and return its path.

    Each color gives a box with score 0.9, a copy 2 pixels to the right with 0.6, and an unlikely one with 0.1.

    Args:
        batch, height, width: the input's size; a word makes a side dynamic.
        metadata: metadata in addition to the class names.
        transposed: put the boxes in the middle axis, unlike YOLOv8.
        masks: add the masks of a segmentation model: two prototypes at a quarter of the input's size, of which the
            second is above 0 where the image is blue.
    """
    number = {name: at for at, name in names.items()}
    add = _Graph()
    images = add("Cast", "images", to=TensorProto.FLOAT)
    red, green, blue = add.parts(images, 3)
    places = [
        place
        for color, others, name in ((red, (green, blue), "sports ball"), (blue, (red, green), "person"))
        for place in _places(add, color, others, number[name], len(names))
    ]
    if masks:
        # Each place has weight 1 for the second prototype and 0 for the first.
        (nothing,) = add.parts(add("Mul", places[0], np.float32(0)), 1)
        one = add("Add", nothing, np.float32(1))
        places = [add("Concat", place, nothing, one, axis=1) for place in places]
    rows = 4 + len(names) + 2 * masks
    rest = add("Expand", add("Mul", places[0], np.float32(0)), np.array([1, rows, PLACES - len(places)]))
    found = add("Concat", *places, rest, axis=2)
    kind = TensorProto.FLOAT16 if half else TensorProto.FLOAT
    found = add("Transpose", found, perm=[0, 2, 1]) if transposed else found
    add.end("Cast", found, "output0", to=kind)
    sides: list[Side] = [batch, PLACES, rows] if transposed else [batch, rows, PLACES]
    outputs = [helper.make_tensor_value_info("output0", kind, sides)]
    if masks:
        coarse = add("AveragePool", add("Sub", blue, add("Max", red, green)), kernel_shape=[4, 4], strides=[4, 4])
        lifted = add("Sub", coarse, np.float32(0.3))
        prototypes = add("Concat", add("Mul", lifted, np.float32(-1)), lifted, axis=1)
        add.end("Cast", prototypes, "output1", to=kind)
        outputs.append(helper.make_tensor_value_info("output1", kind, [batch, 2, "mask height", "mask width"]))
    image = helper.make_tensor_value_info("images", kind, [batch, 3, height, width])
    told = {"task": "segment" if masks else "detect", "stride": "32", "names": str(dict(names)), "imgsz": "[640, 640]"}
    return add.save(path, image, outputs, {**(told if names else {}), **(metadata or {})})


POSE = tuple((0.1 + 0.05 * place, 0.05 + 0.0525 * place, 0.5 + 0.025 * place) for place in range(17))
"""The keypoints in a pose model: fractions of the box's width and height, and the confidence."""


def write_pose_model(
    path: Path,
    *,
    batch: Side = 1,
    height: Side = 640,
    width: Side = 640,
    suppressed: bool = False,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """Write a file with the interface of a YOLOv8-pose export in which each person has `POSE`, and return its path.

    Args:
        batch, height, width: the input's size; a word makes a side dynamic.
        suppressed: include non-maximum suppression: one row per person, and rows of zeros.
        metadata: additional metadata.
    """
    add = _Graph()
    red, green, blue = add.parts("images", 3)
    columns = []
    for color, others in ((red, (green, blue)), (blue, (red, green))):
        columns += [_with_keypoints(add, place, suppressed) for place in _places(add, color, others, 0, 1)]
    if suppressed:
        columns = [columns[0], columns[3]]
    n_places = 300 if suppressed else PLACES
    rows = 6 + 51 if suppressed else 5 + 51
    rest = add("Expand", add("Mul", columns[0], np.float32(0)), np.array([1, rows, n_places - len(columns)]))
    people = add("Concat", *columns, rest, axis=2)
    add.end("Transpose", people, "output0", perm=[0, 2, 1] if suppressed else [0, 1, 2])
    sides: list[Side] = [batch, n_places, rows] if suppressed else [batch, rows, n_places]
    image = helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch, 3, height, width])
    output = helper.make_tensor_value_info("output0", TensorProto.FLOAT, sides)
    about = {"task": "pose", "stride": "32", "names": "{0: 'person'}", "imgsz": "[640, 640]", "kpt_shape": "[17, 3]"}
    return add.save(path, image, [output], {**about, **(metadata or {})})


def _with_keypoints(add: _Graph, place: str, suppressed: bool) -> str:
    """Return a place of one class with added keypoints. If suppressed, it has corners instead of center and size."""
    x, y, wide, high, score = add.parts(place, 5)
    there = add("Ceil", score)
    points = []
    for across, down, confidence in POSE:
        points.append(add("Add", x, add("Mul", wide, np.float32(across - 0.5))))
        points.append(add("Add", y, add("Mul", high, np.float32(down - 0.5))))
        points.append(add("Mul", there, np.float32(confidence)))
    if not suppressed:
        return add("Concat", place, *points, axis=1)
    half_wide, half_high = (add("Mul", length, np.float32(0.5)) for length in (wide, high))
    corners = [add("Sub", x, half_wide), add("Sub", y, half_high), add("Add", x, half_wide), add("Add", y, half_high)]
    return add("Concat", *corners, score, add("Mul", score, np.float32(0)), *points, axis=1)


def _places(add: _Graph, color: str, others: tuple[str, str], number: int, classes: int) -> list[str]:
    """Return three places with different scores for the box around all pixels of a color."""
    plain = add("Greater", add("Sub", color, add("Max", *others)), np.float32(0.4))
    mask = add("Cast", plain, to=TensorProto.FLOAT)
    there = add("ReduceMax", mask, axes=[2, 3], keepdims=0)
    edges = []
    for axis in (3, 2):
        ones = add("Add", add("Mul", mask, np.float32(0)), np.float32(1))
        ends = add("CumSum", ones, np.int64(axis))
        last = add("ReduceMax", add("Mul", mask, ends), axes=[2, 3], keepdims=0)
        away = add("Mul", add("Sub", ones, mask), np.float32(1e6))
        first = add("Sub", add("ReduceMin", add("Add", ends, away), axes=[2, 3], keepdims=0), np.float32(1))
        edges.append((add("Mul", first, there), last))
    (x1, x2), (y1, y2) = edges
    places = []
    for shift, score in ((0.0, 0.9), (2.0, 0.6), (0.0, 0.1)):
        x = add("Add", add("Mul", add("Add", x1, x2), np.float32(0.5)), np.float32(shift))
        y = add("Mul", add("Add", y1, y2), np.float32(0.5))
        scored = add("Mul", there, np.float32(score))
        none = add("Mul", there, np.float32(0))
        scores = [scored if at == number else none for at in range(classes)]
        column = add("Concat", x, y, add("Sub", x2, x1), add("Sub", y2, y1), *scores, axis=1)
        places.append(add("Unsqueeze", column, np.array([2])))
    return places
