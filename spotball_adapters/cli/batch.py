"""`spotball batch`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from spotball_adapters.cli.asking import Controls, ExtraBody, ImageLimit, extra_body_of
from spotball_adapters.cli.reparse import (
    AnswerOption,
    FileFormat,
    ParsePolicyOption,
    PointScaleOption,
    policy_of,
    summary,
)
from spotball_adapters.cli.run import DEFAULT_PROMPTS
from spotball_core.cli.console import progress, teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.batch.export import Exported

SHOWN = 5
"""Maximum number of different failures to print."""

batch = typer.Typer(
    no_args_is_help=True,
    help="Ask a model through batch files: write requests, then import "
    "replies.\n\nExample: `spotball batch export data --out run-batch`",
    rich_markup_mode=None,
)


@batch.command("export")
def export_command(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with scenes.jsonl and images.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="RUN", rich_help_panel="Output", help="Folder of the run.")
    ],
    prompt: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            rich_help_panel="Input",
            help="Prompts, separated by commas: base, cue, cot, or prompt files.",
        ),
    ] = DEFAULT_PROMPTS,
    samples: Annotated[
        str | None,
        typer.Option(
            metavar="N,...",
            rich_help_panel="Input",
            help="Samples per image: one number, or one per prompt. Default: 50, or 20 for prompts that ask several "
            "questions, such as cot.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", rich_help_panel="Model", help="Name of the model at the service.")
    ] = None,
    format: Annotated[
        Literal["messages", "openai"],
        typer.Option(
            metavar="FORM",
            rich_help_panel="Output",
            help="Format of the requests: messages (this project's format) or openai (OpenAI's batch API).",
        ),
    ] = "messages",
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel="Output",
            help="Maximum number of replies per request. Default: 1, or 128 for openai.",
        ),
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(metavar="T", rich_help_panel="Sampling", help="Sampling temperature. Default: the service's."),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            rich_help_panel="Sampling",
            help="Nucleus sampling probability (top-p). Default: the service's.",
        ),
    ] = None,
    max_output_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel="Sampling",
            help="Maximum length of a reply, in tokens. Default: the service's.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N", rich_help_panel="Sampling", help="Sampling seed, if the service supports it. Default: none."
        ),
    ] = None,
    reasoning_effort: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            rich_help_panel="Sampling",
            help="Reasoning effort, such as low (openai only). Default: the service's.",
        ),
    ] = None,
    extra_body: ExtraBody = None,
    limit: ImageLimit = None,
    controls: Controls = False,
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
        raise OptionError(
            "all images are controls (the ball is visible). Add --controls to include them",
            code="no-data",
            file=dataset,
        )
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

    with progress("images prepared", quiet=quiet) as on_progress:
        exported = export(job, out, form=format, at_once=at_once, on_progress=on_progress)
    tell = teller(quiet)
    for line in _exported(exported):
        tell(line)


@batch.command("import")
def import_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that the batch was written to.")],
    replies: Annotated[list[Path], typer.Argument(metavar="REPLIES", help="Files of replies (JSON Lines).")],
    respondent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Name of the respondent in the responses. Default: the name of the model.",
        ),
    ] = None,
    format: FileFormat = "jsonl",
    parse_policy: ParsePolicyOption = None,
    answer: AnswerOption = "cell",
    point_scale: PointScaleOption = None,
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

    policy = policy_of(parse_policy, answer, point_scale)
    imported = take(run, replies, respondent=respondent, format=format, policy=policy)
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
