"""`spotball gaze match`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spotball_adapters.cli.asking import Attempts, Concurrency, silence_retries
from spotball_adapters.cli.run_end import finish, sent
from spotball_core.cli.console import teller
from spotball_core.cli.options import Debug, Quiet
from spotball_core.errors import OptionError
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.gaze.matching import MatchedReplies
    from spotball_adapters.runs.launch import RunResult
    from spotball_adapters.runs.store import ReplyStore


def match(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of `spotball gaze ask`.")],
    judge_provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel="Judge",
            help="Let a model of this provider match the replies that no template matches.",
        ),
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel="Judge", help="Name of the model at the judge's provider."),
    ] = None,
    judge_base_url: Annotated[
        str | None,
        typer.Option(metavar="URL", rich_help_panel="Judge", help="Address of the server. Default: the provider's."),
    ] = None,
    judge_temperature: Annotated[
        float | None,
        typer.Option(metavar="T", rich_help_panel="Judge", help="Sampling temperature. Default: the provider's."),
    ] = None,
    manual: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel="Input",
            help="Copy of RUN/manual.csv in which you filled in the choices. Default: RUN/manual.csv.",
        ),
    ] = None,
    concurrency: Concurrency = 8,
    attempts: Attempts = 12,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Match the stored replies of a run to the answer options again, and rewrite the files of the run.

    Example: `spotball gaze match run-gpt-4o --judge-provider openai --judge-model gpt-4.1-mini`

    Writes replies.jsonl, trials.csv and manual.csv. Text templates are tried first, then the judge model (if this run
    has one), then your choices in RUN/manual.csv: the letter or name of an option, or `none`. A reply without a match
    counts as wrong.
    """
    from spotball_adapters.gaze.matching import write_matches
    from spotball_adapters.runs.store import STORE, ReplyStore

    if not (run / STORE).is_file():
        raise OptionError(
            f"{run} is not the folder of a run: it has no {STORE}. Name the --out folder of `spotball gaze ask`",
            code="wrong-folder",
        )
    if (judge_provider is None) != (judge_model is None):
        raise OptionError(
            "a judge needs both --judge-provider and --judge-model. Add the other one", code="missing-option"
        )
    with ReplyStore(run) as store:
        judged = None
        if judge_provider is not None and judge_model is not None:
            judged = _judge(
                store, (judge_provider, judge_model, judge_base_url, judge_temperature), (concurrency, attempts), quiet
            )
        matched = write_matches(store, filled_in=manual)
    if judged:
        summaries = [sent(judged.tally), summary(matched)]
        finish(judged, "\n".join(filter(None, summaries)), quiet=quiet)
    else:
        teller(quiet)(summary(matched) or f"{run} contains no replies")


def _judge(
    store: ReplyStore, judge: tuple[str, str, str | None, float | None], limits: tuple[int, int], quiet: bool
) -> RunResult[None]:
    from spotball_adapters.gaze.judge import JUDGE, judge_job
    from spotball_adapters.gaze.matching import unresolved
    from spotball_adapters.gaze.replies import read_replies
    from spotball_adapters.providers.find import find
    from spotball_adapters.providers.protocol import Access, Settings
    from spotball_adapters.runs.launch import launch
    from spotball_adapters.runs.runner import Options

    provider, model, base_url, temperature = judge
    concurrency, attempts = limits
    settings = Settings(temperature=temperature)
    model_provider = find(provider, Access(model, base_url=base_url, concurrency=concurrency))
    model_provider.check(settings)
    _, replies = read_replies(store)
    job = judge_job(store.folder, unresolved(replies), model_provider, base_url, settings)
    silence_retries()
    # Replies that the judge's provider refuses remain for people to decide.
    options = Options(concurrency=concurrency, attempts=attempts, skip_refused=True)
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
