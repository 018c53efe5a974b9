"""What is not collected: doctests import each module, and some are programs or need an extra."""

from importlib.util import find_spec

collect_ignore = ["tests/adapters/inspect_eval.py"]
collect_ignore_glob = [] if find_spec("inspect_ai") else ["spotball_adapters/inspect/*"]
