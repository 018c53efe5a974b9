"""Find the blocks of a page that a reader copies: commands, Python code, and files to save.

- `bash` blocks contain commands. `console` blocks contain commands after `$ `; their other lines are output.
- `python` blocks are code for one Python session.
- A block with a file name, such as title="items.toml", is saved as this file. A block after "Save this script as
  `a.py`" is also saved. It is also run if the paragraph continues with "and run it with `python a.py`".
- Readers do not see blocks that the site runs without showing them, or lines with `# docs: hide`.
- All other blocks, such as `text` and `json`, are only for reading. Commands that a page cannot run, because they need
  a key or people, are `text` blocks. The paragraph before such a block gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

HIDDEN = "docs: hide"

REASON = re.compile(r"\b(needs?|requires?|replace|instead|your own|for people|real participants)\b", re.IGNORECASE)
"""Pattern of words that occur in a reason why commands are shown but not run."""

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)(?P<options>[^\n`]*)$")
_SAVE = re.compile(r"\bSave (?:it|them|this(?: \w+)?|the \w+) as `([^`]+\.\w+)`")
_OPTION = re.compile(r'(\w+)="([^"]*)"')
_PROGRAMS = "spotball|export|pip|python3?|curl|cd|inspect|docker|systemctl|vllm|ollama|yolo"
_COMMAND = re.compile(rf"^(?:\$ )?(?:{_PROGRAMS})\b", re.MULTILINE)
_PUBLISHED = re.compile(r"pip install (?!(?:--editable )?\./|--editable \.)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page.

    Attributes:
        line: line number of its opening fence, from 1.
        end: line number of its closing fence.
        indent: the spaces before its fences.
        before: the paragraph before it. It is empty if another block comes directly before this one.
    """

    language: str
    options: dict[str, str]
    text: str
    line: int
    end: int
    indent: str
    before: str

    @property
    def is_visible(self) -> bool:
        """Return whether the site shows the block itself, and not only its output."""
        return "exec" not in self.options or "source" in self.options

    @property
    def file(self) -> str | None:
        """Return the name of the file that a reader saves the block as, or None."""
        title = self.options.get("title", "")
        if re.search(r"\.\w+$", title):
            return title
        saved = _SAVE.search(self.before)
        return saved[1] if saved else None

    @property
    def is_run(self) -> bool:
        """Return whether the paragraph before the block says to run the saved file."""
        return f"run it with `python {self.file}`" in self.before

    @property
    def commands(self) -> str:
        """Return the shell commands of the block, without those that install published packages."""
        lines = self.visible_text.splitlines()
        if self.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        return "\n".join(line for line in lines if not _PUBLISHED.match(line))

    @property
    def visible_text(self) -> str:
        """Return the text of the block without its hidden lines."""
        return "\n".join(line for line in self.text.splitlines() if HIDDEN not in line)


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    lines = text.splitlines()
    number = 0
    paragraph: list[str] = []
    ended = False
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        if opened is None:
            if not lines[number].strip():
                ended = True
            else:
                paragraph = [lines[number]] if ended else [*paragraph, lines[number]]
                ended = False
            number += 1
            continue
        first = number + 1
        number = next(at for at in range(first, len(lines)) if lines[at].strip() == opened["fence"])
        inside = [line.removeprefix(opened["indent"]) for line in lines[first:number]]
        options = dict(_OPTION.findall(opened["options"]))
        yield Block(
            opened["language"],
            options,
            "\n".join(inside),
            first,
            number + 1,
            opened["indent"],
            " ".join(paragraph),
        )
        paragraph = []
        number += 1


def not_run(text: str) -> list[Block]:
    """Return the visible `text` blocks with commands, which a page shows but cannot run."""
    return [
        block for block in blocks(text) if block.language == "text" and block.is_visible and _COMMAND.search(block.text)
    ]


def unexplained(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks whose preceding paragraph does not give a reason why they are not run."""
    return [block for block in blocks if not REASON.search(block.before)]
