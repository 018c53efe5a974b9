"""Collect the static files of the page (HTML, scripts and styles), which are the same for all participants."""

from __future__ import annotations

import hashlib
import mimetypes
from html import escape
from importlib.resources import files

from spotball_adapters.study.setup.catalogs import catalog, direction, script
from spotball_adapters.study.setup.design import StudyDesign, messages_file

STATIC = (".css", ".js", ".svg")
"""Extensions of the files that are served from the page's folder in addition to index.html."""

ADMIN_FILES = ("admin.css", "admin.js")


def static_files(design: StudyDesign) -> dict[str, tuple[bytes, str, str]]:
    """Return the page's files in the study's language: (content, media type, HTTP entity tag) by file name.

    Raises:
        InputError: if there is no catalog for the language, or if the catalog named in study.toml cannot be read.
    """
    language = design.config.language
    translations = catalog(language, messages_file(design.folder, design.config))
    contents = {"messages.js": script(translations)}
    package = files("spotball_adapters.study.server")
    for file in (*package.joinpath("page").iterdir(), *map(package.joinpath, ADMIN_FILES)):
        if file.name == "index.html" or file.name.endswith(STATIC):
            contents[file.name] = file.read_bytes()
    html = contents["index.html"].decode()
    for mark, text in {
        "lang": language,
        "dir": direction(language),
        "pilot": translations.gettext("Pilot: answers given here are not part of the study."),
        "progress": translations.gettext("Progress"),
        "noscript": translations.gettext(
            "This study needs JavaScript. Please allow it for this page and reload the page."
        ),
    }.items():
        html = html.replace(f"@{mark}@", escape(text))
    contents["index.html"] = html.encode()
    return {
        name: (
            content,
            mimetypes.guess_type(name)[0] or "text/plain",
            f'"{hashlib.sha256(content).hexdigest()[:32]}"',
        )
        for name, content in contents.items()
    }
