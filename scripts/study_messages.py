"""Extract the texts of the study's page from the sources, and compile their translations.

`python scripts/study_messages.py` prints the catalog to translate (a .pot file). `--compile` compiles every .po file of
the package. To compile your own catalog, run `msgfmt FILE.po -o FILE.mo`.
"""

from __future__ import annotations

import argparse
import io
import re
from collections.abc import Iterator
from pathlib import Path

SERVER = Path(__file__).parents[1] / "spotball_adapters/study/server"
LOCALE = SERVER / "locale"

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_CALL = re.compile(rf"\b(?:t|nodes|gettext)\(\s*{_TEXT}")
_PLURAL = re.compile(rf"\bplural\(\s*{_TEXT},\s*{_TEXT}")


def messages() -> Iterator[tuple[str, ...]]:
    """Yield each text of the page once, as a tuple of the text, or of its singular and plural."""
    sources = [*sorted((SERVER / "page").glob("*.js")), SERVER / "static.py"]
    found: dict[tuple[str, ...], None] = {}
    for source in sources:
        text = source.read_text(encoding="utf-8")
        found |= dict.fromkeys((match[1],) for match in _CALL.finditer(text))
        found |= dict.fromkeys((match[1], match[2]) for match in _PLURAL.finditer(text))
    yield from found


def template() -> str:
    """Return the catalog to translate."""
    entries = []
    for message in messages():
        lines = [f'msgid "{message[0]}"']
        if len(message) > 1:
            lines += [f'msgid_plural "{message[1]}"', 'msgstr[0] ""', 'msgstr[1] ""']
        else:
            lines.append('msgstr ""')
        entries.append("\n".join(lines))
    return "\n\n".join(['msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"', *entries]) + "\n"


def compiled(po: Path) -> bytes:
    """Return a .po file's catalog as a .mo file."""
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    out = io.BytesIO()
    with po.open("rb") as file:
        write_mo(out, read_po(file, abort_invalid=True))
    return out.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", action="store_true")
    if parser.parse_args().compile:
        for po in sorted(LOCALE.glob("*.po")):
            po.with_suffix(".mo").write_bytes(compiled(po))
    else:
        print(template(), end="")
