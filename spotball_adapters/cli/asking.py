"""Define the options of the commands that query a model, and report how such a command ended."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from spotball_core.cli.console import progress, teller
from spotball_core.errors import OptionError
from spotball_core.service.json_file import parse_json
from spotball_core.service.safe_text import show
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spotball_adapters.runs.job import RunJob
    from spotball_adapters.runs.launch import RunResult
    from spotball_adapters.runs.plan import ItemT
    from spotball_adapters.runs.runner import Options, RunTally
    from spotball_adapters.runs.store import Question, ReplyStore

T = TypeVar("T")

SHOWN = 5
"""Maximum number of refused images to list."""

ProviderName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel="Model",
        help="API or program to use: openai, anthropic, gemini, transformers, ...",
    ),
]
ModelName = Annotated[
    str | None, typer.Option(metavar="NAME", rich_help_panel="Model", help="Name of the model at the provider.")
]
RunFolder = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="RUN", rich_help_panel="Output", help="Folder of the run. Default: run-RESPONDENT."
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", rich_help_panel="Model", help="Address of the server. Default: the provider's."),
]
ApiName = Annotated[
    Literal["chat", "responses"] | None,
    typer.Option(rich_help_panel="Model", help="OpenAI API to use. Default: depends on the model."),
]
Temperature = Annotated[
    float | None,
    typer.Option(metavar="T", rich_help_panel="Sampling", help="Sampling temperature. Default: the provider's."),
]
TopP = Annotated[
    float | None,
    typer.Option(
        metavar="P", rich_help_panel="Sampling", help="Nucleus sampling probability (top-p). Default: the provider's."
    ),
]
MaxOutputTokens = Annotated[
    int | None,
    typer.Option(
        metavar="N", rich_help_panel="Sampling", help="Maximum length of a reply, in tokens. Default: the provider's."
    ),
]
SamplingSeed = Annotated[
    int | None,
    typer.Option(
        metavar="N", rich_help_panel="Sampling", help="Sampling seed, if the provider supports it. Default: none."
    ),
]
ReasoningEffort = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        rich_help_panel="Sampling",
        help="Reasoning effort, such as low (openai only). Default: the provider's.",
    ),
]
ExtraBody = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        rich_help_panel="Sampling",
        help="JSON object without secrets to add to each request (openai only).",
    ),
]
ImageLimit = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel="Input",
        help="Use only the first N images, alternating between sports. Default: all.",
    ),
]
Controls = Annotated[
    bool,
    typer.Option("--controls", rich_help_panel="Input", help="Include controls: images in which the ball is visible."),
]
Concurrency = Annotated[
    int, typer.Option(min=1, metavar="N", rich_help_panel="Limits and retries", help="Number of parallel requests.")
]
RequestsPerMinute = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        metavar="N",
        rich_help_panel="Limits and retries",
        help="Maximum number of requests per minute. Default: none.",
    ),
]
TokensPerMinute = Annotated[
    float | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel="Limits and retries",
        help="Maximum number of input and output tokens per minute. Default: none.",
    ),
]
MaxRequests = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel="Limits and retries",
        help="Stop after this many requests, including failed ones. Default: none.",
    ),
]
MaxTokens = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", rich_help_panel="Limits and retries", help="Stop after this many tokens. Default: none."
    ),
]
Attempts = Annotated[
    int,
    typer.Option(min=1, metavar="N", rich_help_panel="Limits and retries", help="Number of attempts per request."),
]
Timeout = Annotated[
    float,
    typer.Option(
        min=0.001,
        metavar="SECONDS",
        rich_help_panel="Limits and retries",
        help="Maximum time for one request, in seconds.",
    ),
]
MaxResponse = Annotated[
    float,
    typer.Option(
        "--max-response-mb",
        min=0.001,
        metavar="MB",
        rich_help_panel="Limits and retries",
        help="Maximum response size per request, in megabytes.",
    ),
]
SkipRefused = Annotated[
    bool,
    typer.Option(
        "--skip-refused",
        rich_help_panel="Limits and retries",
        help="List and exclude images that the provider refuses.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", rich_help_panel="Output", help="Show the prompts and estimated cost; send nothing.")
]


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


def sent(tally: RunTally) -> str:
    """Describe how many requests the command sent, and how many tokens they used.

    Examples:
        >>> from spotball_adapters.runs.runner import RunTally
        >>> sent(RunTally(total=9, requests=7, faults=1, input_tokens=90_000, output_tokens=800))
        'sent 7 requests, of which 1 failed; 90,000 tokens in, 800 out'
    """
    tokens = f"{plural(tally.input_tokens, 'token')} in, {tally.output_tokens:,} out"
    return f"sent {plural(tally.requests, 'request')}, of which {tally.faults:,} failed; {tokens}"


def finish(ended: RunResult[Any], summary: str | None, *, quiet: bool) -> None:
    """Report how the run ended, and exit with the corresponding status.

    Args:
        summary: description of the results and of the requests sent; None if there are no replies.
    """
    from spotball_adapters.runs.launch import INTERRUPTED
    from spotball_adapters.runs.runner import StormError

    tell, tally = teller(quiet), ended.tally
    tell(summary or sent(tally))
    left = ended.left
    if ended.excluded:
        # --quiet does not hide excluded and missing replies, because they are errors.
        images = len({question[:2] for question in ended.refused})
        of = plural(images, "image")
        show(f"{ended.excluded:,} replies are excluded: the provider refuses {of}:", err=True)
        for line in _listed(ended.refused):
            show(f"  {line}", err=True)
    if left and (ended.error is None or isinstance(ended.error, StormError)):
        why = ended.error or ended.why or _unanswered(ended)
        show(f"{left:,} of {tally.total:,} replies are missing: {why}", err=True)
        tell("Run the same command again to continue; completed requests are not repeated.")
    elif ended.error:
        tell(
            f"{left:,} of {tally.total:,} replies are missing. Fix the error "
            "and run the same command again to continue."
        )
        raise ended.error
    if ended.why == INTERRUPTED:
        raise typer.Exit(130)
    if left:
        raise typer.Exit(1)


def _unanswered(ended: RunResult[Any]) -> str:
    """Explain why replies are missing although the run was not stopped."""
    parts = []
    if ended.refused and not ended.excluded:
        listed = "; ".join(_listed(ended.refused))
        parts.append(f"the provider refuses {listed}. Add --skip-refused to exclude refused images")
    if given_up := ended.tally.given_up:
        image, fault = next(reversed(given_up.items()))
        more = f" and {len(given_up) - 1:,} more images" if len(given_up) > 1 else ""
        parts.append(f"{image}{more} failed on every attempt; the last error: {fault}")
    return "; ".join(parts)


def _listed(refused: Mapping[Question, str]) -> list[str]:
    """Return one line for each of the first refused images, with its prompts and the provider's message."""
    prompts: dict[str, list[str]] = {}
    for sport, image, prompt in refused:
        prompts.setdefault(f"{sport}/{image}", []).append(prompt)
    messages = {f"{sport}/{image}": message for (sport, image, _), message in refused.items()}
    lines = [f"{name} ({', '.join(of)}): {messages[name]}" for name, of in list(prompts.items())[:SHOWN]]
    return lines + ([f"{len(prompts) - SHOWN:,} more images"] if len(prompts) > SHOWN else [])
