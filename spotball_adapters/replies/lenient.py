"""Policy `lenient`: read a reply as a careful person would, whatever words it uses.

Every mention of a cell gets a weight from the words around it: an answer line weighs most, a player's position nothing.
The heaviest mention is the answer, unless a later one corrects it. Two different cells of the same weight contradict
each other, and the reply is unparsed.
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
from spotball_adapters.replies.plain_text import reasoning_around
from spotball_adapters.replies.readable_text import readable, without_reasoning
from spotball_adapters.replies.result import Parsed, parsed
from spotball_adapters.replies.statements import LONGEST_SENTENCE, Reply, Statement, statements
from spotball_core.grid import Grid

_LONGEST_READ = 100_000
"""Characters. A reply states its answer at its end; of a longer one, only the end is read."""


def parse_leniently(text: str, grid: Grid, *, finish: Finish = "stop") -> Parsed:
    """Read a reply under the policy `lenient`, in time proportional to its length.

    Examples:
        >>> parse_leniently("I'd say D4. No, wait: **E4**.", Grid.standard()).cell
        'E4'
        >>> parse_leniently("The ball is either in D4 or in E4.", Grid.standard()).problem
        'several answers'
    """
    shown = without_reasoning(text)
    # One blank at the end stays: it tells that the last word is complete.
    shown = shown[: len(shown.rstrip()) + 1][-_LONGEST_READ:]
    objects, rest = object_answers(shown, lambda value: _read_field(value, grid))
    reply = Reply.of(readable(rest), grid, unfinished=finish in ("length", "filtered"))
    found = list(statements(reply))
    for each in objects:
        token = bisect_left(reply.tokens.starts, each.start)
        found.append(Statement(token, Weight.LABEL, each.said.cell, each.said.problem, each.start, each.end))
    answer = _decide(found, reply.tokens.roles)
    if answer is None or (answer.cell and not _holds(answer, reply)):
        return parsed(ReadCell(None, "no answer"), shown.strip() or None, text, finish)
    reasoning = next((each.reasoning for each in objects if each.start == answer.start), None)
    said = ReadCell(answer.cell, None if answer.cell else answer.problem)
    return parsed(said, reasoning or _reasoning(shown, reply, answer), text, finish)


def _read_field(value: str, grid: Grid) -> ReadCell | None:
    """Read the value of a JSON field that holds the answer; None if it says nothing about a cell."""
    reply = Reply.of(readable(f"cell: {value}"), grid, unfinished=False)
    answer = _decide(statements(reply), reply.tokens.roles)
    return None if answer is None else ReadCell(answer.cell, None if answer.cell else answer.problem)


def _decide(found: Iterable[Statement], roles: str) -> Statement | None:
    """Return the statement that holds in the end; None if there is none."""
    corrections = [number for number, role in enumerate(roles) if role in "td"]
    held = nothing = Statement(0, Weight.ASIDE, None, "no answer")
    contradicted = False
    for each in sorted(found, key=lambda statement: statement.token):
        since = max(held.token + 1, each.token - LONGEST_SENTENCE)
        sentence = re.split(r"[.?\n]", roles[since : each.token])[-1]
        corrects = bisect_left(corrections, each.token) > bisect_left(corrections, held.token + 1)
        if each.weight == Weight.REJECTED:
            withdrawn = each.cell is None or (each.cell == held.cell and (corrects or held.weight <= Weight.CHOICE))
            if held.weight > Weight.ASIDE and withdrawn:
                held, contradicted = replace(nothing, token=each.token), False
        elif each.weight > held.weight:
            held, contradicted = each, False
        elif each.cell == held.cell and each.cell is not None:
            held = replace(held, token=each.token)
        elif corrects and (each.weight >= Weight.CLAIM or re.search("[td]", sentence)):
            held, contradicted = replace(each, weight=held.weight), False
        elif each.weight == held.weight or (each.weight == Weight.LABEL and held.weight == Weight.FINAL):
            undecided = held.cell is None and each.cell is not None and not contradicted
            contradicted = not (undecided or re.search("[fs]", sentence))
            held = replace(each, cell=None, problem="several answers") if contradicted else each
        elif held.problem == "outside the grid" and re.search("[fs!]", sentence):
            held = each
    return held if held.weight > Weight.ASIDE or held.token else None


_CORRECTED = re.compile(r"[.?\n][-*!s,&(]{0,3}t")


# "That answer does not hold up", "do not count this as an answer", "that was a mistake".
_DISOWNED = re.compile(
    r"[.\n](?:[zq!,]{0,5}a[zq_x]{0,4}[nr]|[z!,_]{0,4}n[zq_]{0,6}a|[zqv_]{0,5},?qz{0,2}r)[^C.?\n]{0,99}[.?\n]"
)
_OR_ELSE = re.compile(r"[)*]?[.,?\n-]{0,3}o[zkqb_!]{0,6}C")
# "Cell:" or "Cell: D" at the end.
_OPEN_LABEL = re.compile(r"(?:^|\n)[-*>|#.)(]{0,9}[zfgm]{0,4}[ka][zfkb]{0,4}:[-*(:]{0,3}_?[.\n]{0,9}$")


def _holds(answer: Statement, reply: Reply) -> bool:
    """Return whether an answer stands up to what else the reply says."""
    rest = reply.tokens.roles[answer.token + 1 :] + "\n"
    if answer.weight < Weight.LABEL and reply.unfinished and re.search("[\n?]", reply.tokens.roles[: answer.token]):
        return False
    if answer.weight < Weight.CHOICE and (reply.unfinished or "u" in rest):
        return False
    if answer.weight == Weight.POSSIBLE and len({each.cell for each in reply.tokens.cells.values()}) > 1:
        return False
    if answer.weight < Weight.LABEL and _OPEN_LABEL.search(reply.tokens.roles):
        return False
    if (other := _OR_ELSE.match(rest)) and reply.cell(answer.token + other.end()) not in (None, answer.cell):
        return False
    # A correction that names no other answer.
    return not _CORRECTED.search(rest) and not _DISOWNED.search(rest)


def _reasoning(shown: str, reply: Reply, answer: Statement) -> str | None:
    """Return the reasoning: what is outside the answer line, or the whole text if the answer is part of it."""
    if answer.weight >= Weight.LABEL or not re.search(r"[^\W\d_]{2}", shown[answer.start : answer.end]):
        before = reasoning_around(shown, reply.text, answer.start, answer.end)
        return before or shown[answer.end :].strip(" \t\r\n*_#`.") or None
    return shown.strip() or None
