"""`spotball batch`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spotball_adapters.cli.asking import extra_body_of
from spotball_adapters.cli.reparse import FileFormat, ParsePolicyOption, summary
from spotball_adapters.cli.run import DEFAULT_PROMPTS
from spotball_core.cli.console import progress, teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError

if TYPE_CHECKING:
    from spotball_adapters.batch.export import Exported

SHOWN = 5
"""Kinds of failures that are shown."""

batch = typer.Typer(
    no_args_is_help=True,
    help="Ask a model through files: write the requests, then read the replies.",
    rich_markup_mode=None,
)


@batch.command("export")
def export_command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with scenes.jsonl and images.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="RUN", help="Folder of the run.")],
    prompt: Annotated[
        str, typer.Option(metavar="NAMES", help="By commas: base, cue, cot, files of your own.")
    ] = DEFAULT_PROMPTS,
    samples: Annotated[
        str | None,
        typer.Option(metavar="N,...", help="One number, or one a prompt. Default: 50; 20 where questions come first."),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model, by the service's name for it.")] = None,
    format: Annotated[
        Literal["messages", "openai"], typer.Option(help="Form of the requests: ours, or OpenAI's batches.")
    ] = "messages",
    at_once: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Replies that a request asks for, at most. Default: 1; 128 for openai."),
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Default of this and the next: the service's.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Nucleus sampling.")] = None,
    max_output_tokens: Annotated[int | None, typer.Option(metavar="N", help="Longest reply.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of the sampling, where there is one.")] = None,
    reasoning_effort: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="How long the model reasons: low, medium, high, ... (format openai)."),
    ] = None,
    extra_body: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Object with more fields for each body (format openai). No secrets."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N images, sports in turn.")
    ] = None,
    controls: Annotated[
        bool, typer.Option("--controls", help="Ask about images in which the ball is visible.")
    ] = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a request for each reply that RUN lacks and that can be asked for now, as RUN/batch-N/requests.jsonl.

    Run the same again once replies are imported: it writes what is left, such as the last questions of cot, which hold
    the answers to the first ones, and what failed.

    Example: `spotball batch export data --prompt base,cue --samples 50 --temperature 0.6 --out run-batch`
    """
    from spotball_adapters.batch.export import Job, export
    from spotball_adapters.cli.run import prompts_of
    from spotball_adapters.providers.chat_completions import check_body_fields
    from spotball_adapters.providers.protocol import Settings
    from spotball_adapters.providers.ranges import check_ranges
    from spotball_adapters.runs.plan import limited
    from spotball_core.io.dataset import SCENES
    from spotball_core.io.scenes import read_scenes

    scenes = read_scenes(dataset / SCENES)
    selected = limited([scene for scene in scenes if controls or not scene.control], limit)
    if not selected:
        raise OptionError(f"{dataset}: all images are controls, which are asked about with --controls")
    settings = Settings(
        temperature=temperature,
        top_p=top_p,
        max_output_tokens=max_output_tokens,
        seed=seed,
        reasoning_effort=reasoning_effort,
        extra_body=extra_body_of(extra_body),
    )
    what = f"a batch in the format {format}"
    check_ranges(settings, what, max_temperature=2.0, has_request_fields=format == "openai")
    check_body_fields(settings)
    job = Job(dataset, scenes, selected, prompts_of(prompt, samples), settings, model)

    with progress("pictures drawn", quiet=quiet) as on_progress:
        exported = export(job, out, form=format, at_once=at_once, on_progress=on_progress)
    tell = teller(quiet)
    for line in _exported(exported):
        tell(line)


@batch.command("import")
def import_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that the batch was written to.")],
    replies: Annotated[list[Path], typer.Argument(metavar="REPLIES", help="Files of replies (JSON Lines).")],
    respondent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name in the responses. Default: the model's.")
    ] = None,
    format: FileFormat = "jsonl",
    parse_policy: ParsePolicyOption = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Store replies in RUN, and write RUN/responses.jsonl with the cell of each: RUN is then a dataset.

    A line of REPLIES is {"custom_id": ..., "text": ...}, or one of OpenAI's batch output. Some of the requests will do;
    the same reply given again changes nothing.

    Example: `spotball batch import run-batch replies.jsonl --respondent my-model`
    """
    from spotball_adapters.batch.take import take

    imported = take(run, replies, respondent=respondent, format=format, policy=parse_policy)
    tell = teller(quiet)
    already = f", {imported.already_stored:,} were there already" if imported.already_stored else ""
    tell(f"{imported.stored:,} replies stored{already}")
    if imported.short:
        tell(f"{imported.short:,} replies did not come with the others of their requests")
    if imported.failed:
        tell(f"{sum(imported.failed.values()):,} requests came back without a reply:")
        for message, n in list(imported.failed.items())[:SHOWN]:
            tell(f"  {n:,} times: {message}")
    lacking = {name: n for name, n in imported.unanswered.items() if n}
    for name, n in lacking.items():
        tell(f"{name}: {n:,} requests have no reply, or not all")
    if imported.waiting or lacking:
        tell("What is left is written by the same `spotball batch export` as before.")
    if imported.path:
        tell(f"{imported.path}: {summary(imported.reading)}")


def _exported(exported: Exported) -> Iterable[str]:
    manifest = exported.manifest
    if exported.folder is None:
        yield "nothing is left to ask"
        return
    if exported.unanswered:
        n = exported.unanswered
        yield f"{n:,} requests of earlier batches have no reply, or not all: what they lack is asked again"
    for file in manifest.files:
        yield f"wrote {exported.folder / file}"
    yield f"{manifest.requests:,} requests for {manifest.replies:,} replies"
    if manifest.waiting:
        yield f"{manifest.waiting:,} more hold answers to these: import the replies, then export again"
