"""`spotball run`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spotball_adapters.cli.asking import (
    ApiName,
    Attempts,
    BaseUrl,
    Concurrency,
    Controls,
    DryRun,
    ExtraBody,
    ImageLimit,
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
from spotball_adapters.cli.reparse import AnswerOption, FileFormat, ParsePolicyOption, PointScaleOption, policy_of
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError, unknown_name

if TYPE_CHECKING:
    from spotball_adapters.prompts.prompt import Prompt
    from spotball_adapters.providers.protocol import Settings

DEFAULT_PROMPTS = "base,cue,cot"

SAMPLES, CHAIN_SAMPLES = 50, 20
"""Numbers of samples per image in the paper: for a prompt with one question, and for one with several questions."""


def run(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with scenes.jsonl and images.")],
    provider: ProviderName = None,
    model: ModelName = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Model",
            help="Model from the paper with its settings: gemini, gpt, llama, qwen.",
        ),
    ] = None,
    out: RunFolder = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            rich_help_panel="Input",
            help="Prompts (names or files), separated by commas. Default: base,cue,cot.",
        ),
    ] = None,
    samples: Annotated[
        str | None,
        typer.Option(
            metavar="N,...",
            rich_help_panel="Input",
            help="Samples per image: a number, or one per prompt. Default: 50 (cot: 20).",
        ),
    ] = None,
    samples_per_request: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel="Limits and retries",
            help="Maximum number of samples per request. Default: the provider's limit.",
        ),
    ] = None,
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
            help="Name of the respondent. Default: the model's name.",
        ),
    ] = None,
    limit: ImageLimit = None,
    controls: Controls = False,
    concurrency: Concurrency = 8,
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    attempts: Attempts = 12,
    timeout: Timeout = 120.0,
    max_response_mb: MaxResponse = 20.0,
    skip_refused: SkipRefused = False,
    format: FileFormat = "jsonl",
    parse_policy: ParsePolicyOption = None,
    answer: AnswerOption = "cell",
    point_scale: PointScaleOption = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Ask a model about every image of a dataset, and store every reply.

    Example: `spotball run data --provider openai --model gpt-4.1 --limit 3 --dry-run`

    RUN becomes a dataset that `spotball score` reads. If the run is interrupted, run the same command again: completed
    requests are not repeated. You can add samples, prompts and images to a run, but not change other settings. Set the
    API key in the environment, such as OPENAI_API_KEY. Exit status 1 if replies are missing.
    """
    from spotball_adapters.cli.run_end import run_end
    from spotball_adapters.prompts.prompt import BUILT_IN
    from spotball_adapters.providers.find import find
    from spotball_adapters.providers.protocol import Access, Settings
    from spotball_adapters.runs.plan import limited
    from spotball_adapters.runs.responses import export
    from spotball_adapters.runs.runner import Options
    from spotball_adapters.runs.scene_job import SceneJob
    from spotball_core.io.dataset import SCENES
    from spotball_core.io.scenes import read_scenes

    policy = policy_of(parse_policy, answer, point_scale)
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
    named = _named(preset, provider, model, prompt, samples, respondent, settings)
    if answer != "cell" and any(one.name in BUILT_IN for one, _ in named.prompts):
        raise OptionError(
            f"the prompts of the paper ask for a cell. Name a prompt file that asks for a {answer}",
            code="conflicting-options",
            field="--prompt",
        )
    access = Access(
        named.model,
        base_url=base_url,
        scenes=scenes,
        concurrency=concurrency,
        timeout=timeout,
        max_response=int(max_response_mb * 1e6),
        api=api,
    )
    check_api(api, named.provider)
    model_provider = find(named.provider, access)
    model_provider.check(named.settings)
    if samples_per_request is not None:
        model_provider.max_samples = min(model_provider.max_samples, samples_per_request)
    job = SceneJob(
        selected,
        named.prompts,
        model_provider,
        base_url,
        named.settings,
        named.respondent,
        dataset=dataset,
        scenes=scenes,
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
    ended = ask_all(
        *(job, out, options, lambda store: export(store, scenes, out, format, policy)),
        unit="images prepared",
        dry_run=dry_run,
        quiet=quiet,
    )
    finish(ended, run_end(ended), quiet=quiet)


@dataclass(frozen=True)
class _Named:
    """Settings of a preset, with the options of the command, which override the preset."""

    provider: str
    model: str
    prompts: tuple[tuple[Prompt, int], ...]
    respondent: str
    settings: Settings


def _named(
    preset: str | None,
    provider: str | None,
    model: str | None,
    prompt: str | None,
    samples: str | None,
    respondent: str | None,
    settings: Settings,
) -> _Named:
    from spotball_adapters.providers.presets import PRESETS
    from spotball_adapters.providers.protocol import Settings

    if preset is not None:
        if preset not in PRESETS:
            raise OptionError(unknown_name("preset", preset, PRESETS), code="unknown-name", field="--preset")
        preset_run = PRESETS[preset]
        if provider is None and model is None:
            respondent = respondent or preset_run.respondent
        if prompt is None:
            samples = samples or ",".join(map(str, preset_run.samples))
        provider, model, prompt = (
            provider or preset_run.provider,
            model or preset_run.model,
            prompt or ",".join(preset_run.prompts),
        )
        together: dict[str, Any] = preset_run.settings.given() | settings.given()
        settings = Settings(**together)
    if provider is None or model is None:
        raise OptionError("add --provider NAME and --model NAME, or --preset NAME", code="missing-option")
    return _Named(provider, model, prompts_of(prompt or DEFAULT_PROMPTS, samples), respondent or model, settings)


def prompts_of(names: str, samples: str | None) -> tuple[tuple[Prompt, int], ...]:
    """Return each prompt with its number of samples, from `--prompt` and `--samples`.

    Raises:
        OptionError: if `--samples` contains text that is not a number, or too few or too many numbers.
        InputError: if a prompt cannot be used.
    """
    from spotball_adapters.prompts.prompt import load_prompt

    prompts = [load_prompt(part.strip()) for part in names.split(",") if part.strip()]
    if samples is None:
        return tuple((prompt, CHAIN_SAMPLES if prompt.questions else SAMPLES) for prompt in prompts)
    try:
        numbers = [int(part) for part in samples.split(",")]
    except ValueError:
        raise OptionError(
            f"found {samples!r}, expected whole numbers separated by commas, such as 50,50,20", field="--samples"
        ) from None
    if len(numbers) == 1:
        numbers *= len(prompts)
    if len(numbers) != len(prompts):
        raise OptionError(
            f"found {len(numbers)} numbers for {len(prompts)} prompts. Give one number, or one per prompt",
            field="--samples",
        )
    return tuple(zip(prompts, numbers, strict=True))
