"""`spotball report`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

from spotball_core.cli.console import teller
from spotball_core.cli.help import option
from spotball_core.cli.memory import memory_limit
from spotball_core.cli.options import (
    Bootstrap,
    Debug,
    ImageChoice,
    Jobs,
    OutFolder,
    Paths,
    PolicyName,
    Quiet,
    Reference,
    Seed,
    Tables,
    with_groups,
)
from spotball_core.errors import InputError
from spotball_core.service.parallel import BLAS, one_thread

_TWO_RUNS = frozenset({"respondent", "sample", "image"})
"""If an error concerns one of these fields, the files are probably from different runs: they contain the same sample
twice, or two different scenes of one image."""

_LEAST_BYTES = 1_000_000
"""Minimum total size of response files, in bytes, for several processes; for less, starting them takes too long."""


class PresetName(StrEnum):
    """Names of `plots.presets.PRESETS`, repeated here so that Matplotlib is not loaded."""

    PAPER = "paper"
    SLIDES = "slides"


@with_groups
@one_thread(*BLAS)
def report(
    paths: Paths,
    *,
    out: OutFolder,
    tables: Tables,
    before: Annotated[
        list[Path],
        option(
            "Input",
            "PATH",
            "Report the changes since this earlier dataset or file of responses; can be repeated.",
            exists=True,
        ),
    ] = [],  # noqa: B006 # Typer copies it
    reference: Reference = None,
    images: ImageChoice = None,
    policy: PolicyName = "standard",
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    image_folder: Annotated[
        Path | None,
        option(
            "Input", "DIR", "Folder of the images. Default: the folder of the scenes.", exists=True, file_okay=False
        ),
    ] = None,
    reasoning: Annotated[
        Path | None,
        option("Input", "FILE", "JSON file from `spotball reasoning` to include in the report. Default: none."),
    ] = None,
    pages: Annotated[
        bool,
        option(
            "Output",
            None,
            "Show all images, on separate pages in DIR/images, instead of at most 240 images.",
            "--pages",
        ),
    ] = False,
    figures: Annotated[
        list[PresetName],
        option("Output", "STYLE", "Also write figures in this style, paper or slides; can be repeated."),
    ] = [],  # noqa: B006 # Typer copies it
    jobs: Jobs = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write an HTML report: one page with findings, scores, figures and images.

    Example: `spotball report data --reference human --out report`

    Example: `spotball report new --before old --reference human --out report`

    Writes DIR/report.html (works offline), DIR/figures/ with each figure as PNG and SVG, and DIR/report.json with all
    numbers. Several PATHs are merged. Replaces an earlier report; refuses a folder with other files.
    """
    from spotball_core.cli.earlier_run import read_earlier_run
    from spotball_core.cli.tables import read_options, table_arguments
    from spotball_core.io.dataset import response_files
    from spotball_core.pages.folder import PAGE
    from spotball_core.reasoning.records import read_reasoning
    from spotball_core.report.build import write_report
    from spotball_core.report.sections.changes import change_sentences
    from spotball_core.report.view import PageView
    from spotball_core.schema.policy import ScorePolicy
    from spotball_core.scoring.groups import Scoring
    from spotball_core.scoring.score import load_counts
    from spotball_core.service.parallel import Workers, processors

    tell = teller(quiet)
    arguments = table_arguments(tables, tell)
    reading = read_options(arguments)
    categories = read_reasoning(reasoning) if reasoning else None
    policy_class = ScorePolicy.paper if policy == "paper" else ScorePolicy.standard
    choices = policy_class(reference=reference, images=images, bootstrap=bootstrap, seed=seed)
    folders = [image_folder] if image_folder else tables.folders(paths)
    files = response_files(paths)
    # A memory limit counts for each process separately, so use one process.
    n_processes = jobs or (processors() if memory_limit() is None else 1)
    # The processes start while this one reads the files.
    with Workers(n_processes if _bytes(files) >= _LEAST_BYTES else 1, [write_report.__module__]) as workers:
        try:
            counts, all_scenes = load_counts(paths, tables.scenes, participants=True, **arguments)
        except InputError as error:
            if len(paths) > 1 and any(problem.field in _TWO_RUNS for problem in error.problems):
                tell(
                    "Several PATHs are merged. To compare two runs, use: "
                    "spotball report LATER --before EARLIER --out DIR"
                )
            raise
        earlier = None
        if before:
            earlier_counts = read_earlier_run(before, all_scenes, pool=tables.pool, strict=tables.strict, **reading)
            earlier = Scoring(*earlier_counts, choices.model_copy(update={"reference": None}))
        write = partial(
            write_report,
            Scoring(counts, all_scenes, choices),
            out,
            image_folders=folders,
            reasoning=categories,
            # The report shows images and rationales only if there is a reference to compare with.
            response_files=files if reference else (),
            reading=reading,
            pages=pages,
            before=earlier,
            figures=tuple(dict.fromkeys(figures)),
            workers=workers,
        )
        if sys.stderr.isatty() and not quiet:
            from rich.console import Console

            with Console(stderr=True).status("reading") as status:
                written = write(tell=status.update)
        else:
            written = write(tell=tell)
    for warning in written.warnings:
        tell(f"warning: {warning}")
    if written.page.changes:
        for warning in written.page.changes.warnings_before:
            tell(f"warning: {warning}")
        for sentence in change_sentences(PageView(written), written.page.changes):
            tell(sentence)
    tell(f"wrote {out / PAGE}")


def _bytes(files: Iterable[str | Path]) -> int:
    """Return the total size of files. Standard input and missing files count as empty."""
    return sum(Path(file).stat().st_size for file in files if Path(file).is_file())
