"""Write the `model-index` block of a Hugging Face model card: a model's scores as metadata.

The layout is that of `huggingface_hub.repocard_data.eval_results_to_model_index`: a model has results, and each result
names a task and a dataset and has metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spotball_core.leaderboard.columns import MetricColumn
from spotball_core.leaderboard.entries import Entry
from spotball_core.leaderboard.rankings import Leaderboard, RankTable, value_of
from spotball_core.leaderboard.text import columns_of
from spotball_core.text.yaml import yaml_text

_TASK = {"type": "image-text-to-text", "name": "Spot the Ball"}
_DATASET = "spot-the-ball"


def model_indexes(board: Leaderboard, keys: tuple[str, ...], *, url: str | None = None) -> dict[str, str]:
    """Return the block of each model as YAML, by the model's name.

    Args:
        board: the leaderboard. Averages over sports are not included.
        keys: the metrics to include.
        url: the leaderboard's address, which each result names as its source; None for no source.
    """
    entries = model_index(board, keys, url=url)
    return {entry["name"]: yaml_text({"model-index": [entry]}) for entry in entries}


def model_index(board: Leaderboard, keys: tuple[str, ...], *, url: str | None = None) -> list[dict[str, Any]]:
    """Return each model's entry in a `model-index`; the arguments are those of `model_indexes`."""
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
    return [{"name": name, "results": of_model} for name, of_model in results.items()]


def _result(ranking: RankTable, metrics: list[dict[str, Any]], url: str | None) -> dict[str, Any]:
    (task,) = ranking.tasks
    dataset = {
        "name": f"Spot the Ball ({task.sport})" if task.sport else "Spot the Ball",
        "type": _DATASET,
        **({"config": task.sport} if task.sport else {}),
        "split": "test",
        # Results are only comparable if they have the same revision.
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
