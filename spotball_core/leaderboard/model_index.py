"""The `model-index` block of a Hugging Face model card: a model's scores as metadata.

The layout is that of `huggingface_hub.repocard_data.eval_results_to_model_index`: a model has results; a result names a
task and a dataset and has metrics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spotball_core.leaderboard.columns import MetricColumn
from spotball_core.leaderboard.entries import Entry
from spotball_core.leaderboard.rankings import Leaderboard, RankTable, value_of
from spotball_core.leaderboard.text import columns_of

_TASK = {"type": "image-text-to-text", "name": "Spot the Ball"}
_DATASET = "spot-the-ball"


def model_indexes(board: Leaderboard, keys: tuple[str, ...], *, url: str | None = None) -> dict[str, str]:
    """Return the block of each model as YAML, by the model's name.

    Args:
        board: the leaderboard. Averages over sports are not part of the blocks.
        keys: the metrics to include.
        url: where the leaderboard is published, which each result then names as its source.
    """
    results: dict[str, list[dict[str, Any]]] = {}
    for ranking in board.rankings:
        if ranking.is_average:
            continue
        columns = columns_of(ranking, keys)
        entries: dict[str, list[Entry]] = {}
        for entry in ranking.entries:
            if entry.is_model:
                entries.setdefault(entry.respondent, []).append(entry)
        for respondent, own in entries.items():
            if metrics := [metric for entry in own for metric in _metrics(entry, columns)]:
                results.setdefault(respondent, []).append(_result(ranking, metrics, url))
    return {name: _yaml({"model-index": [{"name": name, "results": entries}]}) for name, entries in results.items()}


def _result(ranking: RankTable, metrics: list[dict[str, Any]], url: str | None) -> dict[str, Any]:
    (task,) = ranking.tasks
    dataset = {
        "name": f"Spot the Ball ({task.sport})" if task.sport else "Spot the Ball",
        "type": _DATASET,
        **({"config": task.sport} if task.sport else {}),
        "split": "test",
        # Results compare only if they are of the same revision.
        "revision": task.fingerprint,
        "args": {"images": task.n_images, "signature": ranking.signature},
    }
    source = {"source": {"name": "Spot the Ball leaderboard", "url": url}} if url else {}
    return {"task": _TASK, "dataset": dataset, "metrics": metrics, **source}


def _metrics(entry: Entry, columns: Sequence[MetricColumn]) -> Iterator[dict[str, Any]]:
    for column in columns:
        value = value_of(entry, column.key)
        if value is None:
            continue
        parts = [f"prompt {entry.prompt}"] if entry.prompt else []
        parts += [column.unit] if column.unit not in ("none", "ratio") else []
        parts += [entry.sources[0]] if entry.is_one_of_several else []
        interval = entry.metrics[column.key].ci95
        yield {
            "type": column.key,
            "value": value,
            "name": column.title + (f" ({', '.join(parts)})" if parts else ""),
            "args": {
                **({"prompt": entry.prompt} if entry.prompt else {}),
                **({"ci95": list(interval)} if interval else {}),
                "responses": entry.n_responses,
            },
        }


# YAML ---------------------------------------------------------------------------------------------------------


def _yaml(value: Mapping[str, Any]) -> str:
    """A mapping as YAML in block style. Every text is quoted, so that none is taken for anything else."""
    return "".join(f"{line}\n" for line in _block(value))


def _block(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    items = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for key, item in items:
        start = "-" if key is None else f"{key}:"
        if not isinstance(item, (Mapping, list)):
            yield f"{start} {_scalar(item)}"
        elif key is None:
            # The first line of the item is on the line of its dash.
            first, *rest = _block(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
        else:
            yield start
            yield from (f"  {line}" for line in _block(item))


def _scalar(value: str | float | int) -> str:
    if isinstance(value, str):
        return '"' + "".join(map(_quoted, value)) + '"'
    text = repr(value)
    if isinstance(value, float) and math.isfinite(value) and "." not in text:
        # YAML 1.1 takes 1e-07 for text.
        text = text.replace("e", ".0e", 1)
    return text


def _quoted(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"
