"""Test how providers handle errors, broken responses and lost connections, and that they recover after each."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from typing import Any

import pytest

from spotball_adapters.providers.protocol import Answer, PermanentError, ProviderError, RefusedError, TransientError
from tests.adapters import faults
from tests.adapters.asking import ask, request
from tests.adapters.conformance.cases import Client, Service
from tests.adapters.conformance.test_contract import check_answer
from tests.adapters.faults import Fault, body, content, status
from tests.adapters.server import serve
from tests.waiting import until

LATER = "come back later"


def met(client: Client, fault: Fault) -> Answer | BaseException:
    """Return the result of a request that meets a fault, and check that the next request succeeds."""
    client.server.script(fault)
    first, second = client.ask(request(), request())
    assert isinstance(second, Answer), second
    # The libraries of the provider must not retry on their own.
    assert len(client.server.seen) == 2
    return first


def transient(client: Client, fault: Fault) -> TransientError:
    found = met(client, fault)
    assert type(found) is TransientError, found
    return found


def valid(client: Client) -> dict[str, Any]:
    """Send a request, and return the body of a valid response to it."""
    client.ask(request())
    return client.server.speaks.write(client.server.asked[0], ["Cell: D5"], "")


class TestStatuses:
    @pytest.mark.parametrize("number", [408, 409, 425, 429, 500, 502, 503, 504, 520, 529])
    def test_retryable_statuses_raise_transient_error_with_the_pause_that_the_server_requests(
        self, client: Client, number: int
    ) -> None:
        error = transient(client, status(number, LATER, retry_after="3"))
        assert (error.status, error.retry_after) == (number, 3.0)
        assert str(error) == f"{client.service.shown}: HTTP {number}: {LATER}"

    @pytest.mark.parametrize(
        ("number", "message", "refused"),
        [
            *((number, "not this image", True) for number in (400, 413, 415, 422, 451)),
            (403, "Your input was flagged by moderation", True),
            (400, "API key not valid. Please pass a valid API key.", False),
            (400, "Your credit balance is too low to access the API", False),
            *((number, "not allowed", False) for number in (401, 402, 403, 404, 405, 410)),
            # If a model cannot read images, llama.cpp and Ollama return a status that is usually retried.
            (500, "image input is not supported - hint: you may need to provide the mmproj", False),
            (500, "this model is missing data required for image input", False),
        ],
    )
    def test_non_retryable_errors_raise_refused_error_if_only_one_request_is_affected_and_else_permanent_error(
        self, client: Client, number: int, message: str, refused: bool
    ) -> None:
        error = met(client, status(number, message))
        assert isinstance(error, PermanentError), error
        assert isinstance(error, RefusedError) is refused
        assert str(error) == f"{client.service.shown}: HTTP {number}: {message}"

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ('{"error": "plain"}', "plain"),
            ('[{"error": {"message": "in a list", "status": "NOT_FOUND"}}]', "in a list"),
            ('{"detail": "detailed"}', "detailed"),
            ('{"object": "error", "message": "flat"}', "flat"),
            ('{"error": {"message": "http: with: colons"}}', "http: with: colons"),
            ('{"error": {"message": "ours", "details": [7], "errors": 7}}', "ours"),
            ("<h1>no\n page</h1>", "<h1>no page</h1>"),
            ('{"error": {"message": "\\u001b[31mred\\u0007"}}', "[31mred"),
            ("x" * 5000, f"{'x' * 270}"),
            ("7", "7"),
            ("[" * 100_000, "[[["),
            ("", ""),
        ],
    )
    def test_error_shows_the_message_of_the_server_on_one_printable_line(
        self, client: Client, text: str, shown: str
    ) -> None:
        error = met(client, Fault("body", status=404, text=text))
        assert isinstance(error, PermanentError), error
        said = str(error)
        assert said.startswith(f"{client.service.shown}: HTTP 404: {shown}")
        assert said.isprintable()
        assert len(said) < 350

    @pytest.mark.parametrize(
        ("error", "kind", "shown"),
        [
            ({"code": 429, "message": "slow down"}, TransientError, "HTTP 429: slow down"),
            ({"code": 404, "message": "no such model"}, PermanentError, "HTTP 404: no such model"),
            ("something", TransientError, "HTTP 500: something"),
            # A code that is not an HTTP status becomes 500.
            *(
                ({"code": code, "message": "no"}, TransientError, "HTTP 500: no")
                for code in (None, 10**30, 99, -400, True, 3.5)
            ),
        ],
    )
    def test_error_in_the_body_of_a_response_with_status_200_is_raised(
        self, client: Client, error: object, kind: type, shown: str
    ) -> None:
        found = met(client, body(json.dumps({"error": error})))
        assert isinstance(found, kind)
        assert str(found) == f"{client.service.shown}: {shown}"
        assert not isinstance(found, TransientError) or found.status == int(shown[5:8])

    def test_redirect_is_not_followed_and_raises_permanent_error_with_its_address(self, client: Client) -> None:
        with serve(client.service.speaks(), base_path=client.service.base_path) as elsewhere:
            error = met(client, Fault("redirect", text=elsewhere.url))
            assert isinstance(error, PermanentError), error
            assert elsewhere.url in str(error)
            assert "--base-url" in str(error)
            assert elsewhere.seen == []


class TestBrokenAnswers:
    @pytest.mark.parametrize(
        "fault",
        [
            faults.DROP,
            faults.RESET,
            faults.DROP_AFTER_HEADERS,
            faults.TRUNCATED,
            faults.HTML,
            Fault("raw", text="no HTTP\r\n\r\n"),
            *map(body, ['{"choices": [{"mess', "", "[]", "null", "7", '"text"', "{}", "[" * 100_000]),
            *map(body, ['{"a": 1, "a": 2}', '{"' + '": {"'.join("a" * 500)]),
            content(b'{"a": "\xff\xfe"}'),
            content("{}".encode("utf-16")),
            Fault("body", text="{}", headers={"content-encoding": "gzip"}),
            content(gzip.compress(b'{"choices": 1}')[:-9], content_encoding="gzip"),
        ],
        ids=lambda fault: f"{fault.kind} {fault.text[:30] or len(fault.content)}",
    )
    def test_broken_response_raises_transient_error_without_a_status(self, client: Client, fault: Fault) -> None:
        assert transient(client, fault).status is None

    def test_response_with_one_part_removed_or_replaced_gives_a_valid_answer_or_provider_error(
        self, client: Client
    ) -> None:
        damaged = list(damages(valid(client)))
        assert len(damaged) > 50
        client.server.script(*(faults.answer(one) for one in damaged))
        for one, found in zip(damaged, client.ask(*[request()] * len(damaged)), strict=True):
            if isinstance(found, BaseException):
                assert isinstance(found, ProviderError), (one, found)
                assert isinstance(found, TransientError) or one.get("error"), (one, found)
            else:
                check_answer(found, 1)

    def test_response_without_usage_model_and_finish_reason_is_accepted(self, client: Client) -> None:
        client.server.script(faults.answer(bare(valid(client))))
        (found,) = client.ask(request())
        assert isinstance(found, Answer), found
        assert (found.model, found.input_tokens, found.output_tokens) == (None, None, None)
        assert [(one.text, one.finish, one.finish_said) for one in found.replies] == [("Cell: D5", "other", "")]

    @pytest.mark.parametrize("tokens", [10**9 + 1, 2**63, 10**30, 10**4000, -1, 1.5, float("inf"), "7", True, [7]])
    def test_invalid_token_counts_are_read_as_none(self, client: Client, tokens: object) -> None:
        right = valid(client)
        (usage,) = (name for name in right if name.startswith("usage"))
        right[usage] = dict.fromkeys(right[usage], tokens)
        client.server.script(faults.answer(right))
        (found,) = client.ask(request())
        assert isinstance(found, Answer), found
        assert (found.input_tokens, found.output_tokens) == (None, None)
        assert found.replies[0].text == "Cell: D5"


class TestTime:
    @pytest.mark.parametrize(
        "fault", [faults.HANG, faults.slow(3600), faults.DRIP], ids=["no answer", "late", "endless"]
    )
    def test_request_without_a_response_within_the_timeout_raises_transient_error(
        self, service: Service, fault: Fault
    ) -> None:
        with serve(service.speaks(), base_path=service.base_path) as server:
            server.script(fault)
            first, second = ask(service.at(server, timeout=0.5), request(), request())
        assert type(first) is TransientError
        assert str(first).startswith(f"{service.shown}: ")
        assert "0.5 s" in str(first)
        assert isinstance(second, Answer)

    def test_timeout_closes_the_connection(self, service: Service) -> None:
        with serve(service.speaks(), base_path=service.base_path) as server:
            server.script(faults.DRIP)
            ask(service.at(server, timeout=0.1), request())
            # A thread that still reads the endless response would keep its connection open.
            until(lambda: not server.open_connections)

    def test_request_to_a_stopped_server_raises_transient_error(self, service: Service) -> None:
        with serve(service.speaks(), base_path=service.base_path) as gone:
            provider = service.at(gone)
        (found,) = ask(provider, request())
        assert type(found) is TransientError
        assert str(found).startswith(f"{service.shown}: Connect")


def damages(value: Any) -> Iterator[Any]:
    """Yield copies of a JSON value with one part removed or replaced."""
    if not isinstance(value, dict | list):
        return
    for name, part in list(value.items() if isinstance(value, dict) else enumerate(value)):
        for other in (None, 7, "", "text", [], {}, [None], {"a": 1}, True):
            if other != part:
                changed = copy.copy(value)
                changed[name] = other
                yield changed
        if isinstance(value, dict):
            yield {key: kept for key, kept in value.items() if key != name}
        for inner in damages(part):
            changed = copy.copy(value)
            changed[name] = inner
            yield changed


def bare(value: Any) -> Any:
    """Return a response without the fields that servers may omit."""
    omitted = "usage usageMetadata model modelVersion id responseId stop_reason finish_reason finishReason status"
    if isinstance(value, dict):
        return {name: bare(part) for name, part in value.items() if name not in omitted.split()}
    return [bare(part) for part in value] if isinstance(value, list) else value
