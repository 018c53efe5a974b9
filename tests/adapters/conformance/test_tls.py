"""Test untrusted certificates, servers without TLS, and closed connections."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest

from spotball_adapters.providers.protocol import PermanentError, RefusedError, TransientError
from tests.adapters.asking import answer, ask, request
from tests.adapters.conformance.cases import Client, Service
from tests.adapters.server import serve


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a self-signed certificate for 127.0.0.1 and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl in the PATH")
    folder = tmp_path_factory.mktemp("tls")
    new = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=loopback"
    options = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run(["openssl", *new.split(), *map(str, options)], check=True, capture_output=True)
    return folder


def test_untrusted_certificate_raises_permanent_error_that_names_the_environment_variable_to_trust_it(
    service: Service, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with serve(service.speaks(), base_path=service.base_path, tls=tls) as server:
        (found,) = ask(service.at(server), request())
        assert isinstance(found, PermanentError), found
        assert not isinstance(found, RefusedError)
        assert found.code == "request-rejected"
        assert str(found).startswith(f"{service.shown}: ")
        assert "(self-signed certificate)" in str(found)
        assert server.seen == []
        (variable,) = re.findall(r"[A-Z]+(?:_[A-Z]+)+", str(found))
        monkeypatch.setenv(variable, str(certificate / "cert.pem"))
        assert answer(service.at(server), request()).replies


def test_https_address_of_an_http_server_raises_permanent_error(service: Service) -> None:
    # Web servers answer like this to TLS on an HTTP port.
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(2**16)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")

        threading.Thread(target=refuse, daemon=True).start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"
        (found,) = ask(service.at(url), request())
    assert isinstance(found, PermanentError), found
    assert found.code == "request-rejected"
    assert "https" in str(found)


def test_closed_connection_during_the_tls_handshake_raises_transient_error(client: Client) -> None:
    # The loopback server closes connections that do not use HTTP.
    (found,) = ask(client.service.at(client.server.url.replace("http:", "https:")), request())
    assert isinstance(found, TransientError), found
