"""Test attacks on the server: nothing is stored, revealed or executed."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from spotball_adapters.study.server.images import Images
from spotball_adapters.study.server.wire import MAX_BODY
from spotball_adapters.study.setup.design import load
from spotball_adapters.study.store import StudyStore, reading
from spotball_core.service import web
from spotball_core.service.web import HEADERS
from tests.adapters.study.made import VIEWPORT, Json, Person, body, change, middle, running, sent, study

PASSWORD = "a password of the test"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study(tmp_path_factory.mktemp("attacks"), images=4, changes={"explanations = 4": "explanations = 0"})


@pytest.fixture(scope="module")
def url(shared: Path) -> Iterator[str]:
    with running(shared, password=PASSWORD) as at:
        yield at


@pytest.fixture
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url) as one:
        yield one


@pytest.fixture
def one(client: httpx.Client) -> Person:
    """Return a participant at the first image."""
    person = Person(client)
    person.start()
    person.to_trials()
    person.do("shown", 0)
    return person


@pytest.fixture(scope="module")
def steady(url: str) -> Iterator[Person]:
    """Yield a participant at the first image; tests must not change their state."""
    with httpx.Client(base_url=url) as client:
        person = Person(client)
        person.start()
        person.to_trials()
        person.do("shown", 0)
        before = person.reload()
        yield person
        assert person.reload() == before


def tags(html: str) -> set[str]:
    """Return the elements of a page."""
    found = set()

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.add(tag)
            assert not any(name.startswith("on") for name, _ in attrs)

    Parser().feed(html)
    return found


def raw(url: str, request: bytes) -> bytes:
    """Return the answer to raw bytes that no client would send."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


class TestTokens:
    @pytest.mark.parametrize("token", ["", "x", "A" * 43, "' OR 1=1 --", "a" * 10_000, "\u00e9"])
    def test_forged_token_is_rejected_with_401(self, steady: Person, url: str, token: str) -> None:
        (name,) = steady.client.cookies
        for method, path in (("GET", "/api/state"), ("POST", "/api/events")):
            content = None if method == "GET" else body({"events": [sent(2, "undo", 0)]})
            headers = {**JSON, "cookie": f"{name}={token}".encode()}
            answer = httpx.request(method, url + path, content=content, headers=headers)
            assert (answer.status_code, answer.json()) == (
                401,
                {"error": "the cookie does not belong to a participant"},
            )

    def test_token_of_another_study_is_rejected(self, one: Person, tmp_path: Path) -> None:
        ((_, token),) = one.client.cookies.items()
        with running(study(tmp_path)) as other, httpx.Client(base_url=other) as client:
            person = Person(client)
            person.start()
            (name,) = client.cookies
            assert httpx.get(f"{other}/api/state", headers={"cookie": f"{name}={token}"}).status_code == 401

    def test_stored_hash_or_label_is_not_accepted_as_a_token(self, steady: Person, shared: Path, url: str) -> None:
        (name,) = steady.client.cookies
        with reading(shared) as reader:
            ((kept,),) = reader.study.rows("SELECT hex(token_hash) FROM participants LIMIT 1")
        for token in (kept, kept.lower(), steady.state["participant"]):
            assert httpx.get(f"{url}/api/state", headers={"cookie": f"{name}={token}"}).status_code == 401

    def test_cookie_is_http_only_and_same_site(self, client: httpx.Client) -> None:
        said = Person(client).start().headers["set-cookie"]
        parts = {part.strip().lower() for part in said.split(";")[1:]}
        assert {"httponly", "samesite=lax", "path=/"} <= parts
        assert len(said.split(";")[0].split("=")[1]) >= 43

    @pytest.mark.parametrize(
        ("proxies", "is_secure"), [(["127.0.0.1"], True), (["127.0.0.0/8"], True), (["192.0.2.1"], False), ([], False)]
    )
    def test_cookie_is_secure_only_behind_a_trusted_https_proxy(
        self, tmp_path: Path, proxies: list[str], is_secure: bool
    ) -> None:
        content = body({"consent": True, "viewport": VIEWPORT})
        headers = {**JSON, "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7"}
        with running(study(tmp_path, images=2), proxies=proxies) as url:
            answer = httpx.post(f"{url}/api/start", content=content, headers=headers)
        assert ("secure" in answer.headers["set-cookie"].lower()) is is_secure


class TestImages:
    @pytest.mark.parametrize(
        "path",
        [
            "/images/../study.toml",
            "/images/..%2fstudy.toml",
            "/images/%2e%2e/%2e%2e/etc/passwd",
            "/images/..%5c..%5cstudy.toml",
            "/images//etc/passwd",
            "/images/%2fetc%2fpasswd",
            "/images/soccer/1.png",
            "/images/1.png",
            "/images/" + "0" * 32,
            "/images/%00",
            "/images/",
            "/static/../app.py",
            "/static/..%2fapp.py",
            "/static/%2e%2e%2fapp.py",
            "/static/index.html",
            "/static/admin.css",
            "/static/study.toml.in",
            "/study.toml",
            "/study.sqlite",
        ],
    )
    def test_path_outside_the_served_files_is_404(self, url: str, path: str) -> None:
        answer = raw(url, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert b"root:" not in answer
        assert b"dataset" not in answer

    def test_image_addresses_are_unguessable_and_differ_by_use(self, steady: Person, shared: Path) -> None:
        design = load(shared)
        with reading(shared) as reader:
            participant = reader.by_label(steady.state["participant"])
            images = Images(design.pictures, (), bytes.fromhex(reader.meta()["secret"]))
        assert participant is not None
        addresses = [item["image"] for item in [*steady.state["trials"], *steady.state["practice"]]]
        assert len(set(addresses)) == len(addresses)
        assert all(len(address) == len("images/") + 32 for address in addresses)
        # A check that is also a practice image has another address in practice.
        assert images.name(("soccer", "5"), "trial") != images.name(("soccer", "5"), "practice")
        other = Images(design.pictures, (), b"another key")
        assert other.name(("soccer", "1"), "trial") != images.name(("soccer", "1"), "trial")

    def test_checks_are_indistinguishable_from_other_images_for_the_client(self, steady: Person, shared: Path) -> None:
        with reading(shared) as reader:
            participant = reader.by_label(steady.state["participant"])
        assert participant is not None
        checks = {trial.trial for trial in participant.trials if trial.check}
        assert len(checks) == 2
        kinds = {
            json.dumps({name: value for name, value in item.items() if name not in ("trial", "image")})
            for item in steady.state["trials"]
        }
        assert len(kinds) == 1
        answers = [steady.client.get(item["image"]) for item in steady.state["trials"]]
        assert all(answer.status_code == 200 for answer in answers)
        assert len({(frozenset(answer.headers), answer.headers["content-type"]) for answer in answers}) == 1

    def test_responses_do_not_contain_the_ground_truth_of_trials(self, one: Person, client: httpx.Client) -> None:
        for item in one.state["trials"]:
            if item["trial"]:
                one.do("shown", item["trial"])
            for _ in range(3):
                one.do("click", item["trial"], **middle(1, 1))
            told = one.do("answer", item["trial"], cells=[[1, 1]] * 3)
            assert set(told) == {"seq", "stage"}
            said = json.dumps(one.reload())
            assert not any(word in said for word in ("check", "ball", "C2", "truth", "passes"))
            # Only the feedback of the practice item contains the ball's cell.
            assert said.count("[3, 2]") + said.count("[3,2]") == 1


class TestTexts:
    def test_markup_in_study_texts_is_escaped(self, tmp_path: Path) -> None:
        evil = "<script>alert(1)</script> <img src=x onerror=alert(1)> [a](javascript:alert(1)) ![b](http://evil/x.png)"
        title = 'title = "Spot the Ball"'
        folder = study(
            tmp_path, changes={"**This is a study": f"{evil}\n\n**This is a study", title: f'title = "{evil}"'}
        )
        with running(folder, password=PASSWORD) as url:
            said = httpx.get(f"{url}/api/study").json()
            consent = said["texts"]["consent"]
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in consent
            assert tags(consent) == {"p", "strong", "a"}
            assert "javascript:alert(1)" not in re.findall('href="(.*?)"', consent)
            page = httpx.get(f"{url}/admin", auth=("admin", PASSWORD)).text
            # The page contains no script except its own.
            assert page.count("<script") == page.count('<script type="module" src="admin.js"></script>') == 1
            assert "img" not in tags(page)
            assert "&lt;script&gt;" in page

    def test_explanations_with_markup_are_stored_unchanged_and_not_displayed(self, tmp_path: Path) -> None:
        evil = "<script>alert('x')</script>\u0000\u2028 \ud800 & \U0001f44d"
        folder = study(tmp_path)
        with running(folder, password=PASSWORD) as url, httpx.Client(base_url=url) as client:
            person = Person(client)
            person.start()
            person.to_trials()
            item = person.state["trials"][0]
            assert item["explain"]
            person.do("shown", 0)
            for _ in range(3):
                person.do("click", 0, **middle(1, 1))
            person.do("answer", 0, cells=[[1, 1]] * 3)
            content = json.dumps({"events": [sent(person.state["seq"] + 1, "explanation", 0, text=evil)]})
            assert client.post("/api/events", content=content, headers=JSON).status_code == 200
            page = httpx.get(f"{url}/admin", auth=("admin", PASSWORD)).text
            assert "alert(" not in page
            assert "alert(" not in json.dumps(person.reload())
        with reading(folder) as reader:
            text = reader.events(1)[-1].value["text"]
        # The lone surrogate is replaced, and the rest is unchanged.
        assert text == evil.replace("\ud800", "\ufffd")


class TestBodies:
    @pytest.mark.parametrize("path", ["/api/events", "/api/start"])
    def test_huge_body_is_rejected_with_413(self, steady: Person, url: str, path: str) -> None:
        huge = b'{"events": [' + b" " * MAX_BODY + b"]}"
        said = steady.client.post(path, content=huge, headers=JSON)
        assert said.status_code == 413

        def parts() -> Iterator[bytes]:
            yield from (huge[i : i + 65536] for i in range(0, len(huge), 65536))

        # Send the body in chunks, without a length.
        assert steady.client.post(path, content=parts(), headers=JSON).status_code == 413

    def test_incomplete_body_times_out_with_408(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(web, "BODY_SECONDS", 0.2)
        head = b"POST /api/start HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
        assert raw(url, head + b"Connection: close\r\n\r\n{").startswith(b"HTTP/1.1 408 ")

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"events": []}',
            b'{"events": {}}',
            b'{"events": [1]}',
            b'{"events": [null]}',
            b'{"events": [{}], "more": 1}',
            b'{"events": [' + b"9" * 10_000 + b"]}",
            json.dumps({"events": [{}] * 51}).encode(),
        ],
        ids=range(13),
    )
    def test_malformed_events_body_is_rejected_with_422(self, steady: Person, content: bytes) -> None:
        said = steady.client.post("/api/events", content=content, headers=JSON)
        assert said.status_code == 422
        assert said.json()["error"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"seq": 0},
            {"seq": -1},
            {"seq": "2"},
            {"seq": 2.5},
            {"seq": 10**30},
            {"seq": True},
            {"event": "1"},
            {"event": "AFD1D6B2-A153-4556-9817-D3ED6CE590D2"},
            {"event": None},
            {"kind": "finish"},
            {"kind": None},
            {"trial": "0"},
            {"trial": 10**30},
            {"value": []},
            {"value": None},
            {"elapsed_ms": -1},
            {"elapsed_ms": "1"},
            {"elapsed_ms": float("nan")},
            {"elapsed_ms": float("inf")},
            {"viewport": [1, 2]},
            {"viewport": [1, 2, float("nan")]},
            {"viewport": "wide"},
            {"received_at": "2000-01-01"},
            {"value": {**middle(1, 1), "more": 1}},
            {"value": {**middle(1, 1), "row": 1.5}},
            {"value": {**middle(1, 1), "row": "1"}},
            {"value": {**middle(1, 1), "row": True}},
            {"value": {**middle(1, 1), "x": 1.1}},
            {"value": {**middle(1, 1), "x": -0.1}},
            {"value": {**middle(1, 1), "x": float("nan")}},
            {"value": {**middle(1, 1), "by": "script"}},
            {"value": {"row": 1, "col": 1}},
            {"kind": "explanation", "value": {"text": "x" * 2001}},
            {"kind": "explanation", "value": {"text": " \n"}},
            {"kind": "explanation", "value": {"text": 5}},
            {"kind": "answer", "value": {"cells": [[1, 1]] * 101}},
            {"kind": "answer", "value": {"cells": [[1]]}},
            {"kind": "answer", "value": {"cells": "A1"}},
            {"kind": "stage", "value": {"stage": "finished"}},
            {"kind": "undo", "value": {"all": True}},
        ],
        ids=str,
    )
    def test_malformed_event_is_rejected_and_not_stored(self, steady: Person, changes: Json) -> None:
        seq = steady.state["seq"]
        event = {**sent(seq + 1, "click", 0, **middle(1, 1)), **changes}
        # Python also writes NaN and Infinity, which make the whole body invalid JSON.
        body = json.dumps({"events": [event]})
        said = steady.client.post("/api/events", content=body, headers=JSON)
        assert said.status_code == 422
        if "NaN" not in body and "Infinity" not in body:
            assert said.json()["seq"] == seq
        assert steady.reload()["seq"] == seq

    @pytest.mark.parametrize(
        "changes",
        [
            {"consent": False},
            {"consent": None},
            {"viewport": None},
            {"prolific": {"pid": "a", "study": "b"}},
            {"prolific": {"pid": "", "study": "b", "session": "c"}},
            {"prolific": {"pid": "a'; DROP TABLE identities; --", "study": "b", "session": "c"}},
            {"prolific": {"pid": "a" * 65, "study": "b", "session": "c"}},
            {"prolific": {"pid": 5, "study": "b", "session": "c"}},
            {"prolific": "a"},
            {"token": "mine"},
        ],
        ids=str,
    )
    def test_malformed_start_is_rejected_without_a_cookie(self, client: httpx.Client, changes: Json) -> None:
        content: dict[str, Any] = {"consent": True, "prolific": None, "viewport": VIEWPORT, **changes}
        said = client.post("/api/start", json=content)
        assert said.status_code == 422
        assert not said.cookies


class TestRules:
    """Test a few rules over HTTP; test_progress tests all of them."""

    @pytest.mark.parametrize(
        ("kind", "trial", "value"),
        [
            ("click", 0, {**middle(1, 1), "row": 7}),
            ("click", 0, {**middle(1, 1), "col": 0}),
            ("click", 1, middle(1, 1)),
            ("click", 99, middle(1, 1)),
            ("click", -1, middle(1, 1)),
            ("answer", 0, {"cells": [[1, 1]] * 3}),
            ("choice", 0, {"option": 0}),
            ("explanation", 0, {"text": "early"}),
            ("stage", None, {"stage": "practice"}),
            ("stage", None, {"stage": "instructions"}),
        ],
    )
    def test_event_against_the_rules_is_rejected_and_not_stored(
        self, steady: Person, kind: str, trial: int | None, value: dict[str, Any]
    ) -> None:
        seq = steady.state["seq"]
        said = steady.post(sent(seq + 1, kind, trial, **value))
        assert (said.status_code, said.json()["seq"]) == (422, seq)
        assert steady.reload()["seq"] == seq

    def test_second_answer_to_a_trial_is_rejected(self, one: Person) -> None:
        for _ in range(3):
            one.do("click", 0, **middle(1, 1))
        one.do("answer", 0, cells=[[1, 1]] * 3)
        for changed in ([[1, 1]] * 3, [[3, 2]] * 3):
            said = one.post(sent(one.state["seq"] + 1, "answer", 0, cells=changed))
            assert said.status_code == 422
        assert one.reload()["progress"]["answered"] == 1


class TestOtherSites:
    @pytest.mark.parametrize("path", ["/api/events", "/api/start"])
    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"content-type": "text/plain"}, 415),
            ({"content-type": "application/x-www-form-urlencoded"}, 415),
            ({"content-type": "multipart/form-data; boundary=x"}, 415),
            ({"content-type": ""}, 415),
            ({**JSON, "origin": "https://evil.example"}, 403),
            ({**JSON, "origin": "null"}, 403),
            ({**JSON, "origin": ""}, 403),
            ({**JSON, "sec-fetch-site": "cross-site"}, 403),
            ({**JSON, "sec-fetch-site": "same-site"}, 403),
        ],
        ids=str,
    )
    def test_request_from_another_site_is_rejected(
        self, steady: Person, path: str, headers: dict[str, str], status: int
    ) -> None:
        seq = steady.state["seq"]
        content = body({"events": [sent(seq + 1, "click", 0, **middle(1, 1))]})
        assert steady.client.post(path, content=content, headers=headers).status_code == status
        assert steady.reload()["seq"] == seq

    def test_request_from_the_study_page_is_accepted(self, one: Person, url: str) -> None:
        content = body({"events": [sent(one.state["seq"] + 1, "click", 0, **middle(1, 1))]})
        headers = {"content-type": "application/json; charset=utf-8", "origin": url, "sec-fetch-site": "same-origin"}
        assert one.client.post("/api/events", content=content, headers=headers).status_code == 200

    def test_all_responses_have_security_headers_and_no_cors(self, steady: Person) -> None:
        (image, *_) = steady.state["trials"]
        answers = [
            steady.client.get(path)
            for path in ("/", "/static/app.js", "/api/study", "/api/state", "/admin", "/nothing", image["image"])
        ]
        answers.append(steady.client.post("/api/events", content=b"{", headers=JSON))
        answers.append(steady.client.put("/api/state"))
        for answer in answers:
            assert answer.headers.items() >= HEADERS.items()
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers
        policy = HEADERS["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert not any(word in policy for word in ("unsafe", "http", "data:", "*"))

    def test_api_responses_forbid_caching(self, one: Person) -> None:
        assert one.client.get("/api/state").headers["cache-control"] == "no-store"
        assert one.client.get("/api/study").headers["cache-control"] == "no-store"
        assert one.post(sent(one.state["seq"] + 1, "click", 0, **middle(1, 1))).headers["cache-control"] == "no-store"


class TestAdmin:
    def get(self, url: str, **kwargs: Any) -> httpx.Response:
        return httpx.get(f"{url}/admin", **kwargs)

    def test_admin_page_with_the_password_lists_participants(self, url: str, one: Person) -> None:
        answer = self.get(url, auth=("admin", PASSWORD))
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        assert "<h1>Spot the Ball</h1>" in answer.text
        # The page lists participants by their random label.
        assert one.state["participant"] in answer.text
        assert httpx.get(f"{url}/admin.css").headers["content-type"].startswith("text/css")

    @pytest.mark.parametrize(
        "authorization",
        [
            None,
            "Basic",
            "Basic !!!",
            "Basic YWRtaW4=",
            "Basic YWRtaW46",
            "Bearer x",
            httpx.BasicAuth("admin", PASSWORD + " ")._auth_header,
            httpx.BasicAuth("admin", PASSWORD[:-1])._auth_header,
            httpx.BasicAuth("root", PASSWORD)._auth_header,
        ],
    )
    def test_admin_page_without_the_password_is_401(self, url: str, authorization: str | None) -> None:
        answer = self.get(url, headers={} if authorization is None else {"authorization": authorization})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic ")
        assert "<h1>" not in answer.text

    @pytest.mark.parametrize("password", [None, ""])
    def test_admin_page_is_404_if_no_password_is_set(self, tmp_path: Path, password: str | None) -> None:
        with running(study(tmp_path), password=password) as url:
            for auth in (None, ("admin", ""), ("admin", "None")):
                assert self.get(url, auth=auth).status_code == 404
            assert httpx.get(f"{url}/admin.css").status_code == 404

    @pytest.mark.slow
    def test_wrong_admin_passwords_are_rate_limited(self, tmp_path: Path) -> None:
        with running(study(tmp_path), password=PASSWORD) as url:
            statuses = [self.get(url, auth=("admin", str(number))).status_code for number in range(12)]
            right = self.get(url, auth=("admin", PASSWORD))
        assert statuses == [401] * 10 + [429] * 2
        # The right password is also refused. Otherwise it could be found by guessing.
        assert right.status_code == 429
        assert int(right.headers["retry-after"]) > 0

    @pytest.mark.slow
    def test_admin_page_with_the_password_is_not_rate_limited(self, tmp_path: Path) -> None:
        with running(study(tmp_path), password=PASSWORD) as url:
            assert {self.get(url, auth=("admin", PASSWORD)).status_code for _ in range(15)} == {200}

    def test_admin_page_contains_no_platform_ids(self, tmp_path: Path) -> None:
        folder = study(tmp_path)
        with running(folder, password=PASSWORD) as url, httpx.Client(base_url=url) as client:
            person = Person(client, prolific={"pid": "pid5f3c", "study": "study77", "session": "session99"})
            person.whole()
            page = self.get(url, auth=("admin", PASSWORD)).text
        assert not any(word in page for word in ("pid5f3c", "study77", "session99"))


class TestLimits:
    def test_requests_per_participant_are_limited(self, tmp_path: Path) -> None:
        folder = study(tmp_path, changes={"requests_per_minute = 600": "requests_per_minute = 5"})
        with running(folder) as url, httpx.Client(base_url=url) as client, httpx.Client(base_url=url) as other:
            one, two = Person(client), Person(other)
            one.start()
            answers = [client.get("/api/state") for _ in range(6)]
            assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
            assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
            assert two.start().status_code == 200

    def test_requests_per_address_are_limited(self, tmp_path: Path) -> None:
        folder = study(tmp_path, changes={"requests_per_minute_address = 12000": "requests_per_minute_address = 5"})
        with running(folder) as url:
            paths = ("/", "/static/app.js", "/api/study", "/api/state", "/images/x", "/", "/api/study")
            statuses = [httpx.get(url + path).status_code for path in paths]
        assert statuses == [200, 200, 200, 401, 404, 429, 429]

    def test_starts_per_address_are_limited(self, tmp_path: Path) -> None:
        folder = study(tmp_path)
        change(folder, {"starts_per_minute_address = 6000": "starts_per_minute_address = 3"})
        with running(folder) as url:
            statuses = []
            for _ in range(5):
                with httpx.Client(base_url=url) as client:
                    statuses.append(Person(client).start().status_code)
        assert statuses == [200, 200, 200, 429, 429]
        with reading(folder) as reader:
            assert len(reader.participants()) == 3

    @pytest.mark.parametrize(
        ("proxies", "statuses"), [([], [200, 200, 429]), (["192.0.2.1"], [200, 200, 429]), (["127.0.0.1"], [200] * 3)]
    )
    def test_forwarded_address_is_used_only_from_a_trusted_proxy(
        self, tmp_path: Path, proxies: list[str], statuses: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # uvicorn would use this variable, but the study must ignore it.
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
        folder = study(tmp_path, images=2)
        change(folder, {"starts_per_minute_address = 6000": "starts_per_minute_address = 2"})
        content = body({"consent": True, "viewport": VIEWPORT})
        with running(folder, proxies=proxies) as url:
            answers = [
                httpx.post(f"{url}/api/start", content=content, headers={**JSON, "x-forwarded-for": f"192.0.2.{n}"})
                for n in range(3)
            ]
        assert [answer.status_code for answer in answers] == statuses

    def test_events_over_the_rate_limit_are_rejected_and_not_stored(self, tmp_path: Path) -> None:
        folder = study(tmp_path, changes={"requests_per_minute = 600": "requests_per_minute = 60"})
        with running(folder) as url, httpx.Client(base_url=url) as client:
            one = Person(client)
            one.start()
            queue = [sent(2, "stage", stage="instructions"), sent(3, "shown", -1)]
            while client.get("/api/state").status_code == 200:
                pass
            refused = client.post("/api/events", json={"events": queue})
            assert refused.status_code == 429
        with StudyStore(folder) as store:
            assert len(store.events(1)) == 1


def test_server_error_does_not_reveal_details(tmp_path: Path) -> None:
    folder = study(tmp_path)
    with running(folder, password=PASSWORD) as url, httpx.Client(base_url=url) as client:
        person = Person(client)
        person.start()
        for path in (tmp_path / "data/images/soccer").iterdir():
            path.unlink()
        answer = client.get(person.state["trials"][0]["image"])
        assert (answer.status_code, answer.json()) == (500, {"error": "the server failed. Try again"})
        assert answer.headers.items() >= HEADERS.items()
        assert person.reload()["stage"] == "instructions"
        page = client.get("/admin", auth=("admin", PASSWORD)).text
    assert "500 the server failed" in page
