"""Serve a review until the reviewer stops it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from spotball_core.errors import MissingExtraError
from spotball_core.service.web import BACKLOG, listening, serve_until_ended, shown
from spotball_gen.review.material import counted, pieces
from spotball_gen.review.store import ReviewStore


def serve(dataset: Path, *, reviewer: str, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve a review until the process is stopped.

    Args:
        dataset: the dataset's folder.
        reviewer: the reviewer's name.
        host: the host to listen on.
        port: the port; 0 for any free one.
        tell: called with each line to show, including the link.

    Raises:
        InputError: if the dataset cannot be reviewed.
        OptionError: if the address is in use.
        StoreError: if decisions cannot be stored.
        MissingExtraError: without the extra `gen`.
    """
    try:
        import uvicorn

        from spotball_gen.review.app import review_app
    except ImportError as error:
        raise MissingExtraError("reviewing items", "gen") from error

    with ReviewStore(dataset) as store, listening(host, port) as at:
        images = pieces(dataset, store)
        token = secrets.token_urlsafe(24)
        # Cookies ignore ports, so two reviews on one machine need different names.
        cookie = f"spotball_review_{at.getsockname()[1]}"
        app = review_app(images, store, reviewer, token=token, cookie=cookie)
        config = uvicorn.Config(
            app, lifespan="off", log_level="warning", access_log=False, server_header=False, backlog=BACKLOG
        )

        def ready() -> None:
            tell(f"{counted(images)}; reviewer: {reviewer}")
            tell(f"{shown(at)}/?token={token}")

        serve_until_ended(config, at, ready)
    tell("the server has stopped; all decisions are stored")
