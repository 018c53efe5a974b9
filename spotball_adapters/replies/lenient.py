"""Policy `lenient`: read a reply as a careful person would, in any wording.

Every mention of a cell gets a weight from the words around it: an answer line has the highest weight,
and a player's position has none. The mention with the highest weight is the answer, unless a later mention corrects it.
If two different cells share the highest weight, they contradict each other, and the reply is unparsed.

First, the reply becomes readable text: plain characters, no markup, no blocks of reasoning. Its length stays the same,
so an offset in one text is valid in the other.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import replace

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.cell_text import ReadCell
from spotball_adapters.replies.evidence import Weight
from spotball_adapters.replies.objects import object_answers
from spotball_adapters.replies.plain_text import of_first_turn, reasoning_around
from spotball_adapters.replies.result import Parsed, parsed
from spotball_adapters.replies.statements import LONGEST_SENTENCE, Statement, TokenizedReply, statements
from spotball_adapters.replies.strict import states_cell
from spotball_core.grid import Grid

_BEFORE_DIGIT = str.maketrans("АВСЕаесΑΒΕ", "ABCEaecABE")
_SIGNS = {
    **dict.fromkeys("‐‑‒–—−﹣", "-"),
    **dict.fromkeys("﹕︓꞉∶ː：", ":"),
    **dict.fromkeys("،؛、", ","),
    **dict.fromkeys("\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad\ufe0f", " "),
}


class _Plain(dict[int, str]):
    """Table for `str.translate`: compatibility forms and digits of all scripts become ASCII."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _SIGNS:
            return _SIGNS[character]
        digit = unicodedata.digit(character, None)
        normalized = str(digit) if digit is not None else unicodedata.normalize("NFKC", character)
        return normalized if len(normalized) == 1 else character


_LOOKALIKE = re.compile(r"(?<!\w)[АВСЕаесΑΒΕ](?=[\s_-]{0,2}[0-9](?:[0-9]|(?!\w)))")
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(del|strike|s)>[^<\n]{1,200}</\1>", re.I)
# "<What grid cell is the ball in?>", "[your answer]": brackets with several words that start with a request.
_ASKS = r"what|explain|your|the|a|insert|which|(?:grid )?cell (?:label|name|here|id)"
_INSIDE = r"[^<>\[\]{}\n]{0,300}"
_PLACEHOLDER = re.compile(rf"[<\[{{](?={_INSIDE}\s{_INSIDE}[>\]}}])(?:{_ASKS})\b{_INSIDE}[>\]}}]", re.I)
# An answer label in the middle of a line: "They look left. **Cell:** D4", "They look left Cell: D4".
_LABEL_START = re.compile(
    r"(?:\*\*|__)(?=[^*_\n]{1,40}(?::\s?(?:\*\*|__)|(?:\*\*|__)\s?:))"
    r"|(?<!:)(?<!inal)(?<!rid)(?<!est)(?<!My)(?<!The)[ \t](?=(?:Final |Grid )?(?:Cell|Answer)\s?:)"
)
_ATTRIBUTES = r"(?:\s[^<>]{0,200})?"
_BREAK = re.compile(
    rf"</?(?:p|br|li|tr|div|ul|ol|pre|table|(?-i:h[1-6])){_ATTRIBUTES}/?>|(?-i:\\[nr](?![a-z]))|<\|[\w ]{{1,40}}\|>"
    r"|(?-i:\b(?:USER|ASSISTANT|HUMAN|SYSTEM):)"
    r"|</?s>|\[/?INST\]|<(?:eos|bos|end_of_turn|start_of_turn)>",
    re.I,
)
_INLINE = re.compile(
    rf"</?(?:b|i|em|strong|code|span|td|th|u|mark|small|sub|sup|font|kbd|tt|q){_ATTRIBUTES}/?>"
    r"|&(?:nbsp|quot|amp|lt|gt|ensp|emsp|thinsp|apos|#\d{1,5});|<\|(?:begin|end)_of_box\|>"
    r"|\\[*_`~$#()\[\]]|\\(?:quad|,|;)(?![a-z])|[*`$“”\"]"
    r"|(?<![^\W_])_{1,3}(?![_\W])|(?<=[^\W_])_{1,3}(?![^\W_{])|\\(?=[^\w\s])",
    re.I,
)
# "Guesses: 1. D4 2. D5" on one line. The numbers must start with 1 and be followed by cells. The sentence with the list
# begins a new line too, so that it alone is the list's heading.
_ITEM = r"(?:^|[ \t]{1,3})\(?%s[.)][ \t]{0,3}[(*]{0,3}[A-Za-z]{1,2}-?[0-9]{1,3}\b"
_LISTED = re.compile(
    rf"(?:(?<=[.!?])[ \t][^.!?\n]{{0,80}}?)?{_ITEM % 1}"
    rf"(?=[^\n]{{0,60}}?{_ITEM % 2})(?:[^\n]{{0,60}}?{_ITEM % '[2-9]'}){{1,9}}",
    re.M,
)
_LIST_BREAK = re.compile(rf"^[ \t]|{_ITEM % '[1-9]'}")
_LATEX_TEXT = re.compile(r"\\(?:text[a-z]{0,9}|math[a-z]{0,9}|operatorname|bf|rm)\s?\{([^{}\n]{0,80})\}")
_BOXED = re.compile(r"\\\\?(?:boxed|fbox)\s?\{")
_SUBSCRIPT = re.compile(r"(?<=[A-Za-z])[_^]?\{\s?([0-9]{1,2})\s?\}|(?<=[A-Z])\}?_([0-9]{1,2})")

_TAG = re.compile(
    r"<\s?(/?)\s?([A-Za-z][\w.:-]{0,30})((?:\s+[\w:-]{1,40}\s?=[^<>]{0,200})?\s?/?)>|◁(/?)(\w{1,30})▷"
    r"|\[(/?)(think|thinking|thought|reasoning)\]|<\|(begin|end)_of_(\w{1,30})\|>",
    re.I,
)
_CHANNEL = re.compile(r"<\|channel\|>(?!final)\w{1,20}<\|message\|>(?:(?!<\|(?:end|start|channel|return)\|>).)*+", re.S)
_THOUGHT = re.compile(
    r"think|thought|reason|analy|scratch|reflect|rational|deliberat|ponder|monolog|brainstorm|draft|observ|expla"
    r"|consider|cot$|plan|^work|summary|caption|inner|internal|memo|note|step|review|evidence|justif|context|chain"
    r"|process|critique|evaluat|describ|descrip|perception",
    re.I,
)


def readable(text: str) -> str:
    """Return a text in plain characters, with markup replaced by blanks and placeholders removed.

    Examples:
        >>> readable("Cell： **Ｄ٥**")
        'Cell:   D5  '
    """
    text = text.translate(_Plain())
    text = _STRUCK.sub(lambda match: "oops".ljust(len(match[0])), text)
    text = _LOOKALIKE.sub(lambda match: match[0].translate(_BEFORE_DIGIT), text)
    text = _LABEL_START.sub(_line, text)
    text = _LISTED.sub(_on_lines, text)
    text = _LATEX_TEXT.sub(lambda match: match[1].rjust(len(match[0])), text)
    text = _BOXED.sub(lambda match: "\nbox:".ljust(len(match[0])), text)
    text = _SUBSCRIPT.sub(lambda match: (match[1] or match[2]).ljust(len(match[0])), text)
    text = _INLINE.sub(_blank, text)
    text = _BREAK.sub(_line, text)
    text = _PLACEHOLDER.sub(_blank, text)
    return _TAG.sub(_as_label, text)


def without_reasoning(text: str) -> str:
    """Return a text with blocks of reasoning replaced by blanks, for any reasoning tag.

    A block without a closing tag extends to the end. A block without an opening tag starts with the reply.

    Examples:
        >>> without_reasoning("<think>D4?</think>D5")
        '                  D5'
    """
    text = _CHANNEL.sub(_blank, text)
    parts, depth, start = [], 0, 0
    for tag in _TAG.finditer(text):
        ends = "/" in (tag[1], tag[4], tag[6]) or (tag[8] or "").lower() == "end"
        name = tag[2] or tag[5] or tag[9] or "think"
        if not _THOUGHT.search(name) or tag[0].endswith("/>"):
            continue
        if not ends:
            if not depth:
                parts.append(text[start : tag.start()])
                start = tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                parts.append(" " * (tag.end() - start))
                start = tag.end()
        else:
            parts = [" " * tag.end()]
            start = tag.end()
    rest = text[start:]
    return "".join([*parts, " " * len(rest) if depth else rest])


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _on_lines(listed: re.Match[str]) -> str:
    return _LIST_BREAK.sub(lambda item: f"\n{item[0][1:]}" if item[0][0] in " \t" else item[0], listed[0])


def _line(match: re.Match[str]) -> str:
    return "\n".ljust(len(match[0]))


def _as_label(match: re.Match[str]) -> str:
    """Return the replacement for a tag: `answer:` on a new line for `<answer>`, a line break for a closing tag."""
    if match[1] or not match[2]:
        return _line(match)
    # The attributes hold the value only if the tag has no content.
    alone = match[0].endswith("/>") or match.string[match.end() : match.end() + 1] in ("", "<")
    if match[3].strip(" /") and alone:
        return f"\n{match[2]} {match[3]}".ljust(len(match[0]))
    return f"\n{match[2]}:".ljust(len(match[0]))


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
