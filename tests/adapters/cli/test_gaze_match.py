"""Test how `spotball gaze ask` matches replies: templates, a judge on a loopback server, and manual choices."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from spotball_adapters.gaze.judge import NONE, judge_prompt
from tests.adapters.faults import reply, status
from tests.adapters.gaze.made import ask, choosing, made, match, offered, replies, rows, write_rows
from tests.adapters.run_process import KEY, check_error, dataset, query, run, said
from tests.adapters.server import LoopbackServer, serve
from tests.adapters.speaks_openai import OpenAIProtocol
from tests.adapters.speech import ReceivedRequest
from tests.failures import codes

VAGUE = {"kettle": "the thing that one boils water in", "keys": "what opens a door", "bunny": "the one with long ears"}


def vague(options: dict[str, str], asked: ReceivedRequest) -> str:
    """Return a reply that a template can match, one that only a judge can match, or one that neither can match."""
    if "keys" in options.values():
        return "She looks at what opens a door. {options} \\1"
    return "At the camera." if "tulips" in options.values() else "A"


def judging(asked: ReceivedRequest, number: int) -> str:
    """Reply to a judge prompt by matching the description of the keys, and to other prompts as the judged model."""
    options = offered(asked)
    by_name = {name: letter for letter, name in options.items()}
    if list(options.values())[-1:] != [NONE]:
        return vague(options, asked)
    reply = asked.turns[0][1].split("-----\n")[1]
    return f"**{by_name['keys']}**" if "opens a door" in reply else by_name[NONE]


@pytest.fixture(scope="module")
def running() -> Iterator[LoopbackServer]:
    with serve(OpenAIProtocol(keys={KEY}), says=judging) as started:
        yield started


@pytest.fixture
def out(server: LoopbackServer, tmp_path: Path) -> Path:
    """Return the folder of a run of 12 replies: 4 match a template, 4 need the judge, and 4 need manual matching."""
    done = ask(made(tmp_path / "data"), tmp_path / "run", server.url, "--prompt", "pilot-1,pilot-2")
    assert done.returncode == 0, said(done)
    assert "8 of 12 stored trials could not be matched" in done.stderr
    assert ways(tmp_path / "run") == {"letter": 4, "no option": 8}
    server.seen.clear()
    return tmp_path / "run"


def judge(server: LoopbackServer, *options: str) -> tuple[str, ...]:
    return ("--judge", "openai", "judge-1", "--judge-base-url", server.url, *options)


def ways(out: Path) -> Counter[str | None]:
    return Counter(row["how"] or row["problem"] for row in replies(out))


def trials(out: Path) -> dict[tuple[str, str], str]:
    """Return the choices in the trials by stimulus and prompt."""
    return {(row["stimulus_id"], row["prompt_id"]): row["choice"] for row in rows(out / "trials.csv")}


class TestJudge:
    def test_judge_receives_options_and_only_the_unchanged_replies_that_match_no_template_without_the_photo(
        self, server: LoopbackServer, out: Path
    ) -> None:
        done = match(out, *judge(server))
        assert done.returncode == 0, said(done)
        assert "12 replies, 8 matched (letter 4, judge 4), 4 unmatched (no option 4)" in done.stderr
        assert len(server.asked) == 8
        for one in server.asked:
            assert not one.pictures
            ((role, text),) = one.turns
            assert role == "user"
            options = offered(one)
            assert list(options.values())[-1] == NONE
            assert f"Answer with one letter of {', '.join(options)}, and nothing else." in text
            # Braces and backslashes of a reply are sent unchanged.
            assert "At the camera." in text or "She looks at what opens a door. {options} \\1" in text
        identity = {name: json.loads(value) for name, value in query(out / "judge", "SELECT name, value FROM run")}
        assert identity["prompt judge"]["digest"] == judge_prompt().digest
        assert ways(out) == {"letter": 4, "judge": 4, "no option": 4}
        assert {row["choice"] for row in replies(out) if row["how"] == "judge"} == {"keys"}
        chosen = {(row["stimulus_id"], row["prompt_id"]): row["choice"] or "" for row in replies(out)}
        assert trials(out) == chosen
        assert len(rows(out / "manual.csv")) == 4

    def test_match_reuses_stored_judge_replies_and_a_different_judge_is_an_error(
        self, server: LoopbackServer, out: Path
    ) -> None:
        assert match(out, *judge(server)).returncode == 0
        before = (out / "replies.jsonl").read_bytes()
        asked = len(server.asked)
        assert "sent 0 requests" in match(out, *judge(server)).stderr
        # Stored judge replies are used even if the judge is not named again.
        assert match(out).returncode == 0
        assert len(server.asked) == asked
        assert (out / "replies.jsonl").read_bytes() == before
        check_error(
            match(out, "--judge", "openai", "judge-2", "--judge-base-url", server.url),
            "different-settings",
            "openai judge-1",
        )

    def test_match_after_a_judge_error_keeps_the_stored_judge_replies_and_requests_the_missing_ones(
        self, server: LoopbackServer, out: Path
    ) -> None:
        server.script(*[None] * 3, status(401, "no money"))
        done = match(out, *judge(server), "--concurrency", "1")
        assert done.returncode == 2
        assert "no money" in done.stderr
        assert len(query(out / "judge", "SELECT * FROM replies")) == 3
        # The judge replies before the error are already used.
        assert ways(out)["judge"] > 0
        done = match(out, *judge(server))
        assert done.returncode == 0, said(done)
        assert ways(out) == {"letter": 4, "judge": 4, "no option": 4}
        assert len(query(out / "judge", "SELECT * FROM replies")) == 8

    @pytest.mark.parametrize("style", ["refusal", "empty", "filtered", "cut-off"])
    def test_match_with_a_judge_that_refuses_or_gives_no_answer_matches_no_reply(
        self, server: LoopbackServer, out: Path, style: str
    ) -> None:
        server.always(reply(style))
        done = match(out, *judge(server))
        assert done.returncode == 0, said(done)
        assert ways(out)["judge"] == 0 or style == "cut-off"

    def test_empty_replies_are_not_sent_to_the_judge(self, server: LoopbackServer, tmp_path: Path) -> None:
        server.always(reply("empty"))
        ask(made(tmp_path / "data", 3), tmp_path / "run", server.url, "--prompt", "pilot-1")
        server.always(None)
        server.seen.clear()
        assert match(tmp_path / "run", *judge(server)).returncode == 0
        assert not server.asked

    def test_ask_with_a_judge_matches_the_replies_in_the_same_command(
        self, server: LoopbackServer, tmp_path: Path
    ) -> None:
        stimuli = made(tmp_path / "data")
        done = ask(stimuli, tmp_path / "run", server.url, "--prompt", "pilot-1,pilot-2", *judge(server))
        assert done.returncode == 0, said(done)
        assert ways(tmp_path / "run") == {"letter": 4, "judge": 4, "no option": 4}

    def test_gaze_ask_with_a_provider_for_the_folder_of_a_run_fails(self, out: Path) -> None:
        check_error(match(out, "--provider", "openai"), "conflicting-options")


class TestManual:
    def test_match_reads_manual_choices_and_keeps_them_in_the_run(self, server: LoopbackServer, out: Path) -> None:
        match(out, *judge(server))
        queue = rows(out / "manual.csv")
        assert list(queue[0]) == ["stimulus_id", "prompt_id", "sample", "options", "reply", "problem", "choice"]
        letter = next(part[0] for part in queue[0]["options"].split(" | ") if part.endswith(". tulips"))
        filled = [{**row, "choice": choice} for row, choice in zip(queue, (letter, "Bunny", "none", ""), strict=True)]
        write_rows(out / "manual.csv", filled)
        done = match(out)
        assert done.returncode == 0, said(done)
        assert "10 matched (letter 4, judge 4, manual 2), 2 unmatched (" in done.stderr
        assert "1 reply to match by hand" in done.stderr
        kept = {(row["stimulus_id"], row["prompt_id"]): row for row in replies(out)}
        read = [kept[row["stimulus_id"], row["prompt_id"]] for row in queue]
        assert [row["choice"] for row in read] == ["tulips", "bunny", None, None]
        assert [row["how"] for row in read] == ["manual", "manual", None, None]
        assert [row["problem"] for row in read] == [None, None, "not recognizable", "no option"]
        assert [trials(out)[row["stimulus_id"], row["prompt_id"]] for row in queue] == ["tulips", "bunny", "", ""]
        # The run keeps the choices, and the remaining trial stays in the list for manual matching.
        before = (out / "replies.jsonl").read_bytes()
        assert match(out).returncode == 0
        assert (out / "replies.jsonl").read_bytes() == before
        assert [row["choice"] for row in rows(out / "manual.csv")] == ["tulips", "bunny", "none", ""]

    def test_match_reads_choices_filled_in_the_manual_csv_of_the_run(self, out: Path) -> None:
        write_rows(out / "manual.csv", [{**row, "choice": "A"} for row in rows(out / "manual.csv")])
        done = match(out)
        assert "12 matched (manual 8, letter 4)" in done.stderr
        assert "unmatched" not in done.stderr
        assert all(row["choice"] == row["options"][0] for row in replies(out))

    def test_manual_choices_are_kept_when_the_run_is_extended(
        self, server: LoopbackServer, out: Path, tmp_path: Path
    ) -> None:
        queue = rows(out / "manual.csv")
        write_rows(out / "manual.csv", [{**queue[0], "choice": "B"}, *queue[1:]])
        done = ask(tmp_path / "data" / "stimuli.csv", out, server.url, "--prompt", "pilot-1,pilot-2,pilot-3")
        assert ["matched:", "manual", "1"] in [line.split()[:3] for line in done.stderr.splitlines()]
        assert len(rows(out / "manual.csv")) == 12

    def test_judge_choices_take_precedence_over_manual_choices(self, server: LoopbackServer, out: Path) -> None:
        write_rows(out / "manual.csv", [{**row, "choice": "none"} for row in rows(out / "manual.csv")])
        match(out, *judge(server))
        assert ways(out) == {"letter": 4, "judge": 4, "not recognizable": 4}

    def test_manual_csv_with_invalid_rows_is_an_error_and_changes_nothing(self, out: Path) -> None:
        before = (out / "replies.jsonl").read_bytes()
        queue = rows(out / "manual.csv")
        for change, field, value in (
            ({"choice": "umbrella"}, "choice", "'umbrella'"),
            ({"choice": "E"}, "choice", "'E'"),
            ({"stimulus_id": "77", "choice": "A"}, "stimulus_id", "77, pilot-1, sample 1"),
            ({"sample": "2", "choice": "A"}, "stimulus_id", "sample 2"),
            ({"sample": "x"}, "stimulus_id", "sample x"),
        ):
            write_rows(out / "manual.csv", [{**queue[0], **change}, *queue[1:]])
            check_error(match(out), "invalid-value", f"manual.csv:2: {field}: ", value)
        path = write_rows(out / "manual.csv", [queue[0], queue[0], {**queue[1], "choice": "fish"}])
        done = match(out)
        assert (done.returncode, codes(done.stderr)) == (2, ["invalid-value"] * 2)
        for part in (f"{path}:3: stimulus_id: ", f"{path}:4: choice: ", "'fish'"):
            assert part in done.stderr
        assert (out / "replies.jsonl").read_bytes() == before

    def test_manual_csv_is_not_written_if_every_reply_is_matched(self, tmp_path: Path) -> None:
        with serve(OpenAIProtocol(), says=choosing(lambda options, _: "A")) as server:
            ask(made(tmp_path / "data", 3), tmp_path / "run", server.url, "--prompt", "pilot-1")
        assert not (tmp_path / "run" / "manual.csv").exists()


def test_match_restores_deleted_output_files(out: Path) -> None:
    before = {name: (out / name).read_bytes() for name in ("replies.jsonl", "trials.csv", "manual.csv")}
    for name in before:
        (out / name).unlink()
    assert match(out).returncode == 0
    assert {name: (out / name).read_bytes() for name in before} == before


def test_match_in_the_folder_of_a_ball_run_is_an_error(server: LoopbackServer, tmp_path: Path) -> None:
    run(dataset(tmp_path / "data"), tmp_path / "run", server.url, "--prompt", "base", "--samples", "1")
    done = match(tmp_path / "run")
    check_error(done, "wrong-folder")
    assert "run.sqlite" not in done.stderr


def test_match_of_a_run_with_another_version_of_the_option_order_rule_is_an_error(out: Path) -> None:
    with sqlite3.connect(out / "run.sqlite") as connection:
        connection.execute("UPDATE run SET value = '9' WHERE name = 'order'")
    check_error(match(out), "different-settings", "9")
