"""Test taking part over HTTP with the real server: complete, interrupted, repeated and concurrent."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from spotball_adapters.study.progress import replay
from spotball_adapters.study.results.deletion import delete
from spotball_adapters.study.server import sessions
from spotball_adapters.study.setup.config import CONFIG, read_config
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import Identity, StudyStore, reading
from spotball_core.errors import OptionError
from tests.adapters.study.made import START, Json, Person, change, choices, middle, people, running, sent, study
from tests.failures import raises

FEW = {"explanations = 6": "explanations = 2"}


def prolific(person: str = "p1", *, study: str = "s1", session: str = "v1") -> Json:
    return {"pid": person, "study": study, "session": session}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return study(tmp_path, changes=FEW)


@pytest.fixture
def one(folder: Path) -> Iterator[Person]:
    with people(folder, None) as (person,):
        yield person


def events_of(folder: Path) -> list[str]:
    """Return the ids of all stored events."""
    with reading(folder) as reader:
        return [event.event for one in reader.participants() for event in reader.events(one.id)]


def assert_changed(folder: Path) -> None:
    with raises(OptionError, "different-settings"), running(folder):
        pass


class TestCompleteParticipation:
    def test_store_contains_all_events_of_a_finished_participant(self, folder: Path) -> None:
        with people(folder, None) as (person,):
            person.whole()
            state = person.reload()
        assert state["stage"] == "finished"
        explained = state["progress"].pop("explained")
        assert state["progress"] == {"answered": 8, "trial": None, "clicks": []}
        assert len(explained) == 2
        design = load(folder)
        with reading(folder) as reader:
            (stored,) = reader.participants()
            events = reader.events(stored.id)
        assert stored.participant == state["participant"]
        assert stored.finished_at == events[-1].received_at == stored.seen_at
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        progress = replay(stored.trials, events, design.item_type)
        assert progress.stage == "finished"
        assert [[click.cell for click in one.answer.clicks] for one in progress.answers] == [[(3, 2)] * 3] * 8
        assert stored.trials == design.trials("soccer", stored.seed)

    def test_state_reports_the_progress_of_the_participant(self, one: Person) -> None:
        assert one.start().json()["stage"] == "instructions"
        assert one.state["seq"] == 1
        one.do("stage", stage="instructions")
        (practice,) = one.reload()["practice"]
        assert one.state["progress"] == {"answered": 0, "trial": -1, "clicks": [], "explained": []}
        assert one.answer(practice)["feedback"] == {"cells": [[3, 2]]}
        assert one.reload()["practice"][0]["feedback"] == {"cells": [[3, 2]]}
        assert one.state["progress"]["trial"] is None
        one.do("stage", stage="practice")
        item = one.reload()["trials"][0]
        one.do("shown", 0)
        one.do("click", 0, **middle(1, 1))
        one.do("click", 0, **middle(6, 10))
        assert one.reload()["progress"] == {"answered": 0, "trial": 0, "clicks": [[1, 1], [6, 10]], "explained": []}
        one.do("undo", 0)
        for _ in range(2):
            one.do("click", 0, **middle(2, 2))
        one.do("answer", 0, cells=[[1, 1], [2, 2], [2, 2]])
        expected = {"answered": 1, "trial": 1, "clicks": [], "explained": []}
        if item["explain"]:
            assert one.reload()["progress"] == {**expected, "trial": 0, "clicks": [[1, 1], [2, 2], [2, 2]]}
            one.do("explanation", 0, text="They look there.")
            expected["explained"] = [0]
        assert one.reload()["progress"] == expected

    def test_completion_and_debriefing_are_sent_only_after_the_last_answer(self, tmp_path: Path) -> None:
        folder = study(tmp_path, changes={**FEW, '# code = "XXXXXXXX"': 'code = "THE-CODE-123"', "Thank you": "Merci"})
        with people(folder, None) as (person,):
            said = [person.start().text, person.client.get("/api/study").text, person.client.get("/").text]
            person.to_trials()
            for item in person.state["trials"][:-1]:
                person.answer(item)
                said.append(person.client.get("/api/state").text)
            assert not any("THE-CODE-123" in text or "Merci" in text for text in said)
            assert person.answer(person.state["trials"][-1])["stage"] == "finished"
            state = person.reload()
        assert state["completion"] == {"code": "THE-CODE-123"}
        assert state["debriefing"].startswith("<p><strong>Merci for")

    def test_choice_study_gives_feedback_only_in_practice(self, tmp_path: Path) -> None:
        with people(choices(tmp_path), None) as (person,):
            assert person.client.get("/api/study").json()["task"] == "choice"
            person.start()
            person.do("stage", stage="instructions")
            practice, *others = person.state["practice"]
            assert practice["question"] == "Which object is this person looking at?"
            feedback = person.answer(practice)["feedback"]
            assert practice["options"][feedback["option"]] == "cup"
            assert feedback["right"] is (feedback["option"] == 0)
            for item in others:
                person.answer(item)
            person.do("stage", stage="practice")
            assert not any("feedback" in person.answer(item) for item in person.state["trials"])
            assert person.reload()["stage"] == "finished"


class TestExplanations:
    def test_explanation_needs_ten_letters_or_digits(self, tmp_path: Path) -> None:
        texts = {"x": 422, "a b c d e f g h i": 422, "... --- !!! ???": 422, "a b c d e f g h i j": 200, "三" * 10: 200}
        with people(study(tmp_path, images=1, checks=0), *[None] * len(texts)) as persons:
            for one, (text, status) in zip(persons, texts.items(), strict=True):
                one.begin().answer(one.state["trials"][0], text=None)
                said = one.send("explanation", 0, text=text)
                assert said.status_code == status, text
                assert status == 200 or "10" in said.text

    def test_stored_explanations_stay_valid_if_the_minimum_is_raised(self, tmp_path: Path) -> None:
        folder = study(tmp_path, images=1, checks=0)
        with people(folder, None) as (one,):
            one.whole()
        change(folder, {"explanation_letters = 10": "explanation_letters = 200"})
        with running(folder) as url, httpx.Client(base_url=url, cookies=one.client.cookies) as client:
            assert client.get("/api/state").json()["stage"] == "finished"


class TestResuming:
    def test_participant_resumes_after_a_restart_of_the_server(self, folder: Path) -> None:
        with people(folder, None) as (person,):
            person.begin().answer(person.state["trials"][0])
            before = person.reload()
        with running(folder) as url, httpx.Client(base_url=url, cookies=person.client.cookies) as client:
            person.client = client
            assert person.reload() == before
            person.answer(before["trials"][1])

    def test_two_studies_at_one_host_have_separate_participants(self, tmp_path: Path) -> None:
        folders = [study(tmp_path / name, changes=FEW) for name in ("a", "b")]
        with running(folders[0]) as first, running(folders[1]) as second, httpx.Client() as client:
            answers = [client.post(f"{url}/api/start", json=START).json() for url in (first, second) * 2]
        labels = [answer["participant"] for answer in answers]
        assert labels[:2] == labels[2:]
        assert labels[0] != labels[1]

    def test_participant_evicted_from_memory_resumes(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sessions, "KEPT", 1)
        with people(folder, None, None, None) as persons:
            for person in persons:
                person.start()
            for kind, value in (("stage", {"stage": "instructions"}), ("shown", {}), ("click", middle(1, 1))):
                for person in persons:
                    person.do(kind, None if kind == "stage" else -1, **value)
            assert [person.reload()["progress"]["clicks"] for person in persons] == [[[1, 1]]] * 3


class TestProlific:
    def test_same_session_resumes_in_another_browser_and_revokes_the_old_token(self, folder: Path) -> None:
        with people(folder, prolific(), prolific()) as (one, again):
            one.begin()
            assert again.start().json()["participant"] == one.state["participant"]
            assert again.state["stage"] == "trials"
            again.do("shown", 0)
            assert one.client.get("/api/state").status_code == 401
            assert one.send("shown", 0).status_code == 401
        assert len(set(events_of(folder))) == again.state["seq"]

    @pytest.mark.slow
    @pytest.mark.parametrize("other", [{"session": "v2"}, {"study": "s2"}])
    @pytest.mark.parametrize("finished", [False, True])
    def test_start_of_a_person_in_another_session_is_rejected(self, folder: Path, other: Json, finished: bool) -> None:
        with people(folder, prolific(), prolific(**other)) as (one, again):
            one.whole() if finished else one.start()
            refused = again.start()
            assert (refused.status_code, refused.json()) == (409, {"error": "this person has already taken part"})
            assert not refused.cookies
            again.prolific = prolific()
            assert again.start().json()["participant"] == one.state["participant"]
        with reading(folder) as reader:
            assert len(reader.participants()) == 1

    def test_start_of_another_person_with_the_same_cookie_creates_a_new_participant(self, folder: Path) -> None:
        with people(folder, prolific()) as (one,):
            first = one.start().json()["participant"]
            one.prolific = prolific("p2", session="v2")
            assert one.start().json()["participant"] != first

    def test_start_with_resume_restores_a_participant_but_never_creates_one(self, folder: Path) -> None:
        with people(folder, prolific(), prolific()) as (one, again):
            content = {**START, "prolific": prolific(), "resume": True}
            refused = again.client.post("/api/start", json=content)
            assert (refused.status_code, refused.cookies) == (404, {})
            one.start()
            resumed = again.client.post("/api/start", json=content)
            assert resumed.json()["participant"] == one.state["participant"]
            assert again.client.get("/api/state").status_code == 200
        with reading(folder) as reader:
            assert len(reader.participants()) == len(reader.identities()) == 1

    def test_platform_ids_are_stored_in_a_separate_file(self, folder: Path) -> None:
        with people(folder, prolific("pid5f3c", study="study77", session="session99")) as (one,):
            one.whole()
            label = one.state["participant"]
        with reading(folder) as reader:
            (identity,) = reader.identities()
        assert identity == Identity(label, "prolific", "pid5f3c", "study77", "session99")
        for file in folder.glob("study.sqlite*"):
            assert not any(word in file.read_bytes() for word in (b"pid5f3c", b"study77", b"session99"))

    def test_only_prolific_rejects_participants_without_platform_ids(self, tmp_path: Path) -> None:
        folder = study(tmp_path, changes={"only_prolific = false": "only_prolific = true"})
        with people(folder, None, prolific()) as (nobody, one):
            assert nobody.start().status_code == 403
            assert one.start().status_code == 200

    def test_link_of_another_study_on_prolific_is_rejected(self, tmp_path: Path) -> None:
        text = '# prolific_studies = ["XXXXXXXX"]'
        folder = study(tmp_path, changes={text: 'prolific_studies = ["s1", "s2"]'})
        with people(folder, prolific("p1", study="x"), prolific("p1"), prolific("p2", study="s2"), None) as persons:
            assert [person.start().status_code for person in persons] == [403, 200, 200, 200]
        with reading(folder) as reader:
            assert sorted(one.study for one in reader.identities()) == ["s1", "s2"]

    @pytest.mark.parametrize("ids", [prolific(), None])
    @pytest.mark.parametrize("refuses", [True, False])
    def test_deleted_person_is_refused_if_the_study_says_so(
        self, folder: Path, ids: Json | None, refuses: bool
    ) -> None:
        if refuses:
            change(folder, {"refuse_deleted = false": "refuse_deleted = true"})
        with people(folder, ids, ids) as (one, other):
            label = one.start().json()["participant"]
            if ids is None:
                other.start()
        assert delete(folder, participant=label, remember=refuses).participant == label
        with running(folder) as url, httpx.Client(base_url=url, cookies=one.client.cookies) as client:
            assert Person(client, prolific=ids).start().status_code == (409 if refuses else 200)
            assert client.get("/api/study").status_code == 200
        # Others may still begin.
        with people(folder, prolific("p2"), None) as persons:
            assert [person.start().status_code for person in persons] == [200, 200]

    def test_identity_without_a_participant_after_a_crash_is_reused(self, folder: Path) -> None:
        with people(folder, prolific()) as (one,):
            label = one.start().json()["participant"]
        with StudyStore(folder) as store, store.study.transaction() as connection:
            connection.execute("DELETE FROM events")
            connection.execute("DELETE FROM participants")
        with people(folder, prolific(session="v3")) as (again,):
            assert again.start().json()["participant"] == label
            assert again.state["seq"] == 1
        with reading(folder) as reader:
            assert [one.participant for one in reader.participants()] == [label]
            assert [one.session for one in reader.identities()] == ["v3"]


class TestLostResponses:
    def test_start_with_the_same_key_resumes_without_a_cookie(self, folder: Path) -> None:
        keys = [str(uuid.uuid4()) for _ in range(2)]
        labels = []
        for _ in range(2):  # The server is restarted in between.
            with running(folder) as url:
                for key in (keys[0], keys[0], keys[1], None):
                    answer = httpx.post(f"{url}/api/start", json={**START, "key": key})
                    labels.append(answer.json()["participant"])
                    # The cookie of each response works.
                    assert httpx.get(f"{url}/api/state", cookies=answer.cookies).json()["participant"] == labels[-1]
        a, b, c, d = labels[0], labels[2], labels[3], labels[7]
        assert labels == [a, a, b, c, a, a, b, d]
        assert len({a, b, c, d}) == 4

    def test_study_page_receives_the_state_of_a_known_participant_and_null_without_one(self, one: Person) -> None:
        assert one.client.get("/api/study").json()["state"] is None
        one.start()
        assert one.client.get("/api/study").json()["state"] == one.reload()


class TestMinimumTime:
    def test_completion_code_is_sent_only_after_the_minimum_time(self, tmp_path: Path) -> None:
        changes = {"min_minutes = 0": "min_minutes = 10", '# code = "XXXXXXXX"': 'code = "THE-CODE-123"'}
        folder = study(tmp_path, images=2, changes=changes)
        with people(folder, None) as (person,):
            assert person.client.get("/api/study").json()["min_minutes"] == 10
            person.whole()
            state = person.reload()
            assert (state["stage"], state["completion"]) == ("finished", None)
            assert 0 < state["wait"] <= 600
            assert "THE-CODE" not in person.client.get("/api/study").text
        with StudyStore(folder) as store, store.study.transaction() as connection:
            connection.execute("UPDATE participants SET started_at = '2000-01-01T00:00:00.000+00:00'")
        with running(folder) as url, httpx.Client(base_url=url, cookies=person.client.cookies) as client:
            state = client.get("/api/state").json()
        assert (state["completion"], state["wait"]) == ({"code": "THE-CODE-123"}, 0)


class TestEventsStoredOnce:
    def test_event_sent_several_times_is_stored_once_with_the_same_reply(self, one: Person, folder: Path) -> None:
        one.start()
        event = sent(2, "stage", stage="instructions")
        assert [one.post(event).json() for _ in range(3)] == [{"seq": 2, "stage": "practice"}] * 3
        one.do("shown", -1)
        for _ in range(3):
            one.do("click", -1, **middle(1, 1))
        answer = sent(one.state["seq"] + 1, "answer", -1, cells=[[1, 1]] * 3)
        first, again = (one.post(answer).json() for _ in range(2))
        assert first == again
        assert again["feedback"] == {"cells": [[3, 2]]}
        stored = events_of(folder)
        assert stored.count(event["event"]) == stored.count(answer["event"]) == 1

    def test_reused_or_skipped_event_number_and_renumbered_event_are_rejected(self, one: Person, folder: Path) -> None:
        one.start()
        one.do("stage", stage="instructions")
        for seq, said in ((1, "a different event is already stored as number 1"), (4, "found event 4, expected event")):
            refused = one.post(sent(seq, "shown", -1))
            assert (refused.status_code, refused.json()["seq"]) == (409, 2)
            assert said in refused.json()["error"]
        one.do("shown", -1)
        event = sent(4, "click", -1, **middle(1, 1))
        assert one.post(event).status_code == 200
        refused = one.post({**event, "seq": 5})
        told = {"error": "this event is already stored as number 4", "seq": 4}
        assert (refused.status_code, refused.json()) == (409, told)
        assert events_of(folder).count(event["event"]) == 1

    def test_batch_is_stored_up_to_the_first_rejected_event(self, one: Person, folder: Path) -> None:
        one.start()
        queue = [sent(2, "stage", stage="instructions"), sent(3, "shown", -1), sent(4, "click", -1, **middle(1, 1))]
        queue += [sent(5, "answer", -1, cells=[[1, 1]]), sent(6, "click", -1, **middle(1, 1))]
        refused = one.post(*queue)
        assert (refused.status_code, refused.json()) == (422, {"error": "only 1 of 3 cells are chosen", "seq": 4})
        assert one.reload()["seq"] == 4
        assert events_of(folder)[1:] == [event["event"] for event in queue[:3]]

    def test_only_one_of_concurrent_events_with_the_same_number_is_stored(self, one: Person, folder: Path) -> None:
        one.start()
        gate = threading.Barrier(16)

        def send(_: int) -> int:
            event = sent(2, "stage", stage="instructions")
            with httpx.Client(base_url=one.client.base_url, cookies=one.client.cookies) as own:
                gate.wait(60)
                return own.post("/api/events", json={"events": [event]}).status_code

        with ThreadPoolExecutor(16) as pool:
            assert Counter(pool.map(send, range(16))) == {200: 1, 409: 15}
        assert len(events_of(folder)) == 2


class TestListBalance:
    def balance(self, folder: Path) -> Counter[str]:
        with reading(folder) as reader:
            return Counter(one.list for one in reader.participants())

    @pytest.fixture
    def three(self, tmp_path: Path) -> Path:
        return study(tmp_path, sports=("a", "b", "c"), images=3, checks=1)

    @pytest.mark.slow
    def test_concurrent_starts_are_balanced_over_lists(self, three: Path) -> None:
        with running(three) as url:
            gate = threading.Barrier(20)

            def begin(_: int) -> str:
                with httpx.Client(base_url=url) as client:
                    gate.wait(60)
                    label: str = Person(client).start().json()["participant"]
                    return label

            with ThreadPoolExecutor(20) as pool:
                labels = list(pool.map(begin, range(60)))
        assert len(set(labels)) == 60
        assert self.balance(three) == {"a": 20, "b": 20, "c": 20}

    def test_silent_participants_free_their_place_and_finished_ones_keep_it(self, three: Path) -> None:
        with people(three, *[None] * 6) as persons:
            for person in persons:
                person.start()
            with reading(three) as reader:
                lists = {one.participant: one.list for one in reader.participants()}
            of_list = {name: [one for one in persons if lists[one.state["participant"]] == name] for name in "ab"}
            gone, (done, _) = of_list["a"], of_list["b"]
            assert len(gone) == 2
            done.to_trials()
            done.finish()
        with StudyStore(three) as store, store.study.transaction() as connection:
            # Set the time last seen to an hour ago for both participants of list a and the finished one of list b.
            ago = "strftime('%Y-%m-%dT%H:%M:%S.000+00:00', 'now', '-60 minutes')"
            labels = [(person.state["participant"],) for person in (*gone, done)]
            connection.executemany(f"UPDATE participants SET seen_at = {ago} WHERE participant = ?", labels)
        with people(three, None, None) as persons:
            for person in persons:
                person.start()
        assert self.balance(three) == {"a": 4, "b": 2, "c": 2}

    def test_participants_without_an_answer_hold_their_place_only_briefly(self, tmp_path: Path) -> None:
        folder = study(tmp_path, images=2, checks=1, changes={"per_list = 0": "per_list = 2"})
        with people(folder, prolific("a"), prolific("b"), prolific("c")) as (forged, answering, third):
            forged.start()
            answering.begin()
            assert third.start().status_code == 410
        with StudyStore(folder) as store, store.study.transaction() as connection:
            ago = "strftime('%Y-%m-%dT%H:%M:%S.000+00:00', 'now', '-3 minutes')"
            connection.execute(f"UPDATE participants SET seen_at = {ago}")
        with people(folder, prolific("c"), prolific("d")) as persons:
            assert [person.start().status_code for person in persons] == [200, 410]

    @pytest.mark.slow
    def test_returning_participant_updates_the_time_last_seen(self, three: Path) -> None:
        change(three, {"silent_minutes = 30": "silent_minutes = 0.000001"})
        with people(three, *[None] * 30) as persons:
            for person in persons:
                person.start()
            # No participant holds a place, so lists are drawn at random and not balanced.
            assert self.balance(three) != {"a": 10, "b": 10, "c": 10}
            label = persons[0].state["participant"]
            persons[0].to_trials()
            with reading(three) as reader:
                back = reader.by_label(label)
            assert back is not None
            assert back.seen_at > back.started_at


class TestChangedStudy:
    def test_parts_of_a_study_and_images_may_change_only_before_the_first_participant(self, folder: Path) -> None:
        change(folder, {"seed = 0": "seed = 1"})
        with people(folder, None) as (one,):
            change(folder, {"seed = 1": "seed = 2", "per_image = 3": "per_image = 2"})
            one.start()
        assert_changed(folder)
        change(folder, {"seed = 2": "seed = 1", "per_image = 2": "per_image = 3"})
        texts = {"base = ": "base = 'more' # ", 'title = "Spot': 'title = "Find'}
        change(folder, {**texts, "silent_minutes = 30": "silent_minutes = 5"})
        with running(folder):
            assert read_config(folder).title == "Find the Ball"
        images = folder.parent / "data/images/soccer"
        (images / "1.png").write_bytes((images / "2.png").read_bytes())
        assert_changed(folder)

    @pytest.mark.parametrize(
        ("before", "after", "file", "part"),
        [
            ("explanations = 2", "explanations = 3", CONFIG, "explanations"),
            ('images = ["1", "2"', 'images = ["2", "1"', CONFIG, "lists"),
            ("Each photo is divided", "A photo is divided", CONFIG, "texts.instructions"),
            ("Why do you think so?", "Why?", CONFIG, "texts.explanation"),
            ('"C2"', '"C3"', "../data/scenes.jsonl", "the dataset's scenes"),
        ],
    )
    def test_change_of_a_fixed_setting_or_scene_changes_exactly_one_named_part_of_the_study(
        self, folder: Path, before: str, after: str, file: str, part: str
    ) -> None:
        parts = load(folder).parts
        change(folder, {before: after}, file=file)
        assert {name for name, value in load(folder).parts.items() if value != parts[name]} == {part}
