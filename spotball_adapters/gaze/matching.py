"""Match replies to options by templates, the judge or manual choices, and write the trials.

Unmatched replies count as wrong.

Unmatched replies are also written to `manual.csv`, in which a person enters the choices. Rows whose `choice` is filled
in are kept, and every later matching uses them.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_adapters.gaze.judge import read_judged
from spotball_adapters.gaze.options import letters
from spotball_adapters.gaze.replies import REPLIES, GazeReply, TrialKey, read_replies, write_replies
from spotball_adapters.gaze.templates import Match, match
from spotball_adapters.runs.store import ReplyStore
from spotball_core.errors import InputError, Problem
from spotball_core.gaze.data.rows import Rows
from spotball_core.gaze.data.stimuli import Stimulus
from spotball_core.gaze.data.trials import TRIALS, Trial, make_trials, write_trials
from spotball_core.service.files import replacing
from spotball_core.service.safe_text import csv_cells

MANUAL = "manual.csv"
"""Name of the file for manual matching in the run's folder."""

NO_CHOICE = "none"
"""The value of `choice` that a person enters if no option can be recognized in the reply."""

COLUMNS = ("stimulus_id", "prompt_id", "sample", "options", "reply", "problem", "choice")

Decisions = Mapping[TrialKey, str | None]
"""Manual choices by trial: an option, or None if no option can be recognized."""


def read_decisions(path: Path, replies: Mapping[TrialKey, GazeReply]) -> dict[TrialKey, str | None]:
    """Return the filled-in choices by trial: an option, or None if the file says `none`.

    A choice is filled in as an option's name or letter, or `none`.

    Args:
        replies: the replies of the run.

    Raises:
        InputError: if the file cannot be read, a column is missing, a trial is not in the run or has two rows, or a
            choice is not an option. The error names the file, the line, the field, the value found and the value
            expected.
    """
    rows = Rows(path)
    rows.need(("stimulus_id", "prompt_id", "sample", "choice"))
    faults: list[tuple[int, str, str, str]] = []
    decided: dict[TrialKey, str | None] = {}
    seen: set[TrialKey] = set()
    columns = ("_record", "stimulus_id", "prompt_id", "sample", "choice")
    for record, stimulus_id, prompt, sample, choice in rows.frame.select(columns).iter_rows():
        trial_key = (stimulus_id or "", prompt or "", int(sample) if (sample or "").isdecimal() else 0)
        reply = replies.get(trial_key)
        if reply is None or trial_key in seen:
            reason = "a second row for the trial" if reply else "a trial that the run does not contain:"
            actual = f"{reason} {stimulus_id}, {prompt}, sample {sample}"
            faults.append((record, "stimulus_id", actual, "one row per trial of the run"))
            continue
        seen.add(trial_key)
        if choice is None:
            continue
        option = _option(choice, reply.options)
        if option is None and choice.casefold() != NO_CHOICE:
            offered = ", ".join(
                f"{letter} or {name}" for letter, name in zip(letters(reply.options), reply.options, strict=True)
            )
            faults.append((record, "choice", repr(choice), f"{offered}, or {NO_CHOICE}"))
        decided[trial_key] = option
    if faults:
        lines = rows.lines([record for record, *_ in faults])
        raise InputError(
            Problem("invalid-value", str(path), lines[record], field, actual, expected)
            for record, field, actual, expected in faults
        )
    return decided


def write_queue(resolved: Sequence[tuple[GazeReply, Match]], decided: Decisions, path: Path) -> int:
    """Write the unmatched and the manually matched replies to a CSV file, or delete the file if there are none.

    Returns:
        The number of replies in the file whose choice is still empty.
    """
    rows = [*_rows(resolved, decided)]
    if not rows:
        path.unlink(missing_ok=True)
        return 0
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(dict(zip(row, csv_cells(row.values()), strict=True)) for row in rows)
    return sum(not row["choice"] for row in rows)


def _rows(resolved: Sequence[tuple[GazeReply, Match]], decided: Decisions) -> Iterable[dict[str, str]]:
    for reply, matched in resolved:
        if reply.trial_key not in decided and matched.choice is not None:
            continue
        options = zip(letters(reply.options), reply.options, strict=True)
        yield {
            "stimulus_id": reply.stimulus_id,
            "prompt_id": reply.prompt,
            "sample": str(reply.sample),
            "options": " | ".join(f"{letter}. {option}" for letter, option in options),
            "reply": reply.text,
            "problem": matched.problem or "",
            "choice": (decided[reply.trial_key] or NO_CHOICE) if reply.trial_key in decided else "",
        }


def _option(filled_in: str, options: Sequence[str]) -> str | None:
    """Return the option with this name or letter, or None."""
    for option in options:
        if option.casefold() == filled_in.casefold():
            return option
    place = letters(options).find(filled_in.upper())
    return options[place] if len(filled_in) == 1 and place >= 0 else None


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
