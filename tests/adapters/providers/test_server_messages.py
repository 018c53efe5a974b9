"""Test the pauses that servers request, and the largest token count that is stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from spotball_adapters.providers.server_messages import MOST_TOKENS, retry_after, retry_delay


def http_date(at: datetime) -> str:
    return format_datetime(at, usegmt=True)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e400"}, None),
        ({"retry-after": "9" * 5000}, None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 +999999999999"}, None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_retry_after_reads_seconds_and_milliseconds_and_ignores_invalid_values(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_reads_a_date_relative_to_the_clock_of_the_server() -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    soon = retry_after({"retry-after": http_date(now + timedelta(seconds=90))})
    assert soon is not None
    assert 0 < soon <= 90
    # The server's clock is an hour behind ours, so only its own date may be used.
    theirs = now - timedelta(hours=1)
    assert retry_after({"retry-after": http_date(theirs + timedelta(seconds=30)), "date": http_date(theirs)}) == 30.0
    assert retry_after({"retry-after": http_date(now - timedelta(days=1))}) == 0.0


@pytest.mark.parametrize(
    ("details", "seconds"),
    [([{"retryDelay": "34s"}], 34.0), ([7, {"retryDelay": "0.5s"}], 0.5), ([{"retryDelay": 3}], None), ("34s", None)],
)
def test_retry_delay_reads_the_pause_from_the_error_details(details: object, seconds: float | None) -> None:
    assert retry_delay({"error": {"details": details}}) == seconds
    # Google's OpenAI-compatible endpoint wraps the error in a list.
    assert retry_delay([{"error": {"details": details}}]) == seconds


@pytest.mark.parametrize("body", [None, [], {}, "busy", {"error": "busy"}, {"error": {"details": None}}])
def test_retry_delay_of_a_body_without_details_is_none(body: object) -> None:
    assert retry_delay(body) is None


def test_sum_of_a_billion_maximum_token_counts_fits_in_64_bits() -> None:
    assert MOST_TOKENS * 10**9 < 2**63
