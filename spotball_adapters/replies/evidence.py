"""Weigh how clearly a mention of a cell is an answer, from the words around it in its sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

from spotball_adapters.replies.tokens import Tokens


class Weight(IntEnum):
    """Strength of the evidence that a mention of a cell is the answer."""

    REJECTED = -1
    ASIDE = 0
    POSSIBLE = 1
    BARE = 2
    CLAIM = 3
    RANKED = 4
    CHOICE = 5
    LABEL = 6
    FINAL = 7


@dataclass(frozen=True, slots=True)
class Label:
    """A label before an answer, such as `Final answer:`.

    Attributes:
        words: the label's words as role letters; see `tokens`.
        end: index in `Sentence.roles` of the first role after the label.
    """

    words: str
    end: int


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as a string with one role letter per token; see `tokens` for the letters.

    Attributes:
        first: index of its first token.
        roles: the letters of its tokens, without the punctuation at its end.
        is_question: whether it ends with a question mark.
        headed: whether the line before it is a heading such as "Final answer".
        label: the last label in the sentence, or None.
    """

    first: int
    roles: str
    is_question: bool
    headed: bool
    label: Label | None


# Each rule matches the roles before or after a cell, such as `bzz` before it in "the ball is in D5"; `vocabulary.toml`
# explains the letters, and `tokens` the signs. Bounded repetition keeps the time proportional to the length.
_CELLS = r"(?:(?:C,z?){0,9}C[o&/]{1,2}z?)?$"
# Cells that share the words before them: "players in C4, D5 and E6"; only "or" and "and" share a "not".
_LIST = r"(?:C[o&,/z-]{0,4}){0,9}$"
_NOT_BEFORE = re.compile(rf"(?:[nd][zkwqbmxgiya_]{{0,6}}|(?<!C)(?<!Cz)r[zkq:]{{0,3}}){_CELLS}")
_NOT_AFTER = re.compile(
    r"\)?[,q]?z{0,4}(?:r|w?z{0,4}n(?!z{0,3}k?C)|_?l(?![^C.]{0,3}C))|[,(zqmagk]{0,6}i|:[nr](?:$|[,|)])"
)
_NOT_THIS_BUT = re.compile(r"(?:n[zkwqb_]{0,3}C|Cz{0,3}r)[,!:]{0,2}")
# "A label such as D5", "my first thought was D5", "the player in D5", "the ball is at his feet in D5", "above D5".
_EXAMPLE_BEFORE, _EXAMPLE_AFTER = re.compile(rf"e[zk_a:,]{{0,4}}{_LIST}"), re.compile(r"[zwm]{0,4}e")
_EARLIER, _LATER = re.compile(r"h,?[^!,]*$"), re.compile(r"[z_#]{0,4}h")
_PERSON = re.compile(rf"[pvjc][zk_x#(*w]{{0,3}}{_LIST}")
_AT_BODY = re.compile(r"b[zkqw]{1,4}[zp_]{0,4}j[zk]{0,2}$")
_ASIDE_IN_BRACKETS = re.compile(r"\([^()Ceh]{0,20}\)")
_BESIDE = re.compile(rf"x[zk_p#(]{{0,3}}{_LIST}")
# "If he shot, D5", "I cannot tell whether D5", "the keeper (D5)".
_CONDITION = re.compile(r"^[*-]{0,3}qb|i[^s!]*$")
_REFUSED = re.compile(r"[ud][^,!:.-]*$")
_IN_BRACKETS = re.compile(r"\([^()td]*$")

# "My guess is D5", "D5 is where I'd look", but not "the keeper picks D5".
_NEAR = r"[zkbqwmgasf_,]"
_CHOICE_BEFORE = re.compile(rf"(?:m|(?<![lrnehu])(?<![lrnehu]z)[ag]|[td]f?){_NEAR}{{0,10}}[:-]?$")
_CHOICE_AFTER = re.compile(r"\)?(?:[(,zqswf-]{0,6}[mag]|qz[.,]?$)")
# "The keeper picks D5", "his gaze suggests D5".
_BY_OTHERS = re.compile(r"[pvc][^,!&:s]*[gy][^mab:]*$")
# "So D5", "the ball is in D5", "it is D5", "the cell is D5"; "D5 has the ball"; "the ball is in the air, in D5".
_CLAIM_BEFORE = re.compile(r"(?:(?:q[zw]{0,3}y|[stdf])[zkqw,-]{0,4}|^[-*z:>]{0,9}[->][zk*]{0,9})$")
_BALL_BEFORE = re.compile(r"(?:^|[,:!stygam(>|-])[zkwqfb*#]{0,8}(?:b[zkqwsf,*&t]{0,8}(?:_[zkqwsf,*&t]{1,8}){0,2})$")
_IT_BEFORE = re.compile(r"(?:q[wzks]{0,4}z[zkmsq]{0,4}|(?<!,)q[wzks]{0,4}z[zkmsq]{0,4}_[zkmsq]{0,3})$")
_PLACE_BEFORE = re.compile(r"(?:^|[,:!stygam(>|-])[zkwqfb*#]{0,8}k[zwkb]{0,4}z[zwk]{0,4}$")
_CLAIM_AFTER = re.compile(r"[zkq]{0,4}b|,s?qz{0,4}b")
# "So D5 is the referee", "the shortstop in D5".
_CONCLUDED, _OF_A_PERSON = re.compile(r"[tdsq][zkq,:-]{0,4}$"), re.compile("z{1,3}p")
_OF_A_NOUN = re.compile(r"_z{1,3}k?$")
# "The ball has rolled past him and sits on the line: D5."
_CLAIM_AT_END = re.compile(r"[zkqstf,!&]{0,6}(?:b[^Cnui]*z|m[zkb]|gz?[bq])[^Cnui]*:[zk]{0,2}$")
_CLAIM_CONTINUED = re.compile(r"(?:b[^.?C]*|[mag][^.?Cpv]*)[,(-][zk]{1,5}$")
# "It could be D5"; "D5."; "by elimination, D5".
_UNSURE_BEFORE, _UNSURE_AFTER = re.compile(r"w[^,!(-]*$"), re.compile(r"z{0,3}w")
_ALONE_BEFORE, _ALONE_AFTER = re.compile(r"(?:z:|z,)?[-z*kq(]*$"), re.compile(r"z{0,2}(?:$|[,.\-(:*)%])|n[zkq]{0,3}C")
_INTRODUCTION = re.compile(r"(?:[zsf]{0,3}_){1,3}[zsf]{0,3},[-z*k(]*$")

# "Final answer:", "| Cell |", "They look left, so the cell is: ".
_LABEL = re.compile(
    r"(?:^|([|,(!:-]))[-*>|#.)(]{0,9}([zakmbfgqstwLDU#]{1,12}(?:\([^()]{0,20}\))?[zakmbf]{0,6})[:|>-]{1,4}"
)
_VALUE = re.compile(r"[*(:z&kqw-]{0,9}(?:[_#]\)[-(*]{0,3}|_{1,3}z?\()?")
_ENDS = re.compile(r"z{0,3}(?:$|[^_zpb#])")
_NAMES_ANSWER = re.compile(r"[akmfbgstLDU]")
_HEADING = re.compile(r"[zmbgqst]{0,6}[akf][zakmbfgqst]{0,6}")
_SIGNS = "-*#:.()|>"


def sentence_of(tokens: Tokens, first: int, last: int, *, headed: bool) -> Sentence:
    """Return the tokens from `first` up to (excluding) `last` as a sentence."""
    roles = tokens.roles[first:last]
    label = None
    for match in _LABEL.finditer(roles):
        of_others = (match[1] or ",") in "|:(-" and re.search("[pe]", roles[: match.start()])
        numbered = "#" in match[2] and not re.search("[aLDU]", match[2])
        if _NAMES_ANSWER.search(match[2]) and not numbered and not re.search("[elrnhiup]", match[2]) and not of_others:
            label = Label(match[2], match.end())
    return Sentence(first, roles, tokens.roles[last : last + 1] == "?", headed, label)


def is_heading(roles: str) -> bool:
    """Return whether a line, given as roles, is a heading for an answer on the next line."""
    return bool(_HEADING.fullmatch(roles.strip(_SIGNS)))


def weigh(sentence: Sentence, number: int, after: str, *, loose: bool) -> Weight:
    """Return the strength of the evidence that the cell at a token is the answer.

    Args:
        sentence: the cell's sentence.
        number: index of the cell's token.
        after: the roles after the cell, or after the cells that are listed with it.
        loose: whether its spelling may be a coincidence; see `cells.CellMention`.
    """
    before = sentence.roles[: number - sentence.first]
    label = sentence.label if sentence.label and sentence.label.end <= len(before) else None
    value = before[label.end :] if label else before
    if is_rejected(value, after):
        return Weight.REJECTED
    if _EXAMPLE_BEFORE.search(value) or _EXAMPLE_AFTER.match(after) or _EARLIER.search(value) or _LATER.match(after):
        return Weight.ASIDE
    if (_PERSON.search(value) and not _AT_BODY.search(value)) or _BESIDE.search(value) or _REFUSED.search(value):
        return Weight.ASIDE
    value = _NOT_THIS_BUT.sub("", value)
    if loose and not _ENDS.match(after):
        return Weight.ASIDE
    if label and not re.search("[Cudi]", value) and (_VALUE.fullmatch(value) or _states(value) or value.endswith(",")):
        return Weight.POSSIBLE if sentence.is_question else _of_label(label)
    if sentence.headed and not before.strip("*(->#zk"):
        return Weight.LABEL
    before = _ASIDE_IN_BRACKETS.sub("", before)
    if not after and _CLAIM_AT_END.match(value):
        return Weight.CLAIM
    return _of_statement(_NOT_THIS_BUT.sub("", before), after, sentence, loose=loose)


def is_rejected(before: str, after: str) -> bool:
    """Return whether the words next to a cell say that it is not the answer."""
    return bool(_NOT_BEFORE.search(before) or _NOT_AFTER.match(after))


def _of_label(label: Label) -> Weight:
    if re.search("[LDU]", label.words):
        return Weight.RANKED
    return Weight.FINAL if "f" in label.words else Weight.LABEL


def _of_statement(before: str, after: str, sentence: Sentence, *, loose: bool) -> Weight:
    if sentence.is_question or _CONDITION.search(before) or (loose and before.strip("*(-z")):
        return Weight.ASIDE
    if _CONCLUDED.search(before) and _OF_A_PERSON.match(after):
        return Weight.ASIDE
    subject = not _OF_A_NOUN.search(before)
    if subject and _CHOICE_AFTER.match(after) and not _UNSURE_AFTER.match(after):
        return Weight.CHOICE
    if _BY_OTHERS.search(before):
        return Weight.ASIDE
    if _IN_BRACKETS.search(before) and before.strip("*(-zk") and not re.search(r"k\([zk]*$", before):
        return Weight.ASIDE
    if not before.replace("|", "").strip("*(->#" if "|" in before else "*(->#zk") and not after.strip("*).,->#|"):
        return Weight.CHOICE
    if _chooses(before):
        return Weight.CHOICE
    unsure = _UNSURE_BEFORE.search(before) is not None
    claimed = bool(subject and _CLAIM_AFTER.match(after))
    # But not "it is a D1 game".
    claimed = claimed or bool(_IT_BEFORE.search(before) and not after.startswith("_"))
    placed = _PLACE_BEFORE.search(before) and _ENDS.match(after)
    if _states(before) or placed or _AT_BODY.search(before) or claimed or _CLAIM_CONTINUED.search(before):
        return Weight.POSSIBLE if unsure else Weight.CLAIM
    if unsure:
        return Weight.POSSIBLE
    alone = _ALONE_BEFORE.match(before) and _ALONE_AFTER.match(after)
    introduced = _INTRODUCTION.match(before) and not after
    return Weight.BARE if alone or introduced else Weight.ASIDE


def _states(before: str) -> bool:
    return _chooses(before) or bool(_CLAIM_BEFORE.search(before) or _BALL_BEFORE.search(before))


def _chooses(before: str) -> bool:
    match = _CHOICE_BEFORE.search(before)
    # "The best view of the action is in D5" does not choose D5.
    return match is not None and match[0].count("_") <= (2 if match[0][0] == "a" else 1)
