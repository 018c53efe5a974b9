"""Tables and columns of a run's store, with the descriptions that SQLite and the documentation use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spotball_core.service.sqlite_file import Schema, Table
from spotball_core.service.sqlite_store import RUN, RunSessions

PROMPT = "prompt "
"""Prefix of the keys for prompts in a run's identity, such as "prompt base"."""

LATER_SETTINGS: Mapping[str, None] = MappingProxyType({"reasoning_effort": None, "extra_body": None})
"""Settings that the identities of older runs lack, with the values to assume for these runs."""


class Sample:
    """A sample that was requested: the columns that several tables have.

    Attributes:
        sport: the image's sport; `gaze` in runs of `spotball gaze ask`, `judge` in runs of a judge.
        image: the image's id; the stimulus in runs of `spotball gaze ask`, the trial in runs of a judge.
        prompt: the prompt's name.
    """

    sport: str
    image: str
    prompt: str


class Requests:
    """Answered requests. The token counts of a request cover all its replies.

    Attributes:
        request: number of the request, in the order of the answers.
        session: the session that sent it.
        at: time of the answer, UTC.
        latency: seconds from request to answer, for the successful attempt.
        attempt: number of the successful attempt, from 1.
        model: the model's version, as reported by the provider.
        input_tokens: input tokens, as reported by the provider.
        output_tokens: output tokens, as reported by the provider.
        picture: SHA-256 of the image that was sent.
    """

    request: int
    session: int
    at: str
    latency: float
    attempt: int
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    picture: str | None


class Replies(Sample):
    """The unchanged replies.

    Attributes:
        step: index of the message from 0; the last message of a prompt asks for the answer.
        sample: from 1.
        request: number of the request.
        text: the unchanged text.
        finish: why the reply ended: stop, length, filtered, refused, other.
        finish_said: the reason in the provider's words.
    """

    step: int
    sample: int
    request: int
    text: str
    finish: str
    finish_said: str


class Refused(Sample):
    """Images and prompts that the provider refused twice. A later answer deletes the entry.

    Attributes:
        session: the session of the last refusal.
        at: time of the last refusal, UTC.
        message: the provider's message.
    """

    session: int
    at: str
    message: str


class Parsed(Sample):
    """The last parsed result of each sample's reply. `spotball parse` replaces it.

    Attributes:
        sample: from 1.
        cell: the cell's label; null if unparsed.
        problem: why the reply is unparsed.
    """

    sample: int
    cell: str | None
    problem: str | None


class Sessions(RunSessions):
    """One row per start of `spotball run` or `spotball gaze ask`.

    Attributes:
        options: options that may differ between sessions, as JSON.
    """

    options: str


SCHEMA = Schema(
    version=2,
    tables=(
        RUN,
        Table(Sessions, ("session",)),
        Table(Requests, ("request",)),
        Table(Replies, ("sport", "image", "prompt", "step", "sample")),
        Table(Refused, ("sport", "image", "prompt")),
        Table(Parsed, ("sport", "image", "prompt", "sample")),
    ),
    start_over="use another folder with --out; all requests are then sent and paid for again",
)
