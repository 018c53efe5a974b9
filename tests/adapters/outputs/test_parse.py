"""Test the conversion of raw replies from other tools to responses."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, strategies as st

from spotball_adapters.outputs.parse import ParsedFiles, SceneIndex, parse_files
from spotball_core.errors import InputError, OptionError
from tests.builders import scene
from tests.failures import raises

SCENES = [
    scene(image, sport, control=image == "9", path=f"images/{sport}/{image}.jpg")
    for sport, image in (("soccer", "163"), ("soccer", "464"), ("basketball", "17"), ("soccer", "9"))
]
ANSWERS = {"163": "Reasoning: They look left.\nCell: D5", "464": "Cell: A1", "17": "I cannot tell."}
"""Replies about the first three scenes, by image."""


def lines(records: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def table(records: Sequence[dict[str, Any]], delimiter: str = ",") -> bytes:
    return pl.DataFrame(records).write_csv(separator=delimiter, line_terminator="\r\n").encode()


def workbook(records: Sequence[dict[str, Any]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (list(records[0]), *(list(record.values()) for record in records)):
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def parquet(records: Sequence[dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(records).write_parquet(out)
    return out.getvalue()


def chat(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def spoken(text: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text}]
    return {"status": "completed", "output": [{"type": "reasoning"}, {"type": "message", "content": parts}]}


def batch(body: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": "b", "custom_id": image, "response": {"status_code": 200, "body": body(text)}, "error": None}
        for image, text in ANSWERS.items()
    ]


def inspect(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": text}, "stop_reason": "stop"}]}


PLAIN = [{"image": image, "reply": text} for image, text in ANSWERS.items()]
PATHS = [{"image_path": f"/data/{image}.jpg", "output": text} for image, text in ANSWERS.items()]
DOCUMENTS = [{"image_id": image, "question": "?"} for image in ANSWERS]
SAMPLES = [
    {"doc_id": place, "doc": doc, "target": "C2", "resps": [[text]], "filtered_resps": [text]}
    for place, (doc, text) in enumerate(zip(DOCUMENTS, ANSWERS.values(), strict=True))
]
TRUTHS = [{"sport": one.sport, "image": one.image, "cells": []} for one in SCENES[:3]]
# For our task, lmms-eval 0.7.3 omits the document and writes a list of one reply as a string.
FLAT = [
    {"doc_id": place, "target": "C2", "filtered_resps": text, "spotball_accuracy": truth}
    for place, (truth, text) in enumerate(zip(TRUTHS, ANSWERS.values(), strict=True))
]
FILTERED = [{**sample, "filter": name} for name in ("none", "strict") for sample in SAMPLES]
NUMBERED = [{"index": int(image), "question": "?", "prediction": text} for image, text in ANSWERS.items()]
WITH_POINTS = [{**row, "index": f"{row['index']}.0"} for row in NUMBERED]
LOGGED = [{"id": image, "epoch": 1, "output": inspect(text)} for image, text in ANSWERS.items()]
LOG = {"version": 2, "eval": {"task": "other"}, "samples": LOGGED}

TABLE, HARNESS = "a table", "samples of lmms-eval or lm-evaluation-harness"
VLMEVALKIT, OPENAI = "a table of VLMEvalKit", "the output of an OpenAI batch"

FILES: dict[str, tuple[str, bytes | Callable[[], bytes], str]] = {
    "lines": ("a.jsonl", lines(PLAIN), TABLE),
    "compressed": ("a.jsonl.gz", gzip.compress(lines(PLAIN)), TABLE),
    "list": ("a.json", json.dumps(PLAIN).encode(), TABLE),
    "by id": ("a.json", json.dumps(ANSWERS).encode(), TABLE),
    "csv": ("a.csv", b"\xef\xbb\xbf" + table(PLAIN), TABLE),
    "tsv": ("a.tsv", table(PLAIN, "\t"), TABLE),
    "compressed csv": ("a.csv.gz", gzip.compress(table(PLAIN)), TABLE),
    "excel": ("a.xlsx", lambda: workbook(PLAIN), TABLE),
    "parquet": ("a.parquet", parquet(PLAIN), TABLE),
    "paths": ("a.jsonl", lines(PATHS), TABLE),
    "lmms-eval": ("a.jsonl", lines(SAMPLES), HARNESS),
    "lmms-eval 0.7": ("a.jsonl", lines(FLAT), HARNESS),
    "lm-eval": ("a.jsonl", lines(FILTERED), HARNESS),
    "VLMEvalKit": ("a.xlsx", lambda: workbook(NUMBERED), VLMEVALKIT),
    "VLMEvalKit text": ("a.tsv", table(WITH_POINTS, "\t"), VLMEVALKIT),
    "OpenAI chat": ("a.jsonl", lines(batch(chat)), OPENAI),
    "OpenAI responses": ("a.jsonl", lines(batch(spoken)), OPENAI),
    "Inspect": ("a.json", json.dumps(LOG).encode(), "a log of Inspect"),
}


def parsed(path: Path, content: bytes, **options: Any) -> ParsedFiles:
    """Write a file and parse it."""
    path.write_bytes(content)
    return parse_files([path], SCENES, **options)


@pytest.mark.parametrize("kind", FILES)
def test_parse_files_gives_the_same_rows_for_every_layout(kind: str, tmp_path: Path) -> None:
    name, content, title = FILES[kind]
    done = parsed(tmp_path / name, content if isinstance(content, bytes) else content())
    assert done.layouts == {str(tmp_path / name): (title, 3)}
    assert done.reading.rows.rows() == [
        ("soccer", "163", "a", "model", "base", 1, None, "D5", "They look left."),
        ("soccer", "464", "a", "model", "base", 1, None, "A1", None),
        ("basketball", "17", "a", "model", "base", 1, None, None, "I cannot tell."),
    ]
    assert done.reading.problems == {"no answer": 1}
    ((_, line, *about),) = done.unparsed.rows()
    assert about == ["basketball", "17", "a", "base", 1, "no answer", "I cannot tell."]
    assert line >= 3
    assert (done.missing, done.failed) == (0, {})


def test_parse_files_reads_nested_columns_by_name(tmp_path: Path) -> None:
    content = lines([{"meta": {"photo": "soccer/163"}, "out": {"raw": "Cell: B2"}, "reply": "Cell: F9"}])
    options = {"image": "meta.photo", "respondent": "me", "prompt": "cot"}
    done = parsed(tmp_path / "mine.jsonl", content, reply="out.raw", **options)
    assert done.reading.rows.select("image", "respondent", "prompt", "cell").rows() == [("163", "me", "cot", "B2")]
    assert done.missing == 2
    with raises(InputError, "missing-column:out2:1"):
        parsed(tmp_path / "mine.jsonl", content, reply="out2")


def test_parse_files_with_an_index_maps_ids_to_images_and_prompts(tmp_path: Path) -> None:
    samples = lines([{"doc_id": n, "doc": {"id": "x"}, "resps": [[f"Cell: D{n + 1}"]]} for n in (1, 0)])

    def rows_with(name: str, index: str) -> list[tuple[Any, ...]]:
        (tmp_path / name).write_text(index, encoding="utf-8")
        done = parsed(tmp_path / "a.jsonl", samples, index=tmp_path / name)
        return done.reading.rows.select("image", "prompt", "sample", "cell").rows()

    by_index = rows_with("index.csv", "index,sport,image,prompt\n0,soccer,163,base\n1,soccer,163,cot\n")
    assert by_index == [("163", "cot", 1, "D2"), ("163", "base", 1, "D1")]
    by_place = rows_with("rows.tsv", "image\tsport\n17\tbasketball\n163\tsoccer\n")
    assert [image for image, *_ in by_place] == ["163", "17"]
    with raises(InputError, "duplicate:index:3"):
        rows_with("wrong.csv", "index,image\n0,163\n0,464\n1,5\n")


def test_parse_files_numbers_samples_in_order_unless_the_file_has_sample_numbers(tmp_path: Path) -> None:
    body = chat("Cell: A1")
    body["choices"].append({"index": 1, "message": {"content": "Cell: A2"}, "finish_reason": "length"})
    two = {"custom_id": "163", "response": {"status_code": 200, "body": {**body, "model": "gpt"}}}
    (tmp_path / "a.jsonl").write_bytes(lines([two]))
    (tmp_path / "b.csv").write_bytes(table([{"id": "163", "reply": f"Cell: B{n}", "model": "other"} for n in (1, 2)]))
    (tmp_path / "c.csv").write_bytes(table([{"id": "163", "reply": "Cell: C1", "sample": n} for n in (7, 3)]))
    rows = parse_files([tmp_path / name for name in ("a.jsonl", "b.csv", "c.csv")], SCENES).reading.rows
    assert rows.select("respondent", "sample", "cell").rows() == [
        *(("gpt", n, f"A{n}") for n in (1, 2)),
        *(("other", n, f"B{n}") for n in (1, 2)),
        *(("c", n, "C1") for n in (7, 3)),
    ]
    with raises(InputError, "duplicate:sample:3"):
        parsed(tmp_path / "c.csv", table([{"id": "163", "reply": "Cell: C1", "sample": 7}] * 2))


def test_parse_files_of_vlmevalkit_uses_the_image_column_and_counts_failed_requests(tmp_path: Path) -> None:
    records = [
        {"index": 0, "image": "464", "prediction": "Cell: A1"},
        {"index": 17, "image": "163", "prediction": "Failed to obtain answer via API."},
    ]
    done = parsed(tmp_path / "a.csv", table(records))
    assert done.reading.rows.select("image", "cell").rows() == [("464", "A1")]
    assert (done.failed, done.reading.problems) == ({"Failed to obtain answer via API.": 1}, {})
    ids = tmp_path / "ids.csv"
    ids.write_text("index,image,sport\n0,163,soccer\n17,464,soccer\n", encoding="utf-8")
    by_index = parsed(tmp_path / "a.csv", table(records), index=ids)
    assert by_index.reading.rows.select("image", "cell").rows() == [("163", "A1")]


def test_parse_files_reads_points_in_the_only_scale_that_they_fit(tmp_path: Path) -> None:
    replies = [{"id": "163", "reply": "(594, 611)"}, {"id": "464", "reply": "Ball: [10, 990]"}]
    done = parsed(tmp_path / "a.csv", table(replies), policy="point")
    assert (done.reading.policy, done.reading.rows["cell"].to_list()) == ("point-1000", ["D6", "F1"])
    boxes = parsed(tmp_path / "b.csv", table([{"id": "163", "reply": "[544, 561, 644, 661]"}]), policy="box-qwen")
    assert boxes.reading.rows["cell"].to_list() == ["D6"]


@pytest.mark.parametrize(
    "record",
    [
        {"id": 464, "image_path": "images/soccer/163.jpg", "response": "D5"},
        {"question_id": 464, "file_name": "163.jpg", "response": "D5"},
        {"image": "163", "answer": "A1", "model_output": "D5"},
        {"image": "163", "text": "Where is the ball? For example A1.", "generated_text": "D5"},
    ],
)
def test_parse_files_prefers_names_of_images_to_row_numbers_and_replies_to_labels(
    record: dict[str, Any], tmp_path: Path
) -> None:
    (row,) = parsed(tmp_path / "a.jsonl", lines([record]), policy="lenient").reading.rows.iter_rows(named=True)
    assert (row["image"], row["cell"]) == ("163", "D5")


def test_parse_files_of_a_workbook_with_columns_without_a_name_does_not_shift_the_others(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for values in ((None, "image", "gold", "response"), (0, "163", "A1", "D5")):
        book.active.append(values)
    out = io.BytesIO()
    book.save(out)
    rows = parsed(tmp_path / "a.xlsx", out.getvalue(), policy="lenient").reading.rows
    (row,) = rows.iter_rows(named=True)
    assert (row["image"], row["cell"]) == ("163", "D5")


def test_parse_files_counts_failed_requests_and_excludes_them(tmp_path: Path) -> None:
    limited = {"status_code": 429, "body": {"error": {"message": "Rate limit"}}}
    records = [
        {"custom_id": "163", "response": limited, "error": None},
        {"custom_id": "464", "response": None, "error": {"message": "expired"}},
        {"custom_id": "17", "response": {"status_code": 200, "body": {"choices": []}}},
        {"custom_id": "9", "response": {"status_code": 200, "body": chat("")}},
    ]
    done = parsed(tmp_path / "a.jsonl", lines(records))
    assert done.failed == {"Rate limit": 1, "expired": 1, "no choices": 1}
    assert done.reading.rows.select("image", "cell").rows() == [("9", None)]
    assert done.reading.problems == {"empty": 1}
    assert done.missing == 3


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("a.jsonl", b"", "no-data:file"),
        ("a.jsonl", b"{}\n{\n[1]\n", "invalid-json:line:2"),
        ("a.jsonl", lines([{"image": "163", "replies": "Cell: D5"}]), "missing-column:record:1"),
        ("a.jsonl", lines([{"image": "5", "reply": "Cell: D5"}]), "unknown-image:id:1"),
        ("a.json", b"[1, 2]", "wrong-file:file"),
        ("a.json", b"{", "invalid-json:file"),
        ("a.csv", b"image,reply\n163\n", "invalid-csv:file:2"),
        ("a.csv", b"image,reply\n163,D5,,\n", "invalid-csv:file:2"),
        ("a.csv", b"image,reply\n163,\xff\n", "unreadable-file:file"),
        ("a.jsonl.gz", b"no gzip", "unreadable-file:file"),
        ("a.parquet", b"PAR1", "unreadable-file:file"),
        ("a.xlsx", b"PK", "unreadable-file:file"),
        ("a.parquet.gz", b"", "unreadable-file:file"),
        ("a.pkl", b"", "wrong-file:file"),
    ],
)
def test_parse_files_of_an_invalid_file_raises_input_error(
    name: str, content: bytes, where: str, tmp_path: Path
) -> None:
    if name == "a.xlsx":
        pytest.importorskip("openpyxl")
    with raises(InputError, where):
        parsed(tmp_path / name, content)


def test_parse_files_of_a_missing_file_or_with_a_layout_that_does_not_match_is_an_error(tmp_path: Path) -> None:
    with raises(OptionError, "conflicting-options:--reply"):
        parsed(tmp_path / "a.jsonl", lines(PLAIN), reply="reply", layout="inspect")
    with raises(InputError, "missing-column:record:1"):
        parsed(tmp_path / "a.jsonl", lines(PLAIN), layout="harness")
    with raises(InputError, "missing-file:file"):
        parse_files([tmp_path / "none.jsonl"], SCENES)


def test_scene_index_finds_an_image_name_that_two_sports_share_only_with_the_sport() -> None:
    twins = [scene("1", sport) for sport in ("soccer", "tennis")]
    index = SceneIndex(twins)
    assert index.find(["1"]) is None
    for found in (index.find(["1"], "tennis"), index.find(["tennis/1.png"]), index.find([r"c:\data\tennis\1"])):
        assert found is not None
        assert found.scene is twins[1]


@given(st.lists(st.sampled_from(["163", "soccer/163", "163.jpg", "images/soccer/163.jpg", "x/163.png"]), min_size=1))
def test_scene_index_finds_a_scene_by_image_name_with_or_without_folder_sport_and_extension(ids: list[str]) -> None:
    target = SceneIndex(SCENES).find(ids)
    assert target is not None
    assert target.scene is SCENES[0]
