"""`spotball report`."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from spotball_core.cli.console import teller
from spotball_core.cli.memory import memory_limit
from spotball_core.cli.options import (
    Bootstrap,
    Debug,
    ImageChoice,
    Paths,
    PolicyName,
    Pool,
    Quiet,
    Reference,
    ScenesFile,
    Seed,
    Strict,
)
from spotball_core.errors import InputError, OptionError
from spotball_core.service.threads import BLAS, one_thread

_TWO_RUNS = frozenset({"respondent", "sample", "image"})
"""Fields of which files that are not to be merged complain: the same answers, or another scene, a second time."""


class PresetName(StrEnum):
    """The names of `plots.presets.PRESETS`, known without loading Matplotlib."""

    PAPER = "paper"
    SLIDES = "slides"


@one_thread(*BLAS)
def report(
    paths: Paths,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write.")],
    scenes: ScenesFile = None,
    before: Annotated[
        list[Path],
        typer.Option(
            metavar="PATH",
            exists=True,
            help="State what changed since this earlier run: a dataset folder, or responses. Can be given twice.",
        ),
    ] = [],  # noqa: B006 # Typer copies it
    before_scenes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="The scenes of --before. Default: its own; for responses, those of PATH.",
        ),
    ] = None,
    reference: Reference = None,
    images: ImageChoice = None,
    policy: PolicyName = "standard",
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    image_folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Where the scenes' images are. Default: the datasets, and next to --scenes.",
        ),
    ] = None,
    reasoning: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Add what rationales speak of: JSON as `spotball reasoning` writes it."),
    ] = None,
    pages: Annotated[
        bool, typer.Option("--pages", help="Put all images on pages of their own, in DIR/images: for large datasets.")
    ] = False,
    figures: Annotated[
        list[PresetName],
        typer.Option(help="Also write figures for print or slides: PDF, SVG and PNG. Can be given twice."),
    ] = [],  # noqa: B006 # Typer copies it
    figure_title: Annotated[
        bool | None, typer.Option(help="Whether these figures have a title. Default: on slides.", show_default=False)
    ] = None,
    figure_notes: Annotated[
        bool | None,
        typer.Option(help="Whether these figures have caption and signature. Default: no.", show_default=False),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes for large reports. Default: one per processor.")
    ] = None,
    strict: Strict = False,
    pool: Pool = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a report for a browser: one page with findings, scores, figures and every image.

    DIR gets report.html, which works offline and without other files; figures/ with each figure as PNG and SVG; and
    report.json with every number on the page. An earlier report at DIR is replaced. A folder that holds anything else
    is refused.

    Several PATHs are merged. To compare two runs, name the earlier one by --before.

    Examples: `spotball report data --reference human --out report`,
    `spotball report new --before old --reference human --out report`
    """
    from spotball_core.cli.earlier_run import read_earlier_run
    from spotball_core.io.dataset import read_dataset
    from spotball_core.pages.figures import FigureOptions
    from spotball_core.pages.folder import PAGE
    from spotball_core.reasoning.rationales import example_rationales
    from spotball_core.reasoning.records import read_reasoning
    from spotball_core.report.build import write_report
    from spotball_core.report.sections.changes import change_sentences
    from spotball_core.report.view import PageView
    from spotball_core.schema.policy import ScorePolicy
    from spotball_core.scoring.groups import Scoring
    from spotball_core.scoring.score import load_counts
    from spotball_core.service.parallel import processors

    if before_scenes and not before:
        raise OptionError("--before-scenes needs --before")
    tell = teller(quiet)
    figure_options = FigureOptions(tuple(dict.fromkeys(figures)), figure_title, figure_notes)
    categories = read_reasoning(reasoning) if reasoning else None
    try:
        counts, all_scenes = load_counts(
            [str(path) for path in paths], scenes, participants=True, pool=pool, strict=strict
        )
    except InputError as error:
        if len(paths) > 1 and any(problem.field in _TWO_RUNS for problem in error.problems):
            tell("Several PATHs are merged. To compare two runs: spotball report LATER --before EARLIER --out DIR")
        raise
    policy_class = ScorePolicy.paper if policy == "paper" else ScorePolicy.standard
    choices = policy_class(reference=reference, images=images, bootstrap=bootstrap, seed=seed)
    folders = [path for path in paths if path.is_dir()] + ([scenes.parent] if scenes else [])
    if image_folder:
        folders = [image_folder]
    scoring = Scoring(counts, all_scenes, choices)
    # Images, and with them rationales, are shown only where there is a reference to compare with.
    files = read_dataset([str(path) for path in paths], scenes).response_files if reference else ()
    earlier = None
    if before:
        earlier_counts = read_earlier_run(before, before_scenes, all_scenes, pool=pool, strict=strict)
        earlier = Scoring(*earlier_counts, choices.model_copy(update={"reference": None}))
    write = partial(
        write_report,
        scoring,
        out,
        image_folders=folders,
        reasoning=categories,
        rationales=example_rationales(files, all_scenes),
        pages=pages,
        before=earlier,
        figures=figure_options,
        # Each process would need its own memory, which a limit does not share out.
        jobs=jobs or (processors() if memory_limit() is None else 1),
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
