"""Where study.toml says that answers are stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_adapters.study.databases import DatabaseConfig, database_of
from spotball_adapters.study.setup.check import check
from spotball_adapters.study.store import StudyStore, reading
from spotball_core.errors import InputError, MissingExtraError, SpotballError
from tests.adapters.study.made import study
from tests.adapters.study.postgres import use_postgres

URL = "postgresql://study@db.example.org/studies"


def test_no_table_means_files(tmp_path: Path) -> None:
    assert database_of(tmp_path) is None
    assert database_of(study(tmp_path, images=2)) is None


def test_a_pilot_has_a_schema_of_its_own(tmp_path: Path) -> None:
    folder = use_postgres(study(tmp_path, images=2), URL, "mine")
    (folder / "pilot-2").mkdir()
    config, pilot = database_of(folder), database_of(folder / "pilot-2")
    assert config is not None
    assert pilot is not None
    assert (config.schema_name, pilot.schema_name) == ("mine", "mine_pilot_2")


@pytest.mark.parametrize(
    ("url", "has_password"),
    [
        (URL, False),
        ("postgresql://study:secret@db/studies", True),
        ("postgresql://db/studies?password=secret", True),
        ("postgresql://study@db:5432/studies", False),
    ],
)
def test_passwords_are_not_shown_and_not_wanted(tmp_path: Path, url: str, has_password: bool) -> None:
    config = DatabaseConfig(url=url)
    assert config.has_password is has_password
    assert "secret" not in config.place
    found = "\n".join(check(use_postgres(study(tmp_path, images=2), url, "mine")))
    assert ("database.url: the address contains a password" in found) is has_password


@pytest.mark.parametrize("schema", ["Mine", "a b", "1a", "a;drop", "x" * 42, ""])
def test_names_of_schemas(tmp_path: Path, schema: str) -> None:
    folder = use_postgres(study(tmp_path, images=2), URL, schema)
    with pytest.raises(InputError, match=r"database\.schema_name: found .* `schema_name` in lower-case letters"):
        StudyStore(folder)


def test_a_database_that_cannot_be_reached(tmp_path: Path) -> None:
    folder = use_postgres(study(tmp_path, images=2), f"postgresql://study:secret@/x?host={tmp_path}", "mine")
    for open_it in (lambda: StudyStore(folder), lambda: reading(folder).__enter__()):
        with pytest.raises(SpotballError) as caught:
            open_it()
        assert "secret" not in str(caught.value)
        if not isinstance(caught.value, MissingExtraError):
            assert "cannot connect" in str(caught.value)
