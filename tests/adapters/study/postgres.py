"""A temporary PostgreSQL server for tests, with its data and its socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.adapters.study.asked import add

FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql*/bin", "/opt/homebrew/opt/postgresql*/bin")


def _binary(name: str) -> str | None:
    if found := shutil.which(name):
        return str(Path(found).resolve())
    return next((str(path) for pattern in FOLDERS for path in Path("/").glob(f"{pattern[1:]}/{name}")), None)


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server and yield its address. Skip the test if PostgreSQL or a user to run it is missing."""
    initdb, pg_ctl = _binary("initdb"), _binary("pg_ctl")
    if initdb is None or pg_ctl is None:
        pytest.skip("needs PostgreSQL's initdb and pg_ctl")
    pytest.importorskip("psycopg", reason="needs psycopg, of the extra postgres")
    user: dict[str, int] = {}
    if os.geteuid() == 0:
        # The server refuses to run as root.
        try:
            entry = pwd.getpwnam("nobody")
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user nobody")
        user = {"user": entry.pw_uid, "group": entry.pw_gid}
    # The path must be short, because a socket's path has at most 107 characters.
    folder = Path(tempfile.mkdtemp(prefix="spotball-pg-"))
    try:
        if user:
            os.chown(folder, user["user"], user["group"])

        def run(*line: str) -> None:
            subprocess.run(line, check=True, capture_output=True, cwd="/", timeout=120, **user)

        data = folder / "data"
        run(initdb, "-D", str(data), "-U", "study", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c max_connections=50"
        run(pg_ctl, "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql://study@/postgres?host={folder}"
        finally:
            run(pg_ctl, "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def use_postgres(study: Path, url: str, schema: str) -> Path:
    """Configure a study to store its data in a database."""
    return add(study, f'\n[database]\nurl = "{url}"\nschema_name = "{schema}"\n')
