"""Test runs in which the provider refuses some or all images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from spotball_adapters.prompts.picture import encoded
from spotball_adapters.providers.protocol import RefusedError, Request
from spotball_adapters.runs.runner import STORM, Options, StormError
from spotball_core.io.scenes import read_scenes
from tests.adapters.run_process import KEY, check_error, dataset, expected, query, replies, rows, run, said
from tests.adapters.runs import running
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import BadRequest, ReceivedRequest
from tests.adapters.tiny import BASE, CHAIN, QUICK, Tiny
from tests.builders import scene
from tests.cli.process import spotball
from tests.conftest import examples

SCENES = tuple(scene(str(number)) for number in range(1, 6))
SKIP = replace(QUICK, skip_refused=True)
MESSAGE = "image too large"

start, wanted = partial(running.start, SCENES), partial(running.wanted, SCENES)


class Refusing(Tiny):
    """Provider that refuses given steps of prompts for given images, always or only the first `times` times."""

    def __init__(self, *refused: tuple[str, str, int], times: int = 10**9, max_samples: int = 1) -> None:
        super().__init__(max_samples=max_samples)
        self.refused, self.times = frozenset(refused), times
        self.order: list[str] = []
        self.refusals: Counter[str] = Counter()
        self.fault = self._refuse

    def _refuse(self, request: Request, before: int) -> None:
        image, text = request.scene.image, request.messages[0].text
        self.order.append(image)
        step = CHAIN.questions.index(text) if text in CHAIN.questions else 2
        place = ("base", 0) if text == BASE.final("soccer")[0].text else ("chain", step)
        if (image, *place) in self.refused and self.refusals[image] < self.times:
            self.refusals[image] += 1
            raise RefusedError(MESSAGE)


def refused(folder: Path) -> list[tuple[str, str, str, int, str]]:
    return query(folder, "SELECT sport, image, prompt, session, message FROM refused ORDER BY image, prompt")


class TestOneImage:
    @pytest.mark.parametrize("options", [QUICK, SKIP])
    def test_refused_image_is_retried_once_after_all_other_images(self, tmp_path: Path, options: Options) -> None:
        provider = Refusing(("1", "base", 0))
        runner = start(tmp_path, provider, (BASE, 3), options=replace(options, concurrency=1))
        assert (runner.why, runner.error) == (None, None)
        assert set(replies(tmp_path)) == wanted((BASE, 3), without=[("1", "base")])
        # The image would be refused for every sample, so its other samples are not sent.
        assert provider.order == ["1", *"2345", *"2345", *"2345", "1"]
        assert runner.tally.refused == {("soccer", "1", "base"): MESSAGE}
        assert (runner.tally.requests, runner.tally.faults) == (14, 2)
        assert refused(tmp_path) == [("soccer", "1", "base", 1, MESSAGE)]

    def test_refused_image_is_sent_last_on_resume_and_is_not_sent_with_skip_refused(self, tmp_path: Path) -> None:
        start(tmp_path, Refusing(("1", "base", 0)), (BASE, 1))
        skipped, again, taken = Refusing(("1", "base", 0)), Refusing(("1", "base", 0)), Refusing()
        runner = start(tmp_path, skipped, (BASE, 1), options=SKIP)
        assert (skipped.order, runner.tally.total) == ([], 0)
        # The provider may accept the same image with another prompt.
        start(tmp_path, skipped, (BASE, 1), (CHAIN, 1), options=SKIP)
        assert set(replies(tmp_path)) == wanted((BASE, 1), (CHAIN, 1), without=[("1", "base")])
        runner = start(tmp_path, again, (BASE, 2), options=replace(QUICK, concurrency=1))
        assert again.order == [*"2345", "1"]
        assert runner.tally.total - runner.tally.done == 2
        start(tmp_path, taken, (BASE, 2))
        assert taken.order == ["1", "1"]
        assert set(replies(tmp_path)) == wanted((BASE, 2), (CHAIN, 1))
        # An answered image is removed from the table of refused images.
        assert refused(tmp_path) == []

    @pytest.mark.parametrize("step", [0, 1, 2])
    @pytest.mark.parametrize("max_samples", [1, 2, 8])
    def test_chain_refused_once_repeats_only_the_refused_request(
        self, tmp_path: Path, step: int, max_samples: int
    ) -> None:
        provider = Refusing(("2", "chain", step), times=1, max_samples=max_samples)
        runner = start(tmp_path, provider, (CHAIN, 3))
        assert runner.why is None, runner.error
        assert set(replies(tmp_path)) == wanted((CHAIN, 3))
        assert refused(tmp_path) == []
        assert sum(provider.asked.values()) == len(provider.asked) + 1
        for request in (one for one in provider.requests if "\n" in one.messages[0].text):
            answers = CHAIN.final("soccer", [f"A{sample}" for sample in request.samples] * 2)
            assert request.messages == answers


class TestAllImages:
    @pytest.mark.parametrize("options", [QUICK, SKIP])
    def test_run_in_which_every_image_is_refused_ends_with_refused_error_and_records_no_image_as_refused(
        self, tmp_path: Path, options: Options
    ) -> None:
        provider = Refusing(*((str(n), "base", 0) for n in range(1, 6)))
        runner = start(tmp_path, provider, (BASE, 9), options=replace(options, concurrency=1))
        assert type(runner.error) is RefusedError
        assert str(runner.error) == f"soccer/1: {MESSAGE}"
        assert provider.asked.total() == 6
        assert (runner.tally.requests, runner.tally.faults) == (6, 6)
        # The cause may also be the settings, so no image is recorded as refused.
        assert refused(tmp_path) == []

    @pytest.mark.parametrize("answered", [0, 3])
    def test_many_consecutive_refusals_end_the_run(self, tmp_path: Path, answered: int) -> None:
        scenes = [scene(str(number)) for number in range(1, 50)]
        bad = [(one.image, "base", 0) for one in scenes[answered:]]
        runner = running.start(scenes, tmp_path, Refusing(*bad), (BASE, 9), options=replace(SKIP, concurrency=1))
        last = f"soccer/{STORM + answered}: {MESSAGE}"
        if answered:
            assert isinstance(runner.error, StormError)
            assert runner.error.code == "too-many-failures"
            assert str(runner.error).startswith(f"{STORM} images ")
            assert str(runner.error).endswith(last)
        else:
            assert type(runner.error) is RefusedError
            assert str(runner.error) == last
        assert runner.tally.requests == STORM + answered
        assert refused(tmp_path) == []

    def test_refusals_with_answers_in_between_do_not_end_the_run(self, tmp_path: Path) -> None:
        scenes = [scene(str(number)) for number in range(1, 60)]
        bad = [(one.image, "base", 0) for one in scenes if int(one.image) % 3]
        runner = running.start(scenes, tmp_path, Refusing(*bad), (BASE, 1), options=replace(SKIP, concurrency=1))
        assert runner.error is None
        assert len(runner.tally.refused) == len(bad) == len(refused(tmp_path))
        assert len(replies(tmp_path)) == 59 - len(bad)


@given(
    bad=st.sets(
        st.tuples(st.sampled_from("1234"), st.sampled_from([("base", 0), ("chain", 0), ("chain", 1), ("chain", 2)]))
    ),
    samples=st.tuples(st.integers(1, 4), st.integers(1, 3)),
    max_samples=st.integers(1, 4),
    concurrency=st.integers(1, 6),
    skip=st.booleans(),
)
@settings(max_examples=examples(40), deadline=None)
def test_run_with_some_refused_images_stores_all_other_replies_and_the_rest_once_they_are_accepted(
    tmp_path_factory: pytest.TempPathFactory,
    bad: set[tuple[str, tuple[str, int]]],
    samples: tuple[int, int],
    max_samples: int,
    concurrency: int,
    skip: bool,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    prompts = (BASE, samples[0]), (CHAIN, samples[1])
    pairs = frozenset((image, prompt) for image, (prompt, _) in bad)
    options = replace(QUICK, concurrency=concurrency, skip_refused=skip)
    steps = [(image, *step) for image, step in bad]
    for number in (1, 2):
        provider = Refusing(*steps, max_samples=max_samples)
        runner = start(folder, provider, *prompts, options=options)
        assert runner.why is None, runner.error
        stored = set(replies(folder))
        # For a refused chain, the earlier questions may be stored, but not the final reply.
        assert {key for key in stored if (key[1], key[2]) not in pairs} == wanted(*prompts, without=pairs)
        assert {(image, prompt) for _, image, prompt, *_ in refused(folder)} == pairs
        for image, prompt, step in steps:
            assert not {key for key in stored if key[1:4] == (image, prompt, step)}
        if number == 2 and skip:
            assert provider.requests == []
    start(folder, Refusing(max_samples=max_samples), *prompts, options=replace(options, skip_refused=False))
    assert set(replies(folder)) == wanted(*prompts)
    assert refused(folder) == []


class Filtering(OpenAIProtocol):
    """Server that refuses some images, like a service that checks images before the model sees them."""

    def __init__(self, *pictures: bytes) -> None:
        super().__init__(keys={KEY})
        self.pictures = pictures

    def read(self, *request: object) -> ReceivedRequest:  # type: ignore[override]
        asked = super().read(*request)  # type: ignore[arg-type]
        if any(data in self.pictures for _, data in asked.pictures):
            raise BadRequest("Image too large", code="invalid_image", field="messages")
        return asked


class TestCommand:
    OPTIONS = ("--prompt", "base,cue", "--samples", "3")
    MESSAGE = "soccer/2 (base, cue): 127.0.0.1: HTTP 400: Image too large"

    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        return dataset(tmp_path / "data", images=5)

    @pytest.fixture
    def out(self, tmp_path: Path) -> Path:
        return tmp_path / "run"

    @pytest.fixture
    def server(self, data: Path) -> Iterator[LoopbackServer]:
        scenes = {one.key: one for one in read_scenes(data / "scenes.jsonl")}
        with serve(Filtering(encoded(scenes["soccer", "2"], data).data)) as started:
            yield started

    def test_run_without_skip_refused_reports_missing_replies_and_exits_1(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        for of_replies, option, of_next in (("30", "--quiet", "6"), ("6", "--skip-refused", "0")):
            done = run(data, out, server.url, *self.OPTIONS)
            assert done.returncode == 1, said(done)
            assert (
                f"6 of {of_replies} replies are missing: the provider refuses {self.MESSAGE}. "
                "Add --skip-refused to exclude refused images\n"
            ) in done.stderr
            assert "Traceback" not in done.stderr
            assert len(replies(out)) == len(rows(out)) == 24
            # A dry run counts the refused requests, but not with --skip-refused.
            dry = run(data, out, server.url, *self.OPTIONS, "--dry-run", option)
            (line,) = [line.split() for line in dry.stdout.splitlines() if line.startswith("all ")]
            assert line[2] == of_next
        # For the refused image, the first run sends each prompt twice, and the second run sends each prompt once.
        assert server.log()["statuses"] == {"200": 8, "400": 6}

    def test_run_with_skip_refused_exits_0_and_reports_excluded_replies(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        for quiet in ((), ("--quiet",), ()):
            done = run(data, out, server.url, *self.OPTIONS, "--skip-refused", *quiet)
            assert done.returncode == 0, said(done)
            excluded = f"6 replies are excluded: the provider refuses 1 image:\n  {self.MESSAGE}\n"
            assert excluded in done.stderr
            assert done.stderr == excluded or not quiet
        assert server.log()["statuses"] == {"200": 8, "400": 4}
        assert set(replies(out)) == {key for key in expected(5, base=3, cue=3) if key[:2] != ("soccer", "2")}
        # An excluded image is missing from the responses. It must not count as unparsed.
        assert ("soccer", "2") not in {(row["sport"], row["image"]) for row in rows(out)}
        assert query(out, "SELECT sport, image, prompt, message FROM refused ORDER BY prompt") == [
            ("soccer", "2", prompt, "127.0.0.1: HTTP 400: Image too large") for prompt in ("base", "cue")
        ]
        score = spotball("score", out, "--bootstrap", "0", "--format", "csv", "--by", "respondent")
        assert score.returncode == 0, said(score)
        header, row = (line.split(",") for line in score.stdout.splitlines()[:2])
        table = dict(zip(header, row, strict=False))
        assert (table["n_images"], table["n_unparsed"]) == ("4", "0")

    def test_rejected_setting_ends_the_run_after_one_request(
        self, data: Path, out: Path, server: LoopbackServer
    ) -> None:
        done = run(data, out, server.url, *self.OPTIONS, "--seed", str(2**63), "--concurrency", "1")
        assert server.log()["requests"] == 1
        check_error(done, "request-rejected")
        assert "HTTP 400: seed " in done.stderr.splitlines()[-1]
