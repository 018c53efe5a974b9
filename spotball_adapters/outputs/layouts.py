"""Recognize the format of another tool's records, and extract the replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spotball_adapters.outputs.records import FileRecords
from spotball_adapters.providers.chat_completions import HostFailedError, MalformedReplyError, chat_answer
from spotball_adapters.providers.protocol import Finish
from spotball_core.errors import InputError, OptionError, Problem, did_you_mean

REPLIES = (
    *("reply", "response", "prediction", "output", "completion", "generation", "generated_text", "model_output"),
    *("model_response", "raw_output", "raw_response", "pred", "answer", "text"),
)
"""Names of columns that may contain the reply in a table. The first of these columns that exists is used."""

IDS = (
    *("image", "image_id", "image_path", "file_name", "filename", "img", "img_path", "image_url", "path", "file"),
    *("id", "custom_id", "index", "doc_id", "question_id"),
)
"""Names of columns that may identify the image, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class RawReply:
    """A reply from the output of another tool, before it is parsed.

    Attributes:
        line: number of the record's line in the file.
        ids: possible ids of the image. The first id that identifies an image is used.
        text: the text of the reply.
        finish: why the reply ended.
        sample: number of the reply among the replies to the same prompt and image, from 1. If None, replies are
            numbered in the file's order.
        sport: the image's sport, or None if the record does not state it.
        model: the model's name, or None if the record does not state it.
        failed: why the reply is missing, or None if there is a reply.
        index: the id of the record in the tool's own table, or None if the tool has no such id.
    """

    line: int
    ids: tuple[str, ...]
    text: str = ""
    finish: Finish = "stop"
    sample: int | None = None
    sport: str | None = None
    model: str | None = None
    failed: str | None = None
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """A tool's record format.

    Attributes:
        name: the format's name, as for the option `--layout`.
        title: description of the format for messages, with the tool's name.
        fits: function that returns whether a file has this format, given its first record and `FileRecords.head`.
        replies: function that yields the replies in a record, given the record, `FileRecords.head` and the line number.
    """

    name: str
    title: str
    fits: Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
    replies: Callable[[Mapping[str, Any], Mapping[str, Any], int], Iterator[RawReply]]


def _texts(value: Any) -> Iterator[str]:
    """Yield all strings in a value, which may be a string or nested lists of strings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _id_texts(record: Mapping[str, Any], columns: Sequence[str] = IDS) -> tuple[str, ...]:
    values = (record.get(column) for column in columns)
    return tuple(_id_text(value) for value in values if isinstance(value, str | int | float) and value != "")


def _id_text(value: str | float) -> str:
    # Tables and data frames may turn the integer 163 into 163.0.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _harness(record: Mapping[str, Any], head: Mapping[str, Any], line: int) -> Iterator[RawReply]:
    # lmms-eval drops the document since version 0.7. The task of this project logs it under its own name.
    own = next((value for name, value in record.items() if name.startswith("spotball_")), None)
    document = own if isinstance(own, dict) else record.get("doc")
    ids = (*(_id_texts(document) if isinstance(document, dict) else ()), *_id_texts(record, ("doc_id",)))
    sport = document.get("sport") if isinstance(document, dict) else None
    sport = sport if isinstance(sport, str) else None
    texts = list(_texts(record.get("resps"))) or list(_texts(record.get("filtered_resps")))
    if not texts:
        yield RawReply(line, ids, sport=sport, failed="no reply")
    for sample, text in enumerate(texts, start=1):
        yield RawReply(line, ids, text, sample=sample if len(texts) > 1 else None, sport=sport)


# VLMEvalKit writes this text if a request fails. It is not an answer of the model.
_FAILED = re.compile(r"\s*Failed to obtain answer(?: via API)?\.?\s*", re.I)


def _vlmevalkit(record: Mapping[str, Any], head: Mapping[str, Any], line: int) -> Iterator[RawReply]:
    # `image` may also contain the encoded image.
    ids = tuple(name for name in _id_texts(record, ("image_id", "image_path", "image", "index")) if len(name) < 500)
    reply, sport = record.get("prediction"), record.get("sport")
    text = reply if isinstance(reply, str) else "" if reply is None else str(reply)
    failed = text.strip() if _FAILED.fullmatch(text) else None
    sport = sport if isinstance(sport, str) and sport else None
    yield RawReply(line, ids, text, sport=sport, failed=failed, index=next(iter(_id_texts(record, ("index",))), None))


def _openai_batch(record: Mapping[str, Any], head: Mapping[str, Any], line: int) -> Iterator[RawReply]:
    ids = _id_texts(record, ("custom_id",))
    response = record.get("response")
    body = response.get("body") if isinstance(response, dict) else None
    status = response.get("status_code") if isinstance(response, dict) else None
    if not isinstance(body, dict) or status not in (None, 200):
        error = record.get("error") or (body.get("error") if isinstance(body, dict) else None)
        message = error.get("message") if isinstance(error, dict) else None
        yield RawReply(line, ids, failed=str(message or f"status {status}"))
        return
    model = body.get("model") if isinstance(body.get("model"), str) else None
    if "output" in body:
        parts = [part for item in body["output"] or () if isinstance(item, dict) for part in item.get("content") or ()]
        text = "".join(part.get("text") or part.get("refusal") or "" for part in parts if isinstance(part, dict))
        refused = any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)
        cut = body.get("status") == "incomplete"
        yield RawReply(line, ids, text, "refused" if refused else "length" if cut else "stop", model=model)
        return
    try:
        answer = chat_answer(body)
    except (MalformedReplyError, HostFailedError) as error:
        yield RawReply(line, ids, failed=str(error))
        return
    for sample, reply in enumerate(answer.replies, start=1):
        number = sample if len(answer.replies) > 1 else None
        yield RawReply(line, ids, reply.text, reply.finish, sample=number, model=model)


INSPECT_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
}
"""The finish reason for each stop reason of Inspect. Stop reasons that are not listed become "other"."""


def _inspect(record: Mapping[str, Any], head: Mapping[str, Any], line: int) -> Iterator[RawReply]:
    metadata = record.get("metadata")
    ids = (*(_id_texts(metadata) if isinstance(metadata, dict) else ()), *_id_texts(record, ("id",)))
    output = record.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    epoch = record.get("epoch")
    model = head["eval"].get("model")
    if record.get("error") or not choices:
        error = record.get("error")
        yield RawReply(line, ids, failed=str(error.get("message") if isinstance(error, dict) else "no reply"))
        return
    content = choices[0].get("message", {}).get("content")
    parts = content if isinstance(content, list) else [content]
    text = "".join(part.get("text") or "" if isinstance(part, dict) else str(part or "") for part in parts)
    finish = INSPECT_FINISH.get(choices[0].get("stop_reason"), "other")
    number = epoch if isinstance(epoch, int) else None
    yield RawReply(line, ids, text, finish, sample=number, model=model if isinstance(model, str) else None)


def _table(record: Mapping[str, Any], head: Mapping[str, Any], line: int) -> Iterator[RawReply]:
    column = next((name for name in REPLIES if name in record), None)
    if column is not None:
        yield _row(record, line, column, None)


def _row(record: Mapping[str, Any], line: int, reply: str, image: str | None) -> RawReply:
    value = _field(record, reply)
    named = _field(record, image) if image else None
    ids = (_id_text(named),) if isinstance(named, str | int | float) else () if image else _id_texts(record)
    sample, sport, model = record.get("sample"), record.get("sport"), record.get("model")
    return RawReply(
        line,
        ids,
        value if isinstance(value, str) else "" if value is None else str(value),
        sample=int(sample) if isinstance(sample, int | str) and str(sample).isdigit() and int(sample) else None,
        sport=str(sport) if isinstance(sport, str | int) and sport != "" else None,
        model=model if isinstance(model, str) and model else None,
    )


def _field(record: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or of a key within a column, such as `doc.image`; None if it is missing."""
    if path in record:
        return record[path]
    value: Any = record
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


LAYOUTS = {
    layout.name: layout
    for layout in (
        Layout("inspect", "a log of Inspect", lambda record, head: isinstance(head.get("eval"), dict), _inspect),
        Layout(
            "openai-batch",
            "the output of an OpenAI batch",
            lambda record, head: "custom_id" in record and ("response" in record or "error" in record),
            _openai_batch,
        ),
        Layout(
            "harness",
            "samples of lmms-eval or lm-evaluation-harness",
            lambda record, head: "doc_id" in record and ("resps" in record or "filtered_resps" in record),
            _harness,
        ),
        Layout(
            "vlmevalkit",
            "a table of VLMEvalKit",
            lambda record, head: "index" in record and "prediction" in record,
            _vlmevalkit,
        ),
        Layout("table", "a table", lambda record, head: any(name in record for name in REPLIES), _table),
    )
}
"""The supported formats by name, in the order in which they are tried."""


def raw_replies(
    file: FileRecords, *, layout: str | None = None, reply: str | None = None, image: str | None = None
) -> tuple[str, list[RawReply]]:
    """Extract the replies from the records of a file.

    Args:
        file: the file's records.
        layout: a key of `LAYOUTS`, or None to recognize the format from the first record.
        reply: name of the column that contains the reply, only for tables. `a.b` is the key b in the column a.
        image: name of the column that contains the image's id, in the same notation.

    Returns:
        The title of the format, and the replies in the file's order. If lm-evaluation-harness wrote several records for
        the same reply, one per filter, only the first record is used.

    Raises:
        OptionError: if `layout` is unknown, or if `reply` is given and `layout` is not `table` or None.
        InputError: if the first record does not have the format `layout` (or, without `layout`, any supported
            format), or if `reply` is given and the first record lacks the column `reply` or `image`.
    """
    if layout is not None and layout not in LAYOUTS:
        raise OptionError(f"layout {layout!r} does not exist. Use one of {', '.join(LAYOUTS)}.", code="unknown-name")
    if reply is not None and layout not in (None, "table"):
        raise OptionError(
            "works only with tables. Remove --layout, or use --layout table.",
            code="conflicting-options",
            field="--reply",
        )
    first = file.rows[0][1]
    if reply is not None:
        return LAYOUTS["table"].title, _of_columns(file, reply, image)
    chosen = (
        LAYOUTS[layout]
        if layout
        else next((candidate for candidate in LAYOUTS.values() if candidate.fits(first, file.head)), None)
    )
    if chosen is None or not chosen.fits(first, file.head):
        columns = ", ".join(map(str, first)) or "none"
        expected = (
            f"{chosen.title}"
            if chosen
            else f"one of the columns {', '.join(REPLIES)}. Give the column of replies with --reply"
        )
        raise InputError.of(
            "missing-column", file.path, "record", f"the columns {columns[:200]}", expected, line=file.rows[0][0]
        )
    replies: list[RawReply] = []
    seen: set[tuple[Any, Any]] = set()
    for line, record in file.rows:
        if "filter" in record and chosen.name == "harness":
            key = record["doc_id"]
            if (key, record["filter"]) not in seen and any(key == other for other, _ in seen):
                continue
            seen.add((key, record["filter"]))
        replies += chosen.replies(record, file.head, line)
    if image is not None:
        by_line = dict(file.rows)
        replies = [_named(raw, _field(by_line[raw.line], image)) for raw in replies]
    return chosen.title, replies


def _named(raw: RawReply, value: Any) -> RawReply:
    return replace(raw, ids=(_id_text(value),) if isinstance(value, str | int | float) else ())


def _of_columns(file: FileRecords, reply: str, image: str | None) -> list[RawReply]:
    missing = [
        Problem(
            "missing-column",
            str(file.path),
            line,
            column,
            "no such column",
            f"one of {', '.join(map(str, record))[:200]}",
            fix=did_you_mean(column, map(str, record)).strip(),
        )
        for line, record in file.rows[:1]
        for column in (reply, image)
        if column and column not in record and column.split(".")[0] not in record
    ]
    if missing:
        raise InputError(missing)
    return [_row(record, line, reply, image) for line, record in file.rows]
