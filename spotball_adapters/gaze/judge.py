"""Let a model, the judge, decide which option a reply chooses if the templates cannot determine it.

The judge does not see the photo. The runner queries the judge in a second run, whose folder is inside the folder of the
gaze run. The judge's answers are stored there and not requested again.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

from spotball_adapters.gaze.options import letters, lines
from spotball_adapters.gaze.prompts import Wording
from spotball_adapters.gaze.replies import GazeReply, TrialKey
from spotball_adapters.gaze.templates import match
from spotball_adapters.providers.protocol import Message, Provider, Settings
from spotball_adapters.runs.job import RunJob
from spotball_adapters.runs.store import STORE, ReplyStore
from spotball_core.errors import OptionError

JUDGE = "judge"
"""Name of the judge's subfolder in the run's folder, and of the judge's prompt."""

NONE = "none of these"
"""The judge's last option, for replies that choose none of the listed objects."""

_PLACEHOLDER = re.compile(r"\{(options|letters|reply)\}")


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A reply in which the templates recognize no choice, so that the judge is asked about it."""

    reply: GazeReply

    @property
    def key(self) -> tuple[str, str]:
        """Return the name of the judge's task, and the trial's key as JSON."""
        return JUDGE, json.dumps(self.reply.trial_key)


@dataclass(frozen=True, slots=True)
class JudgePrompt(Wording):
    """The judge's prompt about a reply."""

    def last(self, item: Unresolved, sample: int, answers: Sequence[str] = ()) -> tuple[Message, ...]:
        """Return the prompt's only message, with the options and the reply to judge."""
        options = _offered(item.reply)
        filled = {"options": lines(options), "letters": ", ".join(letters(options)), "reply": item.reply.text}
        return (Message("user", _PLACEHOLDER.sub(lambda match: filled[match[1]], self.text)),)


@dataclass(frozen=True)
class JudgeJob(RunJob[Unresolved]):
    """A run inside a gaze run, in which the judge decides which options the gaze run's replies choose."""

    kept_file: ClassVar[str] = STORE
    without_pictures: ClassVar[tuple[str, ...]] = ()

    def pictures(self, cache: Path | None) -> None:
        """Return None, because the judge sees no images."""

    def size(self, item: Unresolved) -> tuple[int, int]:
        """Return (0, 0), because the judge sees no images."""
        return 0, 0

    def about(self) -> Mapping[str, Any]:
        """Return an empty mapping, because the set of replies to judge changes when the gaze run gets new replies."""
        return {}

    def keep(self, out: Path) -> None:
        """Do nothing, because the replies are already in the enclosing run."""


def judge_job(
    run: Path, unresolved: Sequence[GazeReply], provider: Provider, base_url: str | None, settings: Settings
) -> JudgeJob:
    """Return a job that asks the judge once about each unresolved reply.

    Args:
        run: the folder of the gaze run.

    Raises:
        OptionError: if the run already has a judge with another model or other settings.
    """
    items = tuple(Unresolved(reply) for reply in unresolved)
    job = JudgeJob(items, ((judge_prompt(), 1),), provider, base_url, settings, provider.model)
    if (run / JUDGE / STORE).exists():
        with ReplyStore(run / JUDGE) as store:
            before = store.identity()
        now = job.identity()
        if differing := [name for name, value in before.items() if now.get(name) != value]:
            raise OptionError(
                f"this run already has the judge {before['provider']} {before['model']}, and these settings "
                f"differ: {', '.join(differing)}. To replace the judge, remove {run / JUDGE}",
                code="different-settings",
                file=run,
            )
    return job


def read_judged(run: Path, replies: Sequence[GazeReply]) -> dict[TrialKey, str | None]:
    """Return the judge's choice for each reply that the judge answered about: an option, or None if it chose no
    option.
    """
    if not (run / JUDGE / STORE).exists():
        return {}
    with ReplyStore(run / JUDGE) as store:
        answers = {key: (text, finish) for _, key, _, text, finish in store.finals(JUDGE, 0)}
    choices: dict[TrialKey, str | None] = {}
    for reply in replies:
        if answer := answers.get(json.dumps(reply.trial_key)):
            choice = match(answer[0], _offered(reply), finish=answer[1]).choice
            choices[reply.trial_key] = choice if choice in reply.options else None
    return choices


@cache
def judge_prompt() -> JudgePrompt:
    """Return the judge's prompt."""
    path = files("spotball_adapters").joinpath("gaze", "prompt_texts", "judge.toml")
    fields = tomllib.loads(path.read_text(encoding="utf-8"))
    return JudgePrompt(fields["name"], fields["version"], fields["text"])


def _offered(reply: GazeReply) -> tuple[str, ...]:
    return (*reply.options, NONE)
