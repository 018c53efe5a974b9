"""`spotball run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spotball_adapters.cli.asking import (
    DEFAULT_PROMPTS,
    LIMITS,
    MODEL,
    FileFormat,
    Limits,
    Parsing,
    RunFolder,
    Sampling,
    Selection,
    Server,
    ask_all,
    check_api,
    prompts_of,
    run_folder,
)
from spotball_adapters.cli.run_end import finish, run_end
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, DryRun, Quiet, Respondent, with_groups
from spotball_core.errors import OptionError, unknown_name
from spotball_core.service.safe_text import show

if TYPE_CHECKING:
    from spotball_adapters.prompts.prompt import Prompt
    from spotball_adapters.providers.protocol import Settings
    from spotball_adapters.runs.launch import RunResult
    from spotball_adapters.runs.responses import ParsedReplies
    from spotball_core.schema.scene import Scene


@with_groups
def run(
    dataset: Annotated[Path, typer.Argument(metavar="DATASET", help="Dataset folder, with scenes.jsonl and images.")],
    *,
    server: Server,
    preset: Annotated[
        str | None, option(MODEL, "NAME", "Model from the paper with its settings: gemini, gpt, llama, qwen.")
    ] = None,
    out: RunFolder = None,
    selection: Selection,
    limits: Limits,
    until: Annotated[
        str | None,
        option(LIMITS, "RULE", "Stop as soon as this holds, such as 'ci(accuracy) < 3' (±3 points)."),
    ] = None,
    adaptive: Annotated[
        str | None,
        option(LIMITS, "METRIC", "Ask more often where answers differ most; --samples is then the mean."),
    ] = None,
    sampling: Sampling,
    respondent: Respondent = None,
    format: FileFormat = "jsonl",
    parsing: Parsing,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Ask a model about every image of a dataset, and store every reply.

    Example: `spotball run data --provider openai --model gpt-4.1 --limit 3 --dry-run`

    RUN is a dataset for `spotball score`. To resume, repeat the command; you can add samples, prompts and images. Set
    an API key such as OPENAI_API_KEY. Exit status 1 if replies are missing.
    """
    from spotball_adapters.prompts.prompt import BUILT_IN
    from spotball_adapters.providers.protocol import Access, find
    from spotball_adapters.runs.adaptive import Rounds, adaptive_metric
    from spotball_adapters.runs.job import SceneJob
    from spotball_adapters.runs.responses import export
    from spotball_adapters.runs.runner import RunTally
    from spotball_adapters.runs.until import Until, ask_until, shuffled
    from spotball_core.io.dataset import SCENES
    from spotball_core.io.scenes import read_scenes

    policy = parsing.policy()
    scenes = read_scenes(dataset / SCENES)
    selected = selection.selected(scenes, dataset)
    named = _named(preset, server, selection, respondent, sampling.settings())
    if parsing.answer != "cell" and any(asked.name in BUILT_IN for asked, _ in named.prompts):
        raise OptionError(
            f"the prompts of the paper ask for a cell. Use a prompt file that asks for a {parsing.answer}",
            code="conflicting-options",
            field="--prompt",
        )
    access = Access(
        named.model,
        base_url=server.base_url,
        scenes=scenes,
        concurrency=limits.concurrency,
        timeout=limits.timeout,
        max_response=int(limits.max_response_mb * 1e6),
        api=server.api,
    )
    check_api(server.api, named.provider)
    out, spent = run_folder(out, named.respondent), [RunTally(total=0)]

    def ask(
        items: tuple[Scene, ...], by_image: Mapping[tuple[str, str], int] = MappingProxyType({})
    ) -> RunResult[tuple[ParsedReplies, Path | None]]:
        model_provider = find(named.provider, access)
        model_provider.check(named.settings)
        job = SceneJob(
            items,
            named.prompts,
            model_provider,
            server.base_url,
            named.settings,
            named.respondent,
            dataset=dataset,
            scenes=scenes,
            by_image=by_image,
        )
        # The limits of requests and tokens are for all steps of a run together.
        options = replace(limits.options(), requests_before=spent[-1].requests, tokens_before=spent[-1].tokens)
        ended = ask_all(
            *(job, out, options, lambda store: export(store, scenes, out, format, policy, adaptive=bool(by_image))),
            unit="images prepared",
            dry_run=dry_run,
            quiet=quiet,
        )
        spent.append(spent[-1] + ended.tally)
        return ended

    lines: list[str] = []
    if adaptive is not None:
        if until is not None:
            raise OptionError("found --until as well. Remove one", code="conflicting-options", field="--adaptive")
        metric, ((_, samples), *_) = adaptive_metric(adaptive, len(named.prompts)), named.prompts
        rounds = Rounds(metric, selected, samples)
        ended, lines = (ask(selected), lines) if dry_run else rounds.ask(lambda by_image: ask(selected, by_image))
    elif until is not None:
        rule = Until.parsed(until, selected)
        ended, lines = ask_until(rule, shuffled(selected), ask, batch=limits.concurrency, whole=dry_run)
    else:
        ended = ask(selected)
    finish(ended, run_end(ended), quiet=quiet)
    for line in lines:
        show(line)


@dataclass(frozen=True)
class _Named:
    """Settings of a preset, with the options of the command, which override the preset."""

    provider: str
    model: str
    prompts: tuple[tuple[Prompt, int], ...]
    respondent: str
    settings: Settings


def _named(
    preset: str | None, server: Server, selection: Selection, respondent: str | None, settings: Settings
) -> _Named:
    from spotball_adapters.providers.presets import PRESETS
    from spotball_adapters.providers.protocol import Settings

    provider, model, prompt, samples = server.provider, server.model, selection.prompt, selection.samples
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
