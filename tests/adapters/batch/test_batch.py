"""Test `spotball batch`: export writes request files, and import stores each reply once."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from spotball_adapters.batch.export import Parts
from spotball_adapters.prompts.picture import encoded
from spotball_adapters.prompts.prompt import load_prompt
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.scoring.score import score
from tests.adapters.run_process import Done, check_error, dataset, good, here, query, replies, rows
from tests.builders import scene, write_jsonl

Line = dict[str, Any]
Responder = Callable[[Line, int], str]
"""A function that returns the text of a reply, given the request and the reply's index in it."""

COT = load_prompt("cot")
BASE = ("--prompt", "base", "--samples")


def answer(request: Line, place: int) -> str:
    """Return a reply whose cell depends on the request and the index, so that replies cannot be mixed up."""
    digest = hashlib.sha256(f"{request['custom_id']} {place}".encode()).digest()
    return f"Reasoning: reply {place} to {request['custom_id']}.\nCell: {'ABCDEF'[digest[0] % 6]}{digest[1] % 10 + 1}"


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@dataclass(frozen=True)
class Batches:
    """The batches of a dataset, in the folder `out`, and the files of replies next to it."""

    data: Path
    out: Path

    def export(self, *options: str) -> Done:
        return here("batch", "export", self.data, "--out", self.out, *options)

    def import_(self, *files: Path, respondent: str | None = "me", options: Sequence[str] = ()) -> Done:
        named = ["--respondent", respondent] if respondent else []
        return here("batch", "import", self.out, *files, *named, *options)

    def requests(self, batch: int = 1) -> list[Line]:
        return read(self.out / f"batch-{batch}" / "requests.jsonl")

    def asked(self, batch: int = 1) -> list[Line]:
        """Return what each request asks for: image, prompt, step and samples."""
        return read(self.out / f"batch-{batch}" / "asked.jsonl")

    def answered(self, asked: Sequence[Line], responder: Responder = answer, name: str = "replies.jsonl") -> Path:
        """Write a file of replies in the format `messages`, in shuffled order."""
        lines = []
        for request in asked:
            texts = [responder(request, place) for place in range(request["n"])]
            one = {"text": texts[0]} if len(texts) == 1 else {"replies": [{"text": text} for text in texts]}
            lines.append({"custom_id": request["custom_id"], **one})
        random.Random(0).shuffle(lines)
        return write_jsonl(self.out.with_name(name), lines)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data"), images=4, controls=1)


@pytest.fixture
def batches(data: Path, tmp_path: Path) -> Batches:
    return Batches(data, tmp_path / "run")


@pytest.fixture
def exported(batches: Batches) -> Batches:
    """Export three requests, each for two samples."""
    batches.export(*BASE, "2", "--at-once", "2")
    return batches


class TestRoundTrip:
    def test_export_writes_one_request_per_sample(self, batches: Batches) -> None:
        options = ("--prompt", "base,cue", "--samples", "3,2", "--temperature", "0.6", "--seed", "5")
        good("batch", "export", batches.data, "--out", batches.out, *options)
        asked = batches.requests()
        # Three of the four images are not controls, and each sample has one request.
        assert len(asked) == 3 * (3 + 2)
        assert len({request["custom_id"] for request in asked}) == len(asked)
        known = {one.key: one for one in read_scenes(batches.data / "scenes.jsonl")}
        seen = set()
        for request, about in zip(asked, batches.asked(), strict=True):
            assert request["custom_id"] == about["custom_id"]
            (message,) = request["messages"]
            prompt = load_prompt(about["prompt"])
            assert message["text"] == prompt.text.replace("{sport}", about["sport"])
            assert message["role"] == "user"
            picture = (batches.out / message["image"]).read_bytes()
            assert picture == encoded(known[about["sport"], about["image"]], batches.data).data
            assert request["n"] == 1
            (sample,) = about["samples"]
            assert request["settings"] == {"temperature": 0.6, "seed": 5 + sample - 1}
            seen.add((about["sport"], about["image"], about["prompt"], sample))
        assert len(seen) == len(asked)
        manifest = json.loads((batches.out / "batch-1" / "manifest.json").read_text())
        cue = load_prompt("cue")
        assert (manifest["prompts"]["cue"]["digest"], manifest["prompts"]["cue"]["version"]) == (
            cue.digest,
            cue.version,
        )
        assert (manifest["requests"], manifest["replies"], manifest["waiting"]) == (15, 15, 0)

    @pytest.mark.parametrize("at_once", [1, 2, 50])
    def test_import_stores_every_reply_as_a_response(self, batches: Batches, at_once: int) -> None:
        batches.export("--prompt", "base,cue", "--samples", "3,2", "--at-once", str(at_once))
        asked = batches.requests()
        done = batches.import_(batches.answered(asked))
        assert done.returncode == 0, done.stderr
        assert "15 replies stored\n" in done.stderr
        expected = {}
        for request, about in zip(asked, batches.asked(), strict=True):
            for place, sample in enumerate(about["samples"]):
                text = answer(request, place)
                key = (about["sport"], about["image"], about["prompt"], sample)
                expected[key] = (text.split("Cell: ")[1], re.search(r"Reasoning: (.*)", text)[1])  # type: ignore[index]
        assert len(expected) == 15
        found = rows(batches.out)
        assert expected == {
            (row["sport"], row["image"], row["prompt"], row["sample"]): (row["cell"], row["reasoning"]) for row in found
        }
        assert {(row["respondent"], row["kind"]) for row in found} == {("me", "model")}
        assert {group.n_responses for group in score(batches.out, bootstrap=0).groups} == {6, 3, 4, 2}

    def test_image_and_sport_names_with_unusual_characters_survive_export_and_import(self, tmp_path: Path) -> None:
        names = ["a b:c", "試合" * 40, "b1-1-00000000", "x" * 255, 'quote"', "1\u3000 2"]
        Image.new("RGB", (640, 360), (1, 2, 3)).save(tmp_path / "one.png")
        known = [scene(name, sport, path="one.png") for name in names for sport in ("fußball", "soccer")]
        write_scenes(known, tmp_path / "scenes.jsonl")
        batches = Batches(tmp_path, tmp_path / "run")
        assert batches.export(*BASE, "1").returncode == 0
        asked = batches.requests()
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", request["custom_id"]) for request in asked)
        assert batches.import_(batches.answered(asked)).returncode == 0
        found = [(row["sport"], row["image"]) for row in read(batches.out / "responses.jsonl")]
        assert sorted(found) == sorted(one.key for one in known)

    def test_export_with_the_same_options_writes_the_same_requests(self, data: Path, tmp_path: Path) -> None:
        one, two = Batches(data, tmp_path / "one"), Batches(data, tmp_path / "two")
        for each in (one, two):
            each.export("--prompt", "base,cot", "--samples", "2")
        assert one.requests() == two.requests()


class TestCotPrompt:
    def test_second_export_of_cot_puts_the_earlier_replies_into_the_final_prompt(self, batches: Batches) -> None:
        options = ("--prompt", "cot", "--samples", "2", "--at-once", "2")
        done = batches.export(*options)
        first = batches.requests()
        assert len(first) == 3 * 3
        assert [request["messages"][0]["text"] for request in first[:3]] == list(COT.questions)
        assert "6 more requests need these replies first: import the replies, then export again" in done.stderr
        done = batches.import_(batches.answered(first))
        assert "To write the missing requests, run the same `spotball batch export` again.\n" in done.stderr
        assert not (batches.out / "responses.jsonl").exists()
        batches.export(*options)
        second = batches.requests(2)
        assert len(second) == 6
        texts = {
            (about["sport"], about["image"], sample, about["step"]): answer(request, place)
            for request, about in zip(first, batches.asked(), strict=True)
            for place, sample in enumerate(about["samples"])
        }
        for request, about in zip(second, batches.asked(2), strict=True):
            (sample,) = about["samples"]
            said_before = [texts[about["sport"], about["image"], sample, step] for step in range(3)]
            context = "\n".join(f"{question} {said}" for question, said in zip(COT.questions, said_before, strict=True))
            expected = COT.text.replace("{sport}", about["sport"]).replace("{context}", context)
            assert request["messages"][0]["text"] == expected
        done = batches.import_(batches.answered(second))
        assert "To write the missing requests" not in done.stderr
        assert [row["prompt"] for row in rows(batches.out)] == ["cot"] * 6
        assert all(row["cell"] for row in rows(batches.out))
        done = batches.export(*options)
        assert (done.returncode, done.stderr) == (0, "no requests are left to write\n")
        assert not (batches.out / "batch-3").exists()

    def test_export_of_cot_repeats_a_question_whose_reply_is_missing(self, batches: Batches) -> None:
        options = ("--prompt", "cot", "--samples", "2")
        batches.export(*options)
        first = batches.requests()
        batches.import_(batches.answered(first[1:]))
        done = batches.export(*options)
        assert "1 requests of earlier batches have missing replies" in done.stderr
        assert "6 requests for 6 replies\n1 more requests need these replies first" in done.stderr
        assert first[0]["messages"] in [request["messages"] for request in batches.requests(2)]


class TestOpenAI:
    OPTIONS = (*BASE, "3", "--format", "openai", "--model", "gpt-4.1-mini")

    def test_export_in_openai_format_writes_chat_completion_lines(self, batches: Batches) -> None:
        fields = ("--reasoning-effort", "low", "--extra-body", '{"service_tier": "flex"}')
        done = batches.export(*self.OPTIONS, "--max-output-tokens", "300", "--temperature", "0.6", *fields)
        assert done.returncode == 0, done.stderr
        assert len(batches.requests()) == 3
        for request in batches.requests():
            assert request.keys() == {"custom_id", "method", "url", "body"}
            assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
            body = request["body"]
            ((image, text),) = (message["content"] for message in body["messages"])
            kind, data = image["image_url"]["url"].split(",")
            assert kind == "data:image/png;base64"
            with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
                assert picture.format == "PNG"
            assert text["text"].startswith(load_prompt("base").text[:20])
            assert (body["model"], body["n"]) == ("gpt-4.1-mini", 3)
            assert (body["max_completion_tokens"], body["temperature"]) == (300, 0.6)
            assert (body["service_tier"], body["reasoning_effort"]) == ("flex", "low")
        assert json.loads((batches.out / "batch-1/manifest.json").read_text())["settings"] == {
            "temperature": 0.6,
            "max_output_tokens": 300,
            "reasoning_effort": "low",
            "extra_body": {"service_tier": "flex"},
        }
        ours = Batches(batches.data, batches.out.with_name("ours")).export(*BASE, "1", "--model", "m", *fields)
        check_error(ours, "unsupported-option", "--reasoning-effort")

    def test_import_reads_openai_output_and_error_files(self, batches: Batches, tmp_path: Path) -> None:
        batches.export(*self.OPTIONS)
        first, second, third = (request["custom_id"] for request in batches.requests())
        messages = [
            (2, {"content": None, "refusal": "No."}, "stop"),
            (0, {"content": "Cell: D5"}, "stop"),
            (1, {"content": "Reasoning: it"}, "length"),
        ]
        choices = [
            {"index": index, "message": {"role": "assistant", **message}, "finish_reason": finish}
            for index, message, finish in messages
        ]
        body = {"model": "gpt-4.1-mini-2025", "choices": choices, "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
        full = {"error": {"message": "Too long", "code": "context_length_exceeded"}}
        answered = {"id": "b_1", "custom_id": first, "response": {"status_code": 200, "body": body}, "error": None}
        failed = [
            {"id": "b_2", "custom_id": second, "response": {"status_code": 400, "body": full}, "error": None},
            {"id": "b_3", "custom_id": third, "response": None, "error": {"code": "x", "message": "Expired"}},
        ]
        output = write_jsonl(tmp_path / "output.jsonl", [answered])
        done = batches.import_(output, write_jsonl(tmp_path / "errors.jsonl", failed), respondent=None)
        assert done.returncode == 0, done.stderr
        found = [(row["respondent"], row["sample"], row["cell"]) for row in rows(batches.out)]
        assert found == [("gpt-4.1-mini", sample, cell) for sample, cell in ((1, "D5"), (2, None), (3, None))]
        assert "3 samples: 1 with a cell, 2 unparsed (cut off 1, refused 1)" in done.stderr
        assert "2 requests have no reply:\n  1 times: HTTP 400: Too long\n  1 times: Expired" in done.stderr
        assert "batch-1: 2 requests have missing replies" in done.stderr
        stored = query(batches.out, "SELECT model, input_tokens, output_tokens, picture FROM requests")
        shown = stored[0][3]
        assert stored == [("gpt-4.1-mini-2025", 9, 4, shown)]
        assert hashlib.sha256((batches.out / "pictures" / f"{shown}.png").read_bytes()).hexdigest() == shown
        # The next export contains the failed requests under new ids.
        batches.export(*self.OPTIONS)
        assert len(batches.requests(2)) == 2
        assert {request["custom_id"] for request in batches.requests(2)}.isdisjoint({first, second, third})

    def test_parts_splits_requests_into_several_files_at_the_line_and_size_limits(self, tmp_path: Path) -> None:
        parts = Parts(tmp_path, lines=3, size=100)
        lines = [f"{i}{'é' * (30 if i == 4 else 1)}\n" for i in range(8)]
        for line in lines:
            parts.write(line)
        names = parts.close()
        written = [(tmp_path / name).read_text() for name in names]
        assert names == ("requests-001.jsonl", "requests-002.jsonl", "requests-003.jsonl")
        assert "".join(written) == "".join(lines)
        assert [text.count("\n") for text in written] == [3, 3, 2]
        small = Parts(tmp_path / "small", size=10)
        (tmp_path / "small").mkdir()
        for line in ("12345\n", "1234\n", "1\n"):
            small.write(line)
        assert [(tmp_path / "small" / name).read_text() for name in small.close()] == ["12345\n", "1234\n1\n"]


@pytest.mark.parametrize(
    ("line", "where", "value"),
    [
        ("{", "invalid-json:line", "{"),
        ("[1]", "invalid-json:line", "[1]"),
        ('{"custom_id": "b1-1-ffffffff", "text": ""}', "invalid-value:custom_id", "'b1-1-ffffffff'"),
        ('{"text": "D5"}', "missing-value:custom_id", "custom_id"),
        ('{"custom_id": "ID"}', "invalid-value:line", "`error`"),
        ('{"custom_id": "ID", "text": "", "error": ""}', "invalid-value:line", "`error`"),
        ('{"custom_id": "ID", "replies": []}', "invalid-value:line", "`replies`"),
        ('{"custom_id": "ID", "text": "", "finish": "ok"}', "invalid-value:finish", '"ok"'),
        ('{"custom_id": "ID", "error": "x", "finish": "stop"}', "invalid-value:line", "`finish`"),
        ('{"custom_id": "ID", "text": "", "extra": 1}', "unknown-key:extra", "1"),
        (
            '{"custom_id": "ID", "replies": [{"text": "1"}, {"text": "2"}, {"text": ""}]}',
            "invalid-value:custom_id",
            " 2",
        ),
        ('{"custom_id": "ID", "response": {"status_code": 200, "body": {}}}', "invalid-value:response.body", "choices"),
        ('{"custom_id": 3, "response": {"status_code": 200, "body": {}}}', "invalid-value:custom_id", "3"),
    ],
)
def test_import_of_an_invalid_line_is_an_error_and_stores_nothing(
    exported: Batches, line: str, where: str, value: str
) -> None:
    bad, valid = (request["custom_id"] for request in exported.requests()[:2])
    path = exported.out.with_name("replies.jsonl")
    path.write_text(f'{{"custom_id": "{valid}", "text": "Cell: A1"}}\n\n{line.replace("ID", bad)}\n')
    done = exported.import_(path)
    code, field = where.split(":")
    check_error(done, code)
    assert value in done.stderr.partition(f"error: {path}:3: {field}: ")[2]
    # If one line is invalid, nothing is imported.
    assert replies(exported.out) == {}
    assert not (exported.out / "responses.jsonl").exists()


class TestRepeatedImport:
    def test_import_of_two_replies_to_one_request_is_an_error_and_of_a_failure_and_a_reply_stores_the_reply(
        self, exported: Batches, tmp_path: Path
    ) -> None:
        path = exported.answered(exported.requests())
        repeated = read(path)[1]
        other = write_jsonl(tmp_path / "other.jsonl", [repeated])
        done = exported.import_(path, other)
        check_error(done, "invalid-value", f"error: {other}:1: custom_id: ", repeated["custom_id"], f"{path}:2")
        failed = write_jsonl(tmp_path / "failed.jsonl", [{"custom_id": repeated["custom_id"], "error": "busy"}])
        done = exported.import_(failed, path)
        assert "no reply" not in done.stderr
        assert len(rows(exported.out)) == 6

    def test_second_import_of_the_same_replies_stores_nothing_and_of_a_different_reply_is_an_error(
        self, exported: Batches
    ) -> None:
        asked = exported.requests()
        path = exported.answered(asked)
        exported.import_(path)
        before = rows(exported.out), replies(exported.out)
        done = exported.import_(path, respondent=None)
        assert "0 replies stored, 6 were already stored\n" in done.stderr
        other = exported.answered(asked[:1], lambda request, place: f"Cell: B{place + 1}", name="other.jsonl")
        done = exported.import_(other)
        check_error(done, "invalid-value", f"error: {other}:1: custom_id: ", asked[0]["custom_id"])
        assert (rows(exported.out), replies(exported.out)) == before

    def test_import_of_only_some_replies_reports_how_many_replies_are_missing(self, exported: Batches) -> None:
        path = exported.answered(exported.requests()[:2])
        lines = read(path)
        lines[0]["replies"].pop()
        done = exported.import_(write_jsonl(path, lines))
        assert "3 replies stored\n1 replies are missing: their requests returned too few replies\n" in done.stderr
        assert "batch-1: 2 requests have missing replies\n" in done.stderr
        assert len(rows(exported.out)) == 3

    def test_export_after_a_partial_import_writes_only_the_missing_samples(self, exported: Batches) -> None:
        exported.import_(exported.answered(exported.requests()[:1]))
        done = exported.export(*BASE, "3", "--at-once", "2")
        assert sum(len(about["samples"]) for about in exported.asked(2)) == 3 * 3 - 2
        assert "2 requests of earlier batches have missing replies" in done.stderr
        exported.import_(exported.answered(exported.requests(2)))
        assert len(rows(exported.out)) == 9

    def test_import_of_a_missing_file_or_with_a_missing_or_different_respondent_is_an_error(
        self, exported: Batches, tmp_path: Path
    ) -> None:
        check_error(exported.import_(tmp_path / "none.jsonl"), "missing-file", f"{tmp_path}/none.jsonl")
        path = exported.answered(exported.requests())
        check_error(exported.import_(path, respondent=None), "missing-option", "--respondent")
        exported.import_(path, respondent="me")
        check_error(exported.import_(path, respondent="you"), "different-settings", "respondent: me -> you")

    def test_import_writes_parquet_and_parse_restores_deleted_responses(self, exported: Batches) -> None:
        path = exported.answered(exported.requests())
        exported.import_(path)
        before = rows(exported.out)
        (exported.out / "responses.jsonl").unlink()
        good("parse", exported.out)
        assert rows(exported.out) == before
        exported.import_(path, options=["--format", "parquet"])
        good("parse", exported.out)
        assert pl.read_parquet(exported.out / "responses.parquet").height == 6

    def test_import_with_lenient_parse_policy_parses_the_stored_replies_again(self, exported: Batches) -> None:
        path = exported.answered(exported.requests(), lambda request, place: "The ball is in D4.")
        exported.import_(path)
        assert {row["cell"] for row in rows(exported.out)} == {None}
        exported.import_(path, options=["--parse-policy", "lenient"])
        assert {row["cell"] for row in rows(exported.out)} == {"D4"}
        assert (exported.out / "parsing.responses.json").read_text() == '{"parse_policy": "lenient"}\n'


class TestRepeatedExport:
    def test_export_with_settings_that_differ_from_the_first_batch_is_an_error(self, exported: Batches) -> None:
        done = exported.export(*BASE, "2", "--temperature", "1")
        check_error(done, "different-settings", f"{exported.out}/batch-1", "temperature", "-> 1.0")
        assert not (exported.out / "batch-2").exists()

    def test_export_treats_extra_body_and_reasoning_effort_that_are_missing_in_the_manifest_as_not_set(
        self, batches: Batches
    ) -> None:
        options = (*BASE, "1", "--model", "m", "--format", "openai")
        assert batches.export(*options).returncode == 0
        path = batches.out / "batch-1" / "manifest.json"
        manifest = json.loads(path.read_text())
        for name in ("extra_body", "reasoning_effort"):
            assert manifest["identity"].pop(name) is None
        path.write_text(json.dumps(manifest))
        done = batches.export(*options, "--reasoning-effort", "low")
        check_error(done, "different-settings", "reasoning_effort", '-> "low"')
        assert "extra_body" not in done.stderr.rpartition("settings (")[2]
        assert batches.export(*options).returncode == 0

    def test_export_of_a_missing_dataset_or_only_control_images_is_an_error(self, tmp_path: Path) -> None:
        batches = Batches(tmp_path / "data", tmp_path / "run")
        assert batches.export().returncode == 2
        dataset(batches.data, images=1, controls=1)
        check_error(batches.export(), "no-data", "--controls")
        assert batches.export("--controls", "--prompt", "base").returncode == 0

    def test_export_after_an_image_file_changed_is_an_error(self, tmp_path: Path) -> None:
        batches = Batches(dataset(tmp_path / "data", images=1), tmp_path / "run")
        batches.export(*BASE, "1")
        batches.import_(batches.answered(batches.requests()))
        Image.new("RGB", (640, 360), (9, 9, 9)).save(batches.data / "images" / "soccer" / "1.png")
        check_error(batches.export(*BASE, "2"), "different-settings", "soccer/1")
