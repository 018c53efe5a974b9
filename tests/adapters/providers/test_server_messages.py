"""Test the pauses that servers request, and the largest token count that is stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from spotball_adapters.providers.server_messages import MOST_TOKENS, retry_after, retry_delay


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        *(({"retry-after": invalid}, None) for invalid in ("nan", "inf", "1e400", "9" * 5000)),
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

    def at(**later: float) -> str:
        return format_datetime(now + timedelta(**later), usegmt=True)

    assert 0 < (retry_after({"retry-after": at(seconds=90)}) or 0) <= 90
    assert retry_after({"retry-after": at(days=-1)}) == 0.0
    # The server's clock is an hour behind ours, so only its own date may be used.
    assert retry_after({"retry-after": at(hours=-1, seconds=30), "date": at(hours=-1)}) == 30.0


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"error": {"details": [{"retryDelay": "34s"}]}}, 34.0),
        ({"error": {"details": [7, {"retryDelay": "0.5s"}]}}, 0.5),
        ({"error": {"details": [{"retryDelay": 3}]}}, None),
        *(({"error": error}, None) for error in ({"details": "34s"}, {"details": None}, "busy")),
        *((body, None) for body in (None, [], {}, "busy")),
    ],
)
def test_retry_delay_reads_the_pause_from_the_error_details_if_there_are_any(
    body: object, seconds: float | None
) -> None:
    assert retry_delay(body) == seconds
    # Google's OpenAI-compatible endpoint wraps the error in a list.
    assert retry_delay([body]) == seconds


def test_sum_of_a_billion_maximum_token_counts_fits_in_64_bits() -> None:
    assert MOST_TOKENS * 10**9 < 2**63
