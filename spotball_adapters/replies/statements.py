"""Find the places where a reply gives an answer, withdraws one, or says that a cell is not the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from spotball_adapters.replies.cell_text import Unread
from spotball_adapters.replies.cells import mentions
from spotball_adapters.replies.evidence import Sentence, Weight, is_heading, is_rejected, sentence_of, weigh
from spotball_adapters.replies.rankings import RankedLine, Ranking, lines_of, rankings, rows_of_cues
from spotball_adapters.replies.tokens import Tokens, tokenize
from spotball_core.grid import Grid


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in a reply that names, denies or withdraws an answer.

    Attributes:
        token: index of the token with the cell, or with the withdrawal.
        weight: how clearly it is an answer; REJECTED if it denies `cell`, or withdraws all earlier answers.
        cell: label of the cell, or None if the statement does not name a single cell of the grid.
        problem: why the cell is missing, or None.
        start: offset of the sentence in the text.
        end: offset after the cell in the text.
    """

    token: int
    weight: Weight
    cell: str | None
    problem: Unread | None = None
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class TokenizedReply:
    """A reply that is prepared for parsing.

    Attributes:
        text: text in plain characters; see `readable_text.readable`.
        tokens: the tokens of the text.
        grid: the grid of the cells.
        unfinished: whether the reply was cut off at the end of the text.
    """

    text: str
    tokens: Tokens
    grid: Grid
    unfinished: bool

    @classmethod
    def of(cls, text: str, grid: Grid, *, unfinished: bool) -> TokenizedReply:
        """Tokenize a text in plain characters."""
        return cls(text, tokenize(text, mentions(text, grid)), grid, unfinished)

    def cell(self, token: int) -> str | None:
        """Return the label of the cell at a token, or None if the cell is outside the grid."""
        return self.tokens.cells[token].cell


LONGEST_SENTENCE = 120
"""Maximum number of tokens in a sentence. Longer sentences are split, so that parsing takes linear time."""


def statements(reply: TokenizedReply) -> Iterator[Statement]:
    """Yield the statements about the answer, in no particular order."""
    lines = lines_of(reply.text, reply.tokens)
    lists = rankings(reply.text, reply.tokens, lines)
    yield from _of_lists(reply, lists)
    listed = {number for ranking in lists for number in range(ranking.first, ranking.last)}
    examples = _examples(reply, lines)
    tabled = rows_of_cues(reply.tokens, lines)
    headed = False
    for line in lines:
        roles = reply.tokens.roles[line.first : line.last]
        if line.first not in listed and line not in examples and line not in tabled:
            for first, last in _sentences(roles):
                begin = line.first + first
                sentence = sentence_of(reply.tokens, begin, line.first + last, headed=headed and not first)
                yield from _in_sentence(reply, sentence)
        headed = is_heading(roles)
    for withdrawal in _WITHDRAWAL.finditer(reply.tokens.roles):
        if withdrawal[0] == "d":
            yield Statement(withdrawal.start(), Weight.REJECTED, None)


# Words in brackets withdraw only a cell in the same brackets: "D5 (earlier I said D6, ignore that)".
_WITHDRAWAL = re.compile(r"\([^()\nd]{0,20}C[^()\nd]{0,9}d[^()\n]{0,9}\)|d")


def _of_lists(reply: TokenizedReply, lists: Sequence[Ranking]) -> Iterator[Statement]:
    for ranking in lists:
        # A list at the end of an unfinished reply may be incomplete.
        if reply.unfinished and not reply.tokens.roles[ranking.last :].strip("\n"):
            continue
        if ranking.cell is None:
            yield Statement(ranking.first, Weight.BARE, None, "several answers")
        else:
            yield Statement(ranking.first, Weight.RANKED, reply.cell(ranking.cell))


def _examples(reply: TokenizedReply, lines: Sequence[RankedLine]) -> set[RankedLine]:
    """Return the lines that follow a heading such as "Example:", up to a blank line."""
    examples: set[RankedLine] = set()
    for before, line in pairwise(lines):
        announced = re.fullmatch("[^C]*[ei][^C]*:", reply.tokens.roles[before.first : before.last])
        if (announced or before in examples) and reply.text.count("\n", before.end, line.start) < 2:
            examples.add(line)
    return examples


def _sentences(roles: str) -> Iterator[tuple[int, int]]:
    first = 0
    for last, role in enumerate(roles):
        if role in ".?":
            yield first, last
            first = last + 1
        elif last - first == LONGEST_SENTENCE:
            yield first, last
            first = last
    yield first, len(roles)


_JOINT = re.compile(r"[):*%(#]{0,6}[zwkq_]?[o&,/>|-][o&,/zwkql)(*%#-]{0,9}(?:_\()?|[,(%)]{0,4}(?:[#_z]\)|#:)|%|:|")
_REFUSES = re.compile(r"[z(*]{0,4}[un]")


def _in_sentence(reply: TokenizedReply, sentence: Sentence) -> Iterator[Statement]:
    roles, label = reply.tokens.roles, sentence.label
    numbers = [n for n in range(sentence.first, sentence.first + len(sentence.roles)) if n in reply.tokens.cells]
    if not numbers and label and _REFUSES.match(sentence.roles, label.end):
        yield Statement(sentence.first, Weight.LABEL, None, "no answer")
    lists = label is not None and re.search("[LDU]", label.words) is not None
    while numbers:
        group = [numbers.pop(0)]
        while numbers and (lists or _are_joined(roles, group[-1], numbers[0])):
            group.append(numbers.pop(0))
        yield from _of_group(reply, sentence, group)


def _are_joined(roles: str, first: int, second: int) -> bool:
    gap = roles[first + 1 : second]
    return bool(_JOINT.fullmatch(gap)) or (gap == "(" and roles[second + 1 : second + 2] == ")")


_SECOND_AFTER = re.compile("z{1,4}_?l")
# "Cell: D5 would be too high" talks about a cell and does not choose it.
_PREDICATE_AFTER = re.compile(r"[ \t]{1,3}(?:is|was|would|could|might|may|has|seems|looks|can't|cannot)\b", re.I)
_NUMBERED = re.compile(r"\(?#[).:]$")
_NOT_CANDIDATES = re.compile("[pvxejhn]")
_STRETCH = r"-{1,2}>?|~|\.{2,3}|→|(?:to|through|thru|until|bis|hasta|fino|jusqu'à|до)\b|から|到|至|에서"
_OR = r"[,;]?\s?(?:or|oder|ou|oppure|of|lub|veya|или|або)\b|[/&+]|,|and\b"
# "D4-D6", "D4/5" and "D4 or E", but not "D4, 2 meters away".
_CELL_OR_PART = r"\s{0,3}(?:cell\s)?(?:[A-Za-z]{1,2}[- ]?[0-9]|[0-9]{1,3}(?![\s.]?[\w%])|[A-Z](?!\s?[\w'’.]))"
_STRETCH_AFTER = re.compile(rf"\s{{0,3}}(?:{_STRETCH}){_CELL_OR_PART}")
_OR_AFTER = re.compile(rf"\s{{0,3}}(?:{_OR}){_CELL_OR_PART}")


def _of_group(reply: TokenizedReply, sentence: Sentence, group: Sequence[int]) -> Iterator[Statement]:
    """Yield the statements about cells that a sentence lists together, such as "D4 or D5"."""
    roles, stop = reply.tokens.roles, sentence.first + len(sentence.roles)
    before, after = roles[sentence.first : group[0]], roles[group[-1] + 1 : stop]
    gaps = dict(zip(group, ["", *(roles[a + 1 : b] for a, b in pairwise(group))], strict=True))
    if _PREDICATE_AFTER.match(reply.text, reply.tokens.cells[group[0]].end):
        sentence = replace(sentence, label=None)
    # "D5, with D6 as the runner-up": only the last cell is second.
    shared_after = "" if _SECOND_AFTER.match(after) else after
    weights = {
        n: weigh(sentence, n, after if n == group[-1] else shared_after, loose=reply.tokens.cells[n].loose)
        for n in group
    }
    if weights[group[0]] == Weight.REJECTED and re.search("[o&]", "".join(gaps.values())):
        weights = dict.fromkeys(group, Weight.REJECTED)
    remaining = [
        n
        for n in group
        if weights[n] != Weight.REJECTED
        and not is_rejected("", roles[n + 1 : stop])
        and (n == group[0] or not _is_second(gaps[n], before))
    ]
    start = reply.tokens.starts[sentence.first]
    yield from (Statement(n, Weight.REJECTED, reply.cell(n), None, start) for n in group if n not in remaining)
    if not remaining:
        return
    weight = weights[remaining[0]]
    shared = _shares(reply, group) and not _NOT_CANDIDATES.search(before)
    if len(group) > 1 and (shared or _NUMBERED.search(before)):
        weight = max(weight, Weight.RANKED)
    if weight == Weight.ASIDE:
        return
    cells = {reply.cell(n) for n in remaining}
    chosen = remaining[0] if len(cells) == 1 else _best(reply, remaining, before, after)
    end = reply.tokens.cells[chosen or remaining[-1]].end
    open_end = len(cells) == 1 and remaining[-1] == group[-1]
    ends = [reply.tokens.cells[n].end for n in (remaining[-1:] if len(cells) == 1 else remaining)]
    if any(_STRETCH_AFTER.match(reply.text, place) for place in ends):
        yield Statement(group[0], weight, None, "a range", start, end)
    elif chosen is None or (open_end and (_OR_AFTER.match(reply.text, end) or after.startswith("o"))):
        yield Statement(group[0], weight, None, "several answers", start, end)
    else:
        cell, problem = _checked(reply, chosen)
        yield Statement(chosen, weight, cell, problem, start, end)


def _is_second(gap: str, before: str) -> bool:
    """Return whether a cell is less likely than the cell before it, as in "D4 > D5" or "D4 or, less likely, D5"."""
    return re.search("[l>]", gap) is not None or ("w" in gap and "w" not in before)


def _checked(reply: TokenizedReply, token: int) -> tuple[str | None, Unread | None]:
    """Return the cell at a token and None, or None and the problem: outside the grid, or cut off (`D1` of `D10`)."""
    cell = reply.cell(token)
    if cell is None:
        return None, "outside the grid"
    column = int(re.sub("[A-Z]", "", cell))
    cut = reply.unfinished and reply.tokens.cells[token].end == len(reply.text) and column * 10 <= reply.grid.cols
    return (None, "cut off") if cut else (cell, None)


def _best(reply: TokenizedReply, group: Sequence[int], before: str, after: str) -> int | None:
    """Return the token of the cell that a list within a sentence prefers, or None if it prefers no cell."""
    if "U" in before:
        return group[-1]
    if "D" in before or after.lstrip(",").startswith("D") or _NUMBERED.search(before):
        return group[0]
    shares = _shares(reply, group)
    return group[shares.index(max(shares))] if shares and shares.count(max(shares)) == 1 else None


_SHARE = re.compile(
    r"(?:\s(?:at|with))?[\s)(:=-]{0,4}(?:([0-9]{1,3}(?:[.,][0-9]{1,6})?)\s?%|([01]?\.[0-9]{1,6}))|\)?\s?[:=]\s?([0-9]{1,3})(?![\w.])"
)


def _shares(reply: TokenizedReply, group: Sequence[int]) -> list[float]:
    """Return the score after each cell, or an empty list if a cell has no score."""
    matches = [_SHARE.match(reply.text, reply.tokens.cells[number].end) for number in group]
    if None in matches:
        return []
    return [float((match[1] or match[2] or match[3]).replace(",", ".")) for match in matches if match]
