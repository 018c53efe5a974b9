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
from spotball_adapters.study.store import reading
from spotball_core.service import web
from spotball_core.service.web import HEADERS
from tests.adapters.study.made import START, Json, Person, middle, people, running, sent, study

PASSWORD = "a password of the test"
ADMIN = ("admin", PASSWORD)
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
    person = Person(client).begin()
    person.do("shown", 0)
    return person


@pytest.fixture(scope="module")
def steady(url: str) -> Iterator[Person]:
    """Yield a participant at the first image; tests must not change their state."""
    with httpx.Client(base_url=url) as client:
        person = Person(client).begin()
        person.do("shown", 0)
        before = person.reload()
        yield person
        assert person.reload() == before


def tags(html: str) -> set[str]:
    """Return the names of the elements in HTML; check that none of them has an event handler."""
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
    def test_token_that_is_forged_or_of_another_study_is_rejected_with_401(
        self, steady: Person, shared: Path, url: str, tmp_path: Path
    ) -> None:
        (name,) = steady.client.cookies
        with reading(shared) as reader:
            ((kept,),) = reader.study.rows("SELECT hex(token_hash) FROM participants LIMIT 1")
        with people(study(tmp_path), None) as (other,):
            other.start()
            (foreign,) = other.client.cookies.values()
        stored = (kept, kept.lower(), steady.state["participant"])
        for token in (*stored, foreign, "", "x", "A" * 43, "' OR 1=1 --", "a" * 10_000, "\u00e9"):
            headers = {"cookie": f"{name}={token}".encode()}
            event = {"events": [sent(2, "undo", 0)]}
            for answer in (
                httpx.get(f"{url}/api/state", headers=headers),
                httpx.post(f"{url}/api/events", headers=headers, json=event),
            ):
                error = {"error": "the cookie does not belong to a participant"}
                assert (answer.status_code, answer.json()) == (401, error), token

    def test_cookie_is_http_only_and_same_site(self, client: httpx.Client) -> None:
        said = Person(client).start().headers["set-cookie"]
        parts = {part.strip().lower() for part in said.split(";")[1:]}
        assert {"httponly", "samesite=lax", "path=/"} <= parts
        assert len(said.split(";")[0].split("=")[1]) >= 43


FORBIDDEN = {
    "/images/..": ["/study.toml", "%2fstudy.toml", "%5c..%5cstudy.toml"],
    "/images/": [
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "soccer/1.png",
        "1.png",
        "0" * 32,
        "%00",
    ],
    "/static/": ["../app.py", "..%2fapp.py", "%2e%2e%2fapp.py", "index.html", "admin.css", "study.toml.in"],
    "/": ["images/", "study.toml", "study.sqlite"],
}


class TestImages:
    @pytest.mark.parametrize("path", [folder + name for folder, names in FORBIDDEN.items() for name in names])
    def test_path_outside_the_served_files_is_404(self, url: str, path: str) -> None:
        answer = raw(url, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert b"root:" not in answer
        assert b"dataset" not in answer

    def test_image_addresses_are_unguessable_and_differ_between_practice_and_trials(
        self, steady: Person, shared: Path
    ) -> None:
        pictures = load(shared).pictures
        with reading(shared) as reader:
            images = Images(pictures, (), bytes.fromhex(reader.meta()["secret"]))
        addresses = [item["image"] for item in [*steady.state["trials"], *steady.state["practice"]]]
        assert len(set(addresses)) == len(addresses)
        assert {len(address) for address in addresses} == {len("images/") + 32}
        # An image that is both an attention check and a practice image has a different address in each role.
        assert images.name(("soccer", "5"), "trial") != images.name(("soccer", "5"), "practice")
        other = Images(pictures, (), b"another key")
        assert other.name(("soccer", "1"), "trial") != images.name(("soccer", "1"), "trial")

    def test_checks_are_indistinguishable_from_other_images_for_the_client(self, steady: Person, shared: Path) -> None:
        with reading(shared) as reader:
            participant = reader.by_label(steady.state["participant"])
        assert participant is not None
        assert len({trial.trial for trial in participant.trials if trial.check}) == 2
        trials = steady.state["trials"]
        assert len({json.dumps({**item, "trial": None, "image": None}) for item in trials}) == 1
        answers = [steady.client.get(item["image"]) for item in trials]
        assert {answer.status_code for answer in answers} == {200}
        assert len({(frozenset(answer.headers), answer.headers["content-type"]) for answer in answers}) == 1

    def test_responses_do_not_contain_the_ground_truth_of_trials(self, one: Person) -> None:
        for item in one.state["trials"]:
            assert set(one.answer(item, row=1, col=1)) == {"seq", "stage"}
            said = json.dumps(one.reload())
            assert not any(word in said for word in ("check", "ball", "C2", "truth", "passes"))
            # Only the feedback of the practice item contains the ball's cell.
            assert said.count("[3, 2]") + said.count("[3,2]") == 1


class TestTexts:
    def test_markup_in_study_texts_is_escaped(self, tmp_path: Path) -> None:
        evil = "<script>alert(1)</script> <img src=x onerror=alert(1)> [a](javascript:alert(1)) ![b](http://evil/x.png)"
        texts = {"**This is a study": f"{evil}\n\n**This is a study", 'title = "Spot the Ball"': f'title = "{evil}"'}
        with running(study(tmp_path, changes=texts), password=PASSWORD) as url:
            consent = httpx.get(f"{url}/api/study").json()["texts"]["consent"]
            assert "&lt;script&gt;alert(1)&lt;/script&gt;" in consent
            assert tags(consent) == {"p", "strong", "a"}
            assert "javascript:alert(1)" not in re.findall('href="(.*?)"', consent)
            page = httpx.get(f"{url}/admin", auth=ADMIN).text
            # The page contains no script except its own.
            assert page.count("<script") == page.count('<script type="module" src="admin.js"></script>') == 1
            assert all(
                re.fullmatch("images/[0-9a-f]{32}", source) for source in re.findall('<img src="?([^"> ]*)', page)
            )
            assert "&lt;script&gt;" in page

    def test_admin_page_shows_neither_explanations_stored_with_markup_nor_platform_ids(self, tmp_path: Path) -> None:
        evil = "<script>alert('x')</script>\u0000\u2028 \ud800 & \U0001f44d"
        folder = study(tmp_path)
        ids = {"pid": "pid5f3c", "study": "study77", "session": "session99"}
        with people(folder, ids, password=PASSWORD) as (person,):
            item, *others = person.begin().state["trials"]
            assert item["explain"]
            person.answer(item, text=None)
            content = json.dumps({"events": [sent(person.state["seq"] + 1, "explanation", 0, text=evil)]})
            assert person.client.post("/api/events", content=content, headers=JSON).status_code == 200
            with reading(folder) as reader:
                text = reader.events(1)[-1].value["text"]
            assert "alert(" not in json.dumps(person.reload())
            for other in others:
                person.answer(other)
            page = person.client.get("/admin", auth=ADMIN).text
        assert not any(word in page for word in ("alert(", *ids.values()))
        # The lone surrogate is replaced, and the rest is unchanged.
        assert text == evil.replace("\ud800", "\ufffd")


NAN, INFINITY = float("nan"), float("inf")
MALFORMED: dict[str, list[object]] = {
    "seq": [0, -1, "2", 2.5, 10**30, True],
    "event": ["1", "AFD1D6B2-A153-4556-9817-D3ED6CE590D2", None],
    "kind": ["finish", None],
    "trial": ["0", 10**30],
    "value": [[], None, {"row": 1, "col": 1}],
    "elapsed_ms": [-1, "1", NAN, INFINITY],
    "viewport": [[1, 2], [1, 2, NAN], "wide"],
    "received_at": ["2000-01-01"],
}
"""Wrong values for each field of a click event."""
MALFORMED_CLICK = {"row": [1.5, "1", True], "x": [1.1, -0.1, NAN], "by": ["script"], "more": [1]}
"""Wrong values for fields in the `value` of a click event."""


class TestBodies:
    @pytest.mark.parametrize("path", ["/api/events", "/api/start"])
    def test_huge_body_is_rejected_with_413(self, steady: Person, url: str, path: str) -> None:
        huge = b'{"events": [' + b" " * MAX_BODY + b"]}"
        said = steady.client.post(path, content=huge, headers=JSON)
        assert said.status_code == 413

        def parts() -> Iterator[bytes]:
            yield from (huge[i : i + 65536] for i in range(0, len(huge), 65536))

        # Send the body in chunks, without a Content-Length header.
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
            *({name: wrong} for name, values in MALFORMED.items() for wrong in values),
            *({"value": {**middle(1, 1), name: wrong}} for name, values in MALFORMED_CLICK.items() for wrong in values),
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
        content = json.dumps({"events": [event]})
        said = steady.client.post("/api/events", content=content, headers=JSON)
        assert said.status_code == 422
        if "NaN" not in content and "Infinity" not in content:
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
            {"language": "<b>"},
            {"language": "x" * 36},
            {"language": 5},
            {"touch": 1},
            *({"key": key} for key in ("", "1", "AFD1D6B2-A153-4556-9817-D3ED6CE590D2", 5)),
        ],
        ids=str,
    )
    def test_malformed_start_is_rejected_without_a_cookie(self, client: httpx.Client, changes: Json) -> None:
        said = client.post("/api/start", json={**START, "prolific": None, **changes})
        assert said.status_code == 422
        assert not said.cookies


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
    def test_request_from_another_site_is_rejected(self, steady: Person, path: str, headers: Json, status: int) -> None:
        seq = steady.state["seq"]
        content = {"events": [sent(seq + 1, "click", 0, **middle(1, 1))]}
        assert steady.client.post(path, json=content, headers=headers).status_code == status
        assert steady.reload()["seq"] == seq

    def test_request_from_the_study_page_is_accepted(self, one: Person, url: str) -> None:
        content = {"events": [sent(one.state["seq"] + 1, "click", 0, **middle(1, 1))]}
        headers = {"content-type": "application/json; charset=utf-8", "origin": url, "sec-fetch-site": "same-origin"}
        answer = one.client.post("/api/events", json=content, headers=headers)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")

    def test_all_responses_have_security_headers_and_no_cors_and_the_api_forbids_caching(self, steady: Person) -> None:
        image = steady.state["trials"][0]["image"]
        paths = ("/api/study", "/api/state", "/", "/static/app.js", "/admin", "/nothing", image)
        answers = [steady.client.get(path) for path in paths]
        assert [answer.headers["cache-control"] for answer in answers[:2]] == ["no-store"] * 2
        wrong = steady.client.post("/api/events", content=b"{", headers=JSON)
        for answer in (*answers, wrong, steady.client.put("/api/state")):
            assert answer.headers.items() >= HEADERS.items()
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers
        policy = HEADERS["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert not any(word in policy for word in ("unsafe", "http", "data:", "*"))


class TestAdmin:
    def get(self, url: str, **kwargs: Any) -> httpx.Response:
        return httpx.get(f"{url}/admin", **kwargs)

    def test_admin_page_with_the_password_lists_participants(self, url: str, one: Person) -> None:
        answer = self.get(url, auth=ADMIN)
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
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
    def test_only_wrong_admin_passwords_count_toward_the_rate_limit(self, tmp_path: Path) -> None:
        with running(study(tmp_path), password=PASSWORD) as url:
            assert {self.get(url, auth=ADMIN).status_code for _ in range(15)} == {200}
            statuses = [self.get(url, auth=("admin", str(number))).status_code for number in range(12)]
            right = self.get(url, auth=ADMIN)
        assert statuses == [401] * 10 + [429] * 2
        # The right password is also refused. Otherwise it could be found by guessing.
        assert right.status_code == 429
        assert int(right.headers["retry-after"]) > 0


class TestLimits:
    def test_requests_per_participant_are_limited_and_events_over_the_limit_are_not_stored(
        self, tmp_path: Path
    ) -> None:
        folder = study(tmp_path, changes={"requests_per_minute = 600": "requests_per_minute = 5"})
        with people(folder, None, None) as (one, two):
            one.start()
            answers = [one.client.get("/api/state") for _ in range(6)]
            assert [answer.status_code for answer in answers] == [200] * 4 + [429] * 2
            assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
            assert one.post(sent(2, "stage", stage="instructions"), sent(3, "shown", -1)).status_code == 429
            assert two.start().status_code == 200
        with reading(folder) as reader:
            assert len(reader.events(1)) == 1

    def test_requests_per_address_are_limited(self, tmp_path: Path) -> None:
        folder = study(tmp_path, changes={"requests_per_minute_address = 12000": "requests_per_minute_address = 5"})
        with running(folder) as url:
            paths = ("/", "/static/app.js", "/api/study", "/api/state", "/images/x", "/", "/api/study")
            statuses = [httpx.get(url + path).status_code for path in paths]
        assert statuses == [200, 200, 200, 401, 404, 429, 429]

    @pytest.mark.parametrize(
        ("proxies", "is_trusted"), [(["127.0.0.1"], True), (["127.0.0.0/8"], True), (["192.0.2.1"], False), ([], False)]
    )
    def test_starts_per_address_are_limited_and_only_a_trusted_proxy_sets_the_client_address_and_https(
        self, tmp_path: Path, proxies: list[str], is_trusted: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # uvicorn would use this variable, but the study must ignore it.
        monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
        few = {"starts_per_minute_address = 120": "starts_per_minute_address = 2"}
        folder = study(tmp_path, images=2, changes=few)
        all_headers = [{"x-forwarded-proto": "https", "x-forwarded-for": f"192.0.2.{n}"} for n in range(3)]
        with running(folder, proxies=proxies) as url:
            answers = [httpx.post(f"{url}/api/start", json=START, headers=headers) for headers in all_headers]
        assert [answer.status_code for answer in answers] == ([200] * 3 if is_trusted else [200, 200, 429])
        assert ("secure" in answers[0].headers["set-cookie"].lower()) is is_trusted
        with reading(folder) as reader:
            assert len(reader.participants()) == (3 if is_trusted else 2)


def test_server_error_does_not_reveal_details(tmp_path: Path) -> None:
    with people(study(tmp_path), None, password=PASSWORD) as (person,):
        person.start()
        for path in (tmp_path / "data/images/soccer").iterdir():
            path.unlink()
        answer = person.client.get(person.state["trials"][0]["image"])
        assert (answer.status_code, answer.json()) == (500, {"error": "the server failed. Try again"})
        assert answer.headers.items() >= HEADERS.items()
        assert person.reload()["stage"] == "instructions"
        page = person.client.get("/admin", auth=ADMIN).text
    assert "500 the server failed" in page
