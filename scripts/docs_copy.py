"""Make the copy buttons of code blocks copy only the commands, without prompts and output."""

from __future__ import annotations

import html
import re

_BLOCK = re.compile(
    r'<div class="(?:language-(?P<language>\w+) )?(?P<classes>[^"]*)highlight">'
    r"(?P<inside><pre>(?:<span></span>)?<code>(?P<code>.*?)</code></pre></div>)",
    re.DOTALL,
)
_TAG = re.compile(r"<[^>]+>")
_PROMPTS = {"$ ": None, ">>> ": "... "}
"""The prompt that starts a command, and the prompt of its continuation lines (None: without a prompt)."""

_OUTPUT_LANGUAGES = {"pycon", "text"}
"""Languages of blocks that contain the output of the Python block directly before them."""


def mark_copies(page: str) -> str:
    """Return a page with the text that each copy button copies.

    Blocks with prompts get the attribute `data-copy`, which the theme copies instead of the block's text. The output of
    a Python block gets the class `no-copy`, so it has no button.

    Args:
        page: the HTML of a page's content.
    """
    parts: list[str] = []
    end = 0
    previous: str | None = None
    for block in _BLOCK.finditer(page):
        between = page[end : block.start()]
        follows_python = previous == "python" and not between.strip()
        text = html.unescape(_TAG.sub("", block["code"]))
        commands = commands_of(text)
        attribute, classes = "", block["classes"]
        if commands:
            attribute = f' data-copy="{html.escape(commands)}"'
        elif block["language"] == "pycon" or (follows_python and block["language"] in _OUTPUT_LANGUAGES):
            classes += "no-copy "
        language = f"language-{block['language']} " if block["language"] else ""
        parts += [between, f'<div class="{language}{classes}highlight"{attribute}>{block["inside"]}']
        end, previous = block.end(), block["language"]
    return "".join(parts) + page[end:]


def commands_of(text: str) -> str:
    r"""Return the commands in a transcript, without prompts and output. Without prompts, return an empty string.

    Examples:
        >>> commands_of("$ spotball demo\\\n    --out demo\nwritten\n$ ls demo\nscenes.jsonl\n")
        'spotball demo\\\n    --out demo\nls demo'
        >>> commands_of(">>> for n in (1, 2):\n...     print(n)\n1\n2\n")
        'for n in (1, 2):\n    print(n)'
    """
    commands: list[str] = []
    continues: str | None = None
    for line in text.splitlines():
        prompt = next((prompt for prompt in _PROMPTS if line.startswith(prompt)), None)
        if prompt is not None:
            command = line.removeprefix(prompt)
            continues = _PROMPTS[prompt]
        elif continues and line.startswith(continues.rstrip()):
            command = line.removeprefix(continues.rstrip()).removeprefix(" ")
        elif commands and commands[-1].endswith("\\"):
            command = line
        else:
            continue
        commands.append(command)
    return "\n".join(commands)
