"""Run the server of a study in this process, until the process is stopped."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from spotball_adapters.study.server.public import PublicAddress, check_proxies, read_public_address
from spotball_adapters.study.setup.check import problems
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.setup.pilot import open_pilot
from spotball_adapters.study.store import StudyStore, reading
from spotball_core.errors import MissingExtraError
from spotball_core.service.web import listening, serve_until_ended, shown
from spotball_core.text.words import plural

if TYPE_CHECKING:
    import uvicorn

    from spotball_adapters.study.server.app import StudyServer

PASSWORD = "SPOTBALL_STUDY_PASSWORD"
"""Name of the environment variable with the password of the admin page."""

KEEP_ALIVE = 75
"""Seconds for which an idle connection stays open. The usual defaults of servers are shorter than the time for which
participants look at an image.
"""


@contextmanager
def opened(
    folder: Path, *, password: str | None = None, pilot: bool = False, public: PublicAddress | None = None
) -> Iterator[StudyServer]:
    """Yield a study's server, which does not accept requests yet. At the end of the block, all events that are not
    stored yet are stored.

    Until then, no other process can write to the study, unless the study uses PostgreSQL.

    Args:
        folder: the study's folder.
        password: password of the admin page. Without a password, there is no admin page.
        pilot: whether to run a pilot, whose data are stored separately from the study's data; see `setup.pilot`.
        public: public address of a proxy in front of the server, or None without a proxy.

    Raises:
        InputError: if study.toml, the dataset or an image is missing or invalid.
        OptionError: if another process writes to the study, or if the study was changed after the first participant
            began.
        MissingExtraError: if the extra `study` is not installed.
    """
    _import_server()
    design = load(folder)
    data = open_pilot(folder, design.parts) if pilot else folder
    with opened_data(design, data, password=password, pilot=pilot, public=public) as server:
        yield server


@contextmanager
def opened_data(design: StudyDesign, data: Path, **options: Any) -> Iterator[StudyServer]:
    """Yield a server for a loaded study, which stores its data in the folder `data`. For its behavior, see `opened`.

    Args:
        design: the study's design.
        data: an existing folder for the data.
        options: keyword arguments of `app.study_server`.
    """
    study_server = _import_server()
    with StudyStore(data) as store:
        store.claim(design.parts)
        with reading(data) as reader:
            server = study_server(design, store, reader, **options)
            try:
                yield server
            finally:
                server.close()


def _import_server() -> Callable[..., StudyServer]:
    try:
        from spotball_adapters.study.server.app import study_server
    except ImportError as error:
        raise MissingExtraError("the human study", "study") from error
    return study_server


@contextmanager
def in_background(server: StudyServer, proxies: Sequence[str] = ()) -> Iterator[int]:
    """Serve a study on 127.0.0.1 in a background thread until the end of the block, and yield the port."""
    import uvicorn

    with listening("127.0.0.1", 0) as at:
        web_server = uvicorn.Server(configuration(server, proxies))
        thread = threading.Thread(target=web_server.run, kwargs={"sockets": [at]})
        thread.start()
        try:
            yield int(at.getsockname()[1])
        finally:
            web_server.should_exit = True
            thread.join()


def _avoid_long_pauses() -> None:
    """Make full garbage collections rare, because each takes half a second if 1,000 participants are in memory.

    Reference counting frees almost all memory, and Python still collects young objects often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 1_000)


def configuration(server: StudyServer, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Return the configuration of the web server, which limits connections, logs no requests and does not name its
    software in responses.

    Args:
        server: the study's server.
        proxies: IP addresses and networks of trusted proxies, whose X-Forwarded-For headers are used.
    """
    import uvicorn

    from spotball_adapters.study.server.connections import LimitedConnection, OpenConnections, file_limit
    from spotball_adapters.study.server.log import log_config

    connections = OpenConnections(server.design.config.serve.connections_per_address, file_limit(), proxies)
    return uvicorn.Config(
        server.app,
        http=cast("type[asyncio.Protocol]", partial(LimitedConnection, connections)),
        lifespan="off",
        ws="none",
        log_config=log_config(),
        access_log=False,
        server_header=False,
        backlog=connections.backlog,
        timeout_keep_alive=KEEP_ALIVE,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
    )


def serve(
    folder: Path,
    *,
    host: str,
    port: int,
    tell: Callable[[str], None],
    pilot: bool = False,
    public_url: str | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Serve a study until the process is stopped.

    Args:
        folder: the study's folder.
        host: the host to listen on.
        port: the port to listen on; 0 for any free port.
        tell: function that prints a line; the lines include the address of the page.
        pilot: whether to run a pilot, whose data are stored separately from the study's data.
        public_url: public address of a proxy in front of the server, or None without a proxy.
        proxies: IP addresses and networks of trusted proxies; see `configuration`.

    Raises:
        SpotballError: if the study cannot be opened; see `opened`.
        OptionError: if host and port are in use or invalid, or if `public_url` or an entry of `proxies` is invalid.
    """
    from spotball_adapters.study.server.connections import raise_file_limit

    password = os.environ.get(PASSWORD)
    public, trusted = read_public_address(public_url) if public_url else None, check_proxies(proxies)
    with opened(folder, password=password, pilot=pilot, public=public) as server, listening(host, port) as at:

        def ready() -> None:
            address = str(public).rstrip("/") if public else shown(at)
            tell(f"{server.design.config.title}: {address}/")
            tell(
                f"admin page: {address}/admin"
                if password
                else f"the admin page is off. To turn it on, set the environment variable {PASSWORD} and restart"
            )
            if public:
                tell(f"the proxy must forward requests to {shown(at)}/")
                if not trusted:
                    tell(
                        "all participants share one rate limit, because their requests come from the proxy's address. "
                        "Add --proxy with that address"
                    )
            if server.design.config.database:
                tell(f"answers are stored in {server.design.config.database.place}; several servers may use it")
            if pilot:
                for study_list in server.design.config.lists:
                    tell(f"preview of {study_list.name}: {address}/?{urlencode({'list': study_list.name})}")
                tell(f"this is a pilot. To delete its data later, run `spotball study delete {folder} --pilot`")
            if n := len(list(problems(server.design))):
                tell(f"the study is not ready ({plural(n, 'problem')}). List them with `spotball study check {folder}`")

        _avoid_long_pauses()
        raise_file_limit()
        serve_until_ended(configuration(server, trusted), at, ready)
    tell("the server has stopped; all answers are stored")
