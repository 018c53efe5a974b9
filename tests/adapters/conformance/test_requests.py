"""Test the requests of providers that use a server, their connections, and how they read valid responses."""

from __future__ import annotations

import asyncio
import re

import pytest

from spotball_adapters.providers.protocol import Answer, Message, PermanentError, RefusedError, TransientError
from spotball_core.errors import OptionError
from tests.adapters import faults
from tests.adapters.asking import SENT, answer, ask, request
from tests.adapters.conformance.cases import SECRET, Client, Service
from tests.adapters.faults import reply
from tests.adapters.server import serve
from tests.adapters.speech import text_of
from tests.failures import raises

TURNS = (
    Message("system", "You see a match."),
    Message("user", "Look.", picture=True),
    Message("assistant", "I look."),
    Message("user", "Cell: ü?"),
)


class TestSentRequests:
    def test_request_contains_model_messages_key_only_set_settings_and_the_image_before_its_text(
        self, client: Client
    ) -> None:
        client.ask(request(turns=TURNS), request(turns=(Message("user", "Who plays?"),)))
        asked, plain = client.server.asked
        assert asked.model == client.provider.model
        assert asked.turns == tuple((turn.role, turn.text) for turn in TURNS)
        assert asked.pictures == (("image/png", SENT),)
        assert (asked.n, asked.key) == (1, SECRET)
        # The Messages API requires max_tokens.
        assert asked.settings.keys() <= {"max_tokens"}
        body = client.server.seen[0].body
        assert 0 < body.index(b'"data' if b"data:image" not in body else b"data:image") < body.index(b"Look.")
        assert (plain.turns, plain.pictures) == ((("user", "Who plays?"),), ())

    def test_base_url_may_end_with_slashes(self, client: Client) -> None:
        for slash in ("", "/", "//"):
            answer(client.service.at(client.server.url + slash), request())
        assert len(client.server.asked) == 3


class TestConnections:
    def test_successive_requests_reuse_one_connection(self, client: Client) -> None:
        client.ask(request())
        before = client.server.connections
        client.ask(*[request()] * 5)
        assert client.server.connections == before

    @pytest.mark.slow
    def test_number_of_connections_equals_the_concurrency(self, service: Service) -> None:
        with serve(service.speaks(), base_path=service.base_path, delay=0.4) as slow:
            provider = service.at(slow, concurrency=12)

            async def run() -> list[Answer]:
                found = await asyncio.gather(*(provider.ask(request()) for _ in range(30)))
                await provider.close()
                return found

            answers = asyncio.run(run())
            assert len({one.replies[0].text for one in answers}) == 30
            assert slow.most_at_once == slow.connections == 12


class TestResponses:
    def test_reply_has_the_finish_reason_and_text_of_the_response(self, client: Client) -> None:
        ends = client.server.speaks.ends  # type: ignore[attr-defined]
        assert ends.keys() >= {"", "refusal", "empty", "cut-off", "strange"}
        samples = range(1, min(client.provider.max_samples, 2) + 1)
        for style, (finish, said, text) in ends.items():
            client.server.script(reply(style))
            (found,) = client.ask(request(*samples))
            assert isinstance(found, Answer), style
            assert len(found.replies) == len(samples)
            for one in found.replies:
                assert (one.finish, one.finish_said) == (finish, said), style
                assert one.text.startswith("Reasoning: reply") if text is None else one.text == text, style

    def test_lone_surrogate_in_a_reply_is_replaced(self, client: Client) -> None:
        client.server.says = lambda asked, number: "Cell: A1 \ud83d"
        (found,) = client.ask(request())
        client.server.says = None
        assert isinstance(found, Answer)
        # A surrogate may be replaced by more than one character.
        assert found.replies[0].text.encode().startswith("Cell: A1 \ufffd".encode())


class TestSeveralSamples:
    """Test services that support several samples per request."""

    @pytest.fixture
    def many(self, service: Service) -> Service:
        provider = service.at("http://127.0.0.1:1")
        asyncio.run(provider.close())
        if provider.max_samples == 1:
            pytest.skip("asks for one sample at a time")
        return service

    @pytest.mark.parametrize(
        ("limit", "replies", "statuses"),
        [({"give": 1}, 1, [200]), ({"give": 2}, 2, [200]), ({"most": 1}, 1, [400, 200])],
    )
    def test_ask_keeps_fewer_replies_than_requested_and_retries_a_rejected_request_with_one_sample(
        self, many: Service, limit: dict[str, int], replies: int, statuses: list[int]
    ) -> None:
        with serve(many.speaks(**limit), base_path=many.base_path) as server:
            provider = many.at(server)
            found = answer(provider, request(1, 2, 3))
            assert [one.text for one in found.replies] == [text_of(server.asked[0].question, n) for n in range(replies)]
            assert provider.max_samples == replies
            assert [seen.status for seen in server.seen] == statuses

    def test_more_replies_than_requested_raise_transient_error(self, many: Service) -> None:
        with serve(many.speaks(), base_path=many.base_path) as server:
            ask(many.at(server), request(1, 2))
            server.script(faults.answer(server.speaks.write(server.asked[0], ["a", "b"], "")))
            (found,) = ask(many.at(server), request())
        assert isinstance(found, TransientError)
        assert found.code == "provider-failed"
        assert {"1", "2"} <= set(re.findall(r"\b\d+\b", str(found)))


class TestKeys:
    def test_key_is_sent_without_surrounding_spaces(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(client.service.key, f" {SECRET}\n")
        answer(client.service.at(client.server), request())
        assert client.server.asked[0].key == SECRET

    @pytest.mark.parametrize("empty", [None, "", "  "])
    @pytest.mark.parametrize("url", [None, "http://127.0.0.1:1"])
    def test_missing_key_raises_permanent_error_if_the_server_needs_a_key(
        self, service: Service, monkeypatch: pytest.MonkeyPatch, url: str | None, empty: str | None
    ) -> None:
        if empty is None:
            monkeypatch.delenv(service.key)
        else:
            monkeypatch.setenv(service.key, empty)
        provider = service.at(url)
        (found,) = ask(provider, request())
        if url and not service.own_server_needs_key:
            provider.ready()  # type: ignore[attr-defined]
            assert isinstance(found, TransientError)
            return
        assert type(found) is PermanentError
        assert found.code == "missing-key"
        assert service.name in str(found)
        assert service.key in str(found)
        with raises(PermanentError, "missing-key"):
            provider.ready()  # type: ignore[attr-defined]

    def test_wrong_key_passes_ready_and_makes_ask_raise_permanent_error_that_does_not_show_the_key(
        self, service: Service
    ) -> None:
        service.at(None).ready()  # type: ignore[attr-defined]
        with serve(service.speaks(keys={"another"}), base_path=service.base_path) as server:
            (found,) = ask(service.at(server), request())
            assert server.seen[0].status in (400, 401)
        assert isinstance(found, PermanentError)
        assert not isinstance(found, RefusedError)
        assert "[key]" in str(found)


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://a/v1", "http://", "http://a:b/v1", "here"])
def test_invalid_base_url_is_an_error(service: Service, url: str) -> None:
    with raises(OptionError, "invalid-option:--base-url"):
        service.at(url)
