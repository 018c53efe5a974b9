"""Set up all tests, and exclude files from collection: programs, and modules that need an extra."""

import os
from importlib.util import find_spec

# Before NumPy is imported. Tests run in parallel, and threads of OpenBLAS that wait for each other take their CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

collect_ignore = ["tests/adapters/inspect_eval.py", "tests/toy_metrics"]
collect_ignore_glob = [] if find_spec("inspect_ai") else ["spotball_adapters/inspect/*"]
if not find_spec("torch"):
    collect_ignore += [f"spotball_adapters/gaze/{name}.py" for name in ("gazelle", "predict")]
    collect_ignore += [f"spotball_adapters/gaze/training/{name}.py" for name in ("loop", "network")]
if not find_spec("onnx"):
    collect_ignore += ["tests/gen/yolo/onnx_models.py"]
