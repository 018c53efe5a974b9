"""Google's generative AI SDK: its client, calling it, and what its failures mean. The key is GEMINI_API_KEY."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from spotball_adapters.providers.http import ENCODINGS, checked_url, tls_advice
from spotball_adapters.providers.keys import hidden, key_from, missing
from spotball_adapters.providers.protocol import Access, PermanentError, RefusedError, TransientError
from spotball_adapters.providers.said import about_one_request, retry_after, said_by, shortened
from spotball_core.errors import MissingExtraError

if TYPE_CHECKING:
    from google.api_core.exceptions import GoogleAPICallError

Found = TypeVar("Found")

KEY = "GEMINI_API_KEY"

_PASSING = frozenset({408, 409, 425, 429})


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
        self.endpoint = str(checked_url(access.base_url)).rstrip("/") if access.base_url else None
        self._made: Any = None

    @property
    def client(self) -> Any:
        """The SDK's client, made when it is first needed: to load it takes seconds."""
        key = self.key()
        if self._made is None:
            self._made = _client(key, self.endpoint, self._access)
        return self._made

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
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError
        from google.protobuf.json_format import ParseError
        from requests import RequestException

        try:
            async with asyncio.timeout(self._access.timeout):
                return await _in_thread(call)
        except TimeoutError:
            raise TransientError(f"gemini: no answer within {self._access.timeout:g} s") from None
        except GoogleAPICallError as error:
            # None with its cause: that holds the request, and the request the key.
            raise self._failure(error) from None
        except ParseError as error:
            raise TransientError(self._clean(f"gemini: the answer is malformed: {error}")) from None
        except (RequestException, GoogleAuthError) as error:
            if advice := tls_advice(error, "REQUESTS_CA_BUNDLE"):
                raise PermanentError(self._clean(f"gemini: {advice}")) from None
            raise TransientError(self._clean(f"gemini: {said_by(error)}")) from None

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None:
            self._made.transport.close()

    def _failure(self, error: GoogleAPICallError) -> TransientError | PermanentError:
        status = int(error.code or 500)
        # Without the address, which the SDK puts before what the server says.
        said = error.message.split(": ", 1)[-1]
        shown = self._clean(f"gemini: HTTP {status}: {said}")
        if status in _PASSING or status >= 500:
            return TransientError(shown, status=status, retry_after=_wait(error))
        return (RefusedError if about_one_request(status, said, "") else PermanentError)(shown)

    def _clean(self, text: str) -> str:
        return shortened(hidden(text, self._key))


def _installed() -> bool:
    """Whether the SDK is there, without loading it."""
    try:
        return find_spec("google.generativeai") is not None
    except ModuleNotFoundError:
        return False


def _client(key: str, endpoint: str | None, access: Access) -> Any:
    """A client of our own: over REST, as many connections as requests at a time, and none to where a redirect leads."""
    with warnings.catch_warnings():
        # That the SDK's support has ended is said in the documentation, once.
        for said in (
            r"\s*All support for the `google.generativeai` package has ended",
            "You are using a Python version",
        ):
            warnings.filterwarnings("ignore", message=said, category=FutureWarning)
        import google.generativeai  # noqa: F401
        from google.ai.generativelanguage import GenerativeServiceClient
        from google.api_core.client_options import ClientOptions
    options = ClientOptions(api_key=key, api_endpoint=endpoint)
    client = GenerativeServiceClient(transport="rest", client_options=options)
    session = client.transport._session
    for scheme in ("https://", "http://"):
        session.mount(scheme, _limited_adapter(access))
    session.max_redirects = 0
    # It would ask again with the same key.
    session._refresh_status_codes = ()
    return client


def _limited_adapter(access: Access) -> Any:
    """What carries requests, with as many connections as requests at a time, and responses no larger than the limit."""
    from requests import RequestException, Response
    from requests.adapters import HTTPAdapter

    class Limited(HTTPAdapter):  # type: ignore[misc, unused-ignore]
        def send(self, request: Any, *options: Any, **more: Any) -> Response:
            request.headers["Accept-Encoding"] = ", ".join(ENCODINGS)
            response = super().send(request, *options, **more)
            try:
                content = self._content(response)
            except BaseException:
                response.close()
                raise
            # The SDK reads it from there, and the headers may name what is not a charset.
            response._content, response.encoding = content, "utf-8"
            return response

        def _content(self, response: Response) -> bytes:
            encoding = response.headers.get("content-encoding", "identity").strip().lower()
            if encoding not in ("identity", *ENCODINGS):
                raise RequestException(f"the content encoding is {encoding}, expected {' or '.join(ENCODINGS)}")
            content = bytearray()
            for part in response.iter_content(2**16):
                content += part
                if len(content) > access.max_response:
                    limit = f"{access.max_response / 1e6:g} MB"
                    raise RefusedError(f"gemini: the response is larger than the limit of {limit}")
            return bytes(content)

    return Limited(pool_maxsize=access.concurrency, max_retries=0)


async def _in_thread(call: Callable[[], Found]) -> Found:
    """What a call returns that would block, made in a thread that nobody waits for when the program ends."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Found] = loop.create_future()

    def settle(result: Found | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

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
    return await done


def _wait(error: GoogleAPICallError) -> float | None:
    """Seconds to wait, from the headers or from what Google puts into the body."""
    headers: Mapping[str, str] = getattr(error.response, "headers", {})
    if (seconds := retry_after(headers)) is not None:
        return seconds
    details: Sequence[Any] = error.details
    for detail in details:
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return retry_after({"retry-after": delay[:-1]})
    return None
