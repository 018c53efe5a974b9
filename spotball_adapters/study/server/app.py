"""The study's web application, which answers the HTTP requests of the page in `page/`. `sessions` stores the events."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from spotball_adapters.study.server.dashboard import Dashboard
from spotball_adapters.study.server.description import States, description
from spotball_adapters.study.server.devices import device_of
from spotball_adapters.study.server.images import Images
from spotball_adapters.study.server.log import ErrorLog
from spotball_adapters.study.server.public import PublicAddress, UnderPrefix
from spotball_adapters.study.server.security import AtOnce, Limit, address, is_admin
from spotball_adapters.study.server.sessions import (
    ConflictError,
    FullError,
    NoParticipationError,
    OutdatedError,
    Session,
    Sessions,
    TakenPartError,
    random_labels,
    utc_now,
)
from spotball_adapters.study.server.static import ADMIN_FILES, STATIC, static_files
from spotball_adapters.study.server.wire import MAX_BODY, MalformedRequestError, parsed, read_events, read_start
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.setup.pilot import MARK
from spotball_adapters.study.store import StudyReader, StudyStore
from spotball_core.service.safe_text import show
from spotball_core.service.sqlite_file import StoreError
from spotball_core.service.web import HttpError, SafeHeaders, check_origin, read_body

if TYPE_CHECKING:
    from starlette.types import ASGIApp

UNKNOWN_COOKIE = "the cookie does not belong to a participant"

COOKIE_DAYS = 30
IMAGE_SECONDS = 24 * 60 * 60
MISMATCHES = 20
"""Maximum number of wrong host names from proxies that are reported on the terminal. Each one is reported once."""

BODIES = 32
"""Maximum number of requests of one participant whose bodies are received at the same time. The page sends one."""

WRONG_PASSWORDS = 10
"""Maximum number of wrong passwords per minute and network address."""


@dataclass(frozen=True)
class StudyServer:
    """A study's web application, with the resources that `close` releases.

    Attributes:
        app: the ASGI application. It must run in a single process.
        design: the study's design.
        sessions: the participants' sessions.
        handlers: the request handlers.
    """

    app: ASGIApp
    design: StudyDesign
    sessions: Sessions
    handlers: _StudyHandlers

    def close(self) -> None:
        """Store the events that are not stored yet, and release all resources."""
        self.sessions.close()
        self.handlers.close()


def study_server(
    design: StudyDesign,
    store: StudyStore,
    reader: StudyReader,
    *,
    password: str | None = None,
    pilot: bool = False,
    public: PublicAddress | None = None,
    new_label: Callable[[], str] | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> StudyServer:
    """Create the web application of a study.

    Args:
        design: the study's design.
        store: the study's store, locked by this process.
        reader: a second connection to the store, to read while the first one writes.
        password: password of the admin page. Without a password, there is no admin page.
        pilot: whether the server runs a pilot. The labels and pages of a pilot state that it is a pilot, and links to
            it may choose the list of images.
        public: public address of a proxy in front of the server; None without a proxy.
        new_label: function that returns the label of a new participant; None for random labels.
        clock: function that returns the current time.
    """
    sessions = Sessions(design, store, reader, new_label=new_label or random_labels(MARK if pilot else ""), clock=clock)
    try:
        handlers = _StudyHandlers(design, sessions, reader, store.secret(), password, pilot=pilot, public=public)
    except BaseException:
        # The writer's thread would keep the process alive.
        sessions.close()
        raise
    routes = [
        Route("/", handlers.index),
        Route("/static/{name}", handlers.static),
        Route("/images/{name}", handlers.image),
        Route("/api/study", handlers.study),
        Route("/api/start", handlers.start, methods=["POST"]),
        Route("/api/state", handlers.state),
        Route("/api/events", handlers.events, methods=["POST"]),
        Route("/admin", handlers.admin),
        *(Route(f"/{name}", handlers.admin_file) for name in ADMIN_FILES),
    ]
    faults: dict[Any, Any] = {
        HttpError: handlers.refused,
        MalformedRequestError: handlers.malformed,
        HTTPException: handlers.http_fault,
        StoreError: handlers.not_stored,
        sqlite3.Error: handlers.not_stored,
        OSError: handlers.unreadable,
        Exception: handlers.fault,
    }
    app = SafeHeaders(Starlette(routes=routes, exception_handlers=faults))
    return StudyServer(UnderPrefix(app, public.prefix) if public else app, design, sessions, handlers)


class _StudyHandlers:
    """Answer the requests to each address of the web application."""

    def __init__(
        self,
        design: StudyDesign,
        sessions: Sessions,
        reader: StudyReader,
        secret: bytes,
        password: str | None,
        *,
        pilot: bool,
        public: PublicAddress | None,
    ) -> None:
        self._pilot, self._public_address = pilot, public
        self._mismatches: set[tuple[str, str]] = set()
        self._design, self._sessions, self._reader, self._password = design, sessions, reader, password
        self._images = Images(design.pictures, design.example or (), secret)
        # Cookies ignore ports, so two studies on one machine need different names.
        self._cookie = "spotball_" + hashlib.sha256(b"cookie" + secret).hexdigest()[:8]
        self._files = static_files(design)
        serve = design.config.serve
        self._by_address = Limit(serve.requests_per_minute_address)
        self._by_participant = Limit(serve.requests_per_minute)
        self._starts = Limit(serve.starts_per_minute_address)
        self._passwords = Limit(WRONG_PASSWORDS)
        self._bodies_of_address = AtOnce(serve.connections_per_address)
        self._bodies_of_participant = AtOnce(BODIES)
        self._log = ErrorLog()
        self._study = description(design, self._images, pilot=pilot)
        self._states = States(design, sessions, self._images, pilot=pilot)
        self.failures: Counter[str] = Counter()
        self._dashboard: Dashboard | None = None
        if password:
            self._dashboard = Dashboard(design, reader.folder, lambda key: self._images.address(key, "trial"))

    # Pages and files -----------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        """Return the study's HTML page, which is the same for all participants."""
        return self._file(request, "index.html")

    async def static(self, request: Request) -> Response:
        """Return a static file of the page."""
        name = request.path_params["name"]
        if not name.endswith(STATIC) or name in ADMIN_FILES:
            raise HTTPException(404)
        return self._file(request, name)

    def _file(self, request: Request, name: str) -> Response:
        self._by_address.check(address(request))
        if name not in self._files:
            raise HTTPException(404)
        content, media_type, tag = self._files[name]
        headers = {"cache-control": "no-cache", "etag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)

    async def image(self, request: Request) -> Response:
        """Return an image file without metadata."""
        self._by_address.check(address(request))
        picture = self._images.find(request.path_params["name"])
        if picture is None:
            raise HTTPException(404)
        content = self._images.in_memory(picture)
        if content is None:
            content = await asyncio.to_thread(self._images.content, picture)
        headers = {"cache-control": f"private, max-age={IMAGE_SECONDS}, immutable"}
        return Response(content, media_type=picture.media_type, headers=headers)

    # The study -----------------------------------------------------------------------------------------------

    async def study(self, request: Request) -> Response:
        """Return the public description of the study as JSON, with the state of the participant whom the cookie
        identifies, or null without a participant.
        """
        self._by_address.check(address(request))
        async with self._sessions.held(self._token(request)) as session:
            state = self._states.of(self._limited(session)) if session else None
        return JSONResponse({**self._study, "state": state})

    async def start(self, request: Request) -> Response:
        """Start or resume a participation, and return the participant's state."""
        self._check_origin(request)
        self._by_address.check(address(request))
        self._starts.check(address(request))
        with self._bodies_of_address.counted(address(request)):
            start = read_start(parsed(await read_body(request, MAX_BODY)))
        if start.list is not None and not self._pilot:
            raise HttpError(422, "only a pilot lets you choose the list. Remove `list` from the link")
        if start.list is not None and start.list not in {one.name for one in self._design.config.lists}:
            raise HttpError(422, f"the study does not have the list {start.list}. Correct `list` in the link")
        if start.prolific is None and self._design.config.serve.only_prolific and not self._pilot:
            raise HttpError(403, "this study requires a link from Prolific. Open the study from Prolific")
        studies = self._design.config.serve.prolific_studies
        if start.prolific is not None and studies and start.prolific.study not in studies:
            raise HttpError(403, "the link is of another study on Prolific. Open the study from Prolific")
        try:
            device = None
            if self._design.config.record.device:
                user_agent = request.headers.get("user-agent", "")
                device = device_of(user_agent, touch=start.touch, language=start.language)
            token = await self._sessions.start(self._token(request), start, device)
        except TakenPartError:
            raise HttpError(409, "this person has already taken part") from None
        except FullError:
            raise HttpError(410, "the study is full") from None
        except NoParticipationError:
            raise HttpError(404, "there is no participation to continue") from None
        response = await self._state(token)
        public = self._public_address
        response.set_cookie(
            self._cookie,
            token,
            max_age=COOKIE_DAYS * 24 * 60 * 60,
            httponly=True,
            samesite="lax",
            path=public.prefix if public else "/",
            secure=(public.scheme if public else request.url.scheme) == "https",
        )
        return response

    async def state(self, request: Request) -> Response:
        """Return the state of the participant whom the cookie identifies."""
        self._by_address.check(address(request))
        return await self._state(self._token(request))

    async def _state(self, token: str | None) -> Response:
        async with self._sessions.held(token) as session:
            return JSONResponse(self._states.of(self._limited(session)))

    async def events(self, request: Request) -> Response:
        """Store the events in the request, and return the number of the last stored event."""
        self._check_origin(request)
        self._by_address.check(address(request))
        # All limits come first, so that a request over a limit does not wait for its body.
        token = self._token(request)
        participant = self._sessions.id_of(token)
        if participant is None:
            raise HttpError(401, UNKNOWN_COOKIE)
        self._by_participant.check(participant)
        with (
            self._bodies_of_address.counted(address(request)),
            self._bodies_of_participant.counted(participant),
        ):
            contents = read_events(parsed(await read_body(request, MAX_BODY)))
        appended = None
        while appended is None:
            async with self._sessions.held(token) as session:
                if session is None:
                    raise HttpError(401, UNKNOWN_COOKIE)
                with suppress(OutdatedError):
                    appended = await self._sessions.append(session, contents)
                stage = session.progress.stage
        if appended.refused is not None:
            status = 409 if isinstance(appended.refused, ConflictError) else 422
            return self._failed(status, str(appended.refused), seq=appended.seq)
        content = {"seq": appended.seq, "stage": stage}
        return JSONResponse(content if appended.feedback is None else {**content, "feedback": appended.feedback})

    def _check_origin(self, request: Request) -> None:
        public = self._public_address
        try:
            check_origin(request.headers, public.host if public else None)
        except HttpError:
            if request.headers.get("sec-fetch-site") != "same-origin" or "origin" not in request.headers:
                raise
            # According to the browser, the page is ours: a proxy in between has replaced the host.
            origin, host = request.headers["origin"], request.headers.get("host", "")
            if (origin, host) not in self._mismatches and len(self._mismatches) < MISMATCHES:
                self._mismatches.add((origin, host))
                show(
                    f"error: answers are rejected, because participants use the address {origin}, but the proxy "
                    f"forwards the host {host}. Start with --public-url {origin}/ (with the path, if there is one), or "
                    "configure the proxy to forward the header Host",
                    err=True,
                )
            raise HttpError(421, "the proxy of the study forwards a wrong host name") from None

    def _token(self, request: Request) -> str | None:
        return request.cookies.get(self._cookie)

    def _limited(self, session: Session | None) -> Session:
        if session is None:
            raise HttpError(401, UNKNOWN_COOKIE)
        self._by_participant.check(session.participant.id)
        return session

    # The admin page ------------------------------------------------------------------------------------------

    async def admin(self, request: Request) -> Response:
        """Return the admin page if the request contains the correct password."""
        self._by_address.check(address(request))
        if not self._password or not self._dashboard:
            raise HTTPException(404)
        # Check the limit before the password. Otherwise, unlimited guesses would find the password.
        if seconds := self._passwords.wait(address(request), count=False):
            raise HttpError(429, "too many wrong passwords. Wait and retry", retry_after=seconds)
        if not is_admin(request.headers, self._password):
            self._passwords.wait(address(request))
            self.failures["401 admin"] += 1
            headers = {"www-authenticate": 'Basic realm="study", charset="UTF-8"'}
            return Response("A password is required.", 401, headers, "text/plain")
        return Response(await self._dashboard.page(self.failures), media_type="text/html")

    async def admin_file(self, request: Request) -> Response:
        """Return a static file of the admin page."""
        if not self._password:
            raise HTTPException(404)
        return self._file(request, request.url.path.rpartition("/")[2])

    def close(self) -> None:
        """Close the admin page's connection to the store."""
        if self._dashboard:
            self._dashboard.close()

    # What goes wrong -----------------------------------------------------------------------------------------

    def _failed(self, status: int, why: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Response:
        self.failures[f"{status} {why}" if status >= 500 or status == 421 else str(status)] += 1
        return JSONResponse({"error": why, **more}, status, headers)

    async def refused(self, request: Request, error: HttpError) -> Response:
        """Return the response to a request that was rejected."""
        headers = None if error.retry_after is None else {"retry-after": str(error.retry_after)}
        return self._failed(error.status, str(error), headers=headers)

    async def malformed(self, request: Request, error: MalformedRequestError) -> Response:
        """Return the response to a malformed request."""
        return self._failed(422, str(error))

    async def http_fault(self, request: Request, error: HTTPException) -> Response:
        """Return the response to an unknown address or a wrong method."""
        return self._failed(error.status_code, error.detail, headers=error.headers)

    async def not_stored(self, request: Request, error: Exception) -> Response:
        """Return the response to a request whose events could not be stored. The browser must send them again."""
        self._log.print("not stored", str(error))
        return self._failed(503, "the data could not be stored. Try again", headers={"retry-after": "5"})

    async def unreadable(self, request: Request, error: OSError) -> Response:
        """Return the response to a request for an image whose file cannot be read."""
        self._log.print("unreadable", str(error))
        return await self.fault(request, error)

    async def fault(self, request: Request, error: Exception) -> Response:
        """Return the response to a request that caused an internal error. The traceback goes to the log, not to the
        browser.
        """
        return self._failed(500, "the server failed. Try again")
