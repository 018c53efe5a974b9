"""Google's generative AI SDK: its client, calling it, and what its failures mean. The key is GEMINI_API_KEY."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, TypeVar

from spotball_adapters.providers.http import checked_url, tls_advice
from spotball_adapters.providers.keys import key_from, missing
from spotball_adapters.providers.protocol import Access, PermanentError, TransientError
from spotball_adapters.providers.responses import ENCODINGS, Responses
from spotball_adapters.providers.server_messages import count, describe_error, writable
from spotball_core.errors import MissingExtraError

Found = TypeVar("Found")

KEY = "GEMINI_API_KEY"

_USAGE = ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")


class GeminiSdk:
    """The SDK over REST, with a client of our own.

    Raises:
        OptionError: for an address that cannot be used.
        PermanentError: for a key that no header can hold.
        MissingExtraError: without the SDK.
    """

    def __init__(self, access: Access) -> None:
        if not _installed():
            raise MissingExtraError("Gemini", "adapters")
        self._key = key_from(KEY)
        self._access = access
        self._responses = Responses("gemini", self._key, access.max_response)
        # Beyond the connections that are kept, the SDK would open and drop one for each request.
        self._turns = asyncio.Semaphore(access.concurrency)
        self.endpoint = str(checked_url(access.base_url)).rstrip("/") if access.base_url else None
        self._sdk_client: Any = None

    @property
    def client(self) -> Any:
        """The SDK's client, made when it is first needed: to load it takes seconds."""
        key = self.key()
        if self._sdk_client is None:
            self._sdk_client = _client(key, self.endpoint, self._access, self._responses)
        return self._sdk_client

    def key(self) -> str:
        """The key.

        Raises:
            PermanentError: if it is not set.
        """
        if self._key is None:
            raise missing(KEY, "gemini")
        return self._key

    @property
    def request_options(self) -> dict[str, Any]:
        """For each request. Who asks again is our caller, not the SDK."""
        return {"retry": None, "timeout": self._access.timeout}

    def versions(self) -> Mapping[str, str]:
        """The SDK's."""
        return {name: version(name) for name in ("google-generativeai", "google-ai-generativelanguage")}

    async def call(self, call: Callable[[], Found]) -> Found:
        """What a call of the SDK returns, made in a thread.

        Raises:
            TransientError: for a fault that may be over when called again.
            RefusedError: for one of this request alone.
            PermanentError: for another one.
        """
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
            # Without its cause: that holds the request, and the request the key.
            if advice := tls_advice(error, "REQUESTS_CA_BUNDLE"):
                raise PermanentError(self._responses.clean(f"gemini: {advice}")) from None
            raise TransientError(self._responses.clean(f"gemini: {describe_error(error)}")) from None

    def close(self) -> None:
        """Close the connections."""
        if self._sdk_client is not None:
            self._sdk_client.transport.close()


def _installed() -> bool:
    """Whether the SDK is there, without loading it."""
    try:
        return find_spec("google.generativeai") is not None
    except ModuleNotFoundError:
        return False


def _client(key: str, endpoint: str | None, access: Access, responses: Responses) -> Any:
    """A client of our own, over REST."""
    with warnings.catch_warnings():
        # That the SDK's support has ended is said in the documentation, once.
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
    # It would ask again with the same key.
    session._refresh_status_codes = ()
    return client


def _adapter(access: Access, responses: Responses) -> Any:
    """What carries requests, with as many connections as requests at a time.

    The SDK sees no error and nothing that is not a JSON object, since it fails at what it does not expect: its own
    errors need an error's body to be as Google writes it. It follows no redirect for the same reason.
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
                    # The time that requests keeps begins again with each part, and nobody else ends this thread.
                    if time.monotonic() > until:
                        raise ReadTimeout("the response did not end in time")
                body = received.read()
                # The SDK reads it from there, and the headers may name what is not a charset.
                response._content, response.encoding = _readable(body), "utf-8"
            except RecursionError:
                raise responses.malformed("objects or lists are nested too deeply") from None
            finally:
                response.close()
            return response

    return Adapter(pool_maxsize=access.concurrency, max_retries=0)


def _readable(body: dict[str, Any]) -> bytes:
    """A body without what the SDK cannot read: halves of characters, and numbers of tokens that cannot be."""
    usage = body.get("usageMetadata")
    if not isinstance(usage, dict) or any(count(usage.get(name, 0)) is None for name in _USAGE):
        body = {name: value for name, value in body.items() if name != "usageMetadata"}
    return writable(json.dumps(body, ensure_ascii=False)).encode()


async def _in_thread(call: Callable[[], Found]) -> Found:
    """What a call returns that would block, made in a thread that nobody waits for when the program ends."""
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
        # The loop may be gone, and with it whoever asked.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, daemon=True).start()
    return await future
