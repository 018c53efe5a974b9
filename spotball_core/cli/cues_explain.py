"""`spotball cues explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from spotball_core.cli.console import Out, deliver, progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import (
    Bootstrap,
    Debug,
    ImageChoice,
    Jobs,
    Paths,
    Quiet,
    Reference,
    Seed,
    Tables,
    TextFormat,
    with_groups,
)
from spotball_core.errors import OptionError

if TYPE_CHECKING:
    from spotball_core.cues.explanation_record import StatedCue
    from spotball_core.io.columns import ReadOptions
    from spotball_core.scoring.groups import Scoring


@with_groups
def explain(
    paths: Paths,
    *,
    tables: Tables,
    reference: Reference = None,
    cues: Annotated[
        str | None,
        option("Scoring", "NAMES", "Cues to use, separated by commas, such as location,players,head. Default: all."),
    ] = None,
    images: ImageChoice = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    mirrors: Annotated[
        int,
        option(
            "Scoring",
            "N",
            "Test the direction cues: compare them with N random mirrorings of the poses, such as 199.",
            min=0,
        ),
    ] = 0,
    stated: Annotated[
        bool, option("Scoring", None, "Test whether guesses follow gaze when rationales mention gaze.", "--stated")
    ] = False,
    jobs: Jobs = None,
    format: TextFormat = None,
    out: Out = None,
    maps: Annotated[
        Path | None, option("Output", "DIR", "Folder for one PNG file per photo that shows the photo with its cues.")
    ] = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate which cues guesses follow: location, players, feet, and directions of heads and torsos.

    Example: `spotball cues explain data --reference human`

    Fits a model to the guesses of each sport, respondent and prompt, and tests it on held-out images. Prints the bits
    per guess that each group of cues explains, with confidence intervals, and the difference from the reference. Cues
    from bodies need the keypoints of the players, which `spotball cues poses` adds.
    """
    from spotball_core.cli.memory import memory_limit
    from spotball_core.cli.tables import read_options, table_arguments
    from spotball_core.cues.explanation import MANY_GROUPS, explain_cues
    from spotball_core.schema.policy import ScorePolicy
    from spotball_core.scoring.groups import Scoring
    from spotball_core.scoring.score import load_counts
    from spotball_core.service.parallel import processors

    tell = teller(quiet)
    if format is None:
        format = _by_ending(out)
    if maps is not None:
        from spotball_core.plots.cue_maps import check_maps

        # Check the file's ending before the models are fitted.
        check_maps(maps)
    names = None if cues is None else [part.strip() for part in cues.split(",") if part.strip()]
    arguments = table_arguments(tables, tell)
    counts, all_scenes = load_counts(paths, tables.scenes, participants=True, **arguments)
    choices = ScorePolicy.standard(reference=reference, images=images, bootstrap=bootstrap, seed=seed)
    scoring = Scoring(counts, all_scenes, choices)
    if jobs is None:
        # A memory limit counts for each process separately, so use one process.
        jobs = processors() if len(scoring.groups) >= MANY_GROUPS and memory_limit() is None else 1
    with progress("groups", quiet=quiet) as on_progress:
        report = explain_cues(scoring, cues=names, mirrors=mirrors, jobs=jobs, on_progress=on_progress)
    if stated:
        report = report.model_copy(update={"stated": _stated(paths, read_options(arguments), scoring, seed)})
    if format == "json":
        text = report.model_dump_json(indent=1) + "\n"
    else:
        from spotball_core.cues.explanation_text import to_text

        text = to_text(report, to_terminal=out is None)
    if format == "json" or out is not None:
        for warning in report.warnings:
            tell(f"warning: {warning}")
    deliver(text, out, tell, styled=format == "text")
    if maps is not None:
        from spotball_core.plots.cue_maps import write_cue_maps

        folders = tables.folders(paths)
        scored = sorted({place for group in scoring.groups for place in scoring.images(group)})
        masses = scoring.reference_mass(scored)
        guesses = {place: [] if masses is None else [(str(reference), masses[n])] for n, place in enumerate(scored)}
        write_cue_maps(all_scenes, guesses, maps, cues=names, image_folders=folders)
        tell(f"wrote {len(scored)} files to {maps}")


def _by_ending(out: Path | None) -> Literal["text", "json"]:
    if out is None or out.suffix in ("", ".txt"):
        return "text"
    if out.suffix == ".json":
        return "json"
    raise OptionError(
        f"the ending {out.suffix} is not supported. Use .txt or .json, or add --format",
        code="unsupported-format",
        field="--out",
    )


def _stated(paths: list[Path], reading: ReadOptions, scoring: Scoring, seed: int) -> tuple[StatedCue, ...]:
    from spotball_core.io.dataset import response_files
    from spotball_core.io.sources import COUNTS_ENDING
    from spotball_core.reasoning.classify import keyword_categories
    from spotball_core.reasoning.rationales import read_rationales
    from spotball_core.reasoning.stated import stated_cues
    from spotball_core.reasoning.templates import load_templates

    files = [file for file in response_files(paths) if file.suffix != COUNTS_ENDING]
    rationales = read_rationales(files, scoring.arrays.scenes, **reading)
    keywords = load_templates().keywords
    categories = keyword_categories(rationales.texts, keywords)
    return stated_cues(scoring, rationales, categories, list(keywords), seed=seed)
