"""`spotball gaze ask`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spotball_adapters.cli.asking import (
    ApiName,
    Attempts,
    BaseUrl,
    Concurrency,
    DryRun,
    ExtraBody,
    MaxOutputTokens,
    MaxRequests,
    MaxResponse,
    MaxTokens,
    ModelName,
    ProviderName,
    ReasoningEffort,
    RequestsPerMinute,
    RunFolder,
    SamplingSeed,
    SkipRefused,
    Temperature,
    Timeout,
    TokensPerMinute,
    TopP,
    ask_all,
    check_api,
    extra_body_of,
    finish,
    run_folder,
)
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError


def ask(
    stimuli: Annotated[
        Path,
        typer.Argument(
            metavar="STIMULI",
            help="CSV file that describes the photos, with the columns `stimulus_id`, `view`, `proximity`, `objects`, "
            "`gaze_target`, `image`.",
        ),
    ],
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel="Input",
            help="Folder of the photos that the column `image` of STIMULI names.",
        ),
    ] = None,
    provider: ProviderName = None,
    model: ModelName = None,
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
    base_url: BaseUrl = None,
    api: ApiName = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    max_output_tokens: MaxOutputTokens = None,
    seed: SamplingSeed = None,
    reasoning_effort: ReasoningEffort = None,
    extra_body: ExtraBody = None,
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
    concurrency: Concurrency = 8,
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    attempts: Attempts = 12,
    timeout: Timeout = 120.0,
    max_response_mb: MaxResponse = 20.0,
    skip_refused: SkipRefused = False,
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
    from spotball_adapters.cli.run_end import gaze_end
    from spotball_adapters.gaze.job import GazeJob
    from spotball_adapters.gaze.matching import write_matches
    from spotball_adapters.gaze.photos import Photo
    from spotball_adapters.gaze.prompts import load_prompts
    from spotball_adapters.providers.find import find
    from spotball_adapters.providers.protocol import Access, Settings
    from spotball_adapters.runs.plan import limited
    from spotball_adapters.runs.runner import Options
    from spotball_core.gaze.data.stimuli import read_stimuli

    if provider is None or model is None:
        raise OptionError("add --provider NAME and --model NAME", code="missing-option")
    all_stimuli = read_stimuli(stimuli)
    photos = [Photo(stimulus) for stimulus in all_stimuli if checks or not stimulus.attention_check]
    selected = limited(photos, limit, lambda photo: photo.stimulus.condition)
    if not selected:
        raise OptionError(f"{stimuli}: all photos are attention checks. Add --checks to include them", code="no-data")
    settings = Settings(
        temperature=temperature,
        top_p=top_p,
        max_output_tokens=max_output_tokens,
        seed=seed,
        reasoning_effort=reasoning_effort,
        extra_body=extra_body_of(extra_body),
    )
    prompts = tuple((gaze_prompt, samples) for gaze_prompt in load_prompts(prompt, seed=order_seed))
    access = Access(
        model,
        base_url=base_url,
        stimuli=all_stimuli,
        concurrency=concurrency,
        timeout=timeout,
        max_response=int(max_response_mb * 1e6),
        api=api,
    )
    check_api(api, provider)
    model_provider = find(provider, access)
    model_provider.check(settings)
    job = GazeJob(
        *(selected, prompts, model_provider, base_url, settings, respondent or model),
        stimuli=all_stimuli,
        images=images,
        side=size,
        order_seed=order_seed,
    )
    out = run_folder(out, job.respondent)
    options = Options(
        concurrency=concurrency,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        max_requests=max_requests,
        max_tokens=max_tokens,
        attempts=attempts,
        skip_refused=skip_refused,
    )
    ended = ask_all(job, out, options, write_matches, unit="photos read", dry_run=dry_run, quiet=quiet)
    finish(ended, gaze_end(ended), quiet=quiet)
