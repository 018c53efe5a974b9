"""Define the options of the commands that query a model, and send the requests of such a command."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

import typer

from spotball_core.cli.console import progress
from spotball_core.cli.help import INPUT, OUTPUT, option
from spotball_core.cli.options import PointScales
from spotball_core.errors import OptionError
from spotball_core.service.json_file import parse_json
from spotball_core.service.safe_text import show

if TYPE_CHECKING:
    from collections.abc import Callable

    from spotball_adapters.prompts.prompt import Prompt
    from spotball_adapters.providers.protocol import Settings
    from spotball_adapters.runs.job import RunJob
    from spotball_adapters.runs.launch import RunResult
    from spotball_adapters.runs.plan import ItemT
    from spotball_adapters.runs.runner import Options
    from spotball_adapters.runs.store import ReplyStore
    from spotball_core.counting.parse_record import ParsePolicy
    from spotball_core.schema.scene import Scene

T = TypeVar("T")

MODEL, LIMITS, SAMPLING = "Model", "Limits and retries", "Sampling"
"""Names of the panels of options that these commands have."""

DEFAULT_PROMPTS = "base,cue,cot"

SAMPLES, CHAIN_SAMPLES = 50, 20
"""Numbers of samples per image in the paper: for a prompt with one question, and for one with several questions."""

RunFolder = Annotated[Path | None, option(OUTPUT, "RUN", "Folder of the run. Default: run-RESPONDENT.", "--out", "-o")]
FileFormat = Annotated[Literal["jsonl", "parquet"], option(OUTPUT, None, "Format of the file of responses.")]
Model = Annotated[str | None, option(MODEL, "NAME", "Name of the model, or its folder.")]
BaseUrl = Annotated[str | None, option(MODEL, "URL", "Address of the server. Default: the provider's.")]
Limit = Annotated[int | None, option(INPUT, "N", "Use only the first N images. Default: all.", min=1)]
Concurrency = Annotated[int, option(LIMITS, "N", "Number of parallel requests.", min=1)]
Attempts = Annotated[int, option(LIMITS, "N", "Number of attempts per request.", min=1)]


@dataclass(frozen=True)
class Server:
    """The options that name a model and its server."""

    provider: Annotated[
        str | None, option(MODEL, "NAME", "API or program to use: openai, anthropic, gemini, transformers, ...")
    ] = None
    model: Model = None
    base_url: BaseUrl = None
    api: Annotated[
        Literal["chat", "responses"] | None, option(MODEL, None, "OpenAI API to use. Default: depends on the model.")
    ] = None


@dataclass(frozen=True)
class Selection:
    """The options that select prompts and images, and the number of samples."""

    prompt: Annotated[
        str | None,
        option(INPUT, "NAMES", f"Prompts (names or files), separated by commas. Default: {DEFAULT_PROMPTS}."),
    ] = None
    samples: Annotated[
        str | None, option(INPUT, "N,...", "Samples per image: a number, or one per prompt. Default: 50 (cot: 20).")
    ] = None
    limit: Limit = None
    controls: Annotated[
        bool, option(INPUT, None, "Include controls: images in which the ball is visible.", "--controls")
    ] = False

    def selected(self, scenes: Sequence[Scene], dataset: Path) -> tuple[Scene, ...]:
        """Return the selected scenes of a dataset.

        Raises:
            OptionError: if there are only controls, and they are not included.
        """
        from spotball_adapters.runs.plan import limited

        selected = limited([scene for scene in scenes if self.controls or not scene.control], self.limit)
        if not selected:
            raise OptionError(
                "all images are controls (the ball is visible). Add --controls to include them",
                code="no-data",
                file=dataset,
            )
        return selected


@dataclass(frozen=True)
class Pace:
    """The options that limit the speed of requests, and how often and how long each is tried."""

    concurrency: Concurrency = 8
    requests_per_minute: Annotated[
        float | None, option(LIMITS, "N", "Maximum number of requests per minute. Default: none.", min=0.001)
    ] = None
    attempts: Attempts = 12
    timeout: Annotated[float, option(LIMITS, "SECONDS", "Maximum time for one request, in seconds.", min=0.001)] = 120.0


@dataclass(frozen=True)
class Limits(Pace):
    """The options that limit the requests of a run."""

    tokens_per_minute: Annotated[
        float | None, option(LIMITS, "N", "Maximum number of input and output tokens per minute. Default: none.", min=1)
    ] = None
    max_requests: Annotated[
        int | None, option(LIMITS, "N", "Stop after this many requests, including failed ones. Default: none.", min=1)
    ] = None
    max_tokens: Annotated[int | None, option(LIMITS, "N", "Stop after this many tokens. Default: none.", min=1)] = None
    max_response_mb: Annotated[
        float, option(LIMITS, "MB", "Maximum response size per request, in megabytes.", min=0.001)
    ] = 20.0
    skip_refused: Annotated[
        bool, option(LIMITS, None, "List and exclude images that the provider refuses.", "--skip-refused")
    ] = False

    def options(self) -> Options:
        """Return the options of the runner."""
        from spotball_adapters.runs.runner import Options

        return Options(
            concurrency=self.concurrency,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
            max_requests=self.max_requests,
            max_tokens=self.max_tokens,
            attempts=self.attempts,
            skip_refused=self.skip_refused,
        )


@dataclass(frozen=True)
class Sampling:
    """The options that determine how a model samples its replies."""

    temperature: Annotated[float | None, option(SAMPLING, "T", "Sampling temperature. Default: the provider's.")] = None
    top_p: Annotated[
        float | None, option(SAMPLING, "P", "Nucleus sampling probability (top-p). Default: the provider's.")
    ] = None
    max_output_tokens: Annotated[
        int | None, option(SAMPLING, "N", "Maximum length of a reply, in tokens. Default: the provider's.")
    ] = None
    seed: Annotated[int | None, option(SAMPLING, "N", "Sampling seed, if the provider supports it. Default: none.")] = (
        None
    )
    reasoning_effort: Annotated[
        str | None, option(SAMPLING, "VALUE", "Reasoning effort, such as low (openai only). Default: the provider's.")
    ] = None
    extra_body: Annotated[
        str | None, option(SAMPLING, "JSON", "JSON object without secrets to add to each request (openai only).")
    ] = None

    def settings(self) -> Settings:
        """Return the settings of the requests.

        Raises:
            OptionError: if `--extra-body` is not a JSON object with at least one field.
        """
        from spotball_adapters.providers.protocol import Settings

        return Settings(
            temperature=self.temperature,
            top_p=self.top_p,
            max_output_tokens=self.max_output_tokens,
            seed=self.seed,
            reasoning_effort=self.reasoning_effort,
            extra_body=extra_body_of(self.extra_body),
        )


@dataclass(frozen=True)
class Parsing:
    """The options that determine how replies are parsed."""

    parse_policy: Annotated[
        Literal["strict", "lenient"] | None,
        option(OUTPUT, "POLICY", "strict or lenient. Default: strict; lenient for files of other tools."),
    ] = None
    answer: Annotated[
        Literal["cell", "point", "box"], option(OUTPUT, "KIND", "Kind of answer: cell, point or box.")
    ] = "cell"
    point_scale: PointScales = None

    def policy(self) -> ParsePolicy | None:
        """Return the parse policy that the options name together; None if they name none.

        Raises:
            OptionError: if options are missing or exclude each other.
        """
        if self.answer == "cell":
            if self.point_scale is not None:
                raise OptionError(
                    "cells have no scale. Add --answer point or --answer box, or remove --point-scale",
                    code="missing-option",
                    field="--answer",
                )
            return self.parse_policy
        if self.parse_policy is not None:
            raise OptionError(
                "it applies only to cells. Remove it, or remove --answer",
                code="conflicting-options",
                field="--parse-policy",
            )
        if self.point_scale is None:
            raise OptionError(
                "the scale of the coordinates is missing. Add --point-scale 1000, or another of its values",
                code="missing-option",
                field="--point-scale",
            )
        return cast("ParsePolicy", f"{self.answer}-{self.point_scale}")


def check_api(api: str | None, provider: str) -> None:
    """Check that the provider supports `--api`.

    Raises:
        OptionError: if `api` is given and the provider is not `openai`.
    """
    if api is not None and provider != "openai":
        raise OptionError(
            f"the provider {provider} has only one API. Remove --api", code="unsupported-option", field="--api"
        )


def extra_body_of(text: str | None) -> dict[str, Any] | None:
    """Parse the JSON object that was given with `--extra-body`.

    Raises:
        OptionError: if it is not a JSON object with at least one field.

    Examples:
        >>> extra_body_of('{"top_k": 20}')
        {'top_k': 20}
    """
    if text is None:
        return None
    expected = """expected a JSON object such as '{"top_k": 20}'"""
    try:
        fields = parse_json(text)
    except ValueError as error:
        raise OptionError(f"not JSON ({error}), {expected}", field="--extra-body") from None
    if not isinstance(fields, dict) or not fields:
        raise OptionError(f"found {text!r}, {expected}", field="--extra-body")
    return fields


def run_folder(out: Path | None, respondent: str) -> Path:
    """Return the folder of a run: the folder given by `--out`, or one named after the respondent.

    Examples:
        >>> run_folder(None, "org/model:1").name
        'run-org-model-1'
    """
    return out or Path(f"run-{slug(respondent)}")


def slug(name: str) -> str:
    """Convert a name to characters that are safe in a file name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


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


def silence_retries() -> None:
    """Turn off the log messages of the retry library: the progress line already shows retries."""
    from stamina.instrumentation import set_on_retry_hooks

    set_on_retry_hooks(())


def ask_all(
    job: RunJob[ItemT],
    out: Path,
    options: Options,
    make: Callable[[ReplyStore], T],
    *,
    unit: str,
    dry_run: bool,
    quiet: bool,
) -> RunResult[T]:
    """Send the remaining requests of a job. With `--dry-run`, only describe them and end the command.

    Args:
        make: function that computes the result from all stored replies.
        unit: label of the progress line that is shown while images are prepared.
    """
    from spotball_adapters.runs.dry_run import describe
    from spotball_adapters.runs.launch import launch, plan_of

    if dry_run:
        show(describe(job, plan_of(job, out, options)), end="")
        raise typer.Exit

    silence_retries()
    with progress(unit, quiet=quiet) as on_progress:
        return launch(job, out, options, make, on_progress=on_progress, quiet=quiet)
