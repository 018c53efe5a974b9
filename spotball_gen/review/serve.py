"""Serving a review until its reviewer ends it."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from spotball_core.errors import MissingExtraError
from spotball_core.service.web import BACKLOG, listening, serve_until_ended, shown
from spotball_gen.review.material import pieces
from spotball_gen.review.store import ReviewStore


def serve(dataset: Path, *, reviewer: str, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve a review until the process is told to end.

    Args:
        reviewer: whose decisions they are.
        port: 0 for any that is free.
        tell: called with each line to show, the link among them.

    Raises:
        InputError: for a dataset that cannot be reviewed.
        OptionError: if the address is taken.
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
        # Cookies know no ports: two reviews on one machine must not take each other's.
        cookie = f"spotball_review_{at.getsockname()[1]}"
        app = review_app(images, store, reviewer, token=token, cookie=cookie)
        config = uvicorn.Config(
            app, lifespan="off", log_level="warning", access_log=False, server_header=False, backlog=BACKLOG
        )

        def ready() -> None:
            over = sum(image.first for image in images)
            tell(f"{len(images):,} images, {over:,} of them over a limit; reviewer: {reviewer}")
            tell(f"{shown(at)}/?token={token}")

        serve_until_ended(config, at, ready)
    tell("stopped; all decisions are stored")
