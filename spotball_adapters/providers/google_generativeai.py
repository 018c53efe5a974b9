"""Calls to `google-generativeai`, the Google SDK of the paper: the client, the requests, and the conversion of errors.

Google no longer supports this SDK. The module `google_genai` calls its supported successor.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeVar

from spotball_adapters.providers.gemini_sdk import Candidate, GeminiSdk, Generated, readable
from spotball_adapters.providers.protocol import Access, Message, Picture, Request
from spotball_adapters.providers.responses import ENCODINGS, Responses

if TYPE_CHECKING:
    from google.ai.generativelanguage import GenerateContentResponse

Found = TypeVar("Found")

_ROLES = {"user": "user", "assistant": "model"}


class Sdk(GeminiSdk):
    """Call `google-generativeai` over REST, with a client that this module configures."""

    takes_seed = False
    certificates = "REQUESTS_CA_BUNDLE"

    def __init__(self, access: Access) -> None:
        super().__init__(access)
        # Without this limit, the SDK opens and drops a connection for each request beyond the size of its pool.
        self._turns = asyncio.Semaphore(access.concurrency)

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the SDK's packages."""
        return {name: version(name) for name in ("google-generativeai", "google-ai-generativelanguage")}

    async def generate(self, model: str, request: Request, n: int) -> Generated:
        """Send one request for `n` candidates, and return the response."""
        client = self._client()
        from google.generativeai import GenerativeModel

        system = "\n\n".join(turn.text for turn in request.messages if turn.role == "system")
        generative_model = GenerativeModel(model, system_instruction=system or None)
        # The SDK has one client for the whole process. This model uses our client instead.
        generative_model._client = client
        generation_config = {**request.settings.given(), **({"candidate_count": n} if n > 1 else {})}
        contents = [_content(turn, request.picture) for turn in request.messages if turn.role != "system"]
        options = self._request_options()
        response = await self._call(
            lambda: generative_model.generate_content(
                contents, generation_config=generation_config, request_options=options
            )
        )
        return _generated(response._result)

    async def embed(self, model: str, texts: Sequence[str], task_type: str | None) -> Any:
        """Send one request for all texts, and return their vectors without checking them."""
        client = self._client()
        from google.generativeai import embed_content

        def call() -> Any:
            return embed_content(
                model,
                content=list(texts),
                task_type=task_type,
                client=client,
                request_options=self._request_options(),
            )

        return (await self._call(call))["embedding"]

    async def close(self) -> None:
        """Close the connections."""
        if self._sdk_client is not None:
            self._sdk_client.transport.close()

    def _client(self) -> Any:
        """Return the SDK's client. The first call creates the client, because importing the SDK takes seconds."""
        key = self.key()
        if self._sdk_client is None:
            self._sdk_client = _client(key, self.endpoint, self._access, self._responses)
        return self._sdk_client

    def _request_options(self) -> dict[str, Any]:
        """Return the SDK's options for a request. They turn off the SDK's retries, because the caller retries."""
        return {"retry": None, "timeout": self._access.timeout}

    async def _call(self, call: Callable[[], Found]) -> Found:
        """Call a function of the SDK in a thread, and return its result."""
        from google.auth.exceptions import GoogleAuthError
        from google.protobuf.json_format import ParseError
        from requests import RequestException

        try:
            async with asyncio.timeout(self._access.timeout), self._turns:
                return await _in_thread(call)
        except TimeoutError:
            raise self._responses.out_of_time(self._access.timeout) from None
        except ParseError as error:
            raise self._responses.malformed(str(error)) from None
        except (RequestException, GoogleAuthError) as error:
            raise self._not_reached(error) from None


def _client(key: str, endpoint: str | None, access: Access, responses: Responses) -> Any:
    """Return the SDK's REST client, with the HTTP adapter from `_adapter`."""
    with warnings.catch_warnings():
        # The documentation already says that Google no longer supports this SDK.
        for message in (
            r"\s*All support for the `google.generativeai` package has ended",
            "You are using a Python version",
        ):
            warnings.filterwarnings("ignore", message=message, category=FutureWarning)
        import google.generativeai  # noqa: F401
        from google.ai.generativelanguage import GenerativeServiceClient
        from google.api_core.client_options import ClientOptions
    options = ClientOptions(api_key=key, api_endpoint=endpoint)
    client = GenerativeServiceClient(transport="rest", client_options=options)
    session = client.transport._session
    for scheme in ("https://", "http://"):
        session.mount(scheme, _adapter(access, responses))
    # Otherwise the client repeats the request with the same key.
    session._refresh_status_codes = ()
    return client


def _adapter(access: Access, responses: Responses) -> Any:
    """Return an HTTP adapter with as many connections as simultaneous requests.

    The adapter passes only successful JSON objects to the SDK, because the SDK crashes on other content: it requires
    errors in exactly Google's format. For the same reason, the adapter does not follow redirects.
    """
    from requests import Response
    from requests.adapters import HTTPAdapter
    from requests.exceptions import ReadTimeout

    class Adapter(HTTPAdapter):  # type: ignore[misc, unused-ignore]
        def send(self, request: Any, *options: Any, **more: Any) -> Response:
            request.headers["Accept-Encoding"] = ", ".join(ENCODINGS)
            until = time.monotonic() + access.timeout
            response = super().send(request, *options, **more)
            try:
                received = responses.start(response.status_code, response.headers)
                for part in response.iter_content(2**16):
                    if not received.add(part):
                        break
                    # The timeout of requests restarts with each chunk, and nothing else ends this thread.
                    if time.monotonic() > until:
                        raise ReadTimeout("the response did not end in time")
                body = received.read()
                # The SDK reads the encoding from here, and the headers may name an invalid charset.
                response._content, response.encoding = readable(body), "utf-8"
            except RecursionError:
                raise responses.malformed("objects or lists are nested too deeply") from None
            finally:
                response.close()
            return response

    return Adapter(pool_maxsize=access.concurrency, max_retries=0)


async def _in_thread(call: Callable[[], Found]) -> Found:
    """Run a blocking call in a daemon thread, and return its result."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Found] = loop.create_future()

    def settle(result: Found | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = call()
        except BaseException as error:
            failure = error
        # The event loop, and with it the caller, may have ended.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, daemon=True).start()
    return await future


def _content(message: Message, picture: Picture) -> dict[str, Any]:
    parts: list[Any] = [{"mime_type": picture.media_type, "data": picture.data}] if message.picture else []
    return {"role": _ROLES[message.role], "parts": [*parts, message.text]}


def _generated(response: GenerateContentResponse) -> Generated:
    usage = response.usage_metadata
    return Generated(
        candidates=tuple(
            Candidate("".join(part.text for part in candidate.content.parts), _name(candidate, "finish_reason"))
            for candidate in sorted(response.candidates, key=lambda candidate: candidate.index)
        ),
        block_reason=_name(response.prompt_feedback, "block_reason"),
        model=response.model_version,
        prompt_tokens=usage.prompt_token_count,
        candidate_tokens=usage.candidates_token_count,
        total_tokens=usage.total_token_count,
    )


def _name(message: Any, field: str) -> str:
    """Return the name of a field's enum value, its number if the SDK does not know the name, or "" if it is not set."""
    # The underlying protobuf message is read, because the SDK's objects warn about unknown numbers.
    raw = type(message).pb(message)
    number = getattr(raw, field)
    values_by_number = raw.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return (values_by_number[number].name if number in values_by_number else str(number)) if number else ""
