"""Web application of a review, with the page in `page/`. A process serves one reviewer, identified by a token."""

from __future__ import annotations

import asyncio
import hmac
import mimetypes
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, model_validator
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from spotball_core.schema.faults import expected_of
from spotball_core.schema.record import Record
from spotball_core.service.json_file import parse_json
from spotball_core.service.safe_text import show
from spotball_core.service.sqlite_file import StoreError
from spotball_core.service.web import (
    HttpError,
    SafeHeaders,
    check_origin,
    read_body,
)
from spotball_gen.review.material import MEDIA, ReviewImage
from spotball_gen.review.store import REASONS, Corners, Decision, Key, ReviewStore, StaleError, Verdict

if TYPE_CHECKING:
    from starlette.types import ASGIApp


MAX_BODY = 64 * 1024
"""Maximum size of a request's body in bytes."""

MAX_REGIONS = 20
"""Maximum number of regions to repaint per image."""

MAX_ADDED = 100
"""Maximum number of boxes that a reviewer may add per image."""

STALE = "the review was changed in another place, such as another tab"

Whole = Annotated[int, Field(strict=True, ge=0, le=2**53)]
Pixels = Annotated[float, Field(strict=True, ge=0, le=10**6)]


class DecisionChange(Record):
    """A reviewer's new decision on an image, as the page sends it.

    Attributes:
        change: UUID that the page assigns to the change, so that a repeated request is stored only once.
        after: number of the reviewer's last change that the page has received.
        item: index of the image in the page's list.
        unchecked: indices of the boxes that do not contain a player.
        regions: regions (x1, y1, x2, y2) to repaint, in pixels.
        added: added boxes of players (x1, y1, x2, y2), in pixels.
    """

    change: Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
    after: Whole
    item: Whole
    verdict: Verdict | None
    reason: Annotated[str, Field(strict=True, max_length=100)] | None
    unchecked: Annotated[tuple[Whole, ...], Field(max_length=10_000)]
    regions: Annotated[tuple[tuple[Pixels, Pixels, Pixels, Pixels], ...], Field(max_length=MAX_REGIONS)]
    added: Annotated[tuple[tuple[Pixels, Pixels, Pixels, Pixels], ...], Field(max_length=MAX_ADDED)] = ()

    @model_validator(mode="after")
    def _whole(self) -> DecisionChange:
        if (self.verdict == "reject") != (self.reason in REASONS):
            raise ValueError("expected one of the known reasons if the verdict is `reject`, and no reason otherwise")
        if self.verdict != "reject" and self.reason is not None:
            raise ValueError("expected a reason only if the verdict is `reject`")
        if (self.verdict == "repaint") != bool(self.regions):
            raise ValueError("expected regions if the verdict is `repaint`, and no regions otherwise")
        return self


class Undone(Record):
    """A request of the page to undo a reviewer's change, given by its number."""

    number: Whole


def review_app(pieces: Sequence[ReviewImage], store: ReviewStore, reviewer: str, *, token: str, cookie: str) -> ASGIApp:
    """Create the web application of a review.

    Args:
        pieces: the images to review, in the order in which the page shows them.
        store: the store of the decisions.
        reviewer: the reviewer's name.
        token: secret in the link that identifies the reviewer.
        cookie: name of the cookie that stores the token.
    """
    handlers = _ReviewHandlers(pieces, store, reviewer, token, cookie)
    routes = [
        Route("/", handlers.index),
        Route("/static/{name}", handlers.static),
        Route("/images/{part}/{item:int}", handlers.image),
        Route("/api/review", handlers.review),
        Route("/api/decide", handlers.decide, methods=["POST"]),
        Route("/api/undo", handlers.undo, methods=["POST"]),
    ]
    faults: dict[Any, Any] = {
        HttpError: handlers.refused,
        ValidationError: handlers.malformed,
        StaleError: handlers.stale,
        HTTPException: handlers.http_fault,
        StoreError: handlers.not_stored,
        Exception: handlers.fault,
    }
    return SafeHeaders(Starlette(routes=routes, exception_handlers=faults))


class _ReviewHandlers:
    """Handle the requests of the review page."""

    def __init__(
        self, pieces: Sequence[ReviewImage], store: ReviewStore, reviewer: str, token: str, cookie: str
    ) -> None:
        self._pieces, self._store, self._reviewer = pieces, store, reviewer
        self._token, self._cookie = token, cookie
        self._at = {piece.scene.key: at for at, piece in enumerate(pieces)}
        page = files("spotball_gen.review").joinpath("page")
        self._files = {file.name: file.read_bytes() for file in page.iterdir() if file.is_file()}

    # Pages and files -----------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        """Return the page if the token is correct."""
        if (token := request.query_params.get("token")) is not None:
            if not self._is_token(token):
                raise HttpError(403, "this link is outdated. Open the link that `spotball gen review` printed last")
            response: Response = RedirectResponse("/", 303)
            # SameSite=Strict, because no other site needs the cookie.
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return response
        self._known(request)
        return Response(self._files["index.html"], media_type="text/html")

    async def static(self, request: Request) -> Response:
        """Return a static file of the page."""
        self._known(request)
        content = self._files.get(name := request.path_params["name"])
        if content is None:
            raise HTTPException(404)
        return Response(content, media_type=mimetypes.guess_type(name)[0] or "text/plain")

    async def image(self, request: Request) -> Response:
        """Return an image file. Requests name the image by its index, so they contain no paths."""
        self._known(request)
        part, item = request.path_params["part"], request.path_params["item"]
        if part not in ("with", "without") or item >= len(self._pieces):
            raise HTTPException(404)
        piece = self._pieces[item]
        path = piece.without if part == "without" else piece.with_ball
        if path is None:
            raise HTTPException(404)
        try:
            content = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            show(f"error: {error}", err=True)
            raise HTTPException(404, "the image file cannot be read") from None
        return Response(content, media_type=MEDIA[path.suffix.lower()])

    # The review ----------------------------------------------------------------------------------------------

    async def review(self, request: Request) -> Response:
        """Return the images to review, and the reviewer's decisions so far."""
        self._known(request)
        decided = (await asyncio.to_thread(self._store.decisions)).get(self._reviewer, {})
        return JSONResponse(
            {
                "reviewer": self._reviewer,
                "reasons": REASONS,
                "last": await asyncio.to_thread(self._store.last, self._reviewer),
                "items": [
                    {**_told(piece), "decision": _sent(piece, decided.get(piece.scene.key, Decision()))}
                    for piece in self._pieces
                ],
            }
        )

    async def decide(self, request: Request) -> Response:
        """Store a reviewer's decision, and return the number of the change."""
        change = DecisionChange.model_validate(await self._body(request))
        if change.item >= len(self._pieces):
            raise HttpError(422, f"there is no item {change.item}")
        piece = self._pieces[change.item]
        players = piece.scene.players or ()
        if any(box >= len(players) for box in change.unchecked):
            raise HttpError(422, f"item {change.item} has only {len(players)} boxes")
        regions = tuple(_within(region, piece) for region in change.regions)
        unchecked = tuple(players[box].corners for box in sorted(set(change.unchecked)))
        added = tuple(_within(box, piece) for box in change.added)
        decision = Decision(change.verdict, change.reason, unchecked, regions, added)
        number = await asyncio.to_thread(
            self._store.decide, change.change, self._reviewer, piece.scene.key, decision, after=change.after
        )
        return JSONResponse({"last": number})

    async def undo(self, request: Request) -> Response:
        """Undo the reviewer's last change. Return the index of its image, and the decision on it that is valid now."""
        number = Undone.model_validate(await self._body(request)).number
        key: Key = await asyncio.to_thread(self._store.undo, self._reviewer, number)
        decided = (await asyncio.to_thread(self._store.decisions)).get(self._reviewer, {})
        last = await asyncio.to_thread(self._store.last, self._reviewer)
        item = self._at.get(key)
        decision = None if item is None else _sent(self._pieces[item], decided.get(key, Decision()))
        return JSONResponse({"last": last, "item": item, "decision": decision})

    # -----------------------------------------------------------------------------------------------------------

    def _is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def _known(self, request: Request) -> None:
        if not self._is_token(request.cookies.get(self._cookie, "")):
            raise HttpError(403, "open the link that `spotball gen review` printed")

    async def _body(self, request: Request) -> Any:
        check_origin(request.headers)
        self._known(request)
        try:
            return parse_json(await read_body(request, MAX_BODY))
        except ValueError:
            raise HttpError(422, "the request is not JSON") from None

    # What goes wrong -----------------------------------------------------------------------------------------

    async def refused(self, request: Request, error: HttpError) -> Response:
        """Return the response to a rejected request: plain text if the page itself was requested, otherwise JSON."""
        if request.url.path == "/":
            return Response(f"{error}\n", error.status, media_type="text/plain")
        return JSONResponse({"error": str(error)}, error.status)

    async def malformed(self, request: Request, error: ValidationError) -> Response:
        """Return the response to a malformed request."""
        detail = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, detail["loc"])) or "the body"
        return JSONResponse({"error": f"{where}: expected {expected_of(detail)}"}, 422)

    async def stale(self, request: Request, error: StaleError) -> Response:
        """Return the response to a change from a page that has not received the reviewer's last change."""
        return JSONResponse({"error": STALE}, 409)

    async def http_fault(self, request: Request, error: HTTPException) -> Response:
        """Return the response to an unknown address or a wrong method."""
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)

    async def not_stored(self, request: Request, error: StoreError) -> Response:
        """Return the response to a change that could not be stored. The page must send the change again."""
        show(f"error: {error}", err=True)
        return JSONResponse({"error": "the server could not store the decision"}, 503)

    async def fault(self, request: Request, error: Exception) -> Response:
        """Return the response to an internal error. The traceback goes to the log, not to the browser."""
        return JSONResponse({"error": "the server failed; its terminal shows the error"}, 500)


def _told(piece: ReviewImage) -> dict[str, Any]:
    """Return the data of an image as JSON values for the page."""
    scene = piece.scene
    return {
        "sport": scene.sport,
        "image": scene.image,
        "width": scene.width,
        "height": scene.height,
        "with_ball": piece.with_ball is not None,
        "ball": scene.ball_box,
        "cells": scene.ball_cells or (),
        "players": [box.corners for box in scene.players or ()],
        "outlines": scene.player_outlines or (),
        "first": piece.first,
        "why": piece.why,
        "artifact": piece.artifact,
    }


def _sent(piece: ReviewImage, decision: Decision) -> dict[str, Any]:
    """Return a decision in the page's format. Unchecked boxes that the scene no longer contains are omitted."""
    players = [box.corners for box in piece.scene.players or ()]
    return {
        "verdict": decision.verdict,
        "reason": decision.reason,
        "unchecked": [at for at, box in enumerate(players) if box in decision.unchecked],
        "regions": decision.regions,
        "added": decision.added,
    }


def _within(region: Corners, piece: ReviewImage) -> Corners:
    """Check that a region is valid and inside the image, and return it."""
    x1, y1, x2, y2 = region
    if not (x1 < x2 <= piece.scene.width and y1 < y2 <= piece.scene.height):
        raise HttpError(
            422, f"{list(region)} is not within the image of {piece.scene.width}x{piece.scene.height} pixels"
        )
    return region
