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
        port: the port to listen on; 0 for any free port.
        tell: called with each line to print, including the link for the reviewer.

    Raises:
        InputError: if scenes cannot be read, or if an image is missing or outside the dataset.
        OptionError: if the host and port are in use.
        StoreError: if the file for decisions cannot be opened.
        MissingExtraError: if the extra `gen` is not installed.
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
