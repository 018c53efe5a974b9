"""Write the README of a leaderboard: the badge, and a Markdown table for each ranking."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_core.leaderboard.badge import LABEL
from spotball_core.leaderboard.rankings import Leaderboard, RankTable
from spotball_core.leaderboard.text import Line, Score, columns_of, head, lines, remarks
from spotball_core.service.safe_text import markdown_row, markdown_text


def readme(board: Leaderboard, keys: tuple[str, ...], *, badge: str, page: str, explanation: str) -> str:
    """Return the README of a leaderboard as Markdown.

    Args:
        board: the leaderboard.
        keys: keys of the metrics to show.
        badge: file name of the badge.
        page: file name of the HTML page.
        explanation: an explanation of the ranks.
    """
    parts = [
        f"# {LABEL}: leaderboard",
        f"[![{LABEL}]({badge})]({page})",
        explanation,
        *ranking_sections(board, keys),
    ]
    return "\n\n".join(parts) + "\n"


def ranking_sections(board: Leaderboard, keys: tuple[str, ...]) -> Iterator[str]:
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
        *(markdown_row(_cells(line, with_source)) for line in shown_lines),
    ]
    yield "\n".join(rows)
    yield f"{markdown_text(ranking.signature)}"


def _cells(line: Line, with_source: bool) -> Iterator[str]:
    yield from (line.name, line.prompt)
    if with_source:
        yield line.source
    yield from (*map(_score, line.scores), line.n_images, line.n_responses)


def _score(score: Score) -> str:
    rank = f"**{score.rank}**" if score.rank else ""
    return " ".join(part for part in (score.value, score.interval, rank) if part)
