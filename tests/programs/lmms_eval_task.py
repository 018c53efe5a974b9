"""Define `process_results` and the aggregation function that the YAML file of an lmms-eval task names."""

import re
from typing import Any

from spotball_core import score_arrays


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, tuple[str | None, str]]:
    """Return the answered and the true cell of one document."""
    found = re.search(r"\b[A-F](?:10|[1-9])\b", results[0])
    return {"spot_accuracy": (found[0] if found else None, doc["answer"])}


def aggregate(pairs: list[tuple[str | None, str]]) -> float:
    """Return the accuracy over all documents."""
    answers, truth = zip(*pairs, strict=True)
    return score_arrays(answers, truth, metrics=["accuracy"])["accuracy"]


docs = [({"answer": "B4"}, ["The ball is in B4."]), ({"answer": "C1"}, ["C10"]), ({"answer": "A1"}, ["I cannot tell"])]
assert aggregate([process_results(*doc)["spot_accuracy"] for doc in docs]) == 1 / 3
