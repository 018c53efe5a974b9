"""Match a reply to an option by letter or name, using templates. If the choice is unclear, the reply stays unmatched.

An answer is a letter or a name in the position of an answer: at the start, on its own line, after "the answer is", or
after "she is looking at". If a reply has no such answer but mentions exactly one option, that option is used. An option
is ignored if the reply denies it, asks about it, or only says that it is near the target. If the letter and the name in
a reply belong to different options, neither is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from spotball_adapters.gaze.options import letters
from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.plain_text import plain, without_thinking


@dataclass(frozen=True, slots=True)
class OptionMention:
    """A place where a reply mentions an option.

    Attributes:
        start: offset of the first character.
        end: offset after the last character.
        option: index of the option, from 0.
        answers: whether the mention is in the position of an answer, such as after "the answer is".
        denied: whether the reply denies the option, asks about it, or only says that it is close to the target.
    """

    start: int
    end: int
    option: int
    kind: Literal["letter", "name"]
    answers: bool
    denied: bool


def mentions(text: str, options: tuple[str, ...], *, unfinished: bool = False) -> list[OptionMention]:
    """Return the mentions of options in a text, sorted by position. The time is proportional to the text's length.

    Args:
        text: a text with plain characters, as `plain` returns it.
        options: the options in the order of their letters, from A.
        unfinished: whether the text was cut off, so that its end may be the start of another word.
    """
    mentioned = [*_letters(text, options), *_names(text, options)]
    if unfinished:
        mentioned = [mention for mention in mentioned if text[mention.end :].strip(_AROUND)]
    return _together(text, sorted(mentioned, key=lambda mention: (mention.start, mention.end)))


_AROUND = " \t*_`\"'”’)]}"
# Characters allowed between a cue and the option that it introduces. They do not end a sentence.
_GAP = r"[ \t*_`\"'“”‘’(\[{<>=:,\\-]"
_LINKS = r"is|was|be|would|will|should|the|an?|that|it|it['’]s|as|option|letter|object|item|most|likely|probably|text"
_LINK = rf"(?:{_GAP}|(?<![^\W_])(?:{_LINKS})(?![^\W_]))"
_CUE = re.compile(
    r"\b(?:answer|choice|choose|chose|choosing|pick|picked|select|selected|guess|go with|going with|say|opt for|boxed)"
    rf"(?![^\W_]){_LINK}{{0,40}}(?::[\s*_]{{0,6}}{_LINK}{{0,10}})?\Z",
    re.I,
)
_AT = r"are|to|at|on|upon|towards?|directed|directly|straight|down"
_LOOK = re.compile(
    r"\b(?:looks?|looking|gaz(?:e|es|ing)|star(?:es|ing)|eyes|attention|watching|focus|focused|fixed|fixated)"
    rf"(?![^\W_])(?:{_LINK}|(?<![^\W_])(?:{_AT})(?![^\W_])){{0,40}}\Z",
    re.I,
)
_NEGATION = re.compile(
    r"\b(?:not(?! (?:only|just|merely)\b)|no|never|neither|nor|none|cannot|without|unable|impossible|unclear|unsure"
    r"|whether|between|rather than|instead of|except|hardly|other than"
    r"|if(?! (?:i (?:had|have|must|were|am)|forced|pressed)\b))\b|n['’]t\b",
    re.I,
)
_NEARBY = re.compile(
    r"\b(?:near|nearby|nearest|besides?|next to|clos(?:e|er|est) to|behind|past|beyond|above|below|under"
    r"|left of|right of|front of|side of|opposite|than|from)"
    rf"{_GAP}{{1,4}}(?:(?:the|an?|that|this|his|her|its|their|option|object){_GAP}{{1,4}}){{0,3}}\Z",
    re.I,
)
_CLAUSE = re.compile(r"[.!?;\n]|\b(?:but|however|so|therefore|thus|hence|then)\b", re.I)
_SENTENCE_END = re.compile(r"[.!?\n]")
_LINE = re.compile(r"[^\n]++")
_LETTER = re.compile(r"(?<![\w'’-])([A-Z])(?![\w'’]|-\w)")
_ALONE = re.compile(r"[\W_]{0,12}(?:(?:option|answer|choice|letter)[\W_]{1,6})?([A-Z])[\W_]{0,12}", re.I)
_NAMED_LETTER = re.compile(r"\b(?:option|letter)[\s*:\"'“(\[]{1,4}\Z", re.I)
_BEFORE_LETTER = re.compile(r"(?:\b(?:option|letter|choice|answer)[\s*:\"'“(\[]{1,4}|[(\[\"'“‘*{>])\Z", re.I)
_AFTER_LETTER = re.compile(r"[*\"'”’)\].,:;}<]|\s*\Z|\s[-=]\s")
_WORD = re.compile(r"[ \t]+(?!(?:or|and|is|because|since)\b)[^\W\d_]")
_ARTICLES = re.compile(r"\b(?:the|an?)\b", re.I)
_AFTER_ALONE = re.compile(r"[\s*_`\"'”’]*(?:\Z|[.!\n]|,?\s*\b(?:not|because|since)\b)", re.I)
_JOINED = re.compile(
    r"[\s*\"'”’)\].]*(?:[,/&]|\b(?:and|or|as well as)\b)[\s*\"'“‘(\[,/]*"
    r"(?:\b(?:and|or|also|the|an?|option|object|at)\b[\s*\"'“‘(\[]*){0,4}",
    re.I,
)
_BEFORE = 120
"""Number of characters before a mention that are searched for words such as "the answer is" or "not", and number of
characters after the mention that are searched for the end of the sentence.
"""


def _letters(text: str, options: tuple[str, ...]) -> list[OptionMention]:
    option_letters, start = letters(options), _start(text)
    inline: list[OptionMention] = []
    lines: list[OptionMention] = []
    for line in _LINE.finditer(text):
        alone = _ALONE.fullmatch(line[0])
        if alone and (option := option_letters.find(alone[1].upper())) >= 0:
            place = line.start() + alone.start(1)
            line_mention = OptionMention(place, place + 1, option, "letter", answers=True, denied=False)
            (inline if _leads(line[0][: alone.start(1)]) else lines).append(line_mention)
            continue
        for letter in _LETTER.finditer(text, line.start(), line.end()):
            option, rest = option_letters.find(letter[1]), text[letter.end() : line.end()]
            before = text[max(0, letter.start() - _BEFORE) : letter.start()]
            if option < 0 or not _is_meant(letter[1], before, rest, starts=letter.start() == start):
                continue
            denied = _denied(text, letter.start(), letter.end())
            answers = not denied and (letter.start() == start or _leads(before))
            mention = OptionMention(letter.start(), letter.end(), option, "letter", answers, denied)
            if _start(line[0]) == letter.start() - line.start() and _names_all(rest, options):
                lines.append(replace(mention, answers=not denied))
            else:
                inline.append(mention)
    if len({mention.option for mention in lines}) > 1:
        # The reply repeats the list of options.
        lines = [replace(mention, answers=False) for mention in lines]
    return [*inline, *lines]


def _is_meant(letter: str, before: str, rest: str, *, starts: bool) -> bool:
    """Return whether a capital letter stands for an option, and not for an article, a pronoun or a person's initial."""
    if letter in "AI" and _WORD.match(rest) and not _NAMED_LETTER.search(before):
        return False
    if _AFTER_LETTER.match(rest) or _BEFORE_LETTER.search(before) or _leads(before):
        return True
    return starts and rest.startswith((" ", "\t"))


def _names(text: str, options: tuple[str, ...]) -> Iterator[OptionMention]:
    numbers, pattern = _known_names(options)
    start = _start(text)
    for name in pattern.finditer(text) if pattern else ():
        # None if a capital letter of a script has no unique lowercase letter.
        if (option := numbers.get(_folded(name[0]))) is None:
            continue
        before = text[max(0, name.start() - _BEFORE) : name.start()]
        alone = not _ARTICLES.sub("", text[start : name.start()]).strip() and _AFTER_ALONE.match(text, name.end())
        denied = _denied(text, name.start(), name.end())
        answers = not denied and bool(alone or _leads(before))
        yield OptionMention(name.start(), name.end(), option, "name", answers, denied)


def _together(text: str, mentioned: list[OptionMention]) -> list[OptionMention]:
    """Mark an option that is joined to an answer by "or", "and" or a comma as an answer, too, so that "at the keys or
    the bottle" contains two answers and chooses neither.
    """
    for number, (mention, next_) in enumerate(pairwise(mentioned)):
        joined = mention.option != next_.option and _JOINED.fullmatch(text, mention.end, next_.start)
        if joined and mentioned[number].answers and not next_.denied:
            mentioned[number + 1] = replace(next_, answers=True)
    return mentioned


def _leads(before: str) -> bool:
    """Return whether the text before a mention introduces an answer."""
    return bool(_CUE.search(before) or _LOOK.search(before))


def _denied(text: str, start: int, end: int) -> bool:
    """Return whether the mention from `start` to `end` is denied, asked about, or said to be close to the target."""
    before = text[max(0, start - _BEFORE) : start]
    clause = before
    for boundary in _CLAUSE.finditer(before):
        clause = before[boundary.end() :]
    sentence = _SENTENCE_END.search(text, end, end + _BEFORE)
    is_question = sentence is not None and sentence[0] == "?"
    return is_question or bool(_NEGATION.search(clause) or _NEARBY.search(before))


def _start(text: str) -> int:
    """Return the offset of the first letter or digit, or the text's length if there is none."""
    first = re.search(r"[^\W_]", text)
    return first.start() if first else len(text)


def _names_all(rest: str, options: tuple[str, ...]) -> bool:
    """Return whether the text after a letter consists only of an option's name."""
    _, pattern = _known_names(options)
    name = pattern.search(rest) if pattern else None
    if name is None:
        return False
    around = _ARTICLES.sub("", rest[: name.start()]) + rest[name.end() :]
    return not re.search(r"[^\W_]", around)


@lru_cache(maxsize=1024)
def _known_names(options: tuple[str, ...]) -> tuple[dict[str, int], re.Pattern[str] | None]:
    """Return the index of each option by folded name (see `_folded`), and a pattern that finds the names in a text.

    Names that several options share are excluded. The pattern is None if there are no names.
    """
    folded = [_folded(plain(option)) for option in options]
    numbers = {name: number for number, name in enumerate(folded) if folded.count(name) == 1 and name.strip()}
    if not numbers:
        return {}, None
    name_patterns = (
        r"[\s_-]{1,3}".join(map(re.escape, name.split())) for name in sorted(numbers, key=len, reverse=True)
    )
    return numbers, re.compile(rf"(?<![\w-])(?:{'|'.join(name_patterns)})(?![\w]|-\w)", re.I)


def _folded(name: str) -> str:
    """Return a form of the name that ignores differences in case, blanks, underscores and hyphens.

    Examples:
        >>> _folded("Remote_Control")
        'remote control'
    """
    return " ".join(re.sub(r"[\s_-]+", " ", name.casefold()).split())


How = Literal["letter", "name", "judge", "manual"]
"""How a reply was matched: by an option's letter, by its name, by a judge model, or by a person."""

Problem = Literal[
    "empty",
    "no option",
    "several options",
    "letter and name differ",
    "denied",
    "cut off",
    "refused",
    "filtered",
    "not recognizable",
]

PROBLEMS: dict[Problem, str] = {
    "empty": "the reply has no text",
    "no option": "the reply does not name an option",
    "several options": "the reply names several options and does not choose one of them",
    "letter and name differ": "the letter and the name in the reply belong to different options",
    "denied": "the reply only denies options, asks about them, or says that they are near the target",
    "cut off": "the reply reached its length limit before or within its answer",
    "refused": "the model declined to answer and did not name an option",
    "filtered": "a filter withheld the reply or its answer",
    "not recognizable": "a person read the reply and could not identify the chosen option",
}
"""Reasons why a reply is unmatched, with descriptions."""

_FINISHED_EARLY: dict[Finish, Problem] = {"length": "cut off", "filtered": "filtered", "refused": "refused"}


@dataclass(frozen=True, slots=True)
class Match:
    """The option that a reply chooses, or the reason why the reply is unmatched.

    Attributes:
        choice: the option, or None if the reply is unmatched.
        how: how the reply was matched, or None if it is unmatched.
        problem: why the reply is unmatched, as a key of `PROBLEMS`, or None if it is matched.
    """

    choice: str | None
    how: How | None
    problem: Problem | None


def match(text: str, options: Sequence[str], *, finish: Finish = "stop") -> Match:
    """Return the option that a reply chooses, or the reason why the reply is unmatched.

    Args:
        text: the unchanged text. Reasoning in `<think>` or similar tags is ignored.
        options: the options in the order in which they were listed, from A.
        finish: why the reply ended, for example `stop` or `length`.

    Examples:
        >>> match("B", ["keys", "bottle"])
        Match(choice='bottle', how='letter', problem=None)
        >>> match("She is looking at the keys.", ["keys", "bottle"])
        Match(choice='keys', how='name', problem=None)
        >>> match("It is not the keys.", ["keys", "bottle"]).problem
        'denied'
    """
    answer_text = plain(without_thinking(text))
    mentioned = mentions(answer_text, tuple(options), unfinished=finish in ("length", "filtered"))
    answers = [mention for mention in mentioned if mention.answers and not mention.denied] or mentioned
    chosen = {mention.option for mention in answers}
    if len(chosen) > 1:
        by_kind = [{mention.option for mention in answers if mention.kind == kind} for kind in ("letter", "name")]
        each_one = all(len(kind) == 1 for kind in by_kind)
        return Match(None, None, "letter and name differ" if each_one else "several options")
    if any(mention.denied for mention in answers):
        return Match(None, None, "denied")
    if not answers:
        early = _FINISHED_EARLY.get(finish)
        return Match(None, None, early or ("no option" if text.strip() else "empty"))
    (option,) = chosen
    for kind in ("letter", "name"):
        same_kind = {mention.option for mention in mentioned if mention.kind == kind and not mention.denied}
        if same_kind and option not in same_kind:
            return Match(None, None, "letter and name differ")
    by_letter = any(mention.kind == "letter" for mention in answers)
    return Match(options[option], "letter" if by_letter else "name", None)
