"""`spotball gaze ask`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_adapters.cli.asking import DryRun, Limits, RunFolder, Sampling, Server, ask_all, check_api, run_folder
from spotball_adapters.cli.run_end import finish, gaze_end
from spotball_core.cli.options import Debug, Quiet, with_groups
from spotball_core.errors import OptionError


@with_groups
def ask(
    stimuli: Annotated[
        Path,
        typer.Argument(
            metavar="STIMULI",
            help="CSV file that describes the photos, with the columns `stimulus_id`, `view`, `proximity`, `objects`, "
            "`gaze_target`, `image`.",
        ),
    ],
    *,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel="Input",
            help="Folder of the photos that the column `image` of STIMULI names.",
        ),
    ] = None,
    server: Server,
    out: RunFolder = None,
    prompt: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            rich_help_panel="Input",
            help="Prompts, separated by commas: main, pilot, pre-pilot, or files.",
        ),
    ] = "main",
    samples: Annotated[
        int, typer.Option(min=1, metavar="N", rich_help_panel="Input", help="Samples per photo and prompt.")
    ] = 1,
    size: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel="Advanced",
            help="Pixels per side to which larger photos are reduced.",
        ),
    ] = 448,
    order_seed: Annotated[
        int,
        typer.Option(min=0, metavar="N", rich_help_panel="Advanced", help="Seed for the order of the answer options."),
    ] = 0,
    sampling: Sampling,
    respondent: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Output",
            help="Name of the respondent in the trials. Default: the name of the model.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel="Input",
            help="Use only the first N photos. Default: all.",
        ),
    ] = None,
    checks: Annotated[
        bool, typer.Option("--checks", rich_help_panel="Input", help="Include the photos that are attention checks.")
    ] = False,
    limits: Limits,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Ask a model where the person in each photo looks, and store every reply.

    Example: `spotball gaze ask stimuli.csv --images photos --provider openai --model gpt-4o --limit 3 --dry-run`

    Writes replies.jsonl, trials.csv for `spotball gaze analyze`, and manual.csv with the replies to match by hand. If
    the run is interrupted, run the same command again: completed requests are not repeated. You can add prompts,
    samples and photos to a run, but not change other settings. Set the API key in the environment, such as
    OPENAI_API_KEY. Exit status 1 if replies are missing.
    """
    from spotball_adapters.gaze.job import GazeJob
    from spotball_adapters.gaze.matching import write_matches
    from spotball_adapters.gaze.photos import Photo
    from spotball_adapters.gaze.prompts import load_prompts
    from spotball_adapters.providers.find import find
    from spotball_adapters.providers.protocol import Access
    from spotball_adapters.runs.plan import limited
    from spotball_core.gaze.data.stimuli import read_stimuli

    if server.provider is None or server.model is None:
        raise OptionError("add --provider NAME and --model NAME", code="missing-option")
    all_stimuli = read_stimuli(stimuli)
    photos = [Photo(stimulus) for stimulus in all_stimuli if checks or not stimulus.attention_check]
    selected = limited(photos, limit, lambda photo: photo.stimulus.condition)
    if not selected:
        raise OptionError(f"{stimuli}: all photos are attention checks. Add --checks to include them", code="no-data")
    settings = sampling.settings()
    prompts = tuple((gaze_prompt, samples) for gaze_prompt in load_prompts(prompt, seed=order_seed))
    access = Access(
        server.model,
        base_url=server.base_url,
        stimuli=all_stimuli,
        concurrency=limits.concurrency,
        timeout=limits.timeout,
        max_response=int(limits.max_response_mb * 1e6),
        api=server.api,
    )
    check_api(server.api, server.provider)
    model_provider = find(server.provider, access)
    model_provider.check(settings)
    job = GazeJob(
        *(selected, prompts, model_provider, server.base_url, settings, respondent or server.model),
        stimuli=all_stimuli,
        images=images,
        side=size,
        order_seed=order_seed,
    )
    out = run_folder(out, job.respondent)
    ended = ask_all(job, out, limits.options(), write_matches, unit="photos read", dry_run=dry_run, quiet=quiet)
    finish(ended, gaze_end(ended), quiet=quiet)
