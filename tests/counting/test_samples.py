"""Test that repeated samples are found, and that consecutive samples are not checked one by one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spotball_core import InputError
from spotball_core.counting import samples
from spotball_core.counting.responses import read_counts
from tests.builders import scenes, write_csv
from tests.failures import raises

KNOWN = scenes("1", "2")

drawn = st.lists(st.tuples(st.sampled_from("12"), st.integers(1, 6)), min_size=1, max_size=14)


@pytest.mark.slow
@given(drawn)
def test_read_counts_reports_exactly_the_repeated_samples(
    tmp_path_factory: pytest.TempPathFactory, given_samples: list[tuple[str, int]]
) -> None:
    rows = [{"image": image, "sample": sample, "cell": "C2"} for image, sample in given_samples]
    path = write_csv(tmp_path_factory.mktemp("samples") / "m.csv", rows)
    again = sum(n - 1 for n in Counter(given_samples).values())
    if not again:
        assert read_counts(path, KNOWN).table["n"].sum() == len(rows)
        return
    with pytest.raises(InputError) as caught:
        read_counts(path, KNOWN)
    assert caught.value.total == again


@pytest.mark.parametrize(
    ("numbers", "looked_at"),
    [
        ([1, 2, 3], False),
        ([3, 1, 2], False),
        ([7, 8, 9], False),
        ([1, 2, 4], True),
        ([10**12, 1], True),
        ([10**12], False),
        ([2**53], True),
        ([10**300], True),
    ],
)
def test_samples_are_checked_one_by_one_only_if_numbers_have_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: list[int], looked_at: bool
) -> None:
    looked = []
    whole = samples.repeated
    monkeypatch.setattr(samples, "repeated", lambda *rows: looked.append(rows) or whole(*rows))
    rows = [{"image": "1", "sample": sample, "cell": "C2"} for sample in numbers]
    rows += [{"image": "2", "sample": 1, "cell": "C2"}] if len(numbers) > 1 else []
    assert read_counts(write_csv(tmp_path / "m.csv", rows), KNOWN).table["n"].sum() == len(rows)
    assert bool(looked) is looked_at


def test_repeated_samples_with_the_sum_of_unrepeated_samples_are_an_error(tmp_path: Path) -> None:
    rows = [{"image": "1", "sample": sample, "cell": "C2"} for sample in (1, 1, 4, 4, 5)]  # Same sum as 1, 2, 3, 4, 5.
    with raises(InputError, "duplicate:sample:3"):
        read_counts(write_csv(tmp_path / "m.csv", rows), KNOWN)


def test_repeated_sample_under_a_respondent_with_blanks_is_an_error(tmp_path: Path) -> None:
    rows = [{"image": "1", "respondent": name, "sample": 1, "cell": "C2"} for name in ("m", " m ")]
    with raises(InputError, "duplicate:sample:3"):
        read_counts(write_csv(tmp_path / "m.csv", rows), KNOWN)
