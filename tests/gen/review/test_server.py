"""Test the review server as a process: access, validation of requests, and what is stored if it is killed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from spotball_core.io.scenes import read_scenes
from spotball_core.service.web import HEADERS
from spotball_gen.review.store import ReviewStore
from tests.cli.process import spotball
from tests.failures import codes
from tests.gen.review.made import by_id, client, plain_dataset, reviewing, sent


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    folder = plain_dataset(tmp_path_factory.mktemp("review") / "ds")
    with reviewing(folder) as (link, _):
        yield folder, link


@pytest.fixture
def page(served: tuple[Path, str]) -> Iterator[httpx.Client]:
    with client(served[1]) as opened:
        yield opened


def last(page: httpx.Client) -> int:
    return int(page.get("/api/review").json()["last"])


def test_review_api_returns_the_items_and_images_of_the_dataset(served: tuple[Path, str], page: httpx.Client) -> None:
    told = page.get("/api/review").json()
    scenes = by_id(read_scenes(served[0] / "scenes.jsonl"))
    assert told["reviewer"] == "anna"
    assert [(one["sport"], one["image"]) for one in told["items"]] == [scene.key for scene in scenes]
    assert [one["players"] for one in told["items"]] == [scene.boxes.tolist() for scene in scenes]
    for at, scene in enumerate(scenes):
        image = page.get(f"/images/without/{at}")
        assert (image.content, image.headers["content-type"]) == (f"image {scene.key}".encode(), "image/png")
        assert page.get(f"/images/with/{at}").status_code == 404
    gone = (served[0] / str(scenes[0].path)).rename(served[0] / "gone.png")
    assert page.get("/images/without/0").status_code == 404
    gone.rename(served[0] / str(scenes[0].path))


def test_request_without_the_token_gets_403(served: tuple[Path, str]) -> None:
    address, _, token = served[1].partition("/?token=")
    assert address.startswith("http://127.0.0.1:")
    with httpx.Client(base_url=address) as stranger:
        for path in ("/", "/static/app.js", "/images/without/0", "/api/review", "/?token=", f"/?token={token[:-1]}"):
            response = stranger.get(path)
            assert response.status_code == 403
            assert token not in response.text
        assert stranger.post("/api/decide", json=sent(90)).status_code == 403
        assert stranger.post("/api/undo", json={"number": 1}).status_code == 403
        opened = stranger.get(f"/?token={token}")
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        stranger.cookies = httpx.Cookies({opened.headers["set-cookie"].partition("=")[0]: "äöü".encode().hex()})
        assert stranger.get("/api/review").status_code == 403


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/", 200),
        ("/api/review", 200),
        ("/images/without/0", 200),
        ("/images/without/-1", 404),
        ("/images/without/4", 404),
        ("/images/without/0/../../../scenes.jsonl", 404),
        ("/images/..%2f..%2fscenes.jsonl/0", 404),
        ("/images/scenes.jsonl/0", 404),
        ("/static/..%2f__init__.py", 404),
        ("/static/%2e%2e/app.py", 404),
        ("/static/app.py", 404),
        ("/review.sqlite", 404),
    ],
)
def test_every_response_has_security_headers_and_paths_outside_the_review_get_404(
    page: httpx.Client, path: str, status: int
) -> None:
    response = page.get(path)
    assert response.status_code == status
    assert {name: response.headers.get(name) for name in HEADERS} == HEADERS
    assert response.headers["cache-control"] == "no-store"
    assert "server" not in response.headers


def test_cross_site_request_is_refused_and_changes_nothing(page: httpx.Client) -> None:
    body = json.dumps(sent(80, last(page)))
    kind = {"content-type": "application/json"}
    before = last(page)
    for headers, status in (
        ({"content-type": "text/plain"}, 415),
        ({**kind, "origin": "https://evil.example"}, 403),
        ({**kind, "origin": "null"}, 403),
        ({**kind, "sec-fetch-site": "cross-site"}, 403),
    ):
        for path in ("/api/decide", "/api/undo"):
            assert page.post(path, content=body, headers=headers).status_code == status
        assert last(page) == before


BOX = [0, 0, 9, 9]


@pytest.mark.parametrize(
    ("verdict", "field", "values"),
    [
        ("accept", "item", [4, -1, True, "0"]),
        ("accept", "after", [-1]),
        ("accept", "change", ["1"]),
        ("accept", "verdict", ["perhaps", "reject", "repaint"]),
        ("accept", "reason", ["other", "because"]),
        ("reject", "reason", ["because"]),
        ("accept", "unchecked", [[10_000], [-1], [0.5]]),
        ("accept", "regions", [[BOX]]),
        ("repaint", "regions", [[[9, 0, 9, 9]], [[0, 0, 641, 9]], [[-1, 0, 9, 9]], [[0, 0, 9]], [BOX] * 21]),
        ("accept", "added", [[[0, 0, 641, 9]], [[9, 0, 9, 9]]]),
        ("accept", "more", [1]),
    ],
)
def test_decide_with_an_invalid_field_gets_422_and_changes_nothing(
    page: httpx.Client, verdict: str, field: str, values: list[Any]
) -> None:
    before = last(page)
    for value in values:
        response = page.post("/api/decide", json={**sent(70, before, verdict=verdict), field: value})
        assert response.status_code == 422, value
        assert response.json()["error"]
        assert last(page) == before


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 30_000, b"[]", b"null", b"\xff", b'{"number": NaN}', b"1e999"])
def test_invalid_json_body_gets_422_and_oversized_body_gets_413(page: httpx.Client, content: bytes) -> None:
    for path in ("/api/decide", "/api/undo"):
        response = page.post(path, content=content, headers={"content-type": "application/json"})
        assert response.status_code == 422
    too_long = page.post("/api/decide", content=b" " * 70_000, headers={"content-type": "application/json"})
    assert too_long.status_code == 413


@pytest.mark.slow
def test_decide_and_undo_are_idempotent_and_refuse_stale_pages(tmp_path: Path) -> None:
    folder = plain_dataset(tmp_path)
    scenes = by_id(read_scenes(folder / "scenes.jsonl"))
    with reviewing(folder) as (link, _), client(link) as page:
        for _ in range(2):  # a retry after a lost response counts once
            assert page.post("/api/decide", json=sent(1, 0, 0, unchecked=[1, 0, 1])).json() == {"last": 1}
        regions = [[1.5, 2, 30, 40]]
        repaint = sent(2, 1, 0, verdict="repaint", regions=regions, unchecked=[1])
        assert page.post("/api/decide", json=repaint).json() == {"last": 2}
        # This page is stale: it does not have the second decision.
        assert page.post("/api/decide", json=sent(3, 1, 1)).status_code == 409
        assert page.post("/api/undo", json={"number": 1}).status_code == 409
        assert page.post("/api/undo", json={"number": 9}).status_code == 409
        known = page.get("/api/review").json()["items"][0]["decision"]
        nothing: dict[str, Any] = {"verdict": None, "reason": None, "unchecked": [], "regions": [], "added": []}
        assert known == {**nothing, "verdict": "repaint", "unchecked": [1], "regions": regions}
        undone = {"last": 1, "item": 0, "decision": {**nothing, "verdict": "accept", "unchecked": [0, 1]}}
        for _ in range(2):
            assert page.post("/api/undo", json={"number": 2}).json() == undone
        with ReviewStore(folder) as store:
            players = scenes[0].players or ()
            said = store.decisions()["anna"][scenes[0].key]
            assert said.unchecked == (players[0].corners, players[1].corners)
        assert page.post("/api/undo", json={"number": 1}).json() == {"last": 0, "item": 0, "decision": nothing}


@pytest.mark.slow
def test_killed_server_has_stored_every_acknowledged_decision(tmp_path: Path) -> None:
    folder = plain_dataset(tmp_path, images=6)
    acknowledged = 0
    for start in range(3):
        with reviewing(folder) as (link, child), client(link) as page:
            told = page.get("/api/review").json()
            assert told["last"] == acknowledged
            assert sum(one["decision"]["verdict"] == "accept" for one in told["items"]) == acknowledged
            for item in (2 * start, 2 * start + 1):
                answer = page.post("/api/decide", json=sent(item + 1, acknowledged, item))
                acknowledged = answer.json()["last"]
            child.kill()
            child.wait()
    assert acknowledged == 6
    with ReviewStore(folder) as store:
        assert len(store.decisions()["anna"]) == 6


@pytest.mark.slow
def test_two_reviewers_do_not_see_each_others_decisions(tmp_path: Path) -> None:
    folder = plain_dataset(tmp_path)
    served = reviewing(folder), reviewing(folder, reviewer="ben")
    with served[0] as (anna, _), served[1] as (ben, _), client(anna) as hers, client(ben) as his:
        assert hers.post("/api/decide", json=sent(1)).json() == {"last": 1}
        told = his.get("/api/review").json()
        assert (told["reviewer"], told["last"]) == ("ben", 0)
        assert {one["decision"]["verdict"] for one in told["items"]} == {None}
        assert his.post("/api/undo", json={"number": 1}).status_code == 409
        reject = sent(2, 0, verdict="reject", reason="other")
        assert his.post("/api/decide", json=reject).json() == {"last": 2}
        # The cookie belongs to the server on the other port.
        assert httpx.get(f"{ben.partition('/?')[0]}/api/review", cookies=dict(hers.cookies)).status_code == 403
    status = spotball("gen", "review", folder, "--status")
    assert status.returncode == 0
    assert "anna and ben: verdicts: they agree on 0.0% of 1 images; Cohen's kappa 0.000" in status.stdout


@pytest.mark.parametrize(
    ("path", "code"),
    [
        (None, "invalid-path"),
        ("../secret.png", "invalid-value"),
        ("/etc/passwd", "invalid-value"),
        ("images/link.png", "invalid-path"),
        ("images/none.png", "invalid-path"),
        ("images", "invalid-path"),
    ],
)
def test_image_path_missing_or_outside_the_dataset_is_an_error(tmp_path: Path, path: str | None, code: str) -> None:
    folder = plain_dataset(tmp_path / "ds", images=1)
    (tmp_path / "secret.png").write_bytes(b"secret")
    (folder / "images" / "link.png").symlink_to(tmp_path / "secret.png")
    line = json.loads((folder / "scenes.jsonl").read_text())
    (folder / "scenes.jsonl").write_text(json.dumps({**line, "path": path}))
    done = spotball("gen", "review", str(folder), "--status")
    assert (done.returncode, codes(done.stderr)) == (2, [code])
    assert "scenes.jsonl:1: path: " in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "value"),
    [
        (["--reviewer", " "], "invalid-option", "--reviewer"),
        (["--reviewer", "a\nb"], "invalid-option", "--reviewer"),
        (["--reviewer", "x" * 101], "invalid-option", "--reviewer"),
        (["--host", "256.1.1.1"], "unusable-address", "--host 256.1.1.1"),
    ],
)
def test_gen_review_with_an_invalid_reviewer_or_host_exits_with_status_2(
    tmp_path: Path, options: list[str], code: str, value: str
) -> None:
    done = spotball("gen", "review", str(plain_dataset(tmp_path, images=1)), *options)
    assert (done.returncode, codes(done.stderr)) == (2, [code])
    assert value in done.stderr


def test_review_commands_without_a_dataset_exit_with_status_2(tmp_path: Path) -> None:
    for command, folder in (("review", tmp_path / "none"), ("apply-review", tmp_path / "none"), ("review", tmp_path)):
        assert spotball("gen", command, folder).returncode == 2
