"""Test that readers raise only their documented errors, for any content of a file.

`make test-all` takes one minute for all targets together, and `make fuzz` one hour (`SPOTBALL_FUZZ_SECONDS`).
"""

from __future__ import annotations

import time
from itertools import count

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from tests.fuzz.damage import damaged
from tests.fuzz.targets import SECONDS, TARGETS, refused

_EXAMPLES = 10


@pytest.mark.parametrize("name", TARGETS)
def test_reader_accepts_valid_files_of_its_format(name: str) -> None:
    if name in ("training run", "reasoning report"):
        pytest.skip("the damaged file is incomplete from the start")
    target = TARGETS[name]
    assert not refused(target, target.files())


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_reader_accepts_damaged_files_or_raises_an_expected_error(name: str) -> None:
    target = TARGETS[name]
    files = target.files()
    ends = time.monotonic() + SECONDS / len(TARGETS)

    @settings(
        max_examples=_EXAMPLES,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(data=st.data())
    def read(data: st.DataObject) -> None:
        changed = data.draw(st.sampled_from(target.damaged or tuple(files)))
        refused(target, {**files, changed: data.draw(damaged(files[changed]))})

    first = time.time_ns() if SECONDS > 60 else 0
    for number in count(first):
        seed(number)(read)()
        if time.monotonic() >= ends:
            break
