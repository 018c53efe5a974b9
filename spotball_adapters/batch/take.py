"""Import replies into a run (all replies, or none if there is a problem), and write the run's responses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from spotball_adapters.batch.folder import BatchRequest, Manifest, batches, read_asked, read_manifest
from spotball_adapters.prompts.prompt import Prompt
from spotball_adapters.providers.chat_completions import HostFailedError, MalformedReplyError, chat_answer
from spotball_adapters.providers.protocol import Answer, Finish, Reply
from spotball_adapters.providers.server_messages import error_of, shortened, writable
from spotball_adapters.replies import ParsePolicy
from spotball_adapters.runs.plan import Ask
from spotball_adapters.runs.responses import ParsedReplies, read_replies, write_reading
from spotball_adapters.runs.store import SCENES, ReplyStore
from spotball_adapters.runs.writer import AnswerRecord, ReplyWriter, storable
from spotball_core.errors import InputError, OptionError, Problem, unreadable_text
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.record import Name, Record
from spotball_core.schema.scene import Scene
from spotball_core.service.json_file import RepeatedKeyError, parse_json
from spotball_core.service.sqlite_file import now


class Said(Record):
    """One reply: its unchanged text (empty if the model returned no text), and why it ended."""

    text: str
    finish: Finish = "stop"


class ReplyLine(Record):
    """A line in this package's format. It has exactly one of the keys `text`, `replies` and `error`.

    Attributes:
        custom_id: the ID of the request.
        text: the text of the reply, if one reply was requested.
        finish: why the reply ended; by default it was complete.
        replies: the replies in the order of the request's samples, if several replies were requested.
        error: why the reply is missing. The next exported batch requests it again.
        model: the model version that the service reports.
    """

    custom_id: Name
    text: str | None = None
    finish: Finish | None = None
    replies: tuple[Said, ...] | None = None
    error: str | None = None
    model: str | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> ReplyLine:
        filled = [name for name in ("text", "replies", "error") if getattr(self, name) is not None]
        if len(filled) != 1:
            actual = " and ".join(f"`{name}`" for name in filled) or "none"
            raise ValueError(f"expected exactly one of the keys `text`, `replies` and `error`, but found {actual}")
        if self.replies == ():
            raise ValueError("expected at least one reply in `replies`")
        if self.finish is not None and self.text is None:
            raise ValueError("expected `finish` only with `text`. With `replies`, write `finish` in each reply")
        return self


@dataclass(frozen=True, slots=True)
class Received:
    """The result of one request: an answer, or the reason why the answer is missing."""

    file: str
    line: int
    custom_id: str
    answer: Answer | None
    error: str | None


def read_received(path: Path) -> Iterator[Received | Problem]:
    """Yield the contents of each line in a file of replies, or the problem with the line. Empty lines are skipped.

    Raises:
        InputError: if the file is missing, unreadable or not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([unreadable_text(str(path), error)]) from error
    # Not splitlines, because a JSON string may contain other line separators, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _read(str(path), number, line)


def _read(file: str, number: int, line: str) -> Received | Problem:
    try:
        record = parse_json(line)
    except RepeatedKeyError as error:
        return Problem("duplicate", file, number, "line", str(error), "each key once")
    except ValueError:
        return Problem("invalid-json", file, number, "line", shortened(line, 40), "a JSON object")
    if not isinstance(record, dict):
        return Problem("invalid-json", file, number, "line", shortened(line, 40), "a JSON object")
    if "response" in record:
        return _of_openai(file, number, record)
    try:
        reply_line = ReplyLine.model_validate(record)
    except ValidationError as error:
        return problems_of_record(error, file, number, model=ReplyLine)[0]
    if reply_line.error is not None:
        return Received(file, number, reply_line.custom_id, None, shortened(reply_line.error))
    line_replies = reply_line.replies or (Said(text=reply_line.text or "", finish=reply_line.finish or "stop"),)
    replies = tuple(Reply(writable(reply.text), reply.finish, reply.finish) for reply in line_replies)
    return Received(file, number, reply_line.custom_id, Answer(replies, reply_line.model, None, None), None)


def _of_openai(file: str, number: int, record: Mapping[str, Any]) -> Received | Problem:
    name, response = record.get("custom_id"), record["response"]
    if not isinstance(name, str) or not name:
        return Problem(
            "invalid-value", file, number, "custom_id", json.dumps(name), "text: the `custom_id` of a request"
        )
    body = response.get("body") if isinstance(response, dict) else None
    failure = record.get("error") or (body.get("error") if isinstance(body, dict) else None)
    if failure or response is None or (isinstance(response, dict) and response.get("status_code") != 200):
        status = response.get("status_code") if isinstance(response, dict) else None
        message = error_of({"error": failure})[0] or "no error message"
        return Received(file, number, name, None, shortened(f"HTTP {status}: {message}" if status else message))
    try:
        return Received(file, number, name, chat_answer(body if isinstance(body, dict) else {}), None)
    except MalformedReplyError as error:
        return Problem("invalid-value", file, number, "response.body", str(error), "a chat completion")
    except HostFailedError as error:
        return Received(file, number, name, None, str(error))


_MOST_PROBLEMS = 10_000
"""Reading stops after this many problems, because such a file probably does not contain replies."""


@dataclass(frozen=True)
class ImportedReplies:
    """The result of importing replies.

    Attributes:
        stored: number of new replies.
        already_stored: number of replies that were already stored with the same text.
        short: number of missing replies to requests that the service answered with fewer replies than requested.
        failed: number of requests without a reply, by error message.
        unanswered: number of requests that still lack a reply, by batch.
        waiting: number of final questions in the last batch's manifest that wait for the answers to other questions.
        reading: all replies of the run, parsed.
        path: the file of responses, or None before the first reply.
    """

    stored: int
    already_stored: int
    short: int
    failed: Mapping[str, int]
    unanswered: Mapping[str, int]
    waiting: int
    reading: ParsedReplies
    path: Path | None


def take(
    run: Path,
    files: Sequence[Path],
    *,
    respondent: str | None = None,
    format: str = "jsonl",
    policy: ParsePolicy | None = None,
) -> ImportedReplies:
    """Store the replies from the given files in the run, and write the run's responses.

    Args:
        run: the run's folder, which contains its batches.
        files: files of replies.
        respondent: the respondent's name in all responses of the run; by default the model's name.
        format: the format of the file of responses, such as `jsonl`.
        policy: how to parse replies; see `responses.read_replies`.

    Raises:
        OptionError: if the folder contains no batch, if no respondent is given and the batch does not name a model, or
            if the run already has replies of another respondent.
        InputError: if a line is invalid, a request is unknown or answered twice or with too many replies, or a reply
            differs from the stored reply. In these cases, no reply is stored.
    """
    folders = batches(run) if run.is_dir() else []
    if not folders:
        raise OptionError(
            f"{run} contains no batch. Give the --out folder of `spotball batch export`", code="wrong-folder"
        )
    manifests = [read_manifest(folder) for folder in folders]
    requests = {about.custom_id: about for folder in folders for about in read_asked(folder)}
    answers, failed = _received(files, requests)
    scenes = read_scenes(run / SCENES)
    with ReplyStore(run) as store:
        belongs = {name: value for manifest in manifests for name, value in manifest.identity.items()}
        store.claim({**belongs, "respondent": _respondent(store, respondent, manifests), "kind": "model"})
        records, already_stored = _records(answers, requests, store, _asks(requests, manifests, scenes))
        _store(store, files, records)
        reading = read_replies(store, scenes, policy)
        path = write_reading(reading, run, format) if len(reading.rows) else None
        done = store.done()
    unanswered = {folder.name: sum(_lacks(about, done) for about in read_asked(folder)) for folder in folders}
    return ImportedReplies(
        stored=sum(len(record.answer.replies) for record in records),
        already_stored=already_stored,
        short=sum(
            len(requests[name].samples) - len(received.answer.replies)
            for name, received in answers.items()
            if received.answer
        ),
        failed=dict(Counter(failed.values()).most_common()),
        unanswered=unanswered,
        waiting=manifests[-1].waiting,
        reading=reading,
        path=path,
    )


def _received(
    files: Sequence[Path], requests: Mapping[str, BatchRequest]
) -> tuple[dict[str, Received], dict[str, str]]:
    """Return the answers by the request's ID, and the error messages of requests without an answer. Raise InputError
    with all problems if there are any.
    """
    answers: dict[str, Received] = {}
    failed: dict[str, str] = {}
    problems: list[Problem] = []
    for entry in (entry for path in files for entry in read_received(path)):
        if len(problems) > _MOST_PROBLEMS:
            break
        if isinstance(entry, Problem):
            problems.append(entry)
            continue
        about, before = requests.get(entry.custom_id), answers.get(entry.custom_id)
        if about is None:
            expected = "the `custom_id` of a request of this run. Import the file into the run that exported it"
            problems.append(_problem(entry, f"{entry.custom_id!r}", expected))
        elif entry.answer is None:
            failed[entry.custom_id] = entry.error or ""
        elif before is not None:
            actual = f"a second reply to {entry.custom_id} (the first is in {before.file}:{before.line})"
            problems.append(_problem(entry, actual, "one line per request. Remove one of the two lines"))
        elif len(entry.answer.replies) > len(about.samples):
            actual = f"{len(entry.answer.replies)} replies to {entry.custom_id}"
            expected = f"at most {len(about.samples)}, as requested. Remove the other replies"
            problems.append(_problem(entry, actual, expected))
        else:
            answers[entry.custom_id] = entry
    if problems:
        raise InputError(problems)
    return answers, {name: message for name, message in failed.items() if name not in answers}


def _asks(
    requests: Mapping[str, BatchRequest], manifests: Sequence[Manifest], scenes: Sequence[Scene]
) -> Iterator[Ask[Scene]]:
    """Yield the scene, prompt, step and samples of each request, in the order of `requests`."""
    by_key = {scene.key: scene for scene in scenes}
    prompts = {
        name: Prompt(name, prompt.version, prompt.text, prompt.questions)
        for manifest in manifests
        for name, prompt in manifest.prompts.items()
    }
    for about in requests.values():
        yield Ask(by_key[about.sport, about.image], prompts[about.prompt], about.step, about.samples)


def _respondent(store: ReplyStore, respondent: str | None, manifests: Sequence[Manifest]) -> str:
    name = respondent or store.identity().get("respondent") or manifests[-1].model
    if not name:
        raise OptionError(
            "the respondent is unknown, because the batch does not name a model. Add --respondent NAME",
            code="missing-option",
        )
    return str(name)


def _records(
    answers: Mapping[str, Received], requests: Mapping[str, BatchRequest], store: ReplyStore, asks: Iterator[Ask[Scene]]
) -> tuple[list[AnswerRecord], int]:
    """Return the records to store, and the number of replies already stored. Raise InputError if a stored
    reply differs.
    """
    records: list[AnswerRecord] = []
    problems: list[Problem] = []
    already_stored, at = 0, now()
    for name, ask in zip(requests, asks, strict=True):
        received = answers.get(name)
        if received is None or received.answer is None:
            continue
        texts = store.texts(*ask.item.key, ask.prompt.name, ask.samples)
        new = []
        for sample, reply in zip(ask.samples, received.answer.replies, strict=False):
            before = texts.get((ask.step, sample))
            if before is None:
                new.append((sample, reply))
            elif before == storable(reply.text):
                already_stored += 1
            else:
                actual = f"a reply to sample {sample} of {name} that differs from the stored reply"
                problems.append(_problem(received, actual, "one reply per sample. Remove this line"))
        if new:
            samples, replies = zip(*new, strict=True)
            answer = replace(received.answer, replies=replies)
            records.append(AnswerRecord(replace(ask, samples=samples), answer, at, 0.0, 1, requests[name].picture))
    if problems:
        raise InputError(problems)
    return records, already_stored


def _store(store: ReplyStore, files: Sequence[Path], records: Sequence[AnswerRecord]) -> None:
    failures: list[BaseException] = []

    def stored(_: Sequence[AnswerRecord], failure: BaseException | None) -> None:
        if failure is not None:
            failures.append(failure)

    session = store.start_session({"import": [str(path) for path in files]}, {})
    writer = ReplyWriter(store.path, session, stored)
    try:
        for record in records:
            writer.put(record)
    finally:
        writer.close()
    if failures:
        raise failures[0]
    store.end_session("imported")


def _lacks(about: BatchRequest, done: Mapping[tuple[str, str, str, int], int]) -> bool:
    stored = done.get((about.sport, about.image, about.prompt, about.step), 0)
    return any(not stored >> sample & 1 for sample in about.samples)


def _problem(received: Received, actual: str, expected: str) -> Problem:
    return Problem("invalid-value", received.file, received.line, "custom_id", actual, expected)
