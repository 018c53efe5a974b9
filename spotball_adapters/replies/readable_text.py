"""Prepare a reply for lenient parsing: plain characters, no markup, no blocks of reasoning.

Every function returns a text of the same length, so an offset in one text is valid in the others.
"""

from __future__ import annotations

import re
import unicodedata

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
