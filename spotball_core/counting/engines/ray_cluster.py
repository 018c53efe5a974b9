"""Connect to an existing Ray cluster, or start one on this machine and stop it at the end."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from spotball_core.errors import MissingExtraError, OptionError, SpotballError


def require(what: str) -> None:
    """Check that Ray Data is installed.

    Args:
        what: the feature that needs Ray Data, for the error message.

    Raises:
        MissingExtraError: if Ray Data is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(what, "ray") from error


@contextmanager
def connected(address: str | None, *, debug: bool = False) -> Iterator[None]:
    """Connect to the Ray cluster at an address, or without an address, start a cluster, for a `with` statement.

    The end of the `with` statement closes the connection and stops a cluster that was started. If this process is
    already connected to Ray, that connection is used and stays open.

    Raises:
        OptionError: if no cluster answers at the address.
    """
    import ray
    from ray.data import DataContext

    ours = not ray.is_initialized()
    if ours:
        _check_answers(address)
        level = logging.INFO if debug else logging.ERROR
        with _own_sigterm():
            ray.init(
                address or "local",
                include_dashboard=None if address else False,
                log_to_driver=debug,
                logging_level=level,
            )
    DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.DEBUG if debug else logging.ERROR)
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


@contextmanager
def ray_errors(what: str) -> Iterator[None]:
    """Convert Ray exceptions to SpotballError. `what` completes the sentence "Ray could not ..."."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        raise SpotballError(
            f"Ray could not {what}: {str(error).strip().splitlines()[-1]}", code="worker-failed"
        ) from error


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Restore the SIGTERM handler at the end, because Ray installs a handler that ends the process immediately."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


def _check_answers(address: str | None) -> None:
    """Raise OptionError for a host and port without a listener, because Ray would retry for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise OptionError(
            f"no Ray cluster answers at {address}: {error}. Start the cluster, or correct --ray-address",
            code="worker-failed",
        ) from error
