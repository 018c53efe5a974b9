"""Test the quality measures of participants, from the requests to the export, and quotas."""

from __future__ import annotations

import time
from pathlib import Path

import httpx
import polars as pl
import pytest

from spotball_adapters.study.results.export import PARTICIPANTS
from spotball_adapters.study.store import reading
from tests.adapters.study.made import LENIENT, START, Person, change, choices, middle, people, running, sent, study
from tests.adapters.study.stored import command

IPAD = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML) Version/17.5 Safari/605.1.15"


def table(folder: Path, *options: str) -> pl.DataFrame:
    out = folder / "exported"
    command("export", folder, "--out", out, "--keep-all", *options)
    return pl.read_csv(out / PARTICIPANTS)


def forge(person: Person, seconds: float) -> None:
    """Send all answers at once, with the plausible times of a real participant."""
    for item in person.begin().state["trials"]:
        seq, number = person.state["seq"], item["trial"]
        events = [sent(seq + 1, "shown", number)]
        events += [sent(seq + 2 + i, "click", number, seconds * 250 * (i + 1), **middle(3, 2)) for i in range(3)]
        events.append(sent(seq + 5, "answer", number, seconds * 1000, cells=[[3, 2]] * 3))
        if item["explain"]:
            events.append(sent(seq + 6, "explanation", number, seconds * 1200, text=f"They look at number {number}."))
        assert person.post(*events).status_code == 200


@pytest.mark.slow
def test_script_with_forged_times_is_flagged_and_gets_no_bonus(tmp_path: Path) -> None:
    strict = {after: before for before, after in LENIENT.items() if "starts" not in before}
    folder = study(tmp_path, images=50, changes=strict)
    began = time.monotonic()
    with people(folder, {"pid": "p", "study": "s", "session": "v"}) as (person,):
        forge(person, seconds=15.0)
    assert time.monotonic() - began < 52  # otherwise the times would not be forged
    (row,) = table(folder).rows(named=True)
    assert row["median_seconds"] == 15
    assert row["server_seconds"] < 1
    assert (row["flag_fast"], row["flag_clock"], row["flag_checks"]) == (True, True, False)
    assert row["excluded"] == "fast clock"
    bonus = tmp_path / "bonus.csv"
    assert "not paid: 1 participant who were too fast" in command("bonus", folder, "--out", bonus)
    assert bonus.read_text() == "PROLIFIC_PID,amount\n"
    command("bonus", folder, "--out", bonus, "--all")
    assert bonus.read_text() == "PROLIFIC_PID,amount\np,1.00\n"


@pytest.mark.slow
def test_participant_who_was_offline_is_not_flagged_by_the_rules_fast_and_clock(tmp_path: Path) -> None:
    """Check answers that arrive all at once, but not before a participant could have given them."""
    folder = study(tmp_path, images=2, checks=0, changes={"min_seconds_per_image = 0": "min_seconds_per_image = 0.2"})
    with people(folder, None) as (person,):
        person.begin()
        time.sleep(1.0)
        queue = []
        for item in person.state["trials"]:
            steps = [("shown", {}), *[("click", middle(1, 1))] * 3, ("answer", {"cells": [[1, 1]] * 3})]
            for kind, value in (*steps, ("explanation", {"text": f"They look at the {item['trial']} there."})):
                elapsed = 0.0 if kind == "shown" else 400.0
                queue.append(sent(person.state["seq"] + len(queue) + 1, kind, item["trial"], elapsed, **value))
        assert person.post(*queue).status_code == 200
    (row,) = table(folder, "--exclude", "fast,clock").rows(named=True)
    assert (row["flag_fast"], row["flag_clock"]) == (False, False)
    clicks = pl.read_csv(folder / "exported/clicks.csv")
    assert clicks["answer_seconds"].to_list() == [0.4] * 6
    assert clicks["server_answer_seconds"].to_list() == [0.0] * 6


@pytest.mark.slow
@pytest.mark.parametrize("task", ["clicks", "choice"])
def test_export_contains_device_focus_and_window_of_participants(tmp_path: Path, task: str) -> None:
    folder = study(tmp_path, images=3) if task == "clicks" else choices(tmp_path)
    with running(folder) as url, httpx.Client(base_url=url, headers={"user-agent": IPAD}) as client:
        person = Person(client)
        person.state = client.post("/api/start", json={**START, "language": "de-AT", "touch": True}).json()
        person.do("away", None, ms=2500)
        person.to_trials()
        person.do("away", 0, ms=500)
        person.finish()
        late = person.send("away", None, ms=1)
        assert (late.status_code, late.json()["error"]) == (422, "away: the participation has ended")
    (row,) = table(folder).rows(named=True)
    assert (row["times_away"], row["seconds_away"]) == (2, 3.0)
    assert (row["viewport_width"], row["viewport_height"], row["pixel_ratio"]) == (1280, 720, 2)
    device = [row[name] for name in ("device", "browser", "system", "language")]
    assert device == ["tablet", "Safari 17", "iOS", "de-AT"]
    text = (folder / "study.toml").read_text()
    assert "how often and how long you leave the\npage" in text
    assert "your kind of device" in text


def test_device_and_focus_are_not_stored_if_the_study_disables_them(tmp_path: Path) -> None:
    folder = study(tmp_path, images=1, checks=0, changes={"device = true": "device = false", "focus = true": ""})
    with running(folder) as url, httpx.Client(base_url=url, headers={"user-agent": IPAD}) as client:
        person = Person(client)
        person.whole()
        assert client.get("/api/study").json()["records"] == {"device": False, "focus": False, "mouse": False}
    (row,) = table(folder).rows(named=True)
    assert not any(row[name] for name in ("device", "browser", "system", "language", "times_away"))
    with reading(folder) as reader:
        assert reader.events(1)[0].value == {"stage": "consent"}


@pytest.mark.slow
class TestQuota:
    """Test a study with a quota of two kept participants per list."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return study(tmp_path, sports=("soccer", "volleyball"), images=2, changes={"per_list = 0": "per_list = 2"})

    def lists(self, folder: Path) -> list[str]:
        with reading(folder) as reader:
            return sorted(one.list for one in reader.participants())

    def someone(self, url: str, *, misses: bool = False) -> int:
        with httpx.Client(base_url=url) as client:
            person = Person(client)
            status = person.start().status_code
            if status == 200:
                person.to_trials()
                person.finish(row=5 if misses else 3)
            return status

    def test_excluded_participants_do_not_count_for_the_quota(self, folder: Path) -> None:
        with running(folder) as url:
            assert [self.someone(url, misses=True) for _ in range(3)] == [200] * 3
            assert [self.someone(url) for _ in range(4)] == [200] * 4
            # The study stays full, also after a restart.
            assert self.someone(url) == 410
        with running(folder) as url:
            assert self.someone(url) == 410
        assert len(self.lists(folder)) == 7
        kept = table(folder).filter(pl.col("excluded").is_null())
        assert sorted(kept["list"]) == ["soccer"] * 2 + ["volleyball"] * 2

    def test_active_participant_counts_for_the_quota_and_may_finish(self, folder: Path) -> None:
        with running(folder) as url, httpx.Client(base_url=url) as client:
            person = Person(client)
            person.start()
            assert [self.someone(url) for _ in range(4)] == [200] * 3 + [410]
            person.to_trials()
            person.finish()
            assert person.reload()["stage"] == "finished"
        assert self.lists(folder) == ["soccer"] * 2 + ["volleyball"] * 2

    def test_list_balance_counts_only_participants_who_are_kept(self, folder: Path) -> None:
        change(folder, {"per_list = 2": "per_list = 0"})
        with running(folder) as url:
            self.someone(url, misses=True)
            (excluded,) = self.lists(folder)
            for _ in range(4):
                self.someone(url)
        lists = self.lists(folder)
        lists.remove(excluded)
        assert lists == ["soccer"] * 2 + ["volleyball"] * 2
