"""Serve a fake Hugging Face Hub on the loopback interface, with LFS uploads, commits, trees and downloads.

It accepts only requests that the protocol allows, and keeps contents in memory.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

LFS_ENDINGS = (".parquet", ".png", ".jpg")
PAGE = 3
"""Number of files per page of a tree."""


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Repository:
    """A dataset repository: each commit with all its files."""

    private: bool
    commits: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.commits:
            self.add({".gitattributes": b"*.parquet filter=lfs\n"}, "initial commit")

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1][1]

    def add(self, files: dict[str, bytes], message: str) -> str:
        sha = hashlib.sha1(json.dumps([len(self.commits), sorted(files)]).encode()).hexdigest()
        self.commits.append((sha, files))
        self.messages.append(message)
        return sha

    def at(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        if revision == "main":
            return self.commits[-1]
        return next((commit for commit in self.commits if commit[0] == revision), None)


@dataclass
class FakeHub:
    """Hold the state of the fake Hub.

    Attributes:
        token: the token that may write, and read private repositories.
        objects: uploaded large files, by SHA-256.
        refuse_uploads_after: the number of large files after which uploads fail with status 403; None if all succeed.
        requests: method, path and Authorization header of each request.
        listed: entries of a tree that replace the true ones, by path.
        served: contents that replace the true ones in downloads, by path.
        url: the URL at which it listens.
        storage: the URL of the separate server for large files.
    """

    token: str = "hf_secretToken123"
    repositories: dict[str, Repository] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    refuse_uploads_after: int | None = None
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    listed: dict[str, dict[str, Any]] = field(default_factory=dict)
    served: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    storage: str = ""

    @property
    def uploads(self) -> list[str]:
        return [path.rpartition("/")[2] for method, path, _ in self.requests if method == "PUT"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def reply(self, status: int, content: Any = b"", headers: dict[str, str] | None = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "Content-Length" not in (headers or {}):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def fail(self, status: int, message: str, code: str = "") -> None:
        self.reply(status, {"error": message}, {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})})

    def handle_any(self) -> None:
        hub = self.hub
        hub.requests.append((self.command, self.path, self.headers.get("Authorization")))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        may_write = self.headers.get("Authorization") == f"Bearer {hub.token}"
        if match := re.fullmatch(r"/objects/([0-9a-f]{64})", path):
            return self.object(match[1], body)
        if path == "/api/repos/create":
            return self.create(json.loads(body), may_write)
        if path == "/api/validate-yaml":
            return self.validate(json.loads(body))
        match = re.fullmatch(r"/(?:api/)?datasets/([^/]+/[^/.]+)(?:\.git)?(?:/(.*))?", path)
        if not match:
            return self.fail(404, "Not Found")
        repository = hub.repositories.get(match[1])
        if repository is None or (repository.private and not may_write):
            return self.fail(401 if not may_write else 404, "Repository not found", "RepoNotFound")
        if self.command == "POST" and not may_write:
            return self.fail(403, "You have no right to write")
        action, _, rest = (match[2] or "revision/main").partition("/")
        if action == "preupload":
            return self.preupload(json.loads(body))
        if match[2] == "info/lfs/objects/batch":
            return self.batch(json.loads(body))
        if action == "commit":
            return self.commit(match[1], repository, body)
        if action not in ("revision", "tree", "resolve"):
            return self.fail(404, "Not Found")
        revision, _, name = rest.partition("/")
        found = repository.at(revision)
        if found is None:
            return self.fail(404, "Invalid rev id", "RevisionNotFound")
        if action == "revision":
            return self.info(match[1], repository.private, *found)
        if action == "tree":
            return self.tree(found[1], int(parse_qs(parts.query).get("page", ["0"])[0]))
        return self.resolve(*found, name)

    do_GET = do_POST = do_PUT = do_HEAD = handle_any

    def create(self, asked: dict[str, Any], may_write: bool) -> None:
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if not may_write:
            return self.fail(401, "Invalid username or password.")
        assert asked["type"] == "dataset"
        url = {"url": f"{self.hub.url}/datasets/{name}", "name": name}
        if name in self.hub.repositories:
            return self.reply(409, {**url, "error": "You already created this dataset repo"})
        private = asked.get("private", False) or asked.get("visibility") == "private"
        self.hub.repositories[name] = Repository(private)
        return self.reply(200, url)

    def validate(self, asked: dict[str, Any]) -> None:
        assert asked["repoType"] == "dataset"
        metadata = yaml.safe_load(asked["content"].split("---\n")[1])
        known = re.fullmatch(r"[a-z0-9.-]+", metadata["license"])
        errors = [] if known else [{"message": '"license" must be one of the known ones'}]
        self.reply(400 if errors else 200, {"errors": errors, "warnings": []})

    def info(self, name: str, private: bool, sha: str, files: dict[str, bytes]) -> None:
        siblings = [{"rfilename": path} for path in files]
        self.reply(200, {"id": name, "sha": sha, "private": private, "siblings": siblings, "tags": []})

    def preupload(self, asked: dict[str, Any]) -> None:
        modes = {file["path"]: "lfs" if file["path"].endswith(LFS_ENDINGS) else "regular" for file in asked["files"]}
        files = [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in modes.items()]
        self.reply(200, {"files": files})

    def batch(self, asked: dict[str, Any]) -> None:
        assert asked["operation"] == "upload"
        objects = []
        for wanted in asked["objects"]:
            href = {"href": f"{self.hub.storage}/objects/{wanted['oid']}"}
            known = wanted["oid"] in self.hub.objects
            objects.append({**wanted, **({} if known else {"actions": {"upload": href}})})
        self.reply(200, {"transfer": "basic", "objects": objects}, {"Content-Type": "application/vnd.git-lfs+json"})

    def object(self, oid: str, body: bytes) -> None:
        hub = self.hub
        if self.command != "PUT":
            return self.reply(200, hub.objects[oid])
        if hub.refuse_uploads_after is not None and len(hub.objects) >= hub.refuse_uploads_after:
            return self.fail(403, "The connection broke")
        if hashlib.sha256(body).hexdigest() != oid:
            return self.fail(400, "wrong checksum")
        hub.objects[oid] = body
        return self.reply(200)

    def commit(self, name: str, repository: Repository, body: bytes) -> None:
        files = dict(repository.files)
        message = ""
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                message = value["summary"]
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.objects[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
            else:
                return self.fail(400, f"unknown key {line['key']}")
        sha = repository.add(files, message)
        url = f"{self.hub.url}/datasets/{name}/commit/{sha}"
        return self.reply(200, {"success": True, "commitUrl": url, "commitOid": sha})

    def tree(self, files: dict[str, bytes], page: int) -> None:
        names = sorted({*files, *self.hub.listed})
        entries = [self.hub.listed.get(name) or entry(name, files[name]) for name in names]
        next_page = f"{self.hub.url}{urlsplit(self.path).path}?recursive=True&page={page + 1}"
        link = {"Link": f'<{next_page}>; rel="next"'} if (page + 1) * PAGE < len(entries) else {}
        self.reply(200, entries[page * PAGE : (page + 1) * PAGE], link)

    def resolve(self, sha: str, files: dict[str, bytes], name: str) -> None:
        content = self.hub.served.get(name, files.get(name))
        if content is None:
            return self.fail(404, "Entry not found", "EntryNotFound")
        headers = {"X-Repo-Commit": sha, "ETag": f'"{git_blob(content)}"'}
        if not name.endswith(LFS_ENDINGS):
            return self.reply(200, content, {**headers, "Content-Length": str(len(content))})
        oid = hashlib.sha256(content).hexdigest()
        self.hub.objects[oid] = content
        linked = {"X-Linked-Size": str(len(content)), "X-Linked-Etag": f'"{oid}"'}
        return self.reply(302, b"", {**headers, **linked, "Location": f"{self.hub.storage}/objects/{oid}"})


def entry(name: str, content: bytes) -> dict[str, Any]:
    """Return the entry of a file in a tree."""
    if not name.endswith(LFS_ENDINGS):
        return {"type": "file", "path": name, "size": len(content), "oid": git_blob(content)}
    oid = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n".encode()
    large = {"oid": oid, "size": len(content), "pointerSize": len(pointer)}
    return {"type": "file", "path": name, "size": len(content), "oid": git_blob(pointer), "lfs": large}


@contextmanager
def serve() -> Iterator[FakeHub]:
    """Run a fake Hub on two free loopback ports, one for the API and one for large files."""
    hub = FakeHub()
    with ExitStack() as stack:
        hub.url, hub.storage = (stack.enter_context(listening(hub)) for _ in range(2))
        yield hub


@contextmanager
def listening(hub: FakeHub) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=60)
