"""Read lists and tables of candidates: the first of a ranking, or the candidate with the highest score."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from spotball_adapters.replies.tokens import Tokens

_ITEM = re.compile(r"[-*>|(]*(?:D?#[).:|]*|[z&o_][).:]+)?[-*|(]*(?:_?k:)?$")
_RULE = re.compile(r"[-|:.*]*")
_PREFERRED_AFTER = re.compile(r"[*)]*[(:,-]*[zw]*[mfa]|[*)]*[(:,-]*z?b[*)(.]*$")
_REJECTED_AFTER = re.compile(r"[*)]*[(:,-]*[zkq]*[nrul]")
# "D5 is occupied by the keeper" is a sentence; "D5: the keeper" gives the cell of a player.
_SENTENCE_AFTER, _PERSON_AFTER = re.compile("z{1,3}[^#%z]"), re.compile(r"[*)(:,-]{0,3}z{0,2}[pv]")
_SCORE = re.compile(r"(?<![\w.])([0-9]{1,4}(?:[.,][0-9]{1,9})?|[.][0-9]{1,9})(?:\s?(%)|\s?(/)\s?[0-9])?")
SCORE_NAME = re.compile(
    r"prob|likel|conf|score|total|%|weight|chance|rating|points|certain|wahrschein|概率|確率|확률|вероятн|احتمال", re.I
)
"""Pattern of column names and keys that contain a score."""

_RANK_NAME = re.compile(r"\brank|^\s*#\s*$|\border\b|priority|\bno\.", re.I)


_LEVELS = ("very low", "low", "medium", "high", "very high")
_LEVEL = re.compile(rf"\b(?:{'|'.join(sorted(_LEVELS, key=len, reverse=True))})\b", re.I)


@dataclass(frozen=True, slots=True)
class RankedLine:
    """A line of a reply: the index of its first token, the index after its last token, and its offsets in the text."""

    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """A list or table of candidates.

    Attributes:
        first: index of its first token.
        last: index after its last token.
        cell: index of the preferred candidate's token, or None if no candidate is preferred.
    """

    first: int
    last: int
    cell: int | None


def lines_of(text: str, tokens: Tokens) -> list[RankedLine]:
    """Return the lines of a text, without those that have no token."""
    edges = [-1, *(number for number, role in enumerate(tokens.roles) if role == "\n"), len(tokens.roles)]
    starts = [*tokens.starts, len(text)]
    return [RankedLine(a + 1, b, starts[a + 1], starts[b]) for a, b in pairwise(edges) if b > a + 1]


def rankings(text: str, tokens: Tokens, lines: Sequence[RankedLine]) -> list[Ranking]:
    """Return the lists and tables of candidates in a text: lines that begin with a cell, with at least two different
    cells.
    """
    result: list[Ranking] = []
    items: list[tuple[RankedLine, int]] = []
    header = previous = None
    for line in [*lines, None]:
        if line and items and (_RULE.fullmatch(tokens.roles, line.first, line.last) or _is_note(text, tokens, line)):
            continue
        number = _candidate(text, tokens, line) if line else None
        if number is None or (items and _mark(tokens, line, number) != _mark(tokens, *items[0])):
            if len({tokens.cells[token].cell for _, token in items}) > 1:
                preferred = _preferred(text, tokens, items, header)
                result.append(Ranking(items[0][0].first, items[-1][0].last, preferred))
            items = []
        if line and number is not None:
            header = header if items else previous
            items.append((line, number))
        if line and not _RULE.fullmatch(tokens.roles, line.first, line.last):
            previous = line
    return result


def rows_of_cues(tokens: Tokens, lines: Sequence[RankedLine]) -> set[RankedLine]:
    """Return the rows of tables that name a cell but not as the answer, such as "| Gaze | D4 |".

    Tables with fewer than two rows that name a cell are ignored.
    """
    rows: set[RankedLine] = set()
    table: list[tuple[RankedLine, str]] = []
    for line in [*lines, None]:
        roles = tokens.roles[line.first : line.last] if line else ""
        if line and roles.startswith("|"):
            table += [(line, roles)] if "C" in roles else []
            continue
        if len(table) > 1:
            rows.update(row for row, roles in table if not re.search("[abfmg]", roles))
        table = []
    return rows


def _is_note(text: str, tokens: Tokens, line: RankedLine) -> bool:
    """Return whether a line is an indented or bulleted note to the item before it, without a cell."""
    indented = text[line.start - 3 : line.start].isspace() and "\n" not in text[line.start - 3 : line.start]
    bullet = tokens.roles[line.first] == "-"
    return (indented or bullet) and not any(number in tokens.cells for number in range(line.first, line.last))


def _candidate(text: str, tokens: Tokens, line: RankedLine) -> int | None:
    """Return the index of the token with the line's candidate, or None if the line does not begin with a candidate."""
    number = next((n for n in range(line.first, line.last) if n in tokens.cells), None)
    if number is None or not _ITEM.match(tokens.roles, line.first, number):
        return None
    if number == line.first and _SENTENCE_AFTER.match(tokens.roles, number + 1, line.last):
        return None
    is_labeled = ":" in tokens.roles[line.first : number] and "k" in tokens.roles[line.first : number]
    # "cell: D5" is an answer line; with a score, it is a candidate.
    return None if is_labeled and not _SCORE.search(text, tokens.cells[number].end, line.end) else number


def _mark(tokens: Tokens, line: RankedLine | None, number: int) -> str:
    """Return the roles before a candidate, such as those of a bullet or a number; lines of one list have the same."""
    return re.sub("[z&o_#]+", "#", tokens.roles[line.first : number]) if line else ""


def _preferred(
    text: str, tokens: Tokens, items: Sequence[tuple[RankedLine, int]], header: RankedLine | None
) -> int | None:
    above = text[header.start : header.end] if header else ""
    header_roles = tokens.roles[header.first : header.last] if header else ""
    after = [tokens.roles[number + 1 : number + 7] for _, number in items]
    possible = [item for item, roles in zip(items, after, strict=True) if not _REJECTED_AFTER.match(roles)]
    if len(possible) == 1:
        number = possible[0][1]
        return None if _PERSON_AFTER.match(tokens.roles, number + 1) else number
    scores = [_score(text, tokens, line, number, above) for line, number in items]
    known_scores = [score for score in scores if score is not None]
    if not known_scores and "p" in header_roles and not re.search("[bamgLDU]", header_roles):
        return None
    if len(known_scores) == len(items):
        return items[scores.index(max(known_scores))][1] if scores.count(max(known_scores)) == 1 else None
    marked = [number for (_, number), roles in zip(items, after, strict=True) if _PREFERRED_AFTER.match(roles)]
    if len(marked) == 1:
        return marked[0]
    if "U" in header_roles:
        return items[-1][1]
    mark = text[items[0][0].start : tokens.cells[items[0][1]].start].strip(" \t|*-(#")
    return items[0][1] if "D" in header_roles or mark.startswith("🥇") or re.match(r"\D{0,9}1(?![0-9])", mark) else None


def _score(text: str, tokens: Tokens, line: RankedLine, number: int, header: str) -> float | None:
    """Return the score on a line: in the column that the table's header names, otherwise the first number after the
    cell.
    """
    names = header.split("|")
    columns = text[line.start : line.end].split("|")
    score_columns = [place for place, name in enumerate(names) if SCORE_NAME.search(name) and place < len(columns)]
    if score_columns and len(names) > 1:
        match = _SCORE.search(columns[score_columns[-1]])
        return _value(match) if match else None
    ranked = [place for place, name in enumerate(names) if _RANK_NAME.search(name) and place < len(columns)]
    if ranked and len(names) > 1:
        match = _SCORE.search(columns[ranked[0]])
        return -_value(match) if match else None
    for match in _SCORE.finditer(text, tokens.cells[number].end, line.end):
        if match[2] or match[3] or "." in match[1]:
            return _value(match)
    level = _LEVEL.search(text, tokens.cells[number].end, line.end)
    return _LEVELS.index(level[0].lower()) if level else None


def _value(match: re.Match[str]) -> float:
    return float(match[1].replace(",", "."))
