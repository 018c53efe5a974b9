"""Serve a study until the process is stopped: one process per study folder."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from spotball_adapters.study.server.public import PublicAddress, check_proxies, read_public_address
from spotball_adapters.study.setup.check import problems
from spotball_adapters.study.setup.design import StudyDesign, load
from spotball_adapters.study.setup.pilot import open_pilot
from spotball_adapters.study.store import StudyStore, reading
from spotball_core.errors import MissingExtraError
from spotball_core.service.web import BACKLOG, listening, serve_until_ended, shown

if TYPE_CHECKING:
    import uvicorn

    from spotball_adapters.study.server.app import StudyServer

PASSWORD = "SPOTBALL_STUDY_PASSWORD"
"""Environment variable with the password of the admin page."""

KEEP_ALIVE = 75
"""Seconds that an idle connection stays open. People look at an image longer than common server defaults."""


@contextmanager
def opened(
    folder: Path, *, password: str | None = None, pilot: bool = False, public: PublicAddress | None = None
) -> Iterator[StudyServer]:
    """Yield a study's server, which is not listening yet. The study is locked meanwhile, and everything is stored at
    the end.

    Args:
        folder: the study's folder.
        password: password of the admin page, which is disabled without one.
        pilot: store data separately from the study's; see `setup.pilot`.
        public: address of a proxy in front of the server, or None without a proxy.

    Raises:
        InputError: if the study cannot be used.
        OptionError: if another process uses it, or if it was changed after the first participant began.
        MissingExtraError: without the extra `study`.
    """
    _import_server()
    design = load(folder)
    data = open_pilot(folder, design.parts) if pilot else folder
    with opened_data(design, data, password=password, pilot=pilot, public=public) as server:
        yield server


@contextmanager
def opened_data(design: StudyDesign, data: Path, **options: Any) -> Iterator[StudyServer]:
    """Open the server of a study whose data is in a separate folder. It is otherwise like `opened`.

    Args:
        design: the study's.
        data: folder of the data, which exists.
        options: options of `app.study_server`.
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
    """Serve a study on loopback in a thread; yield the port."""
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
    """Make full garbage collections rare, because one takes half a second with 1,000 participants in memory.

    Reference counting frees almost everything, and young objects are still collected often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 1_000)


def configuration(server: StudyServer, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Return the configuration of the web server: no request log, and no name of the software in responses.

    Args:
        server: the study's server.
        proxies: trusted addresses and networks, whose X-Forwarded-For headers are used.
    """
    import uvicorn

    return uvicorn.Config(
        server.app,
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
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
        port: the port; 0 for any free one.
        tell: called with each line to show, including the address.
        pilot: store data separately from the study's.
        public_url: address of a proxy in front of the server, or None without a proxy.
        proxies: addresses and networks of trusted proxies; see `configuration`.

    Raises:
        SpotballError: as for `opened`.
        OptionError: if the address is in use or invalid.
    """
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
                tell(f"the study is not ready ({n} problems). List the problems with `spotball study check {folder}`")

        _avoid_long_pauses()
        serve_until_ended(configuration(server, trusted), at, ready)
    tell("the server has stopped; all answers are stored")
