"""Test `spotball gaze ask` against a loopback server: requests, replies, output files, and resuming."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from spotball_adapters.gaze.photos import Photo
from spotball_adapters.gaze.prompts import built_in, load_prompts
from spotball_core.gaze.data.stimuli import read_stimuli
from spotball_core.gaze.data.trials import read_trials
from tests.adapters.faults import reply
from tests.adapters.gaze import made as gaze
from tests.adapters.gaze.made import choosing, first_letter, made
from tests.adapters.run_process import KEY, Done, check_error, dataset, good, here, query, run, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.failures import codes

HEADER = "respondent,stimulus_id,prompt_id,condition,view,proximity,objects,gaze_target,head_target,choice"


@dataclass
class Case:
    """A file of stimuli with photos, the folder of a run, and a server."""

    stimuli: Path
    out: Path
    server: LoopbackServer

    def ask(self, *options: str | Path) -> Done:
        return gaze.ask(self.stimuli, self.out, self.server.url, *options)

    def good(self, *options: str | Path) -> Done:
        done = self.ask(*options)
        assert done.returncode == 0, said(done)
        return done

    @property
    def trials(self) -> list[dict[str, str]]:
        return gaze.rows(self.out / "trials.csv")

    @property
    def replies(self) -> list[dict[str, Any]]:
        return gaze.replies(self.out)


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol(keys={KEY}), says=choosing(first_letter)) as started:
        yield started


@pytest.fixture
def case(server: LoopbackServer, tmp_path: Path) -> Case:
    return Case(made(tmp_path / "data"), tmp_path / "run", server)


class TestRun:
    def test_gaze_ask_sends_each_photo_with_each_prompt_and_writes_the_trials(self, case: Case) -> None:
        done = case.good()
        assert "0 of 96 stored trials could not be matched to an option." in " ".join(done.stderr.split())
        assert f"Trials: {case.out}/trials.csv\n" in done.stderr
        known = {one.stimulus_id: one for one in read_stimuli(case.stimuli)}
        expected = Counter(
            (prompt.last(Photo(one), 1)[0].text, (case.stimuli.parent / str(one.image)).read_bytes())
            for prompt in load_prompts("main")
            for one in known.values()
        )
        asked = case.server.asked
        assert len(asked) == 96
        assert Counter((one.turns[0][1], one.pictures[0][1]) for one in asked) == expected
        assert all(one.turns[0][0] == "user" and len(one.turns) == len(one.pictures) == 1 for one in asked)
        trials = case.trials
        assert (case.out / "trials.csv").read_text().splitlines()[0] == HEADER
        assert {(row["stimulus_id"], row["prompt_id"]) for row in trials} == {
            (name, prompt.name) for name in known for prompt in built_in("main")
        }
        for row in trials:
            one = known[row["stimulus_id"]]
            assert row["choice"] == min(one.objects)
            assert row["respondent"] == "gaze-model"
            assert row["objects"] == "+".join(one.objects)
            assert (row["gaze_target"], row["head_target"] or None) == (one.gaze_target, one.head_target)
            assert row["condition"] == one.condition
        assert len(read_trials(case.out / "trials.csv").frame) == len(trials) == 96

    def test_gaze_ask_records_the_sent_order_of_the_options_and_the_settings_of_the_run(self, case: Case) -> None:
        case.ask("--prompt", "pilot-1,pilot-2", "--samples", "3", "--order-seed", "5")
        kept = case.replies
        assert len(kept) == 36
        shown = Counter("\n".join(re.findall(r"^[A-Z]\. .+$", one.turns[0][1], re.M)) for one in case.server.asked)
        recorded = Counter(
            "\n".join(f"{letter}. {name}" for letter, name in zip("ABCD", row["options"], strict=False)) for row in kept
        )
        assert shown == recorded
        prompt = load_prompts("pilot-2", seed=5)[0]
        photos = {one.stimulus_id: Photo(one) for one in read_stimuli(case.stimuli)}
        for row in kept:
            if row["prompt_id"] == "pilot-2":
                assert tuple(row["options"]) == prompt.options(photos[row["stimulus_id"]], row["sample"])
            assert row["choice"] == min(row["options"])
        of_four = [tuple(row["options"]) for row in kept if len(row["options"]) == 4]
        assert len(set(of_four)) > len(of_four) / 2
        assert {row["sample"] for row in case.trials} == {"1", "2", "3"}
        identity = {name: json.loads(value) for name, value in query(case.out, "SELECT name, value FROM run")}
        assert (identity["order_seed"], identity["order"], identity["side"]) == (5, 1, 448)
        assert identity["prompt pilot-1"]["digest"] == built_in("pilot")[0].digest

    def test_gaze_ask_with_more_prompts_and_samples_does_not_repeat_stored_requests(self, case: Case) -> None:
        case.ask("--prompt", "pilot-1", "--limit", "3")
        assert {row["condition"] for row in case.trials} == {"natural", "congruent"}
        case.good("--prompt", "pilot-1,main-2", "--samples", "2")
        assert len(case.server.asked) == len(case.trials) == 24
        assert "sent 0 requests" in case.ask("--prompt", "pilot-1", "--samples", "2").stderr
        assert len(case.server.asked) == len(case.trials) == 24

    def test_gaze_ask_with_settings_stimuli_or_photos_that_differ_from_the_run_is_an_error(
        self, case: Case, tmp_path: Path
    ) -> None:
        case.ask("--prompt", "pilot-1")
        for option, value, difference in (
            ("--order-seed", "1", "order_seed: 0 -> 1"),
            ("--size", "32", "side: 448 -> 32"),
            ("--temperature", "1", "temperature: .+ -> 1.0"),
            ("--reasoning-effort", "low", "reasoning_effort: .+ -> low"),
            ("--extra-body", '{"top_k": 20}', "extra_body: .+ -> top_k 20"),
            ("--respondent", "me", "respondent: gaze-model -> me"),
        ):
            done = case.ask("--prompt", "pilot-1", option, value)
            check_error(done, "different-settings")
            assert re.search(difference, done.stderr)
        assert len(case.server.asked) == 6
        Image.new("RGB", (64, 64), (255, 255, 255)).save(tmp_path / "data" / "photos" / "1.png")
        check_error(case.ask("--prompt", "pilot-2"), "different-settings", "gaze/1001")
        case.stimuli = made(tmp_path / "other", 4)
        check_error(case.ask("--prompt", "pilot-2"), "different-settings", "stimuli: ")

    def test_gaze_ask_sends_attention_checks_only_with_checks_and_rejects_stimuli_that_are_all_checks(
        self, case: Case, tmp_path: Path
    ) -> None:
        case.stimuli = made(tmp_path / "checks", 4, checks=1)
        case.ask("--prompt", "pilot-1")
        assert len(case.server.asked) == 3
        case.ask("--prompt", "pilot-1", "--checks")
        assert len(case.server.asked) == len(case.replies) == 4
        # Attention checks are not analyzed.
        assert len(case.trials) == 3
        only_checks = made(tmp_path / "only", 2, checks=2)
        check_error(gaze.ask(only_checks, tmp_path / "none", case.server.url), "no-data")

    def test_gaze_ask_resizes_photos_to_the_size_option(self, case: Case, tmp_path: Path) -> None:
        case.stimuli = made(tmp_path / "wide", 2, size=(90, 30))
        case.ask("--prompt", "pilot-1", "--size", "60")
        for one in case.server.asked:
            ((media, data),) = one.pictures
            path = tmp_path / "shown.png"
            path.write_bytes(data)
            with Image.open(path) as shown:
                assert (media, shown.size) == ("image/png", (60, 60))
        assert len(list((case.out / "pictures").iterdir())) == 2

    def test_gaze_ask_leaves_unmatched_trials_empty_and_lists_them_in_manual_csv(self, case: Case) -> None:
        answers = {2: "B", 3: "She looks at the bottle.", 4: "At the camera."}
        with serve(OpenAIProtocol(), says=choosing(lambda options, _: answers[len(options)])) as case.server:
            done = case.good("--prompt", "pilot-1")
        screen = done.stderr[done.stderr.index("Completed ") :].splitlines()
        matched = "Completed 6 of 6 replies; 2 of 6 stored trials could not be matched to an option."
        assert " ".join(screen[:2]) == matched
        assert [" ".join(line.split()) for line in screen if "matched: " in line] == [
            "matched: letter 2 33.3",
            "matched: name 2 33.3",
            "unmatched: no option 2 33.3",
        ]
        assert f"To match by hand: {case.out}/manual.csv (2 trials)" in screen
        trials = {row["stimulus_id"]: row["choice"] for row in case.trials}
        assert [trials[str(1000 + number)] for number in (1, 2, 4, 5)] == ["bottle", "", "bottle", ""]
        assert [row["how"] for row in case.replies] == ["letter", "name", None] * 2
        queue = [
            (row["stimulus_id"], row["reply"], row["problem"], row["choice"])
            for row in gaze.rows(case.out / "manual.csv")
        ]
        assert queue == [(name, "At the camera.", "no option", "") for name in ("1002", "1005")]

    def test_gaze_ask_records_refused_empty_and_filtered_replies_as_problems(self, case: Case) -> None:
        case.server.script(reply("refusal"), reply("empty"), reply("filtered"))
        case.good("--prompt", "pilot-1", "--concurrency", "1")
        assert Counter(row["problem"] for row in case.replies) == {"refused": 1, "empty": 1, "filtered": 1, None: 3}


class TestObserver:
    def test_observer_head_needs_no_photos_mostly_chooses_the_head_target_and_is_reproducible(
        self, tmp_path: Path
    ) -> None:
        line = ("gaze", "ask", made(tmp_path / "data", 30), "--provider", "observer", "--model", "head")
        found = []
        for out in (tmp_path / "run", tmp_path / "again"):
            good(*line, "--prompt", "pilot", "--out", out)
            found.append(gaze.rows(out / "trials.csv"))
        trials = [row for row in found[0] if row["head_target"]]
        assert sum(row["choice"] == row["head_target"] for row in trials) / len(trials) > 0.7
        assert found[0] == found[1]

    def test_run_with_the_observer_provider_is_an_error(self, tmp_path: Path) -> None:
        done = here("run", dataset(tmp_path / "data"), "--provider", "observer", "--model", "eye")
        check_error(done, "unsupported-option")


class TestBeforeRequests:
    def test_dry_run_shows_every_prompt_and_sends_nothing(self, case: Case) -> None:
        done = case.good("--dry-run")
        assert not case.server.seen
        assert not case.out.exists()
        assert "images      6: 6 gaze" in done.stdout
        assert "[image/png, 64 x 64 pixels," in done.stdout
        assert re.search(r"all +96 +96 +96 +96 +unknown", done.stdout)
        photo = Photo(read_stimuli(case.stimuli)[0])
        for prompt in load_prompts("main"):
            assert all(line in done.stdout for line in prompt.last(photo, 1)[0].text.splitlines())

    @pytest.mark.parametrize(
        ("change", "code", "named"),
        [
            ("--provider nobody", "unknown-name", "'nobody'"),
            ("--temperature 9", "invalid-option", "--temperature: "),
            ("--images nowhere", "missing-file", "nowhere"),
        ],
    )
    def test_gaze_ask_with_an_invalid_option_is_an_error_and_sends_nothing(
        self, case: Case, change: str, code: str, named: str
    ) -> None:
        done = case.ask(*change.split())
        assert (done.returncode, {*codes(done.stderr)}) == (2, {code})
        assert named in done.stderr
        assert not case.server.asked

    @pytest.mark.parametrize(
        ("options", "code", "named"),
        [
            ("--provider observer --model nose", "unknown-name", "--model: "),
            ("--provider observer --model eye --temperature 1", "unsupported-option", "--temperature: "),
            ("--provider observer --model eye --base-url http://x", "unsupported-option", "--base-url"),
            ("--provider openai", "missing-option", "--model"),
        ],
    )
    def test_gaze_ask_with_an_unsupported_option_or_without_a_required_option_is_an_error(
        self, tmp_path: Path, options: str, code: str, named: str
    ) -> None:
        check_error(here("gaze", "ask", made(tmp_path / "data", 2), *options.split()), code, named)

    def test_gaze_ask_into_the_folder_of_a_ball_run_is_an_error(self, case: Case, tmp_path: Path) -> None:
        run(dataset(tmp_path / "ball"), case.out, case.server.url, "--prompt", "base", "--samples", "1")
        check_error(case.ask(), "different-settings", "respondent: test-model -> gaze-model")
