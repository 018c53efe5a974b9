"""The provider interface: a provider sends an image and a question to a model, and returns the model's replies.

A provider sends single requests and reports their results. The runner handles retries, concurrency and storage.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from spotball_core.errors import OptionError, SpotballError
from spotball_core.schema.scene import Scene
from spotball_core.service.plugins import make_registered, registered_names

if TYPE_CHECKING:
    from spotball_core.gaze.data.stimuli import Stimulus


ENTRY_POINTS = "spotball.providers"
"""The entry point group in which packages register providers. Each entry maps a name to a `ProviderFactory`."""

MAX_RESPONSE = 20_000_000
"""The default maximum size of a response, in bytes."""

Api = Literal["chat", "responses"]
"""The API of an OpenAI-compatible server: chat completions or the Responses API."""

Finish = Literal["stop", "length", "filtered", "refused", "other"]
"""Why a reply ended.

`stop`: the reply is complete. `length`: it reached the maximum length. `filtered`: a content filter stopped it.
`refused`: the model declined to answer. `other`: any other reason.
"""


class RunItem(Protocol):
    """The item that a request asks about: a scene in Spot the Ball, or a photo in a gaze run."""

    @property
    def key(self) -> tuple[str, str]:
        """Return the item's group, such as its sport, and its id within the group."""
        ...


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded image, exactly as it is sent."""

    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. If `picture` is set, the image is sent with it, before its text."""

    role: Literal["system", "user", "assistant"]
    text: str
    picture: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """Sampling settings. A setting of None is not sent, so the provider's default applies.

    Attributes:
        temperature: sampling temperature.
        top_p: nucleus sampling: the probability mass of the tokens to sample from.
        max_output_tokens: maximum number of tokens per reply.
        seed: random seed.
        reasoning_effort: how long a reasoning model reasons: a value that the server accepts, such as low or high.
        extra_body: additional fields of each request's body: a JSON value per field name. They are stored with the
            run, so they must not contain secrets.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_output_tokens: int | None = None
    seed: int | None = None
    reasoning_effort: str | None = None
    extra_body: Mapping[str, Any] | None = field(default=None, hash=False)

    def given(self) -> dict[str, Any]:
        """Return the settings that are not None, by name.

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
        scene: the item that the image shows; a `Scene` in Spot the Ball. Only baselines use it; models do not get it.
        picture: the image to send. Its data are empty if no message includes the image.
        messages: the conversation so far. The last message is the user's.
        settings: the sampling settings.
        samples: the numbers of the requested samples. Each sample gets its own reply. The maximum number of samples is
            the provider's `max_samples`.
    """

    scene: RunItem
    picture: Picture
    messages: tuple[Message, ...]
    settings: Settings
    samples: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a model.

    Attributes:
        text: the unchanged text; empty if the model returned none.
        finish: why the reply ended.
        finish_said: the provider's own term for the reason, such as `end_turn`.
    """

    text: str
    finish: Finish
    finish_said: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request: the replies, and what the provider reports about them.

    Attributes:
        replies: at least one reply, in the order of the requested samples. If a server returns too few replies, the
            last samples are missing; the provider then lowers its `max_samples`, and the runner requests the missing
            samples again.
        model: the model version that the provider reports, or None if it reports none.
        input_tokens: number of tokens in the request, or None if the provider does not report it.
        output_tokens: total number of tokens in all replies, or None if the provider does not report it.
        requests: number of HTTP requests sent. It is 2 if the server rejected the first request and answered a
            modified request, for example with fewer samples.
    """

    replies: tuple[Reply, ...]
    model: str | None
    input_tokens: int | None
    output_tokens: int | None
    requests: int = 1


class Provider(Protocol):
    """A connection to one model.

    Attributes:
        name: the provider's name for `--provider`.
        model: the model's name for `--model`.
        max_samples: maximum number of samples per request. It may decrease during a run, when a server's answers
            show a lower limit.
    """

    name: str
    model: str
    max_samples: int

    def check(self, settings: Settings) -> None:
        """Raise an error for settings that this provider or model does not support.

        Raises:
            OptionError: if a setting is not supported. The message names the setting.
        """
        ...

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return the number of tokens that an image of this size (in pixels) costs, or None if it is not known."""
        ...

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the packages that requests depend on, by package name."""
        ...

    async def ask(self, request: Request) -> Answer:
        """Send one request, and return the answer.

        Raises:
            TransientError: if a retry may succeed.
            RefusedError: if this request would fail again, although other requests may succeed.
            PermanentError: if every further request would fail as well.
        """
        ...

    async def close(self) -> None:
        """Close connections and free memory."""
        ...


@runtime_checkable
class Ready(Protocol):
    """A provider with the optional method `ready`.

    The runner calls this method before it writes anything, unless no requests are left.
    """

    def ready(self) -> None:
        """Check that requests are possible, without sending one.

        Raises:
            PermanentError: if something that every request needs is missing, such as the key.
        """
        ...


@dataclass(frozen=True, slots=True)
class Access:
    """What a provider needs to reach a model: the model's name, the server's address, and limits.

    Attributes:
        model: the model's name.
        base_url: the server's address, or None for the provider's default.
        scenes: all scenes of a Spot the Ball run. Baselines compute their answers from them.
        stimuli: all stimuli of a gaze run. Simulated observers compute their answers from them.
        concurrency: maximum number of simultaneous requests.
        timeout: maximum duration of one request in seconds.
        max_response: maximum size of one response in bytes.
        api: the server's API to use, if the provider supports several, or None for the provider's choice.
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
    """A request failed. The message contains no secret, even if the server's response does.

    Attributes:
        requests: number of HTTP requests sent, all of which failed.
    """

    requests: int = 1


class TransientError(ProviderError):
    """A failure that a retry may fix: no connection, too many requests, a server error, a malformed body.

    Attributes:
        status: the HTTP status, or None if there was none.
        retry_after: seconds to wait before a retry, or None if the server does not state them.
    """

    code = "provider-failed"

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class PermanentError(ProviderError):
    """A failure that would affect every further request: an invalid key, an unknown model, an invalid request."""

    code = "request-rejected"


class RefusedError(PermanentError):
    """A failure of this request and its retries, but of no other: a content filter, an image that is too large.

    The runner first sends the other requests, then retries this one.
    """


def names() -> tuple[str, ...]:
    """Return the names of all installed providers, sorted.

    Examples:
        >>> "openai" in names()
        True
    """
    return registered_names(ENTRY_POINTS)


def find(name: str, access: Access) -> Provider:
    """Return the provider with this name, for the model in `access`.

    Raises:
        OptionError: if the name is unknown, if two packages define it, or if the provider cannot be loaded or created.
        MissingExtraError: if the provider needs packages from an extra that is not installed.
    """
    provider: Provider = make_registered(ENTRY_POINTS, "provider", name, access)
    return provider


_REQUEST_FIELDS = {"reasoning_effort": "--reasoning-effort", "extra_body": "--extra-body"}
"""Settings that only OpenAI-compatible servers support, and their command-line options."""


def check_ranges(
    settings: Settings, provider: str, *, max_temperature: float, has_request_fields: bool = False
) -> None:
    """Raise an error for settings that are out of range or not supported by the provider.

    Args:
        has_request_fields: whether the provider sends `reasoning_effort` and `extra_body`.

    Raises:
        OptionError: if a setting is out of range or not supported. The message names the setting.

    Examples:
        >>> check_ranges(Settings(temperature=0.6, top_p=1), "openai", max_temperature=2)
    """
    values = settings.given()
    for name, option in _REQUEST_FIELDS.items():
        if name in values and not has_request_fields:
            raise OptionError(
                f"{provider} does not support {option}, because it does not use the Chat Completions API. Remove it",
                code="unsupported-option",
            )
    if settings.reasoning_effort is not None and not settings.reasoning_effort.strip():
        raise OptionError("is empty. Give a value such as low, medium or high", field="--reasoning-effort")
    ranges = {
        "temperature": (0 <= values.get("temperature", 0) <= max_temperature, f"0 to {max_temperature:g}"),
        "top_p": (0 < values.get("top_p", 1) <= 1, "above 0 and at most 1"),
        "max_output_tokens": (values.get("max_output_tokens", 1) >= 1, "at least 1"),
        "seed": (values.get("seed", 0) >= 0, "at least 0"),
    }
    for name, (fits, expected) in ranges.items():
        if not fits:
            raise OptionError(f"found {values[name]}, expected {expected} for {provider}", field=option_of(name))


def refuse(settings: Settings, *names: str, why: str) -> None:
    """Raise an error if a setting with one of these names is set, because the provider would ignore it.

    Raises:
        OptionError: if at least one of the settings is set. The message names the first one that is set.
    """
    for name in names:
        if name in settings.given():
            raise OptionError(f"{why}. Remove {option_of(name)}", code="unsupported-option", field=option_of(name))


def option_of(name: str) -> str:
    """Return the command line option of a setting.

    Examples:
        >>> option_of("top_p")
        '--top-p'
    """
    return f"--{name.replace('_', '-')}"


HIDDEN = "[key]"
"""The text that replaces a key in messages."""


def key_from(variable: str) -> str | None:
    """Return the API key in an environment variable, or None if the variable is empty or not set.

    Raises:
        PermanentError: if the key contains a character that an HTTP header cannot hold.
    """
    key = os.environ.get(variable, "").strip()
    # A library that rejects such a header would repeat the key in its error.
    if not all("!" <= character <= "~" for character in key):
        raise PermanentError(
            f"{variable} contains a character that is not allowed in keys. Check the key", code="invalid-key"
        )
    return key or None


def missing(variable: str, provider: str) -> PermanentError:
    """Return the error for a key that is not set. Providers raise it before the first request, not in a dry run."""
    return PermanentError(f"{provider} needs a key. Set the environment variable {variable}", code="missing-key")


def hidden(text: str, key: str | None) -> str:
    """Return the text with each occurrence of the key replaced by `HIDDEN`.

    Examples:
        >>> hidden("no such key: sk-123", "sk-123")
        'no such key: [key]'
    """
    return text.replace(key, HIDDEN) if key else text
