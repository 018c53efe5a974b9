"""Test pilots: they work like the study, are marked, keep it changeable, and are deleted by one command."""

from __future__ import annotations

from pathlib import Path

import httpx
import polars as pl
import pytest

from spotball_adapters.study.server.serve import opened
from spotball_adapters.study.store import reading
from spotball_core.errors import OptionError
from tests.adapters.run_process import here
from tests.adapters.study.made import VIEWPORT, Person, change, running, study
from tests.adapters.study.people import command
from tests.failures import raises


def start_of(client: httpx.Client, name: str | None) -> httpx.Response:
    return client.post("/api/start", json={"consent": True, "viewport": VIEWPORT, "list": name})


def test_pilot_is_served_exported_and_deleted_apart_from_the_study(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    with running(folder, pilot=True) as url, httpx.Client(base_url=url) as client:
        assert client.get("/api/study").json()["pilot"] is True
        person = Person(client, prolific={"pid": "p", "study": "s", "session": "v"})
        person.whole()
        assert person.state["participant"].startswith("pilot-")
    assert not (folder / "study.sqlite").exists()
    # A pilot does not lock study.toml: after a change of a text, a new pilot and the study can be served.
    change(folder, {"Each photo is divided": "A photo is divided"})
    with running(folder, pilot=True) as url, httpx.Client(base_url=url) as client:
        Person(client).whole()
        client.cookies.clear()
        Person(client).start()
    with running(folder) as url, httpx.Client(base_url=url) as client:
        assert client.get("/api/study").json()["pilot"] is False
        Person(client).whole()
    said = command("export", folder, "--out", tmp_path / "pilot", "--pilot")
    assert "2 participants took part, 1 finished, 1 exported" in said
    rows = pl.read_ndjson(tmp_path / "pilot/responses-people.jsonl")
    assert rows["respondent"].unique().to_list() == ["pilot"]
    assert rows["participant"].str.starts_with("pilot-").all()
    assert "1 participant took part, 1 finished, 1 exported" in command("export", folder, "--out", tmp_path / "people")
    assert "took part" in here("study", "status", str(folder), "--pilot").stdout
    assert command("delete", folder, "--pilot") == "deleted the data of all pilots: 3 participants\n"
    assert [path.name for path in folder.iterdir() if path.name.startswith("pilot")] == []
    with reading(folder) as reader:
        assert len(reader.participants()) == 1
    for arguments in (("delete", folder, "--pilot"), ("status", folder, "--pilot")):
        with raises(OptionError, "wrong-folder"):
            command(*arguments)


def test_pilot_resumes_after_a_restart_of_the_server(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    with running(folder, pilot=True) as url, httpx.Client(base_url=url) as client:
        person = Person(client)
        person.start()
        person.to_trials()
        cookies = dict(client.cookies)
    with running(folder, pilot=True) as url, httpx.Client(base_url=url, cookies=cookies) as client:
        assert client.get("/api/state").json()["stage"] == "trials"


def test_list_in_the_link_is_accepted_only_in_a_pilot(tmp_path: Path) -> None:
    folder = study(tmp_path, sports=("soccer", "volleyball"), images=2, changes={"per_list = 0": "per_list = 1"})
    with running(folder, pilot=True) as url, httpx.Client(base_url=url) as client:
        for name in ("volleyball", "volleyball", "soccer", "volleyball"):
            state = start_of(client, name).json()
            assert state["list"] == name
        assert start_of(client, "tennis").status_code == 422
    with reading(folder / "pilot-1") as reader:
        # The second request for the same list resumed the same participant.
        assert [one.list for one in reader.participants()] == ["volleyball", "soccer", "volleyball"]
    with running(folder) as url, httpx.Client(base_url=url) as client:
        assert start_of(client, "soccer").status_code == 422
        assert "list" not in start_of(client, None).json()


def test_delete_of_a_pilot_in_use_is_an_error(tmp_path: Path) -> None:
    folder = study(tmp_path, images=2)
    with opened(folder, pilot=True), raises(OptionError, "in-use"):
        command("delete", folder, "--pilot")
    assert (folder / "pilot-1").is_dir()


@pytest.mark.parametrize("options", [(), ("--participant", "a", "--pilot"), ("--participant", "a", "--prolific", "b")])
def test_delete_requires_exactly_one_of_participant_prolific_and_pilot(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    with raises(OptionError, "conflicting-options"):
        command("delete", study(tmp_path, images=2), *options)
