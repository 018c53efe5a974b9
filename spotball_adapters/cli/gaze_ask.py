"""`spotball gaze ask`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spotball_adapters.cli.asking import (
    MODEL,
    Limit,
    Limits,
    RunFolder,
    Sampling,
    Server,
    ask_all,
    check_api,
    run_folder,
    silence_retries,
)
from spotball_adapters.cli.run_end import finish, gaze_end, sent
from spotball_core.cli.console import teller, teller_of_problems
from spotball_core.cli.help import option
from spotball_core.cli.options import Debug, DryRun, Photos, Quiet, Respondent, with_groups
from spotball_core.errors import OptionError
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.gaze.matching import MatchedReplies
    from spotball_adapters.runs.launch import RunResult
    from spotball_adapters.runs.store import ReplyStore


@with_groups
def ask(
    stimuli: Annotated[
        Path,
        typer.Argument(
            metavar="STIMULI",
            help="stimuli.csv or its folder (see `spotball gaze stimuli`); or the folder of a run, to match its "
            "replies again.",
        ),
    ],
    *,
    images: Photos = None,
    server: Server,
    judge: Annotated[
        tuple[str, str] | None,
        option(MODEL, "NAME MODEL", "Provider and model that match the replies that no template matches."),
    ] = None,
    judge_base_url: Annotated[str | None, option(MODEL, "URL", "Address of the judge's server.")] = None,
    out: RunFolder = None,
    prompt: Annotated[str, option("Input", "NAMES", "Prompts, by commas: main, pilot, pre-pilot, or files.")] = "main",
    samples: Annotated[int, option("Input", "N", "Samples per image.", min=1)] = 1,
    size: Annotated[int, option("Advanced", "N", "Pixels per side to which larger photos are reduced.", min=1)] = 448,
    order_seed: Annotated[int, option("Advanced", "N", "Seed for the order of the answer options.", min=0)] = 0,
    sampling: Sampling,
    respondent: Respondent = None,
    limit: Limit = None,
    checks: Annotated[bool, option("Input", None, "Include the photos that are attention checks.", "--checks")] = False,
    limits: Limits,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Ask a model where the person in each photo looks, and match its replies to the objects.

    Example: `spotball gaze ask photos --provider openai --model gpt-4o --limit 3 --dry-run`

    Writes replies.jsonl, trials.csv, and manual.csv, in which you can enter choices for unmatched replies. To continue
    an interrupted run, or to add prompts, samples or photos, run the command again: completed requests are not
    repeated. Set the API key in the environment, such as OPENAI_API_KEY. Exit status 1 if replies are missing.
    """
    from spotball_adapters.gaze.job import GazeJob
    from spotball_adapters.gaze.matching import write_matches
    from spotball_adapters.gaze.photos import Photo
    from spotball_adapters.gaze.prompts import load_prompts
    from spotball_adapters.providers.protocol import Access, find
    from spotball_adapters.runs.plan import limited
    from spotball_adapters.runs.store import STORE
    from spotball_core.gaze.data.stimuli import read_stimuli
    from spotball_core.service.paths import folder_of

    if (stimuli / STORE).is_file():
        if server.provider is not None or server.model is not None:
            raise OptionError(
                f"{stimuli} is the folder of a run, whose replies are matched again without asking. Remove --provider "
                "and --model, or name the stimuli",
                code="conflicting-options",
            )
        match_again(stimuli, judge, judge_base_url, limits, quiet)
        return
    if server.provider is None or server.model is None:
        raise OptionError("add --provider NAME and --model NAME", code="missing-option")
    all_stimuli = read_stimuli(stimuli, on_assumed=teller_of_problems(quiet))
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
        images=images or folder_of(stimuli),
        side=size,
        order_seed=order_seed,
    )
    out = run_folder(out, job.respondent)
    ended = ask_all(job, out, limits.options(), write_matches, unit="photos read", dry_run=dry_run, quiet=quiet)
    finish(ended, gaze_end(ended), quiet=quiet)
    if judge is not None:
        match_again(out, judge, judge_base_url, limits, quiet)


def match_again(run: Path, judge: tuple[str, str] | None, base_url: str | None, limits: Limits, quiet: bool) -> None:
    """Match the stored replies of a run to the options again, after asking a judge about unmatched ones, if it is set.

    Args:
        run: the folder of the run.
        judge: provider and model of the judge.
        base_url: the address of the judge's server.
        limits: limits of the requests to the judge, of which `concurrency` and `attempts` are used.
        quiet: whether to print only errors.
    """
    from spotball_adapters.gaze.matching import write_matches
    from spotball_adapters.runs.store import ReplyStore

    with ReplyStore(run) as store:
        judged = _judged(store, *judge, base_url, limits, quiet) if judge else None
        matched = write_matches(store)
    if judged:
        summaries = [sent(judged.tally), summary(matched)]
        finish(judged, "\n".join(filter(None, summaries)), quiet=quiet)
    else:
        teller(quiet)(summary(matched) or f"{run} contains no replies")


def _judged(
    store: ReplyStore, provider: str, model: str, base_url: str | None, limits: Limits, quiet: bool
) -> RunResult[None]:
    from spotball_adapters.gaze.judge import JUDGE, judge_job
    from spotball_adapters.gaze.matching import unresolved
    from spotball_adapters.gaze.replies import read_replies
    from spotball_adapters.providers.protocol import Access, Settings, find
    from spotball_adapters.runs.launch import launch
    from spotball_adapters.runs.runner import Options

    settings = Settings()
    model_provider = find(provider, Access(model, base_url=base_url, concurrency=limits.concurrency))
    model_provider.check(settings)
    _, replies = read_replies(store)
    job = judge_job(store.folder, unresolved(replies), model_provider, base_url, settings)
    silence_retries()
    # Replies that the judge's provider refuses remain for people to decide.
    options = Options(concurrency=limits.concurrency, attempts=limits.attempts, skip_refused=True)
    return launch(job, store.folder / JUDGE, options, lambda _: None, quiet=quiet)


def summary(matched: MatchedReplies) -> str | None:
    """Return a text with the number of matched replies by method, and of unmatched replies by reason.

    Returns None if no trials were written.

    Examples:
        >>> from spotball_adapters.gaze.matching import MatchedReplies
        >>> print(summary(MatchedReplies(9, {"letter": 6, "judge": 1}, {"denied": 2}, 2, Path("run/trials.csv"))))
        run/trials.csv: 9 replies, 7 matched (letter 6, judge 1), 2 unmatched (denied 2), which count as wrong
        run/manual.csv: 2 replies to match by hand
    """
    if matched.trials is None:
        return None
    ways = f"{sum(matched.how.values()):,} matched{_counts(matched.how)}"
    lost = sum(matched.problems.values())
    unmatched = f", {lost:,} unmatched{_counts(matched.problems)}, which count as wrong" if lost else ""
    text = f"{matched.trials}: {plural(matched.replies, 'reply')}, {ways}{unmatched}"
    if matched.queued:
        text += f"\n{matched.trials.with_name('manual.csv')}: {plural(matched.queued, 'reply')} to match by hand"
    return text


def _counts(numbers: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{name} {n:,}' for name, n in numbers.items())})" if numbers else ""
