"""What is not collected: doctests import each module, and some are programs or need an extra."""

from importlib.util import find_spec

collect_ignore = ["tests/adapters/inspect_eval.py"]
collect_ignore_glob = [] if find_spec("inspect_ai") else ["spotball_adapters/inspect/*"]
if not find_spec("torch"):
    collect_ignore += [f"spotball_adapters/gaze/{name}.py" for name in ("gazelle", "predict")]
    collect_ignore += [f"spotball_adapters/gaze/training/{name}.py" for name in ("loop", "network")]
if not find_spec("onnx"):
    collect_ignore += ["tests/gen/yolo/onnx_models.py"]
