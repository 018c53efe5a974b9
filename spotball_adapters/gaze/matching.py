"""Match replies to options by templates, the judge or manual choices, and write the trials.

Unmatched replies count as wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_adapters.gaze.judge import read_judged
from spotball_adapters.gaze.manual import MANUAL, Decisions, read_decisions, write_queue
from spotball_adapters.gaze.replies import REPLIES, GazeReply, TrialKey, read_replies, write_replies
from spotball_adapters.gaze.templates import Match, match
from spotball_adapters.runs.store import ReplyStore
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import TRIALS, Trial, make_trials, write_trials


@dataclass(frozen=True)
class MatchedReplies:
    """The result of matching a run's replies to options.

    Attributes:
        replies: number of replies.
        how: number of matched replies by method: `letter`, `name`, `judge` or `manual`.
        problems: number of unmatched replies by reason; see `templates.PROBLEMS`.
        queued: number of replies that remain for manual matching.
        trials: path of the file of trials, or None if the run has no replies.
    """

    replies: int
    how: Mapping[str, int]
    problems: Mapping[str, int]
    queued: int
    trials: Path | None


def unresolved(replies: Sequence[GazeReply]) -> list[GazeReply]:
    """Return the replies that contain text, but whose choice the templates cannot recognize."""
    return [
        reply
        for reply in replies
        if reply.text.strip() and match(reply.text, reply.options, finish=reply.finish).choice is None
    ]


def write_matches(store: ReplyStore) -> MatchedReplies:
    """Match all replies of a run by templates, the judge's answers and manual choices.

    Write the matched replies, the trials, and the file for manual matching into the run's folder.

    Args:
        store: the store of the run.

    Raises:
        InputError: if the file for manual matching is invalid, for example if it contains choices that are not options.
        OptionError: if the run is not a gaze run.
    """
    run, identity = store.folder, store.identity()
    stimuli, replies = read_replies(store)
    if not replies:
        return MatchedReplies(0, {}, {}, 0, None)
    by_trial = {reply.trial_key: reply for reply in replies}
    decided = read_decisions(run / MANUAL, by_trial) if (run / MANUAL).exists() else {}
    judged = read_judged(run, replies)
    resolved = [(reply, _resolved(reply, judged, decided)) for reply in replies]
    write_replies(resolved, run / REPLIES)
    queued = write_queue(resolved, decided, run / MANUAL)
    _write_trials(resolved, stimuli, identity["respondent"], run / TRIALS)
    how = Counter(matched.how for _, matched in resolved if matched.how)
    problems = Counter(matched.problem for _, matched in resolved if matched.problem)
    return MatchedReplies(len(replies), dict(how.most_common()), dict(problems.most_common()), queued, run / TRIALS)


def _resolved(reply: GazeReply, judged: Mapping[TrialKey, str | None], decided: Decisions) -> Match:
    matched = match(reply.text, reply.options, finish=reply.finish)
    if matched.choice is not None:
        return matched
    if (option := judged.get(reply.trial_key)) is not None:
        return Match(option, "judge", None)
    if reply.trial_key in decided:
        option = decided[reply.trial_key]
        return Match(option, "manual", None) if option is not None else Match(None, None, "not recognizable")
    return matched


def _write_trials(
    resolved: Sequence[tuple[GazeReply, Match]], stimuli: Sequence[Stimulus], respondent: str, path: Path
) -> None:
    repeated = any(reply.sample > 1 for reply, _ in resolved)
    trials = [
        Trial(
            respondent=respondent,
            stimulus_id=reply.stimulus_id,
            prompt_id=reply.prompt,
            choice=matched.choice,
            sample=reply.sample if repeated else None,
        )
        for reply, matched in resolved
    ]
    write_trials(make_trials(trials, stimuli), path)
