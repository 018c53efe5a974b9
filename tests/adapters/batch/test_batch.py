"""Test `spotball batch`: export writes request files, and import stores each reply once."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from spotball_adapters.batch.forms import Parts
from spotball_adapters.prompts.picture import encoded
from spotball_adapters.prompts.prompt import load_prompt
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.scoring.score import score
from tests.adapters.run_process import Done, dataset, here, query, replies, rows, said
from tests.builders import scene, write_jsonl
from tests.failures import codes

Line = dict[str, Any]
Responder = Callable[[Line, int], str]
"""A function that returns the text of a reply, given the request and the reply's index in it."""

COT = load_prompt("cot")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("data"), images=4, controls=1)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def export(data: Path, out: Path, *options: str) -> Done:
    return here("batch", "export", str(data), "--out", str(out), *options)


def import_(out: Path, *files: Path, respondent: str | None = "me", options: Iterable[str] = ()) -> Done:
    named = ["--respondent", respondent] if respondent else []
    return here("batch", "import", str(out), *map(str, files), *named, *options)


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def requests(out: Path, batch: int = 1) -> list[Line]:
    return read(out / f"batch-{batch}" / "requests.jsonl")


def answer(request: Line, place: int) -> str:
    """Return a reply whose cell depends on the request and the index, so that replies cannot be mixed up."""
    digest = hashlib.sha256(f"{request['custom_id']} {place}".encode()).digest()
    return f"Reasoning: reply {place} to {request['custom_id']}.\nCell: {'ABCDEF'[digest[0] % 6]}{digest[1] % 10 + 1}"


def answered(path: Path, asked: Iterable[Line], responder: Responder = answer) -> Path:
    """Write a file of replies in the format `messages`, in shuffled order."""
    lines = []
    for request in asked:
        texts = [responder(request, place) for place in range(request["n"])]
        one = {"text": texts[0]} if len(texts) == 1 else {"replies": [{"text": text} for text in texts]}
        lines.append({"custom_id": request["custom_id"], **one})
    random.Random(0).shuffle(lines)
    return write_jsonl(path, lines)


class TestARound:
    def test_export_writes_one_request_per_sample(self, data: Path, out: Path) -> None:
        done = export(data, out, "--prompt", "base,cue", "--samples", "3,2", "--temperature", "0.6", "--seed", "5")
        assert done.returncode == 0, said(done)
        asked = requests(out)
        # Three of the four images are not controls, and each sample has one request.
        assert len(asked) == 3 * (3 + 2)
        assert len({request["custom_id"] for request in asked}) == len(asked)
        known = {one.key: one for one in read_scenes(data / "scenes.jsonl")}
        seen = set()
        for request, about in zip(asked, read(out / "batch-1" / "asked.jsonl"), strict=True):
            assert request["custom_id"] == about["custom_id"]
            (message,) = request["messages"]
            prompt = load_prompt(about["prompt"])
            assert message["text"] == prompt.text.replace("{sport}", about["sport"])
            assert message["role"] == "user"
            picture = (out / message["image"]).read_bytes()
            assert picture == encoded(known[about["sport"], about["image"]], data).data
            assert request["n"] == 1
            (sample,) = about["samples"]
            assert request["settings"] == {"temperature": 0.6, "seed": 5 + sample - 1}
            seen.add((about["sport"], about["image"], about["prompt"], sample))
        assert len(seen) == len(asked)
        manifest = json.loads((out / "batch-1" / "manifest.json").read_text())
        assert manifest["prompts"]["cue"]["digest"] == load_prompt("cue").digest
        assert manifest["prompts"]["cue"]["version"] == load_prompt("cue").version
        assert (manifest["requests"], manifest["replies"], manifest["waiting"]) == (15, 15, 0)

    @pytest.mark.parametrize("at_once", [1, 2, 50])
    def test_import_stores_every_reply_as_a_response(self, data: Path, out: Path, tmp_path: Path, at_once: int) -> None:
        export(data, out, "--prompt", "base,cue", "--samples", "3,2", "--at-once", str(at_once))
        asked = requests(out)
        done = import_(out, answered(tmp_path / "replies.jsonl", asked))
        assert done.returncode == 0, said(done)
        assert "15 replies stored\n" in done.stderr
        expected = {}
        for request, about in zip(asked, read(out / "batch-1" / "asked.jsonl"), strict=True):
            for place, sample in enumerate(about["samples"]):
                text = answer(request, place)
                key = (about["sport"], about["image"], about["prompt"], sample)
                expected[key] = (text.split("Cell: ")[1], re.search(r"Reasoning: (.*)", text)[1])  # type: ignore[index]
        assert len(expected) == 15
        found = {(r["sport"], r["image"], r["prompt"], r["sample"]): (r["cell"], r["reasoning"]) for r in rows(out)}
        assert found == expected
        assert {(row["respondent"], row["kind"]) for row in rows(out)} == {("me", "model")}
        assert {group.n_responses for group in score(out, bootstrap=0).groups} == {6, 3, 4, 2}

    def test_image_and_sport_names_with_unusual_characters_survive_export_and_import(
        self, tmp_path: Path, out: Path
    ) -> None:
        names = ["a b:c", "試合" * 40, "b1-1-00000000", "x" * 255, 'quote"', "1\u3000 2"]
        Image.new("RGB", (640, 360), (1, 2, 3)).save(tmp_path / "one.png")
        known = [scene(name, sport, path="one.png") for name in names for sport in ("fußball", "soccer")]
        write_scenes(known, tmp_path / "scenes.jsonl")
        done = export(tmp_path, out, "--prompt", "base", "--samples", "1")
        assert done.returncode == 0, said(done)
        asked = requests(out)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", request["custom_id"]) for request in asked)
        done = import_(out, answered(tmp_path / "replies.jsonl", asked))
        assert done.returncode == 0, said(done)
        found = read(out / "responses.jsonl")
        assert {(row["sport"], row["image"]) for row in found} == {one.key for one in known}
        assert len(found) == len(known)

    def test_export_with_the_same_options_writes_the_same_requests(self, data: Path, tmp_path: Path) -> None:
        for name in ("one", "two"):
            export(data, tmp_path / name, "--prompt", "base,cot", "--samples", "2")
        assert requests(tmp_path / "one") == requests(tmp_path / "two")


class TestQuestionsFirst:
    def test_second_export_of_cot_puts_the_earlier_replies_into_the_final_prompt(
        self, data: Path, out: Path, tmp_path: Path
    ) -> None:
        options = ("--prompt", "cot", "--samples", "2", "--at-once", "2")
        done = export(data, out, *options)
        first = requests(out)
        assert len(first) == 3 * 3
        assert [request["messages"][0]["text"] for request in first[:3]] == list(COT.questions)
        assert "6 more requests need these replies first: import the replies, then export again" in done.stderr
        done = import_(out, answered(tmp_path / "first.jsonl", first))
        assert "To write the missing requests, run the same `spotball batch export` again.\n" in done.stderr
        assert not (out / "responses.jsonl").exists()
        export(data, out, *options)
        second = requests(out, 2)
        assert len(second) == 6
        texts = {}
        for request, about in zip(first, read(out / "batch-1" / "asked.jsonl"), strict=True):
            for place, sample in enumerate(about["samples"]):
                texts[about["sport"], about["image"], sample, about["step"]] = answer(request, place)
        for request, about in zip(second, read(out / "batch-2" / "asked.jsonl"), strict=True):
            (sample,) = about["samples"]
            said_before = [texts[about["sport"], about["image"], sample, step] for step in range(3)]
            context = "\n".join(f"{question} {said}" for question, said in zip(COT.questions, said_before, strict=True))
            expected = COT.text.replace("{sport}", about["sport"]).replace("{context}", context)
            assert request["messages"][0]["text"] == expected
        done = import_(out, answered(tmp_path / "second.jsonl", second))
        assert [row["prompt"] for row in rows(out)] == ["cot"] * 6
        assert all(row["cell"] for row in rows(out))
        assert "What is left" not in done.stderr
        done = export(data, out, *options)
        assert (done.returncode, done.stderr) == (0, "no requests are left to write\n")
        assert not (out / "batch-3").exists()

    def test_export_of_cot_repeats_a_question_whose_reply_is_missing(
        self, data: Path, out: Path, tmp_path: Path
    ) -> None:
        options = ("--prompt", "cot", "--samples", "2")
        export(data, out, *options)
        first = requests(out)
        import_(out, answered(tmp_path / "first.jsonl", first[1:]))
        done = export(data, out, *options)
        assert "1 requests of earlier batches have missing replies" in done.stderr
        assert "6 requests for 6 replies\n1 more requests need these replies first" in done.stderr
        assert first[0]["messages"] in [request["messages"] for request in requests(out, 2)]


class TestOpenAI:
    OPTIONS = ("--prompt", "base", "--samples", "3", "--format", "openai", "--model", "gpt-4.1-mini")

    def test_export_in_openai_format_writes_chat_completion_lines(self, data: Path, out: Path) -> None:
        done = export(data, out, *self.OPTIONS, "--max-output-tokens", "300", "--temperature", "0.6")
        assert done.returncode == 0, said(done)
        assert len(requests(out)) == 3
        for request in requests(out):
            assert request.keys() == {"custom_id", "method", "url", "body"}
            assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
            body = request["body"]
            ((image, text),) = (message["content"] for message in body["messages"])
            kind, data_ = image["image_url"]["url"].split(",")
            assert kind == "data:image/png;base64"
            with Image.open(io.BytesIO(base64.b64decode(data_))) as picture:
                assert picture.format == "PNG"
            assert text["text"].startswith(load_prompt("base").text[:20])
            assert (body["model"], body["n"]) == ("gpt-4.1-mini", 3)
            assert (body["max_completion_tokens"], body["temperature"]) == (300, 0.6)

    def test_import_reads_openai_output_and_error_files(self, data: Path, out: Path, tmp_path: Path) -> None:
        export(data, out, *self.OPTIONS)
        first, second, third = (request["custom_id"] for request in requests(out))
        choices = [
            {"index": 2, "message": {"role": "assistant", "content": None, "refusal": "No."}, "finish_reason": "stop"},
            {"index": 0, "message": {"role": "assistant", "content": "Cell: D5"}, "finish_reason": "stop"},
            {"index": 1, "message": {"role": "assistant", "content": "Reasoning: it"}, "finish_reason": "length"},
        ]
        body = {"model": "gpt-4.1-mini-2025", "choices": choices, "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
        full = {"error": {"message": "Too long", "code": "context_length_exceeded"}}
        output = write_jsonl(
            tmp_path / "output.jsonl",
            [{"id": "b_1", "custom_id": first, "response": {"status_code": 200, "body": body}, "error": None}],
        )
        errors = write_jsonl(
            tmp_path / "errors.jsonl",
            [
                {"id": "b_2", "custom_id": second, "response": {"status_code": 400, "body": full}, "error": None},
                {"id": "b_3", "custom_id": third, "response": None, "error": {"code": "x", "message": "Expired"}},
            ],
        )
        done = import_(out, output, errors, respondent=None)
        assert done.returncode == 0, said(done)
        assert [(row["respondent"], row["sample"], row["cell"]) for row in rows(out)] == [
            ("gpt-4.1-mini", 1, "D5"),
            ("gpt-4.1-mini", 2, None),
            ("gpt-4.1-mini", 3, None),
        ]
        assert "3 samples: 1 with a cell, 2 unparsed (cut off 1, refused 1)" in done.stderr
        assert "2 requests have no reply:\n  1 times: HTTP 400: Too long\n  1 times: Expired" in done.stderr
        assert "batch-1: 2 requests have missing replies" in done.stderr
        assert query(out, "SELECT model, input_tokens, output_tokens FROM requests") == [("gpt-4.1-mini-2025", 9, 4)]
        shown = query(out, "SELECT picture FROM requests")[0][0]
        assert hashlib.sha256((out / "pictures" / f"{shown}.png").read_bytes()).hexdigest() == shown
        # The next export contains the failed requests under new ids.
        export(data, out, *self.OPTIONS)
        assert len(requests(out, 2)) == 2
        assert {request["custom_id"] for request in requests(out, 2)}.isdisjoint({first, second, third})

    def test_export_in_openai_format_without_a_model_is_an_error(self, data: Path, out: Path) -> None:
        done = export(data, out, *self.OPTIONS[:-2])
        assert (done.returncode, codes(done.stderr)) == (2, ["missing-option"])
        assert "--model" in done.stderr

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


class TestWhatIsWrong:
    @pytest.fixture
    def exported(self, data: Path, out: Path) -> list[Line]:
        export(data, out, "--prompt", "base", "--samples", "2", "--at-once", "2")
        return requests(out)

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
                '{"custom_id": "ID", "replies": [{"text": "1"}, {"text": "2"}, {"text": "3"}]}',
                "invalid-value:custom_id",
                " 2",
            ),
            (
                '{"custom_id": "ID", "response": {"status_code": 200, "body": {"choices": []}}}',
                "invalid-value:response.body",
                "choices",
            ),
            ('{"custom_id": 3, "response": {"status_code": 200, "body": {}}}', "invalid-value:custom_id", "3"),
        ],
    )
    def test_import_of_an_invalid_line_is_an_error_and_stores_nothing(
        self, exported: list[Line], out: Path, tmp_path: Path, line: str, where: str, value: str
    ) -> None:
        good = json.dumps({"custom_id": exported[1]["custom_id"], "text": "Cell: A1"})
        path = tmp_path / "replies.jsonl"
        path.write_text(f"{good}\n\n{line.replace('ID', exported[0]['custom_id'])}\n")
        done = import_(out, path)
        code, field = where.split(":")
        place, _, found = done.stderr.partition(f":3: {field}: ")
        assert (done.returncode, codes(done.stderr), place) == (2, [code], f"error: {path}")
        assert value in found
        # One invalid line rejects the whole import.
        assert replies(out) == {}
        assert not (out / "responses.jsonl").exists()

    def test_import_of_two_lines_for_one_request_is_an_error(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        path = answered(tmp_path / "replies.jsonl", exported)
        other = write_jsonl(tmp_path / "other.jsonl", [read(path)[1]])
        done = import_(out, path, other)
        assert (done.returncode, codes(done.stderr)) == (2, ["invalid-value"])
        assert done.stderr.startswith(f"error: {other}:1: custom_id: ")
        assert read(path)[1]["custom_id"] in done.stderr
        assert f"{path}:2" in done.stderr

    def test_import_of_a_failure_and_a_reply_for_one_request_uses_the_reply(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        failed = write_jsonl(tmp_path / "failed.jsonl", [{"custom_id": exported[0]["custom_id"], "error": "busy"}])
        done = import_(out, failed, answered(tmp_path / "replies.jsonl", exported))
        assert "without a reply" not in done.stderr
        assert len(rows(out)) == 6

    def test_import_of_the_same_file_twice_stores_no_further_replies(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        path = answered(tmp_path / "replies.jsonl", exported)
        import_(out, path)
        before = rows(out)
        done = import_(out, path, respondent=None)
        assert "0 replies stored, 6 were already stored\n" in done.stderr
        assert rows(out) == before

    def test_import_of_a_different_reply_to_a_stored_sample_is_an_error(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        import_(out, answered(tmp_path / "one.jsonl", exported))
        before = replies(out)
        done = import_(
            out, answered(tmp_path / "two.jsonl", exported[:1], lambda request, place: f"Cell: B{place + 1}")
        )
        assert (done.returncode, codes(done.stderr)) == (2, ["invalid-value"])
        assert done.stderr.startswith(f"error: {tmp_path / 'two.jsonl'}:1: custom_id: ")
        assert exported[0]["custom_id"] in done.stderr
        assert replies(out) == before

    def test_import_of_some_of_the_replies_reports_the_missing_ones(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        path = answered(tmp_path / "replies.jsonl", exported[:2])
        lines = read(path)
        lines[0]["replies"].pop()
        done = import_(out, write_jsonl(path, lines))
        assert "3 replies stored\n1 replies are missing: their requests returned too few replies\n" in done.stderr
        assert "batch-1: 2 requests have missing replies\n" in done.stderr
        assert len(rows(out)) == 3
        done = export(out.parent / "nothing", out, "--prompt", "base")
        assert done.returncode == 2

    def test_export_after_a_partial_import_writes_only_the_missing_samples(
        self, data: Path, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        import_(out, answered(tmp_path / "one.jsonl", exported[:1]))
        done = export(data, out, "--prompt", "base", "--samples", "3", "--at-once", "2")
        asked = read(out / "batch-2" / "asked.jsonl")
        assert sum(len(about["samples"]) for about in asked) == 3 * 3 - 2
        assert "2 requests of earlier batches have missing replies" in done.stderr
        import_(out, answered(tmp_path / "two.jsonl", requests(out, 2)))
        assert len(rows(out)) == 9

    def test_import_with_a_missing_or_different_respondent_is_an_error(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        path = answered(tmp_path / "replies.jsonl", exported)
        done = import_(out, path, respondent=None)
        assert (done.returncode, codes(done.stderr)) == (2, ["missing-option"])
        assert "--respondent" in done.stderr
        import_(out, path, respondent="me")
        done = import_(out, path, respondent="you")
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert "respondent: me -> you" in done.stderr

    def test_export_with_settings_that_differ_from_the_first_batch_is_an_error(
        self, data: Path, exported: list[Line], out: Path
    ) -> None:
        done = export(data, out, "--prompt", "base", "--samples", "2", "--temperature", "1")
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert f"{out}/batch-1" in done.stderr
        assert "temperature" in done.stderr
        assert "-> 1.0" in done.stderr
        assert not (out / "batch-2").exists()

    def test_export_reads_a_manifest_without_extra_body_and_reasoning_effort_as_not_set(
        self, data: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "chat"
        options = ("--prompt", "base", "--samples", "1", "--model", "m", "--format", "openai")
        assert export(data, out, *options).returncode == 0
        path = out / "batch-1" / "manifest.json"
        manifest = json.loads(path.read_text())
        for name in ("extra_body", "reasoning_effort"):
            assert manifest["identity"].pop(name) is None
        path.write_text(json.dumps(manifest))
        done = export(data, out, *options, "--reasoning-effort", "low")
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert "reasoning_effort" in done.stderr
        assert '-> "low"' in done.stderr
        assert "extra_body" not in done.stderr
        assert export(data, out, *options).returncode == 0

    def test_export_with_reasoning_effort_and_extra_body_works_only_in_openai_format(
        self, data: Path, tmp_path: Path
    ) -> None:
        fields = ("--extra-body", '{"service_tier": "flex"}', "--reasoning-effort", "low")
        options = ("--prompt", "base", "--samples", "1", "--model", "m", *fields)
        done = export(data, tmp_path / "ours", *options)
        assert (done.returncode, codes(done.stderr)) == (2, ["unsupported-option"])
        assert "--reasoning-effort" in done.stderr
        assert export(data, tmp_path / "chat", *options, "--format", "openai").returncode == 0
        for line in requests(tmp_path / "chat"):
            assert (line["body"]["service_tier"], line["body"]["reasoning_effort"]) == ("flex", "low")
        assert json.loads((tmp_path / "chat/batch-1/manifest.json").read_text())["settings"] == {
            "reasoning_effort": "low",
            "extra_body": {"service_tier": "flex"},
        }

    def test_import_from_a_folder_without_a_batch_is_an_error(self, tmp_path: Path) -> None:
        done = import_(tmp_path, tmp_path / "replies.jsonl")
        assert (done.returncode, codes(done.stderr)) == (2, ["wrong-folder"])
        assert str(tmp_path) in done.stderr

    def test_import_of_a_missing_file_is_an_error(self, exported: list[Line], out: Path, tmp_path: Path) -> None:
        done = import_(out, tmp_path / "replies.jsonl")
        assert (done.returncode, codes(done.stderr)) == (2, ["missing-file"])
        assert f"{tmp_path}/replies.jsonl" in done.stderr

    def test_export_of_only_control_images_needs_the_controls_option(self, tmp_path: Path, out: Path) -> None:
        data = dataset(tmp_path / "data", images=1, controls=1)
        done = export(data, out)
        assert (done.returncode, codes(done.stderr)) == (2, ["no-data"])
        assert "--controls" in done.stderr
        assert export(data, out, "--controls", "--prompt", "base").returncode == 0

    def test_export_after_an_image_file_changed_is_an_error(self, tmp_path: Path, out: Path) -> None:
        data = dataset(tmp_path / "data", images=1)
        export(data, out, "--prompt", "base", "--samples", "1")
        import_(out, answered(tmp_path / "replies.jsonl", requests(out)))
        Image.new("RGB", (640, 360), (9, 9, 9)).save(data / "images" / "soccer" / "1.png")
        done = export(data, out, "--prompt", "base", "--samples", "2")
        assert (done.returncode, codes(done.stderr)) == (2, ["different-settings"])
        assert "soccer/1" in done.stderr

    def test_import_with_format_parquet_writes_a_parquet_file(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        import_(out, answered(tmp_path / "replies.jsonl", exported), options=["--format", "parquet"])
        assert pl.read_parquet(out / "responses.parquet").height == 6

    def test_import_with_lenient_parse_policy_parses_the_stored_replies_again(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        replies = answered(tmp_path / "replies.jsonl", exported, lambda request, place: "The ball is in D4.")
        import_(out, replies)
        assert {row["cell"] for row in rows(out)} == {None}
        import_(out, replies, options=["--parse-policy", "lenient"])
        assert {row["cell"] for row in rows(out)} == {"D4"}
        assert (out / "parsing.responses.json").read_text() == '{"parse_policy": "lenient"}\n'

    def test_reparse_restores_the_responses_of_an_imported_batch(
        self, exported: list[Line], out: Path, tmp_path: Path
    ) -> None:
        import_(out, answered(tmp_path / "replies.jsonl", exported))
        before = rows(out)
        (out / "responses.jsonl").unlink()
        assert here("reparse", str(out)).returncode == 0
        assert rows(out) == before
