"""Policy `lenient`: read a reply as a careful person would, in any wording.

Every mention of a cell gets a weight from the words around it: an answer line has the highest weight,
and a player's position has none. The mention with the highest weight is the answer, unless a later mention corrects it.
If two different cells share the highest weight, they contradict each other, and the reply is unparsed.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.cell_text import ReadCell
from spotball_adapters.replies.evidence import Weight
from spotball_adapters.replies.objects import object_answers
from spotball_adapters.replies.plain_text import of_first_turn, reasoning_around
from spotball_adapters.replies.readable_text import readable, without_reasoning
from spotball_adapters.replies.result import Parsed, parsed
from spotball_adapters.replies.statements import LONGEST_SENTENCE, Statement, TokenizedReply, statements
from spotball_adapters.replies.strict import states_cell
from spotball_core.grid import Grid

_LONGEST_READ = 100_000
"""Maximum number of characters to read. Only the end of a longer text is read, because replies end with the answer."""


def parse_leniently(text: str, grid: Grid, *, finish: Finish = "stop") -> Parsed:
    """Parse a reply under the policy `lenient`. The time is proportional to the reply's length.

    Examples:
        >>> parse_leniently("I'd say D4. No, wait: **E4**.", Grid.standard()).cell
        'E4'
        >>> parse_leniently("The ball is either in D4 or in E4.", Grid.standard()).problem
        'several answers'
    """
    return of_first_turn(
        without_reasoning(text),
        finish,
        lambda turn, finish: _parse(turn, grid, text, finish),
        lambda part: states_cell(part, grid),
    )


def _parse(visible: str, grid: Grid, text: str, finish: Finish) -> Parsed:
    """Parse a text without hidden reasoning; `text` is the whole reply."""
    # Keep one blank at the end, because it shows that the last word is complete.
    visible = visible[: len(visible.rstrip()) + 1][-_LONGEST_READ:]
    objects, rest = object_answers(visible, lambda value: _read_field(value, grid))
    reply = TokenizedReply.of(readable(rest), grid, unfinished=finish in ("length", "filtered"))
    candidates = list(statements(reply))
    for json_answer in objects:
        token = bisect_left(reply.tokens.starts, json_answer.start)
        candidates.append(
            Statement(
                token,
                Weight.LABEL,
                json_answer.result.cell,
                json_answer.result.problem,
                json_answer.start,
                json_answer.end,
            )
        )
    answer = _decide(candidates, reply.tokens.roles)
    if answer is None or (answer.cell and not _holds(answer, reply)):
        return parsed(ReadCell(None, "no answer"), visible.strip() or None, text, finish)
    reasoning = next((json_answer.reasoning for json_answer in objects if json_answer.start == answer.start), None)
    result = ReadCell(answer.cell, None if answer.cell else answer.problem or "no answer")
    return parsed(result, reasoning or _reasoning(visible, reply, answer), text, finish)


def _read_field(value: str, grid: Grid) -> ReadCell | None:
    """Return the result for the value of a JSON answer field, or None if it says nothing about a cell."""
    reply = TokenizedReply.of(readable(f"cell: {value}"), grid, unfinished=False)
    answer = _decide(statements(reply), reply.tokens.roles)
    return None if answer is None else ReadCell(answer.cell, None if answer.cell else answer.problem or "no answer")


def _decide(candidates: Iterable[Statement], roles: str) -> Statement | None:
    """Return the statement that decides the answer, or None if the reply makes no statement about it."""
    corrections = [number for number, role in enumerate(roles) if role in "td"]
    current = no_answer = Statement(0, Weight.ASIDE, None, "no answer")
    contradicted = False
    for statement in sorted(candidates, key=lambda statement: statement.token):
        since = max(current.token + 1, statement.token - LONGEST_SENTENCE)
        sentence = re.split(r"[.?\n]", roles[since : statement.token])[-1]
        corrects = bisect_left(corrections, statement.token) > bisect_left(corrections, current.token + 1)
        if statement.weight == Weight.REJECTED:
            withdrawn = statement.cell is None or (
                statement.cell == current.cell and (corrects or current.weight <= Weight.CHOICE)
            )
            if current.weight > Weight.ASIDE and withdrawn:
                current, contradicted = replace(no_answer, token=statement.token), False
        elif statement.weight > current.weight:
            current, contradicted = statement, False
        elif statement.cell == current.cell and statement.cell is not None:
            current = replace(current, token=statement.token)
        elif corrects and (statement.weight >= Weight.CLAIM or re.search("[td]", sentence)):
            current, contradicted = replace(statement, weight=current.weight), False
        elif statement.weight == current.weight or (
            statement.weight == Weight.LABEL and current.weight == Weight.FINAL
        ):
            undecided = current.cell is None and statement.cell is not None and not contradicted
            contradicted = not (undecided or re.search("[fs]", sentence))
            current = replace(statement, cell=None, problem="several answers") if contradicted else statement
        elif current.problem == "outside the grid" and re.search("[fs!]", sentence):
            current = statement
    return current if current.weight > Weight.ASIDE or current.token else None


_CORRECTED = re.compile(r"[.?\n][-*!s,&(]{0,3}t")


# "That answer does not hold up", "do not count this as an answer", "that was a mistake".
_DISOWNED = re.compile(
    r"[.\n](?:[zq!,]{0,5}a[zq_x]{0,4}[nr]|[z!,_]{0,4}n[zq_]{0,6}a|[zqv_]{0,5},?qz{0,2}r)[^C.?\n]{0,99}[.?\n]"
)
_OR_ELSE = re.compile(r"[)*]?[.,?\n-]{0,3}o[zkqb_!]{0,6}C")
# "Cell:" or "Cell: D" at the end.
_OPEN_LABEL = re.compile(r"(?:^|\n)[-*>|#.)(]{0,9}[zfgm]{0,4}[ka][zfkb]{0,4}:[-*(:]{0,3}_?[.\n]{0,9}$")


def _holds(answer: Statement, reply: TokenizedReply) -> bool:
    """Return whether an answer stands, because no other part of the reply withdraws it or makes it doubtful."""
    rest = reply.tokens.roles[answer.token + 1 :] + "\n"
    if answer.weight < Weight.LABEL and reply.unfinished and re.search("[\n?]", reply.tokens.roles[: answer.token]):
        return False
    if answer.weight < Weight.CHOICE and (reply.unfinished or "u" in rest):
        return False
    if answer.weight == Weight.POSSIBLE and len({mention.cell for mention in reply.tokens.cells.values()}) > 1:
        return False
    if answer.weight < Weight.LABEL and _OPEN_LABEL.search(reply.tokens.roles):
        return False
    if (alternative := _OR_ELSE.match(rest)) and reply.cell(answer.token + alternative.end()) not in (
        None,
        answer.cell,
    ):
        return False
    # A correction without another answer.
    return not _CORRECTED.search(rest) and not _DISOWNED.search(rest)


def _reasoning(visible: str, reply: TokenizedReply, answer: Statement) -> str | None:
    """Return the text outside the line of the answer, the whole text if the answer is within a sentence, or None if no
    text is left.
    """
    if answer.weight >= Weight.LABEL or not re.search(r"[^\W\d_]{2}", visible[answer.start : answer.end]):
        before = reasoning_around(visible, reply.text, answer.start, answer.end)
        return before or visible[answer.end :].strip(" \t\r\n*_#`.") or None
    return visible.strip() or None
