"""`spotball reasoning`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spotball_adapters.cli.asking import BaseUrl, Model, Pace
from spotball_core.cli.console import Format, FormatOption, Out, deliver, format_for, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Bootstrap, Debug, DryRun, Paths, Quiet, ScenesFile, Seed, with_groups
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.embedders.reasoning import ReasoningJob
    from spotball_core.reasoning.records import ReasoningReport


_PACE = Pace(concurrency=4, attempts=8)


@with_groups
def reasoning(
    paths: Paths,
    *,
    embedder: Annotated[
        str, option("Model", "NAME", "Embedder: gemini, openai, sentence-transformers, or one that a package adds.")
    ],
    scenes: ScenesFile = None,
    model: Model = None,
    base_url: BaseUrl = None,
    task_type: Annotated[
        str | None,
        option("Model", "NAME", "Embedding task type for gemini, such as semantic_similarity. Default: none."),
    ] = None,
    templates: Annotated[
        str, option("Scoring", "FILE", "Template sentences about pose and gaze: built-in ones, or a file.")
    ] = "pose-gaze",
    cache: Annotated[
        Path | None,
        option(
            "Advanced", "FILE", "File of stored embeddings. Default: reasoning.sqlite in the folder of the first PATH."
        ),
    ] = None,
    bootstrap: Bootstrap = 1000,
    seed: Seed = 0,
    format: FormatOption = None,
    out: Out = None,
    pace: Pace = _PACE,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure whether rationales mention pose or gaze.

    Example: `spotball reasoning run-gpt --embedder openai --dry-run`

    The command embeds each text of the column `reasoning` and compares it with sentences about pose and about gaze; the
    closer set is its category. Embeddings are stored, so each text is embedded only once, even if you run the command
    again. Set the API key of the embedder in the environment, such as OPENAI_API_KEY.
    """
    from spotball_adapters.cli.asking import silence_retries
    from spotball_adapters.embedders.cache import CACHE
    from spotball_adapters.embedders.embed import EmbedOptions
    from spotball_adapters.embedders.protocol import EmbedderAccess, find
    from spotball_adapters.embedders.reasoning import ReasoningJob
    from spotball_core.io.dataset import read_dataset
    from spotball_core.reasoning.rationales import read_rationales
    from spotball_core.reasoning.templates import load_templates
    from spotball_core.service.paths import confined

    tell, format = teller(quiet), format_for(format, out)
    access = EmbedderAccess(model, base_url, task_type, pace.concurrency, pace.timeout)
    sets, model_embedder = load_templates(templates), find(embedder, access)
    data = read_dataset([str(path) for path in paths], scenes)
    if cache is None:
        # A downloaded dataset can contain a symbolic link of this name that points anywhere.
        cache = confined(paths[0] if paths[0].is_dir() else paths[0].parent, CACHE)
    job = ReasoningJob(
        read_rationales([str(file) for file in data.response_files], data.scenes),
        data.scenes,
        sets,
        model_embedder,
        cache,
        EmbedOptions(
            concurrency=pace.concurrency, requests_per_minute=pace.requests_per_minute, attempts=pace.attempts
        ),
    )
    if dry_run:
        show("\n".join(_outlook(job)))
        return
    silence_retries()
    report = _run(job, bootstrap, seed, quiet=quiet)
    for warning in report.warnings if format in (Format.json, Format.csv) else ():
        tell(f"warning: {warning}")
    deliver(_text(report, format, to_terminal=out is None), out, tell, styled=format is Format.table)


def _outlook(job: ReasoningJob) -> Iterator[str]:
    outlook = job.outlook()
    left = outlook.n_different - outlook.n_cached
    responses, with_text = len(job.rationales.rows), job.rationales.rows["text"].count()
    yield f"embedder    {job.embedder.name}, model {job.embedder.model}"
    yield f"templates   {job.templates.name} {job.templates.version}, {len(job.templates.texts)} sentences"
    yield f"responses   {responses:,}, {with_text:,} of which contain text"
    yield f"texts       {outlook.n_different:,} different texts and templates; {outlook.n_cut:,} would be truncated"
    yield f"stored      {outlook.n_cached:,} embeddings in {job.cache}"
    paid = "for a fee" if job.embedder.paid else "on this machine"
    yield f"to embed    {plural(left, 'text')} of {outlook.n_bytes:,} bytes, {paid}"


def _run(job: ReasoningJob, bootstrap: int, seed: int, *, quiet: bool) -> ReasoningReport:
    """Embed and analyze the texts. If this fails, report how many embeddings are stored."""
    from spotball_adapters.embedders.embed import EmbeddingProgress, embedding_progress
    from spotball_adapters.providers.protocol import TransientError

    progress = EmbeddingProgress()
    try:
        with embedding_progress(progress, quiet=quiet) as on_progress:
            return job.run(bootstrap=bootstrap, seed=seed, on_progress=on_progress, tell=teller(quiet))
    except TransientError as error:
        show(f"{progress}. A request failed on every attempt: {error}", err=True)
        teller(quiet)("Rerun the same command to continue.")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        teller(quiet)(f"{progress}. Rerun the same command to continue.")
        raise typer.Exit(130) from None


def _text(report: ReasoningReport, format: Format, *, to_terminal: bool) -> str:
    """Return the report as text in the given format."""
    if format is Format.json:
        return report.model_dump_json(indent=1) + "\n"
    from spotball_core.reasoning.tables import to_csv, to_latex, to_markdown, to_text

    if format is Format.csv:
        return to_csv(report)
    if format is Format.markdown:
        return to_markdown(report)
    if format is Format.latex:
        return to_latex(report)
    return to_text(report, to_terminal=to_terminal)
