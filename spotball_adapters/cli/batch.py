"""`spotball batch`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spotball_adapters.cli.asking import DEFAULT_PROMPTS, FileFormat, Model, Parsing, Sampling, Selection, prompts_of
from spotball_adapters.cli.run_end import SHOWN, summary
from spotball_core.cli.console import progress, teller
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, OutFolder, Quiet, Respondent, with_groups
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.batch.export import Exported

batch = typer.Typer(
    no_args_is_help=True,
    help="Ask a model through batch files: write requests, then import "
    "replies.\n\nExample: `spotball batch export data --out run-batch`",
    rich_markup_mode=None,
)


@batch.command("export")
@with_groups
def export_command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with scenes.jsonl and images.")],
    *,
    out: OutFolder,
    selection: Selection,
    model: Model = None,
    format: Annotated[
        Literal["messages", "openai"],
        option(
            "Output", "FORM", "Format of the requests: messages (this project's format) or openai (OpenAI's batch API)."
        ),
    ] = "messages",
    at_once: Annotated[
        int | None,
        option("Output", "N", "Maximum number of replies per request. Default: 1, or 128 for openai.", min=1),
    ] = None,
    sampling: Sampling,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a batch: a file of requests for the replies that RUN does not contain yet.

    Example: `spotball batch export data --prompt base,cue --samples 50 --temperature 0.6 --out run-batch`

    The requests are in RUN/batch-N/requests.jsonl. After you import the replies, run the command again to write the
    remaining requests: failed ones, and the last question of `cot`, which includes the answers to the earlier
    questions.
    """
    from spotball_adapters.batch.export import Job, export
    from spotball_adapters.providers.chat_completions import check_body_fields
    from spotball_adapters.providers.protocol import check_ranges
    from spotball_core.io.dataset import SCENES
    from spotball_core.io.scenes import read_scenes

    scenes = read_scenes(dataset / SCENES)
    selected, settings = selection.selected(scenes, dataset), sampling.settings()
    what = f"a batch in the format {format}"
    check_ranges(settings, what, max_temperature=2.0, has_request_fields=format == "openai")
    check_body_fields(settings)
    job = Job(
        dataset, scenes, selected, prompts_of(selection.prompt or DEFAULT_PROMPTS, selection.samples), settings, model
    )

    with progress("images prepared", quiet=quiet) as on_progress:
        exported = export(job, out, form=format, at_once=at_once, on_progress=on_progress)
    tell = teller(quiet)
    for line in _exported(exported):
        tell(line)


@batch.command("import")
@with_groups
def import_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that the batch was written to.")],
    replies: Annotated[list[Path], typer.Argument(metavar="REPLIES", help="Files of replies (JSON Lines).")],
    *,
    respondent: Respondent = None,
    format: FileFormat = "jsonl",
    parsing: Parsing,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Store replies to a batch in RUN, and write RUN/responses.jsonl with the cell of each reply.

    Example: `spotball batch import run-batch replies.jsonl --respondent my-model`

    RUN becomes a dataset that `spotball score` reads. Each line of REPLIES is {"custom_id": ..., "text": ...}, or a
    line of OpenAI's batch output. You can import replies in parts, and importing a reply twice has no
    effect.
    """
    from spotball_adapters.batch.take import take

    imported = take(run, replies, respondent=respondent, format=format, policy=parsing.policy())
    tell = teller(quiet)
    already = f", {imported.already_stored:,} were already stored" if imported.already_stored else ""
    tell(f"{plural(imported.stored, 'reply')} stored{already}")
    if imported.short:
        tell(f"{imported.short:,} replies are missing: their requests returned too few replies")
    if imported.failed:
        tell(f"{sum(imported.failed.values()):,} requests have no reply:")
        for message, n in list(imported.failed.items())[:SHOWN]:
            tell(f"  {n:,} times: {message}")
    lacking = {name: n for name, n in imported.unanswered.items() if n}
    for name, n in lacking.items():
        tell(f"{name}: {n:,} requests have missing replies")
    if imported.waiting or lacking:
        tell("To write the missing requests, run the same `spotball batch export` again.")
    if imported.path:
        tell(f"{imported.path}: {summary(imported.reading)}")


def _exported(exported: Exported) -> Iterable[str]:
    manifest = exported.manifest
    if exported.folder is None:
        yield "no requests are left to write"
        return
    if exported.unanswered:
        n = exported.unanswered
        yield f"{n:,} requests of earlier batches have missing replies, which this batch requests again"
    for file in manifest.files:
        yield f"wrote {exported.folder / file}"
    yield f"{plural(manifest.requests, 'request')} for {plural(manifest.replies, 'reply')}"
    if manifest.waiting:
        yield f"{manifest.waiting:,} more requests need these replies first: import the replies, then export again"
