"""Replies become trials: by templates, by the run's judge, by what people decide; the rest counts as wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_adapters.gaze.judge import read_judged
from spotball_adapters.gaze.manual import MANUAL, Decisions, read_decisions, write_queue
from spotball_adapters.gaze.replies import REPLIES, Asked, GazeReply, read_replies, write_replies
from spotball_adapters.gaze.templates import Match, match
from spotball_adapters.runs.store import ReplyStore
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import Trial, make_trials, write_trials

TRIALS = "trials.csv"
"""The file of a run with its trials."""


@dataclass(frozen=True)
class MatchedReplies:
    """What matching came to.

    Attributes:
        replies: how many there are.
        how: how many were matched in each way.
        problems: how many were not, for each reason.
        queued: how many are left for people to decide.
        trials: the file of trials; None where there are no replies.
    """

    replies: int
    how: Mapping[str, int]
    problems: Mapping[str, int]
    queued: int
    trials: Path | None


def unresolved(replies: Sequence[GazeReply]) -> list[GazeReply]:
    """Those that say something, and that no template matches."""
    return [
        reply
        for reply in replies
        if reply.text.strip() and match(reply.text, reply.options, finish=reply.finish).choice is None
    ]


def write_matches(store: ReplyStore, *, filled_in: Path | None = None) -> MatchedReplies:
    """Match all replies of a run with what is known by now, and write its replies, trials and what is left to decide.

    Args:
        store: of the run.
        filled_in: a copy of the run's queue that somebody filled in.

    Raises:
        InputError: for a queue that is filled in with something else than options.
        OptionError: if the run is not about gaze.
    """
    run, identity = store.folder, store.identity()
    stimuli, replies = read_replies(store)
    if not replies:
        return MatchedReplies(0, {}, {}, 0, None)
    by_trial = {reply.asked: reply for reply in replies}
    decided: dict[Asked, str | None] = {}
    for path in (run / MANUAL, filled_in):
        if path is not None and (path == filled_in or path.exists()):
            decided |= read_decisions(path, by_trial)
    judged = read_judged(run, replies)
    resolved = [(reply, _resolved(reply, judged, decided)) for reply in replies]
    write_replies(resolved, run / REPLIES)
    queued = write_queue(resolved, decided, run / MANUAL)
    _write_trials(resolved, stimuli, identity["respondent"], run / TRIALS)
    how = Counter(found.how for _, found in resolved if found.how)
    problems = Counter(found.problem for _, found in resolved if found.problem)
    return MatchedReplies(len(replies), dict(how.most_common()), dict(problems.most_common()), queued, run / TRIALS)


def _resolved(reply: GazeReply, judged: Mapping[Asked, str | None], decided: Decisions) -> Match:
    found = match(reply.text, reply.options, finish=reply.finish)
    if found.choice is not None:
        return found
    if (option := judged.get(reply.asked)) is not None:
        return Match(option, "judge", None)
    if reply.asked in decided:
        option = decided[reply.asked]
        return Match(option, "manual", None) if option is not None else Match(None, None, "not recognizable")
    return found


def _write_trials(
    resolved: Sequence[tuple[GazeReply, Match]], stimuli: Sequence[Stimulus], respondent: str, path: Path
) -> None:
    again = any(reply.sample > 1 for reply, _ in resolved)
    trials = [
        Trial(
            respondent=respondent,
            stimulus_id=reply.stimulus_id,
            prompt_id=reply.prompt,
            choice=found.choice,
            sample=reply.sample if again else None,
        )
        for reply, found in resolved
    ]
    write_trials(make_trials(trials, stimuli), path)
