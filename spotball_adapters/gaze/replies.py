"""Read the replies of a gaze run with the options that each trial listed, and write them with the matched choices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from spotball_adapters.gaze.job import ORDER, ORDER_SEED
from spotball_adapters.gaze.options import ORDER_VERSION, shuffled
from spotball_adapters.gaze.photos import TASK
from spotball_adapters.gaze.templates import Match
from spotball_adapters.providers.protocol import Finish
from spotball_adapters.runs.store import ReplyStore
from spotball_adapters.runs.store_schema import PROMPT
from spotball_core.errors import OptionError
from spotball_core.gaze.data.stimuli import Stimulus, read_stimuli
from spotball_core.service.files import replacing

REPLIES = "replies.jsonl"
"""Name of the file in a run's folder that contains the replies and the options matched to them."""

TrialKey = tuple[str, str, int]
"""Identifies a trial: stimulus, prompt and sample."""


@dataclass(frozen=True, slots=True)
class GazeReply:
    """The reply in one trial.

    Attributes:
        options: the objects in the order in which the trial listed them, from A.
        text: the reply's unchanged text.
        finish: why the reply ended, for example `stop` or `length`.
    """

    stimulus_id: str
    prompt: str
    sample: int
    options: tuple[str, ...]
    text: str
    finish: Finish

    @property
    def trial_key(self) -> TrialKey:
        """Return the key that identifies the trial: stimulus, prompt and sample."""
        return self.stimulus_id, self.prompt, self.sample


def read_replies(store: ReplyStore) -> tuple[tuple[Stimulus, ...], list[GazeReply]]:
    """Return a run's stimuli, and all its replies, sorted by prompt (in the run's order), then by stimulus.

    Raises:
        OptionError: if the run is a Spot the Ball run, or if its options were ordered by another version of the method;
            see `options.ORDER_VERSION`.
    """
    identity = store.identity()
    if ORDER not in identity:
        raise OptionError(
            f"{store.folder} contains no gaze run. For runs of Spot the Ball, use `spotball parse`",
            code="wrong-folder",
        )
    if identity[ORDER] != ORDER_VERSION:
        raise OptionError(
            f"this run ordered the options by version {identity[ORDER]} of the rule, but this version "
            f"of spotball-core knows only version {ORDER_VERSION}. Use the version of spotball-core that made the run",
            code="different-settings",
            file=store.folder,
        )
    stimuli = read_stimuli(store.folder)
    by_id = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
    return stimuli, [
        GazeReply(
            stimulus_id,
            prompt,
            sample,
            shuffled(
                by_id[stimulus_id].objects,
                seed=identity[ORDER_SEED],
                stimulus_id=stimulus_id,
                prompt=prompt,
                sample=sample,
            ),
            text,
            finish,
        )
        for prompt in _prompts(identity)
        for task, stimulus_id, sample, text, finish in store.finals(prompt, 0)
        if task == TASK
    ]


def write_replies(replies: Iterable[tuple[GazeReply, Match]], path: Path) -> None:
    """Write replies with their matches as JSON Lines. The file is written completely or not at all."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        for reply, matched in replies:
            row = {
                "stimulus_id": reply.stimulus_id,
                "prompt_id": reply.prompt,
                "sample": reply.sample,
                "options": reply.options,
                "reply": reply.text,
                "finish": reply.finish,
                "choice": matched.choice,
                "how": matched.how,
                "problem": matched.problem,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _prompts(identity: Iterable[str]) -> Iterator[str]:
    return (name.removeprefix(PROMPT) for name in identity if name.startswith(PROMPT))
