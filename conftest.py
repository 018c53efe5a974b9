"""Set up all tests, and exclude files from collection: programs, and modules that need an extra."""

import os
from importlib.util import find_spec

# Set these variables before the libraries are imported. Tests run in parallel processes, and threads of these libraries
# would take CPU time from other tests while they wait.
for name in ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "OPENCV_FOR_THREADS_NUM"):
    os.environ.setdefault(name, "1")

collect_ignore = ["tests/adapters/inspect_eval.py", "tests/programs", "tests/toy_metrics"]
collect_ignore_glob = [] if find_spec("inspect_ai") else ["spotball_adapters/inspect/*"]
if not find_spec("torch"):
    collect_ignore += [f"spotball_adapters/gaze/{name}.py" for name in ("gazelle", "predict")]
    collect_ignore += [f"spotball_adapters/gaze/training/{name}.py" for name in ("loop", "network")]
if not find_spec("onnx"):
    collect_ignore += ["tests/gen/models/yolo/onnx_models.py"]
