"""Test `spotball gaze ask` against a loopback server: requests, replies, output files, and resuming after a kill."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from spotball_adapters.gaze.photos import Photo
from spotball_adapters.gaze.prompts import built_in, load_prompts
from spotball_core.gaze.data.stimuli import read_stimuli
from spotball_core.gaze.data.trials import read_trials
from tests.adapters.faults import BROKEN_JSON, DROP, reply, status
from tests.adapters.gaze.made import ask, choosing, command, first_letter, made, replies, rows
from tests.adapters.run_process import ENV, KEY, here, query, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_anthropic import AnthropicProtocol
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.failures import codes

HEADER = "respondent,stimulus_id,prompt_id,condition,view,proximity,objects,gaze_target,head_target,choice"


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol(keys={KEY}), says=choosing(first_letter)) as started:
        yield started


class TestARun:
    def test_gaze_ask_sends_each_photo_with_each_prompt_and_writes_the_trials(
        self, server: LoopbackServer, tmp_path: Path
    ) -> None:
        stimuli, out = made(tmp_path / "data"), tmp_path / "run"
        done = ask(stimuli, out, server.url)
        assert done.returncode == 0, said(done)
        assert "0 of 96 stored trials could not be matched to an option." in " ".join(done.stderr.split())
        assert f"Trials: {out}/trials.csv\n" in done.stderr
        assert len(server.asked) == 96
        known = {one.stimulus_id: one for one in read_stimuli(stimuli)}
        expected = Counter(
            (prompt.last(Photo(one), 1)[0].text, (stimuli.parent / str(one.image)).read_bytes())
            for prompt in load_prompts("main")
            for one in known.values()
        )
        asked = Counter((one.turns[0][1], one.pictures[0][1]) for one in server.asked)
        assert asked == expected
        assert all(one.turns[0][0] == "user" and len(one.turns) == len(one.pictures) == 1 for one in server.asked)
        trials = rows(out / "trials.csv")
        assert (out / "trials.csv").read_text().splitlines()[0] == HEADER
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
        assert len(read_trials(out / "trials.csv").frame) == len(trials) == 96

    def test_gaze_ask_records_the_order_of_the_options_that_was_sent(
        self, server: LoopbackServer, tmp_path: Path
    ) -> None:
        stimuli, out = made(tmp_path / "data"), tmp_path / "run"
        ask(stimuli, out, server.url, "--prompt", "pilot-1,pilot-2", "--samples", "3", "--order-seed", "5")
        kept = replies(out)
        assert len(kept) == 36
        shown = Counter("\n".join(re.findall(r"^[A-Z]\. .+$", one.turns[0][1], re.M)) for one in server.asked)
        recorded = Counter(
            "\n".join(f"{letter}. {name}" for letter, name in zip("ABCD", row["options"], strict=False)) for row in kept
        )
        assert shown == recorded
        prompt = load_prompts("pilot-2", seed=5)[0]
        photos = {one.stimulus_id: Photo(one) for one in read_stimuli(stimuli)}
        for row in kept:
            if row["prompt_id"] == "pilot-2":
                assert tuple(row["options"]) == prompt.options(photos[row["stimulus_id"]], row["sample"])
            assert row["choice"] == min(row["options"])
        of_four = [tuple(row["options"]) for row in kept if len(row["options"]) == 4]
        assert len(set(of_four)) > len(of_four) / 2
        assert {row["sample"] for row in rows(out / "trials.csv")} == {"1", "2", "3"}

    def test_gaze_ask_with_more_prompts_and_samples_does_not_repeat_stored_requests(
        self, server: LoopbackServer, tmp_path: Path
    ) -> None:
        stimuli, out = made(tmp_path / "data"), tmp_path / "run"
        ask(stimuli, out, server.url, "--prompt", "pilot-1", "--limit", "3")
        assert {row["condition"] for row in rows(out / "trials.csv")} == {"natural", "congruent"}
        done = ask(stimuli, out, server.url, "--prompt", "pilot-1,main-2", "--samples", "2")
        assert done.returncode == 0, said(done)
        assert len(server.asked) == len(rows(out / "trials.csv")) == 24
        again = ask(stimuli, out, server.url, "--prompt", "pilot-1", "--samples", "2")
        assert "sent 0 requests" in again.stderr
        assert len(server.asked) == len(rows(out / "trials.csv")) == 24

    @pytest.mark.parametrize(
        ("options", "difference"),
        [
            (("--order-seed", "1"), "order_seed: 0 -> 1"),
            (("--size", "32"), "side: 448 -> 32"),
            (("--temperature", "1"), "temperature: .+ -> 1.0"),
            (("--reasoning-effort", "low"), "reasoning_effort: .+ -> low"),
            (("--extra-body", '{"top_k": 20}'), "extra_body: .+ -> top_k 20"),
            (("--respondent", "me"), "respondent: gaze-model -> me"),
        ],
    )
    def test_gaze_ask_with_settings_that_differ_from_the_run_is_an_error(
        self, server: LoopbackServer, tmp_path: Path, options: tuple[str, ...], difference: str
    ) -> None:
        stimuli, out = made(tmp_path / "data", 3), tmp_path / "run"
        ask(stimuli, out, server.url, "--prompt", "pilot-1")
        done = ask(stimuli, out, server.url, "--prompt", "pilot-1", *options)
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert re.search(difference, done.stderr)
        assert len(server.asked) == 3

    def test_gaze_ask_after_photos_or_stimuli_changed_is_an_error(self, server: LoopbackServer, tmp_path: Path) -> None:
        stimuli, out = made(tmp_path / "data", 3), tmp_path / "run"
        ask(stimuli, out, server.url, "--prompt", "pilot-1")
        Image.new("RGB", (64, 64), (255, 255, 255)).save(tmp_path / "data" / "photos" / "1.png")
        done = ask(stimuli, out, server.url, "--prompt", "pilot-2")
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert "gaze/1001" in done.stderr
        other = made(tmp_path / "other", 4)
        done = ask(other, out, server.url, "--prompt", "pilot-2")
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert "stimuli: " in done.stderr

    def test_gaze_ask_sends_attention_checks_only_with_the_checks_option(
        self, server: LoopbackServer, tmp_path: Path
    ) -> None:
        stimuli, out = made(tmp_path / "data", 4, checks=1), tmp_path / "run"
        ask(stimuli, out, server.url, "--prompt", "pilot-1")
        assert len(server.asked) == 3
        ask(stimuli, out, server.url, "--prompt", "pilot-1", "--checks")
        assert len(server.asked) == len(replies(out)) == 4
        # Attention checks are not analyzed.
        assert len(rows(out / "trials.csv")) == 3

    def test_gaze_ask_resizes_photos_to_the_size_option(self, server: LoopbackServer, tmp_path: Path) -> None:
        stimuli = made(tmp_path / "data", 2, size=(90, 30))
        ask(stimuli, tmp_path / "run", server.url, "--prompt", "pilot-1", "--size", "60")
        for one in server.asked:
            ((media, data),) = one.pictures
            path = tmp_path / "shown.png"
            path.write_bytes(data)
            with Image.open(path) as shown:
                assert (media, shown.size) == ("image/png", (60, 60))
        assert len(list((tmp_path / "run" / "pictures").iterdir())) == 2

    def test_gaze_ask_with_the_anthropic_provider_writes_trials(self, tmp_path: Path) -> None:
        stimuli, out = made(tmp_path / "data", 3), tmp_path / "run"
        with serve(AnthropicProtocol(), says=choosing(first_letter), base_path="") as server:
            done = here(
                *("gaze", "ask", str(stimuli), "--images", str(stimuli.parent), "--provider", "anthropic"),
                *("--model", "claude-x", "--base-url", server.url, "--prompt", "pilot-1", "--out", str(out)),
                env={"ANTHROPIC_API_KEY": KEY},
            )
        assert done.returncode == 0, said(done)
        assert len(rows(out / "trials.csv")) == 3

    def test_gaze_ask_leaves_unmatched_trials_empty_and_lists_them_in_manual_csv(self, tmp_path: Path) -> None:
        stimuli, out = made(tmp_path / "data", 6), tmp_path / "run"
        answers = {"2": "B", "3": "She looks at the bottle.", "4": "At the camera."}
        with serve(OpenAIProtocol(), says=choosing(lambda options, _: answers[str(len(options))])) as server:
            done = ask(stimuli, out, server.url, "--prompt", "pilot-1")
        assert done.returncode == 0, said(done)
        screen = done.stderr[done.stderr.index("Completed ") :].splitlines()
        assert " ".join(screen[:2]) == (
            "Completed 6 of 6 replies; 2 of 6 stored trials could not be matched to an option."
        )
        assert [line.split() for line in screen if "matched: " in line] == [
            ["matched:", "letter", "2", "33.3"],
            ["matched:", "name", "2", "33.3"],
            ["unmatched:", "no", "option", "2", "33.3"],
        ]
        assert f"To match by hand: {out}/manual.csv (2 trials)" in screen
        trials = {row["stimulus_id"]: row["choice"] for row in rows(out / "trials.csv")}
        assert [trials[str(1000 + number)] for number in (1, 2, 4, 5)] == ["bottle", "", "bottle", ""]
        assert [row["how"] for row in replies(out)] == ["letter", "name", None] * 2
        queue = rows(out / "manual.csv")
        assert [row["stimulus_id"] for row in queue] == ["1002", "1005"]
        assert all(
            (row["reply"], row["problem"], row["choice"]) == ("At the camera.", "no option", "") for row in queue
        )

    def test_gaze_ask_records_refused_empty_and_filtered_replies_as_problems(
        self, server: LoopbackServer, tmp_path: Path
    ) -> None:
        stimuli, out = made(tmp_path / "data", 4), tmp_path / "run"
        server.script(reply("refusal"), reply("empty"), reply("filtered"), None)
        done = ask(stimuli, out, server.url, "--prompt", "pilot-1", "--concurrency", "1")
        assert done.returncode == 0, said(done)
        assert Counter(row["problem"] for row in replies(out)) == Counter(["refused", "empty", "filtered", None])


class TestObserver:
    def test_observer_works_without_photos_and_follows_its_cue(self, tmp_path: Path) -> None:
        stimuli, out = made(tmp_path / "data", 30), tmp_path / "run"
        options = ("--provider", "observer", "--model", "head", "--prompt", "pilot", "--out", str(out))
        done = here("gaze", "ask", str(stimuli), *options)
        assert done.returncode == 0, said(done)
        trials = [row for row in rows(out / "trials.csv") if row["head_target"]]
        at_head = sum(row["choice"] == row["head_target"] for row in trials) / len(trials)
        assert at_head > 0.7
        again = tmp_path / "again"
        here("gaze", "ask", str(stimuli), *options[:-1], str(again))
        assert rows(again / "trials.csv") == rows(out / "trials.csv")

    @pytest.mark.parametrize(
        ("options", "code", "option"),
        [
            (("--model", "nose"), "unknown-name", "--model: "),
            (("--model", "eye", "--temperature", "1"), "unsupported-option", "--temperature: "),
            (("--model", "eye", "--base-url", "http://x"), "unsupported-option", "--base-url"),
        ],
    )
    def test_observer_with_an_unsupported_option_is_an_error(
        self, tmp_path: Path, options: tuple[str, ...], code: str, option: str
    ) -> None:
        done = here("gaze", "ask", str(made(tmp_path / "data", 2)), "--provider", "observer", *options)
        assert (done.returncode, codes(done.stderr)) == (2, [code])
        assert option in done.stderr

    def test_run_with_the_observer_provider_is_an_error(self, tmp_path: Path) -> None:
        from tests.adapters.run_process import dataset

        done = here("run", str(dataset(tmp_path / "data")), "--provider", "observer", "--model", "eye")
        assert (done.returncode, codes(done.stderr)) == (2, ["unsupported-option"])


class TestBeforeItCosts:
    def test_dry_run_shows_every_prompt_and_sends_nothing(self, server: LoopbackServer, tmp_path: Path) -> None:
        stimuli, out = made(tmp_path / "data", 6), tmp_path / "run"
        done = ask(stimuli, out, server.url, "--dry-run")
        assert done.returncode == 0, said(done)
        assert not server.seen
        assert not out.exists()
        assert "images      6: 6 gaze" in done.stdout
        assert "[image/png, 64 x 64 pixels," in done.stdout
        assert re.search(r"all +96 +96 +96 +96 +unknown", done.stdout)
        photo = Photo(read_stimuli(stimuli)[0])
        for prompt in load_prompts("main"):
            for line in prompt.last(photo, 1)[0].text.splitlines():
                assert line in done.stdout

    @pytest.mark.parametrize(
        ("change", "code", "named"),
        [
            (("--prompt", "main-17"), "unknown-name", "'main-17'"),
            (("--provider", "nobody"), "unknown-name", "'nobody'"),
            (("--temperature", "9"), "invalid-option", "--temperature: "),
            (("--images", "nowhere"), "missing-file", "nowhere"),
        ],
    )
    def test_gaze_ask_with_an_invalid_option_is_an_error_and_sends_nothing(
        self, server: LoopbackServer, tmp_path: Path, change: tuple[str, ...], code: str, named: str
    ) -> None:
        done = ask(made(tmp_path / "data", 2), tmp_path / "run", server.url, *change)
        assert (done.returncode, {*codes(done.stderr)}) == (2, {code})
        assert named in done.stderr
        assert not server.asked

    def test_gaze_ask_without_images_is_an_error_for_a_provider_that_needs_photos(self, tmp_path: Path) -> None:
        stimuli = made(tmp_path / "data", 2)
        done = here("gaze", "ask", str(stimuli), "--provider", "openai", "--model", "m", "--base-url", "http://x")
        assert (done.returncode, codes(done.stderr)) == (2, ["missing-option"])
        assert "--images: " in done.stderr

    def test_gaze_ask_without_a_model_is_an_error(self, tmp_path: Path) -> None:
        done = here("gaze", "ask", str(made(tmp_path / "data", 2)), "--provider", "openai")
        assert (done.returncode, codes(done.stderr)) == (2, ["missing-option"])
        assert "--model" in done.stderr

    def test_gaze_ask_with_only_attention_checks_is_an_error(self, server: LoopbackServer, tmp_path: Path) -> None:
        done = ask(made(tmp_path / "data", 2, checks=2), tmp_path / "run", server.url)
        assert (done.returncode, codes(done.stderr)) == (2, ["no-data"])

    def test_gaze_ask_into_the_folder_of_a_ball_run_is_an_error(self, server: LoopbackServer, tmp_path: Path) -> None:
        from tests.adapters.run_process import dataset, run

        run(dataset(tmp_path / "data"), tmp_path / "run", server.url, "--prompt", "base", "--samples", "1")
        done = ask(made(tmp_path / "gaze", 2), tmp_path / "run", server.url)
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert "respondent: test-model -> gaze-model" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_gaze_ask_after_a_kill_loses_no_reply_and_repeats_no_request(tmp_path: Path, seed: int) -> None:
    stimuli, out = made(tmp_path / "data", 12), tmp_path / "run"
    rng = random.Random(seed)
    with serve(OpenAIProtocol(keys={KEY}), says=choosing(first_letter), delay=0.005) as server:
        faults = (DROP, BROKEN_JSON, status(500), status(429, "slow down", retry_after="0.02"))
        server.script(*(rng.choice(faults) if rng.random() < 0.05 else None for _ in range(2000)))
        line = command(stimuli, out, server.url, "--concurrency", "4", "--seed", "1")
        kept: dict[tuple[str, str, int], str] = {}
        for _ in range(3):
            enough = len(server.asked) + rng.randrange(60)
            with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env={**os.environ, **ENV}) as child:
                while len(server.asked) < enough and child.poll() is None:
                    time.sleep(0.001)
                child.kill()
                _, stderr = child.communicate()
            assert "Traceback" not in stderr
            now = stored(out)
            assert now.items() >= kept.items()
            kept = now
        before = len(server.asked)
        done = ask(stimuli, out, server.url, "--concurrency", "4", "--seed", "1")
        assert done.returncode == 0, said(done)
        photos = {one.stimulus_id: one for one in read_stimuli(stimuli)}
        prompts = {prompt.name: prompt for prompt in load_prompts("main")}
        answered = {
            (
                prompts[prompt].last(Photo(photos[name]), 1)[0].text,
                (stimuli.parent / str(photos[name].image)).read_bytes(),
            )
            for name, prompt, _ in kept
        }
        assert not answered & {(one.turns[0][1], one.pictures[0][1]) for one in server.asked[before:]}
    assert stored(out).items() >= kept.items()
    assert len(stored(out)) == len(rows(out / "trials.csv")) == 12 * 16


def stored(out: Path) -> dict[tuple[str, str, int], str]:
    if not (out / "run.sqlite").exists() or query(out, "PRAGMA user_version") == [(0,)]:
        return {}
    found = query(out, "SELECT image, prompt, sample, text FROM replies")
    return {row[:3]: row[3] for row in found}


def test_gaze_ask_stores_the_order_seed_order_version_size_and_prompt_digest(
    server: LoopbackServer, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    ask(made(tmp_path / "data", 2), out, server.url, "--prompt", "pilot-1", "--order-seed", "3")
    identity = {name: json.loads(value) for name, value in query(out, "SELECT name, value FROM run")}
    assert (identity["order_seed"], identity["order"], identity["side"]) == (3, 1, 448)
    assert identity["prompt pilot-1"]["digest"] == built_in("pilot")[0].digest
