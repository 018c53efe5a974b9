"""Write a folder with a page, its figures, and its numbers as JSON; the folder appears only when it is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import groupby
from pathlib import Path

from pydantic import BaseModel

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.pages.figures import CAPTIONS, DrawnFigures
from spotball_core.pages.parts import Page, Section, render_page
from spotball_core.plots.canvas import plain_style
from spotball_core.plots.presets import file_name
from spotball_core.plots.theme import FORMATS
from spotball_core.service.files import replacing_folder
from spotball_core.service.parallel import THIS_PROCESS, Workers

PAGE, NUMBERS, FIGURES, IMAGES = "report.html", "report.json", "figures", "images"

_ON_A_PAGE = 50
"""Number of the gallery's images on each separate page."""


def check_installed(what: str = "The report", packages: Sequence[str] = ("matplotlib", "jinja2", "PIL")) -> None:
    """Raise MissingExtraError if packages that a page needs are missing."""
    try:
        for name in packages:
            import_module(name)
    except ImportError as error:
        raise MissingExtraError(what, "report") from error


def _is_of_report(name: str) -> bool:
    if name.startswith(f"{FIGURES}/"):
        return name.endswith((*FORMATS, f"/{CAPTIONS}"))
    if name.startswith(f"{IMAGES}/"):
        return name.endswith(".html")
    return name in (PAGE, NUMBERS)


def check_replaceable(
    out: Path,
    generator: str,
    *,
    what: str = "report",
    page_name: str = PAGE,
    is_ours: Callable[[str], bool] = _is_of_report,
) -> None:
    """Raise OptionError unless a folder is missing, empty, or only contains files that the same command wrote.

    Args:
        out: the folder.
        generator: the command, as the page names it in its `generator` metadata.
        what: noun for the command's output, such as "report", for the error message.
        page_name: the file name of the page that names the command.
        is_ours: whether a path within the folder is one that the command writes.
    """
    if out.exists() and not out.is_dir():
        raise OptionError(
            f"{out} is a file, expected a folder for the {what}. Use another folder",
            code="output-exists",
            field="--out",
        )
    if not out.exists() or not any(out.iterdir()):
        return
    held = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_symlink() or not path.is_dir()}
    page = out / page_name
    is_earlier = (
        page.is_file() and f'content="{generator} ' in page.read_text(encoding="utf-8", errors="replace")[:2000]
    )
    others = sorted(name for name in held if not is_ours(name))
    if not is_earlier or others:
        contents = f": it contains {', '.join(others[:5])}" if others else ""
        raise OptionError(
            f"{out} is not empty and is not an earlier {what}{contents}. Use another folder, or empty this one",
            code="output-exists",
            field="--out",
        )


def write_folder(
    out: Path,
    page: Page,
    sections: Sequence[Section],
    record: BaseModel,
    figures: Sequence[str] = (),
    pages: bool = False,
    workers: Workers = THIS_PROCESS,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Write report.html, report.json and figures/ into a folder; an earlier report there is replaced.

    Args:
        out: the folder.
        page: the page's content outside its sections.
        sections: sections from top to bottom.
        record: content of report.json.
        figures: names from `plots.presets.PRESETS`, for figures in addition to those of the page.
        pages: whether the images of the gallery are on separate pages, in images/.
        workers: workers that draw the figures.
        tell: called with a description of the current step.

    Raises:
        OptionError: if the folder cannot be written.
    """
    with plain_style():
        try:
            with replacing_folder(out) as beside:
                drawn = DrawnFigures(beside / FIGURES, sections, page.signature, figures, workers, tell)
                svgs = drawn.panels()
                tell("writing the page")
                if pages:
                    sections = _write_images(beside / IMAGES, page, sections)
                (beside / PAGE).write_text(render_page(page, sections, svgs), encoding="utf-8", newline="\n")
                (beside / NUMBERS).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8", newline="\n")
                drawn.finish()
        except OSError as error:
            raise OptionError(
                f"cannot write to {out}: {error}. Use another folder", code="unwritable-output", field="--out"
            ) from error


def _write_images(folder: Path, page: Page, sections: Sequence[Section]) -> list[Section]:
    """Write the images of galleries to separate pages, and return the sections with links to these pages."""
    folder.mkdir()
    out = []
    for section in sections:
        if section.gallery is None:
            out.append(section)
            continue
        gallery = section.gallery
        pages: dict[str, str] = {}
        contents: list[tuple[str, str]] = []
        for sport, group in groupby(gallery.images, key=lambda image: image.sport):
            images = list(group)
            for start in range(0, len(images), _ON_A_PAGE):
                some = tuple(images[start : start + _ON_A_PAGE])
                name = f"{len(contents) + 1}-{file_name(sport)}.html"
                title = f"{sport}, images {start + 1}–{start + len(some)} of {len(images)}"
                part = replace(gallery, images=some, failures=())
                alone = Section(section.name, title, gallery=part)
                about = replace(page, title=title, intro=(), warnings=(), back=f"../{PAGE}", about=(section.title,))
                (folder / name).write_text(render_page(about, [alone], {}), encoding="utf-8", newline="\n")
                contents.append((title, f"{IMAGES}/{name}"))
                pages |= {image.name: f"{IMAGES}/{name}" for image in some}
        out.append(replace(section, gallery=replace(gallery, images=(), pages=pages, contents=tuple(contents))))
    return out
