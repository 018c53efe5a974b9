"""What a provider is: something that is shown a picture, asked, and replies.

A provider asks once and says what came of it. Whether to ask again, how many at a time and what to keep is the
runner's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from spotball_core.errors import SpotballError
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    from spotball_core.gaze.data.stimuli import Stimulus

ENTRY_POINTS = "spotball.providers"
"""The entry point group in which providers are found: a name, and a `ProviderFactory`."""

MAX_RESPONSE = 20_000_000
"""Bytes that the response to one request may have, unless the user sets another limit."""

Api = Literal["chat", "responses"]
"""Chat completions, or the Responses API."""

Finish = Literal["stop", "length", "filtered", "refused", "other"]
"""Why a reply ended: it was complete, cut off, withheld by a filter, declined by the model, or something else."""


class RunItem(Protocol):
    """What is asked about: a scene, a photo."""

    @property
    def key(self) -> tuple[str, str]:
        """What it is one of, such as its sport, and its id there."""
        ...


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image, as it is sent."""

    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation; the picture goes with it, before its text, if `picture` is set."""

    role: Literal["system", "user", "assistant"]
    text: str
    picture: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model samples. What is None is left to the provider's default, and not sent.

    Attributes:
        reasoning_effort: how long a reasoning model reasons, in the server's words, such as low or high.
        extra_body: further fields of each request's body, as JSON values by name. They are stored, so they must not
            hold secrets.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] | None = field(default=None, hash=False)

    def given(self) -> dict[str, Any]:
        """Return the settings that are set, by name.

        Examples:
            >>> Settings(temperature=0.6).given()
            {'temperature': 0.6}
        """
        values = {setting.name: getattr(self, setting.name) for setting in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Request:
    """One question about one image, for one or more samples.

    Attributes:
        scene: what the picture shows, a `Scene` in Spot the Ball. Models are not told of it; the baselines answer from
            it.
        picture: the image as it is shown; without bytes where no message goes with it.
        messages: the conversation so far, the last of the user.
        settings: how to sample.
        samples: the numbers of the samples asked for, each with its own reply; at most the provider's `max_samples`.
    """

    scene: RunItem
    picture: Picture
    messages: tuple[Message, ...]
    settings: Settings
    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said once.

    Attributes:
        text: as it came; empty where nothing was said.
        finish: why it ended.
        finish_said: the same in the provider's own word.
    """

    text: str
    finish: Finish
    finish_said: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request.

    Attributes:
        replies: for the samples asked for, in their order; at least one. A server that gives fewer than it is asked for
            leaves the last ones out; the provider then lowers its `max_samples`, and they are to be asked for again.
        model: the model's version as the provider reports it; None if it does not.
        input_tokens: of the whole request; None where the provider does not count.
        output_tokens: of all replies together; None where the provider does not count.
        requests: how many requests the provider sent. It is 2 if the server refused the first one and answered another,
            such as one for fewer samples.
    """

    replies: tuple[Reply, ...]
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    requests: int = 1


class Provider(Protocol):
    """A way to reach one model.

    Attributes:
        name: as `--provider` names it.
        model: as `--model` names it.
        max_samples: how many samples one request can ask for. It may fall while a run goes on: what a server can do
            shows in what it answers.
    """

    name: str
    model: str
    max_samples: int

    def check(self, settings: Settings) -> None:
        """Refuse settings that this provider or model would ignore or not take.

        Raises:
            OptionError: naming the setting.
        """
        ...

    def image_tokens(self, width: int, height: int) -> int | None:
        """How many tokens an image of this size in pixels costs; None where no rule is published."""
        ...

    def versions(self) -> Mapping[str, str]:
        """The packages that asking depends on, and their versions."""
        ...

    async def ask(self, request: Request) -> Answer:
        """Ask once.

        Raises:
            TransientError: for a fault that may be over when asked again.
            RefusedError: for one that this request would meet again, though others may not.
            PermanentError: for one that every further request would meet as well.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


@runtime_checkable
class Ready(Protocol):
    """What a provider may have besides: it is asked before a run draws or writes anything, unless nothing is left."""

    def ready(self) -> None:
        """See that a request could be made, without making one.

        Raises:
            PermanentError: for a key that is not set, or whatever else every request would lack.
        """
        ...


@dataclass(frozen=True, slots=True)
class Access:
    """How a provider is to be reached.

    Attributes:
        model: the model's name.
        base_url: where its server is; None for the provider's own.
        scenes: all scenes of a run of Spot the Ball, for respondents that answer from them.
        stimuli: the same for a run about gaze.
        concurrency: how many requests may be under way at a time.
        timeout: seconds that one request may take.
        max_response: bytes that the response to one request may have.
        api: which API of the server to use, if the provider knows several; None for the provider's choice.
    """

    model: str
    base_url: str | None = None
    scenes: Sequence[Scene] = ()
    stimuli: Sequence[Stimulus] = ()
    concurrency: int = 8
    timeout: float = 120.0
    max_response: int = MAX_RESPONSE
    api: Api | None = None


ProviderFactory = Callable[[Access], Provider]


class ProviderError(SpotballError):
    """Asking failed. The message holds no secret, whatever the server said.

    Attributes:
        requests: how many requests the provider sent, all of which failed.
    """

    requests: int = 1


class TransientError(ProviderError):
    """A fault that may be over when asked again: no connection, too many requests, a server's error, a broken body.

    Attributes:
        status: the HTTP status, if there was one.
        retry_after: seconds to wait, where the server says so.
    """

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class PermanentError(ProviderError):
    """A fault that every further request would meet: a wrong key, no such model, a request that is not understood."""


class RefusedError(PermanentError):
    """A fault that this request would meet again, though others may not: a content filter, an image that is too large.

    The runner sends the other images first, then tries once more.
    """
