"""Define the functions that the YAML files of the lmms-eval tasks name.

Start lmms-eval in the folder of the dataset. The tasks read its `scenes.jsonl` line by line.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from PIL import Image

from spotball_adapters.prompts.picture import encoded
from spotball_adapters.prompts.prompt import load_prompt
from spotball_adapters.replies import parse_reply
from spotball_core import Scene, read_scenes, score

SCENES = Path("scenes.jsonl")

RESPONDENT = "model"

METRICS = ("accuracy", "euclidean_error", "near_player_rate", "overlap_rate", "center_ratio", "normalized_entropy")
"""Metrics that need no reference, by their keys in `spotball score`."""


def scenes_to_ask(dataset: Any) -> Any:
    """Return the lines of the scenes to score, without control scenes, whose ball is visible."""
    return dataset.filter(lambda doc: bool(doc["text"].strip()) and not json.loads(doc["text"]).get("control"))


def picture(doc: Mapping[str, Any]) -> list[Image.Image]:
    """Return the image with the grid and its labels, as the benchmark sends it to all models."""
    shown = encoded(_scene(doc), Path.cwd())
    return [Image.open(io.BytesIO(shown.data)).convert("RGB")]


def question(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any]) -> str:
    """Return the prompt that the task's YAML file names."""
    (message,) = load_prompt(lmms_eval_specific_kwargs["prompt"]).final(_scene(doc).sport)
    return message.text


class EveryReply:
    """A filter that keeps all replies to an image. By default, lmms-eval scores only the first one."""

    def apply(self, resps: Iterable[list[str]], docs: Any) -> list[list[str]]:
        """Return the replies unchanged."""
        return list(resps)


def ball_cells(doc: Mapping[str, Any]) -> str:
    """Return the cells of the ball, separated by commas."""
    return ",".join(_scene(doc).ball_cells or ())


def answers(doc: Mapping[str, Any], results: list[Any]) -> dict[str, dict[str, Any]]:
    """Return the cells parsed from the replies to one image, once per metric, because lmms-eval aggregates each one."""
    scene = _scene(doc)
    cells = [parse_reply(text, scene.layout).cell for text in _texts(results)]
    answered = {"sport": scene.sport, "image": scene.image, "cells": cells}
    return {f"spotball_{metric}": answered for metric in METRICS}


def aggregated(metric: str, answered: list[dict[str, Any]]) -> float:
    """Return a metric as `spotball score` computes it: the mean over sports, NaN if it is undefined in all of them."""
    rows = [
        {"sport": one["sport"], "image": one["image"], "respondent": RESPONDENT, "sample": sample, "cell": cell}
        for one in answered
        for sample, cell in enumerate(one["cells"], start=1)
    ]
    report = score(rows, read_scenes(SCENES), bootstrap=0)
    values = [group.metrics[metric].value for group in report.groups]
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else math.nan


accuracy, euclidean_error, near_player_rate, overlap_rate, center_ratio, normalized_entropy = (
    partial(aggregated, metric) for metric in METRICS
)


def _scene(doc: Mapping[str, Any]) -> Scene:
    return Scene.model_validate_json(doc["text"])


def _texts(results: Any) -> Iterable[str]:
    """Yield every reply. With `--repeats`, lmms-eval nests replies in lists."""
    if isinstance(results, str):
        yield results
    else:
        for part in results:
            yield from _texts(part)
