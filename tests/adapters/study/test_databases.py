"""Test the database settings of study.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_adapters.study.databases import DatabaseConfig, database_of
from spotball_adapters.study.setup.check import check
from spotball_adapters.study.store import StudyStore, reading
from spotball_core.errors import InputError, MissingExtraError, SpotballError
from tests.adapters.study.made import study
from tests.adapters.study.postgres import use_postgres
from tests.failures import raises

URL = "postgresql://study@db.example.org/studies"


def test_database_of_a_study_without_a_database_table_is_none(tmp_path: Path) -> None:
    assert database_of(tmp_path) is None
    assert database_of(study(tmp_path, images=2)) is None


def test_database_of_a_pilot_has_a_separate_schema(tmp_path: Path) -> None:
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
def test_password_in_a_database_url_is_hidden_and_reported_by_check(
    tmp_path: Path, url: str, has_password: bool
) -> None:
    config = DatabaseConfig(url=url)
    assert config.has_password is has_password
    assert "secret" not in config.place
    found = "\n".join(check(use_postgres(study(tmp_path, images=2), url, "mine")))
    assert ("database.url: the address contains a password" in found) is has_password


@pytest.mark.parametrize("schema", ["Mine", "a b", "1a", "a;drop", "x" * 42, ""])
def test_invalid_schema_name_is_an_error(tmp_path: Path, schema: str) -> None:
    folder = use_postgres(study(tmp_path, images=2), URL, schema)
    with raises(InputError, "invalid-value:database.schema_name"):
        StudyStore(folder)


def test_unreachable_database_is_an_error_that_hides_the_password(tmp_path: Path) -> None:
    folder = use_postgres(study(tmp_path, images=2), f"postgresql://study:secret@/x?host={tmp_path}", "mine")
    for open_it in (lambda: StudyStore(folder), lambda: reading(folder).__enter__()):
        with pytest.raises(SpotballError) as caught:
            open_it()
        assert "secret" not in str(caught.value)
        if not isinstance(caught.value, MissingExtraError):
            assert caught.value.code == "unusable-store"
