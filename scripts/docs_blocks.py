"""What a reader of a page sees to copy: its visible blocks of commands, of Python code, and of files to save.

- `bash` holds commands. `console` holds commands after `$ `; its other lines are output.
- `python` is code for one Python session.
- A block with the name of a file, such as title="items.toml", is saved as this file. So is a block after "Save this
  script as `a.py`"; it is also run if the paragraph says so: "and run it with `python a.py`".
- A block that the site runs without showing it, and a line with `# markdown-exec: hide`, do not exist for a reader.
- All other blocks, such as `text` and `json`, are to be read. A page shows commands that it cannot run, since they need
  a key or people, as `text`; the paragraph before gives the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

HIDDEN = "markdown-exec: hide"

REASON = re.compile(r"\b(needs?|requires?|replace|instead|your own|for people|real participants)\b", re.IGNORECASE)
"""Words that a reason has why commands are shown and not run."""

_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)(?P<options>[^\n`]*)$")
_SAVE = re.compile(r"\bSave (?:it|them|this(?: \w+)?|the \w+) as `([^`]+\.\w+)`")
_OPTION = re.compile(r'(\w+)="([^"]*)"')
_PROGRAMS = "spotball|export|pip|python3?|curl|cd|inspect|docker|systemctl|vllm|ollama|yolo"
_COMMAND = re.compile(rf"^(?:\$ )?(?:{_PROGRAMS})\b", re.MULTILINE)
_PUBLISHED = re.compile(r"pip install (?!(?:--editable )?\.)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page.

    Attributes:
        line: of its fence, from 1.
        before: the paragraph before it; empty if a block is before it.
    """

    language: str
    options: dict[str, str]
    text: str
    line: int
    before: str

    @property
    def is_visible(self) -> bool:
        """Whether the site shows the block, and not only what it prints."""
        return "exec" not in self.options or "source" in self.options

    @property
    def file(self) -> str | None:
        """The file that a reader saves the block as."""
        title = self.options.get("title", "")
        if re.search(r"\.\w+$", title):
            return title
        saved = _SAVE.search(self.before)
        return saved[1] if saved else None

    @property
    def is_run(self) -> bool:
        """Whether the paragraph before says to run the file that the block is saved as."""
        return f"run it with `python {self.file}`" in self.before

    @property
    def commands(self) -> str:
        """The commands of a block for the shell, without the installation of published packages."""
        lines = self.visible_text.splitlines()
        if self.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        return "\n".join(line for line in lines if not _PUBLISHED.match(line))

    @property
    def visible_text(self) -> str:
        """The block without its hidden lines."""
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
        yield Block(opened["language"], options, "\n".join(inside), first, " ".join(paragraph))
        paragraph = []
        number += 1


def not_run(text: str) -> list[Block]:
    """Return the visible blocks of commands that a page shows as `text`, since they cannot run."""
    return [
        block for block in blocks(text) if block.language == "text" and block.is_visible and _COMMAND.search(block.text)
    ]


def unexplained(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks whose paragraph before does not say what they need."""
    return [block for block in blocks if not REASON.search(block.before)]
