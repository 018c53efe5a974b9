"""Convert a text to a string of one-letter roles, so that rules can be regular expressions over roles.

Words get the letters of `vocabulary.toml`, or `_` if they are not listed. `C` is a cell, `X` a cell outside the grid,
`#` a number, `%` a percentage, fraction or decimal, `.` and `?` the end of a sentence, `:` a colon or an equals sign,
`-` a dash or an arrow, and `*` any other sign. Quotation marks are skipped. For example, "The ball is in D5."
becomes `bzzC.`, with one letter for "the ball".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spotball_adapters.replies.cells import CellMention
from spotball_adapters.replies.vocabulary import PHRASES, STEMS, UNSPACED, UNSPACED_SCRIPTS

# Vowel signs of Hindi, Arabic and Hebrew are part of their words.
_MARKS = r"\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0962\u0963"
_LETTER = rf"(?:[^\W_0-9{UNSPACED_SCRIPTS}]|[{_MARKS}])"
_PIECE = re.compile(
    rf"(?P<line>[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)|(?P<score>[0-9]+(?:[.,][0-9]+)?\s?%|[01]?[.][0-9]+|0,[0-9]+|[0-9]+/[0-9]+)"
    rf"|(?P<number>[0-9]+(?:st|nd|rd|th)?)|(?P<unspaced>[{UNSPACED_SCRIPTS}]+)"
    rf"|(?P<word>n/a(?!\w)|{_LETTER}(?:{_LETTER}|[0-9])*(?:['’.-]{_LETTER}+)*)|(?P<sign>[^\w\s])"
)
_IN_UNSPACED = re.compile("|".join(sorted(map(re.escape, UNSPACED), key=len, reverse=True)))
_SIGNS = {
    **dict.fromkeys(".!。！।。…", "."),
    **dict.fromkeys("?؟", "?"),
    **dict.fromkeys(",、،;；", ","),
    **dict.fromkeys(":=", ":"),
    **dict.fromkeys("([{", "("),
    **dict.fromkeys(")]}", ")"),
    **dict.fromkeys("-→⇒➔➡", "-"),
    ">": ">",
    "/": "/",
    "|": "|",
    "&": "&",
}
_ABBREVIATIONS = frozenset(("e.g", "i.e", "z.b", "approx", "vs", "col", "cols", "no", "nr", "ca", "etc", "p.ej", "esp"))
_AMBIGUOUS = {"no": "N", "top": "Y", "wait": "W"}
_LONGEST = 4
_LONGEST_STEM = max(map(len, STEMS))
_STEM_STARTS = frozenset(stem.split()[0] for stem in STEMS if " " in stem)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The words, cells and signs of a text, each as a letter for its role.

    Attributes:
        roles: one letter per token.
        starts: offset of each token in the text.
        cells: the mention of a cell at each token with the role `C` or `X`, by the token's index.
    """

    roles: str
    starts: Sequence[int]
    cells: dict[int, CellMention]


def tokenize(text: str, mentions: Sequence[CellMention]) -> Tokens:
    """Return the tokens of a text, given the mentions of cells in it."""
    roles: list[str] = []
    starts: list[int] = []
    cells: dict[int, CellMention] = {}
    place = 0
    for mention in [*mentions, None]:
        for start, role in _roles(text, place, mention.start if mention else len(text)):
            roles.append(role)
            starts.append(start)
        if mention:
            cells[len(roles)] = mention
            roles.append("C" if mention.cell else "X")
            starts.append(mention.start)
            place = mention.end
    return _without_brackets(Tokens(_resolve("".join(roles)), starts, cells))


# "The answer is (D5)": after a word that introduces a cell, brackets have no meaning. "The keeper (D5)" is an aside.
_IN_BRACKETS = re.compile(r"(?<=[zagmqbfst])\(([CX])\)")


def _without_brackets(tokens: Tokens) -> Tokens:
    """Return the tokens without brackets that surround only a cell and follow a word that introduces it."""
    brackets = {place for match in _IN_BRACKETS.finditer(tokens.roles) for place in (match.start(), match.end() - 1)}
    if not brackets:
        return tokens
    kept = [number for number in range(len(tokens.roles)) if number not in brackets]
    return Tokens(
        "".join(tokens.roles[number] for number in kept),
        [tokens.starts[number] for number in kept],
        {new: tokens.cells[old] for new, old in enumerate(kept) if old in tokens.cells},
    )


def _roles(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    words: list[tuple[int, str]] = []
    for piece in _PIECE.finditer(text, start, end):
        kind = piece.lastgroup
        if kind == "word":
            words.append((piece.start(), piece[0].lower().replace("’", "'")))
            continue
        if piece[0] == "." and words and _is_abbreviated(words[-1][1], text, piece.end()):
            continue
        if piece[0] in "\"'“”„‘’`«»「」『』【】《》":
            continue
        yield from _of_words(words)
        words = []
        if kind == "line":
            yield piece.start(), "\n"
        elif kind == "score":
            yield piece.start(), "%"
        elif kind == "number":
            yield piece.start(), "#"
        elif kind == "unspaced":
            yield from _of_unspaced(piece[0], piece.start())
        else:
            yield piece.start(), _SIGNS.get(piece[0], "*")
    yield from _of_words(words)


def _is_abbreviated(word: str, text: str, end: int) -> bool:
    """Return whether the period after a word is part of an abbreviation ("no." only before a number)."""
    return word in _ABBREVIATIONS and (word != "no" or text[end : end + 2].strip().isdigit())


def _of_words(words: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    place = 0
    while place < len(words):
        for length in range(min(_LONGEST, len(words) - place), 0, -1):
            phrase = " ".join(word for _, word in words[place : place + length])
            roles = PHRASES.get(phrase) or (_of_stem(phrase) if length == 1 or words[place][1] in _STEM_STARTS else "_")
            if length == 1 or roles != "_":
                for role in roles:
                    yield words[place][0], role
                place += length
                break


def _resolve(roles: str) -> str:
    """Replace the roles of ambiguous words by their meaning in context.

    "No" (`N`) is a correction ("no, E5"), a negation ("no ball"), or Portuguese for "in the". "Top" (`Y`) introduces a
    ranking ("top 3"), or is a place in the image. "Wait" (`W`) is a correction, or an action of a player.
    """
    roles = re.sub("Y(?=z?[#La])", "D", roles).replace("Y", "_")
    roles = re.sub(r"^W|(?<=[.?!\n,:-])W|W(?=[,.:-])", "t", roles).replace("W", "v")
    # "The cell with the ball" is not a person.
    roles = re.sub("(?<=k)c|(?<=k[zq])c", "b", roles)
    roles = re.sub(r"(?<=[:|])N(?=[.,\n|)]|$)", "n", roles)
    roles = re.sub(r"(?<![zkqw_])N(?=[,.\-])", "t", roles)
    return re.sub("N(?=[bp])", "n", roles).replace("N", "z")


def _of_stem(word: str) -> str:
    if word in _AMBIGUOUS:
        return _AMBIGUOUS[word]
    for length in range(min(len(word), _LONGEST_STEM), 2, -1):
        if word[:length] in STEMS:
            return STEMS[word[:length]]
    if word.endswith("n't"):
        return "n"
    return _of_stem(word[:-2]) if word.endswith("'s") else "_"


def _of_unspaced(text: str, offset: int) -> Iterator[tuple[int, str]]:
    place = 0
    for match in _IN_UNSPACED.finditer(text):
        if match.start() > place:
            yield offset + place, "_"
        yield offset + match.start(), UNSPACED[match[0]]
        place = match.end()
    if place < len(text):
        yield offset + place, "_"
