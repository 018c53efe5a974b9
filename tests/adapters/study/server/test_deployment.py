"""Test a study behind a proxy: with a path prefix, with HTTPS by a real Caddy, and with a wrong host name."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from spotball_adapters.study.server.connections import raise_file_limit
from spotball_adapters.study.server.public import check_proxies, read_public_address
from spotball_core.errors import OptionError
from spotball_core.service.web import listening
from tests.adapters.run_process import here
from tests.adapters.study.made import START, Person, running, serve_line, serving, study
from tests.adapters.study.server.test_connections import incomplete, limit_files
from tests.browsing import free_port
from tests.conftest import ROOT
from tests.failures import codes, raises
from tests.waiting import until

DEPLOY = ROOT / "deploy/human-study"
PUBLIC = read_public_address("https://study.example.org/ball/")


@pytest.mark.parametrize(
    "url",
    ["study.example.org", "ftp://example.org/", "https://", "https://a.example/?x", "https://a:b@c/", "https://a:x/"],
)
def test_invalid_public_url_is_an_error(url: str) -> None:
    with raises(OptionError, "invalid-option:--public-url"):
        read_public_address(url)


@pytest.mark.parametrize("proxy", ["*", "caddy", "300.1.1.1", "10.0.0.1/8"])
def test_invalid_proxy_is_an_error(proxy: str) -> None:
    with raises(OptionError, "invalid-option:--proxy"):
        check_proxies(["127.0.0.1", proxy])


@pytest.mark.parametrize("prefix", ["", "/ball"], ids=["removed by the proxy", "passed on"])
def test_all_paths_work_below_the_path_prefix_of_the_public_url(tmp_path: Path, prefix: str) -> None:
    served = running(study(tmp_path, images=2), public=PUBLIC, password="p")
    with served as url, httpx.Client(base_url=f"{url}{prefix}/") as client:
        assert [client.get(path).status_code for path in ("", "static/app.js", "api/study")] == [200] * 3
        assert 'href="admin.css"' in client.get("admin", auth=("admin", "p")).text
        answer = client.post("api/start", json=START, headers={"origin": "https://study.example.org"})
        assert answer.status_code == 200
        cookie = answer.headers["set-cookie"].lower()
        assert "path=/ball/;" in cookie
        assert "secure" in cookie
        image = answer.json()["trials"][0]["image"]
        assert client.get(image).headers["content-type"] == "image/png"


def test_server_with_a_public_url_redirects_a_prefix_without_a_slash_and_rejects_foreign_origins(
    tmp_path: Path,
) -> None:
    with running(study(tmp_path, images=2), public=PUBLIC) as url:
        answer = httpx.get(f"{url}/ball?PROLIFIC_PID=p")
        assert (answer.status_code, answer.headers["location"]) == (308, "/ball/?PROLIFIC_PID=p")
        assert httpx.get(f"{url}/balls").status_code == 404
        for origin in ("https://evil.example", "https://study.example.org.evil.example"):
            assert httpx.post(f"{url}/api/start", json=START, headers={"origin": origin}).status_code == 403


def test_request_with_a_wrong_host_name_from_a_proxy_is_rejected_with_421_and_explained_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = {"origin": "https://study.example.org", "sec-fetch-site": "same-origin"}
    with running(study(tmp_path, images=2), password="p") as url:
        answers = [httpx.post(f"{url}/api/start", json=START, headers=headers) for _ in range(3)]
        page = httpx.get(f"{url}/admin", auth=("admin", "p")).text
    assert [answer.status_code for answer in answers] == [421] * 3
    said = capsys.readouterr().err
    reason = "error: answers are rejected, because participants use the address https://study.example.org"
    assert said.count(reason) == 1
    assert "--public-url https://study.example.org/" in said
    assert "the proxy of the study forwards a wrong host name" in page
    # A cross-site request may be an attack, so the message is not printed.
    with running(study(tmp_path / "again", images=2)) as url:
        headers["sec-fetch-site"] = "cross-site"
        assert httpx.post(f"{url}/api/start", json=START, headers=headers).status_code == 403
    assert capsys.readouterr().err == ""


def is_up(address: str) -> bool:
    try:
        httpx.get(address, verify=False)
    except (httpx.TransportError, ssl.SSLError):
        return False
    return True


@contextmanager
def caddy(folder: Path, upstream: str) -> Iterator[str]:
    """Run a real Caddy with the Caddyfile of deploy/ and a local certificate; yield its address."""
    program = os.environ.get("SPOTBALL_CADDY") or shutil.which("caddy")
    if program is None:
        pytest.skip("needs Caddy in the PATH, or named by $SPOTBALL_CADDY")
    https, http = free_port(), free_port()
    options = f"\tadmin off\n\tskip_install_trust\n\tlocal_certs\n\thttp_port {http}\n\thttps_port {https}\n"
    config = folder / "Caddyfile"
    head, brace, rest = (DEPLOY / "Caddyfile").read_text(encoding="utf-8").partition("{\n")
    config.write_text(f"{head}{brace}{options}{rest}", encoding="utf-8")
    address = f"https://localhost:{https}"
    env = {**os.environ, "STUDY_DOMAIN": address, "STUDY_SERVER": upstream, "HOME": str(folder)}
    env |= {"XDG_DATA_HOME": str(folder / "data"), "XDG_CONFIG_HOME": str(folder / "config")}
    with proxy_process(folder, [program, "run", "--config", str(config), "--adapter", "caddyfile"], address, env):
        yield address


@contextmanager
def nginx(folder: Path, upstream: str) -> Iterator[str]:
    """Run a real nginx with nginx.conf of deploy/ and a certificate made for the test; yield its address."""
    program, openssl = os.environ.get("SPOTBALL_NGINX") or shutil.which("nginx"), shutil.which("openssl")
    if program is None or openssl is None:
        pytest.skip("needs openssl, and nginx in the PATH or named by $SPOTBALL_NGINX")
    line = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"]
    subprocess.run([*line, "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True, capture_output=True)
    port, site = free_port(), (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for before, after in {
        "listen 443": f"listen {port}",
        "/etc/letsencrypt/live/study.example.org/fullchain.pem": f"{folder}/cert.pem",
        "/etc/letsencrypt/live/study.example.org/privkey.pem": f"{folder}/key.pem",
        "127.0.0.1:8000": upstream,
    }.items():
        assert before in site
        site = site.replace(before, after)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"pid {folder}/pid;\nevents {{ worker_connections 4096; }}\nhttp {{ access_log off;\n{paths}{site}}}\n"
    (folder / "nginx.conf").write_text(whole, encoding="utf-8")
    line = [program, "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
    with proxy_process(folder, line, f"https://localhost:{port}"):
        yield f"https://localhost:{port}"


@contextmanager
def proxy_process(folder: Path, line: list[str], address: str, env: Mapping[str, str] | None = None) -> Iterator[None]:
    """Run a proxy until the end of the block, which begins as soon as it answers."""
    log = folder / "proxy.log"
    with log.open("wb") as file, subprocess.Popen(line, env=env, stdout=file, stderr=file) as child:
        try:
            until(lambda: child.poll() is not None or is_up(address))
            assert child.poll() is None, log.read_text()
            yield
        finally:
            child.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("proxy", [caddy, nginx])
def test_1300_incomplete_requests_do_not_stop_the_study_behind_a_proxy(
    tmp_path: Path, proxy: Callable[[Path, str], AbstractContextManager[str]]
) -> None:
    raise_file_limit()
    folder = study(tmp_path, images=2, checks=1)
    context = ssl._create_unverified_context()
    with (
        serving(folder, "--proxy", "127.0.0.1", preexec_fn=limit_files) as (url, child),
        proxy(tmp_path, url.removeprefix("http://")) as address,
        httpx.Client(base_url=address, verify=False, timeout=30) as client,
        ExitStack() as stack,
    ):
        part = incomplete(Person(client).begin())
        port = int(address.rpartition(":")[2])
        for _ in range(1300):
            plain = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60))
            secure = stack.enter_context(context.wrap_socket(plain, server_hostname="localhost"))
            secure.sendall(part)
        transport = httpx.HTTPTransport(verify=False, local_address="127.0.0.2")
        with httpx.Client(base_url=address, transport=transport, timeout=30) as other:
            Person(other).whole()
        child.terminate()
        _, stderr = child.communicate(timeout=60)
    assert stderr.count("\n") <= 5
    assert "Traceback" not in stderr


@pytest.mark.slow
@pytest.mark.browser
def test_participant_finishes_the_study_behind_caddy_with_https(tmp_path: Path, visit: Callable[..., Any]) -> None:
    from tests.adapters.study.browsing import clicks_study

    folder, port = clicks_study(tmp_path), free_port()
    with caddy(tmp_path, f"127.0.0.1:{port}") as address:
        public = f"{address}/ball/"
        line = serve_line(folder, "--public-url", public, "--proxy", "127.0.0.1", port=port)
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                first, _, third = (server.stderr.readline() for _ in range(3))
                assert first == f"Spot the Ball: {public}\n"
                assert third.endswith(f" http://127.0.0.1:{port}/\n")
                visitor = visit(folder, address=f"{address}/ball", ignore_https_errors=True)
                visitor.practice()
                visitor.finish()
                (cookie,) = visitor.context.cookies()
                assert (cookie["secure"], cookie["httpOnly"], cookie["path"]) == (True, True, "/ball/")
            finally:
                server.terminate()
                server.communicate(timeout=60)
    assert visitor.only()[0].stage == "finished"


@pytest.mark.slow
def test_forged_client_address_is_ignored_behind_caddy(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2, changes={"starts_per_minute_address = 120": "starts_per_minute_address = 2"})
    with running(folder, proxies=["127.0.0.1"]) as url, caddy(tmp_path, url.removeprefix("http://")) as address:
        forged = [{"x-forwarded-for": f"192.0.2.{number}"} for number in range(3)]
        start = f"{address}/api/start"
        statuses = [httpx.post(start, json=START, headers=one, verify=False).status_code for one in forged]
        # A start without a forged header counts for the same address.
        with httpx.Client(base_url=address, verify=False) as client:
            assert Person(client).start().status_code == 429
    assert statuses == [200, 200, 429]


def test_compose_and_systemd_files_use_existing_options() -> None:
    known = here("study", "serve", "--help").stdout
    for name in ("compose.yaml", "spotball-study.service"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        options = {word.split("=")[0] for word in text.split() if word.startswith("--") and word != "--detach"}
        assert options >= {"--port", "--public-url", "--proxy"}
        assert all(option in known for option in options)


@pytest.mark.parametrize("arguments", [[], ["--demo", "folder"]])
def test_serve_requires_either_a_folder_or_demo(arguments: list[str]) -> None:
    done = here("study", "serve", *arguments)
    assert (done.returncode, codes(done.stderr)) == (2, ["missing-option"])


def test_listening_socket_is_tcp_so_that_asyncio_sets_tcp_nodelay() -> None:
    # asyncio sets TCP_NODELAY only on sockets marked as TCP, and connections inherit this from the listener.
    with listening("127.0.0.1", 0) as at:
        assert at.proto == socket.IPPROTO_TCP
        assert at.getsockname()[0] == "127.0.0.1"
