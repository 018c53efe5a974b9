"""Write the README of a repository: metadata for the Hub, a description of the files, and how to verify the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from spotball_core.leaderboard.rankings import Leaderboard, RankTable
from spotball_core.leaderboard.text import Line, Score, columns_of, head, lines, remarks
from spotball_core.service.safe_text import markdown_row, markdown_text, printable
from spotball_core.text.words import plural
from spotball_core.version import install_command
from spotball_gen.dataset.exports.columns import Column
from spotball_gen.dataset.exports.readme import TAGS, citation, column_table, front_matter, size_category, source_table
from spotball_gen.dataset.exports.rows import PARTS, SceneRow
from spotball_gen.dataset.licenses import license_metadata
from spotball_gen.hub.tables import RESPONSES, RESPONSES_TABLE, SCENES_TABLE
from spotball_gen.quality.splits import TEST

TASK = "visual-question-answering"


def dataset_card(
    rows: Sequence[SceneRow], repo: str, *, license: str | None, responses: Sequence[str], signature: str | None
) -> str:
    """Return the README of a dataset.

    Args:
        rows: the scenes.
        repo: the repository, such as me/my-balls.
        license: the Hub's identifier of the license, or None if the licenses of the sources apply.
        responses: names of the files with responses.
        signature: signature of the responses' scores (without intervals), or None if there are no responses.
    """
    parts = [part for part in PARTS if any(row.part == part for row in rows)]
    paths = [{"split": part, "path": f"data/{part}-*.parquet"} for part in parts]
    configs: list[dict[str, Any]] = [{"config_name": "default", "data_files": paths}]
    rows_of_responses = [name for name in responses if name.endswith(".jsonl")]
    if rows_of_responses:
        files = [{"split": TEST, "path": f"{RESPONSES}/*.parquet"}]
        configs.append({"config_name": RESPONSES, "data_files": files})
    metadata: dict[str, Any] = {
        "pretty_name": "Spot the Ball",
        **({"license": license} if license else license_metadata(row.license for row in rows)),
        "task_categories": [TASK],
        "tags": list(TAGS),
        "size_categories": [size_category(len(rows))],
        "configs": configs,
    }
    lines = [
        *_images(rows, parts),
        *_use(repo),
        *_table("Images", SCENES_TABLE),
        *(_table("Responses", RESPONSES_TABLE) if rows_of_responses else ()),
        *_score(responses, signature),
        *source_table(["license", "from"], ((row.license, row.origin) for row in rows)),
        *citation(),
    ]
    return front_matter(metadata) + "\n".join(lines) + "\n"


def results_card(board: Leaderboard, keys: tuple[str, ...], repo: str, *, license: str | None) -> str:
    """Return the README of a repository with score reports.

    Args:
        board: the ranked scores.
        keys: the metrics to show.
        repo: the repository, such as me/my-results.
        license: the Hub's identifier of the license, or None if unknown.
    """
    metadata: dict[str, Any] = {
        "pretty_name": "Spot the Ball: results",
        "license": license or "unknown",
        "task_categories": [TASK],
        "tags": list(TAGS),
        "configs": [{"config_name": "default", "data_files": [{"split": TEST, "path": "data/*.parquet"}]}],
    }
    signatures = dict.fromkeys(signature for source in board.reports for signature in [source.report.signature])
    lines = [
        "# Spot the Ball: results",
        "",
        f"This repository contains {plural(len(board.reports), 'score report')} from `spotball score`.",
        "",
        *_use(repo),
        *(line for text in _rankings(board, keys) for line in (text, "")),
        "## Signatures",
        "",
        "Scores are comparable if their settings are the same. These signatures record the settings:",
        "",
        "```text",
        *(printable(signature) for signature in signatures),
        "```",
        "",
        *citation(),
    ]
    return front_matter(metadata) + "\n".join(lines) + "\n"


def _images(rows: Sequence[SceneRow], parts: Sequence[str]) -> Iterator[str]:
    sports = Counter(row.scene.sport for row in rows)
    counts = ", ".join(f"{count:,} {markdown_text(sport)}" for sport, count in sorted(sports.items()))
    yield from ("# Spot the Ball", "")
    yield f"{plural(len(rows), 'image')}: {counts}. The task is to say where the removed ball was."
    yield "The dataset was made with spotball-core."
    yield ""
    yield from (markdown_row(["part", "images"]), "| --- | ---: |")
    for part in parts:
        yield markdown_row([part, f"{sum(row.part == part for row in rows):,}"])
    yield ""
    if controls := sum(row.scene.control for row in rows):
        yield f"The ball is visible in {plural(controls, 'image')} for attention checks (`control` is true)."
        yield ""


def _use(repo: str) -> Iterator[str]:
    name = markdown_text(repo)
    yield from ("## Use it", "", "```bash", install_command("hub"))
    yield from (f"spotball pull {name} --out {name.rpartition('/')[2]}", "```", "")
    yield from ("or", "", "```python", "from datasets import load_dataset", "")
    yield from (f'dataset = load_dataset("{name}")', "```", "")


def _table(title: str, columns: Sequence[Column]) -> Iterator[str]:
    yield from (f"## {title}", "", *column_table(columns))


def _score(responses: Sequence[str], signature: str | None) -> Iterator[str]:
    if signature is None:
        return
    files = ", ".join(f"`{markdown_text(name)}`" for name in responses)
    yield from ("## Check the scores", "", f"The responses are in {files}. After `spotball pull`, run:", "")
    yield from ("```bash", "spotball score FOLDER --bootstrap 0", "```", "", "The command prints this signature:", "")
    yield from ("```text", signature, "```", "")


def _rankings(board: Leaderboard, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the paragraphs of each ranking: its title, remarks, table and signature; then the notes."""
    for ranking in board.rankings:
        yield from _ranking(ranking, keys)
    if board.notes:
        yield from ("## Notes", "\n".join(f"- {markdown_text(note)}" for note in board.notes))


def _ranking(ranking: RankTable, keys: tuple[str, ...]) -> Iterator[str]:
    columns = columns_of(ranking, keys)
    shown_lines = lines(ranking, columns)
    with_source = any(line.source for line in shown_lines)
    names = ["Respondent", "Prompt", *(["Source"] if with_source else [])]
    counts = ["Images", "Responses"]
    yield f"## {ranking.number}. {markdown_text(ranking.title)}"
    for remark in remarks(ranking, columns):
        yield markdown_text(remark)
    rows = [
        markdown_row([*names, *map(head, columns), *counts]),
        markdown_row([*["---"] * len(names), *["---:"] * (len(counts) + len(columns))]),
        *(markdown_row(_row(line, with_source)) for line in shown_lines),
    ]
    yield "\n".join(rows)
    yield f"{markdown_text(ranking.signature)}"


def _row(line: Line, with_source: bool) -> Iterator[str]:
    yield from (line.name, line.prompt)
    if with_source:
        yield line.source
    yield from (*map(_value, line.scores), line.n_images, line.n_responses)


def _value(score: Score) -> str:
    rank = f"**{score.rank}**" if score.rank else ""
    return " ".join(part for part in (score.value, score.interval, rank) if part)
