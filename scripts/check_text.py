"""Find phrases that readers found odd in Markdown, docstrings, comments, help and messages; `make lint` runs it.

python scripts/check_text.py [FILE...]
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.texts import ROOT, Text, texts

PHRASES = Path(__file__).with_name("phrases.toml")

_CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|\]\([^)]*\)")
"""Pattern of code, quoted words and link targets. They are not checked."""


def read_phrases(path: Path = PHRASES) -> list[tuple[re.Pattern[str], str]]:
    """Return the pattern of each phrase to avoid, and its replacement."""
    phrases: dict[str, str] = tomllib.loads(path.read_text(encoding="utf-8"))["phrases"]
    return [(re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.I), instead) for pattern, instead in phrases.items()]


def problems(checked: Iterable[Text], phrases: list[tuple[re.Pattern[str], str]]) -> Iterator[str]:
    """Yield a message for each phrase to avoid in the texts."""
    # Searching for all phrases at once is much faster, and most texts contain none.
    any_phrase = re.compile("|".join(pattern.pattern for pattern, _ in phrases), re.I)
    for text in checked:
        prose = _CODE.sub(" ", text.words)
        if not any_phrase.search(prose):
            continue
        for pattern, instead in phrases:
            for match in pattern.finditer(prose):
                yield f'{text.path}:{text.line}: "{match[0]}". Write instead: {instead}.'


def main() -> int:
    """Print the problems of the files given as arguments (default: all files). Return 1 if there are any."""
    wanted = {Path(name).resolve().relative_to(ROOT).as_posix() for name in sys.argv[1:]}
    lines = list(problems((text for text in texts() if not wanted or text.path in wanted), read_phrases()))
    print("\n".join(lines) or "No phrase to avoid was found.")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
