"""Provide a proxy that replaces the model services named on pages, so that commands run unchanged.

HTTP_PROXY and HTTPS_PROXY direct a command to the proxy. The proxy itself answers the requests to each host, with the
protocols in `tests.adapters`. SSL_CERT_FILE makes commands trust its certificate. HF_ENDPOINT is the address of a local
server that replaces the Hugging Face Hub. No request leaves this machine.
"""

from __future__ import annotations

import re
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.server import serve
from tests.adapters.speaks_embeddings import GeminiEmbeddings, OpenAIEmbeddings
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import BadRequest, ReceivedRequest, Speaks
from tests.gen.hub.server import serve as serve_hub

HOSTS = ("api.openai.com", "generativelanguage.googleapis.com")
"""Hosts that the certificate is valid for."""

TOKEN = "hf_..."
"""The Hub token in the documentation's page about the Hub."""


class Services:
    """Serve several protocols on one port, distinguished by the last part of the path."""

    def __init__(self) -> None:
        self._protocols: Mapping[str, Speaks] = {
            r"/v1/chat/completions$": OpenAIProtocol(),
            r"/v1/embeddings$": OpenAIEmbeddings(),
            r"/v1beta/models/[\w.-]+:batchEmbedContents(\?.*)?$": GeminiEmbeddings(),
        }
        self._current: Speaks = OpenAIProtocol()

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        """Read a request with the protocol of its path. Requests to a proxy may contain the host in their path."""
        for end, protocol in self._protocols.items():
            if match := re.search(end, path):
                self._current = protocol
                return protocol.read(method, match[0], headers, body)
        raise BadRequest(f"unknown path {path}", status=404)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        """Write an answer with the protocol of the last request."""
        return self._current.write(asked, texts, style)

    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]:
        """Write an error with the protocol of the last request."""
        return self._current.error(status, message, code, field)


@contextmanager
def network(folder: Path) -> Iterator[dict[str, str]]:
    """Start the proxy and yield the environment variables that direct commands to it.

    Args:
        folder: where to save the certificate.
    """
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl in the PATH")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    names = ",".join(f"DNS:{host}" for host in HOSTS)
    new = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=loopback"
    options = ["-addext", f"subjectAltName={names}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*new.split(), *options], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with (
        serve(Services(), keep=False) as plain,
        serve(Services(), keep=False, tls=tls) as encrypted,
        _proxy(plain.port, encrypted.port) as address,
        serve_hub() as hub,
    ):
        hub.token = TOKEN
        yield {
            **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), address),
            # Exclude only the address of the Hub: pages refer to the reader's own servers as `localhost`.
            **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1"),
            **dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(certificate)),
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(folder / "hub"),
            "HF_HUB_DISABLE_XET": "1",
        }


@contextmanager
def _proxy(plain: int, encrypted: int) -> Iterator[str]:
    """Start a proxy that sends encrypted connections to one port and all others to another port, and yield its URL."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            first = self.rfile.readline()
            is_tunnel = first.startswith(b"CONNECT ")
            with socket.create_connection(("127.0.0.1", encrypted if is_tunnel else plain)) as server:
                if is_tunnel:
                    while self.rfile.readline().strip():
                        pass
                    self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    server.sendall(first)
                back = threading.Thread(target=self._copy_back, args=(server,), daemon=True)
                back.start()
                while part := self.rfile.read1(2**16):
                    server.sendall(part)
                server.shutdown(socket.SHUT_WR)
                back.join(timeout=60)

        def _copy_back(self, server: socket.socket) -> None:
            # Either side may close its connection at any time.
            with suppress(OSError):
                while part := server.recv(2**16):
                    self.wfile.write(part)

    class Proxy(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Ignore connections that a client closed."""

    with Proxy(("127.0.0.1", 0), Handler) as proxy:
        threading.Thread(target=proxy.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_address[1]}"
        proxy.shutdown()
