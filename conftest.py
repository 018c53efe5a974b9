"""What is not collected where its extra is not installed: doctests import each module."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("inspect_ai") else ["spotball_adapters/inspect/*"]
