"""Import Inspect logs of the task `spot_the_ball` as responses.

The replies are parsed again, so the parse policy may differ from that of the evaluation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from spotball_adapters.inspect.samples import About
from spotball_adapters.outputs.layouts import INSPECT_FINISH
from spotball_adapters.providers.server_messages import shortened, writable
from spotball_adapters.replies import DEFAULT_POLICY, ParsePolicy, parse_reply
from spotball_adapters.runs.responses import ParsedReplies
from spotball_core.errors import InputError, MissingExtraError, Problem
from spotball_core.io.frames import COLUMNS
from spotball_core.schema.faults import problems_of_record
from spotball_core.service.unpacked_size import check_zip_size

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

    from spotball_core.schema.scene import Scene

TASK = "spot_the_ball"

LOG = "a log of Inspect in .eval or .json format"


@dataclass(frozen=True)
class Imported:
    """The parsed replies and the scenes of the imported Inspect logs.

    Attributes:
        reading: the replies, parsed to responses.
        scenes: the scenes that the logs contain.
        failed: number of samples without a reply, by error message. They are not among the responses.
        unfinished: the status of each evaluation that did not succeed, by the log's path.
    """

    reading: ParsedReplies
    scenes: tuple[Scene, ...]
    failed: Mapping[str, int]
    unfinished: Mapping[str, str]


def import_logs(
    paths: Sequence[Path], *, respondent: str | None = None, policy: ParsePolicy = DEFAULT_POLICY
) -> Imported:
    """Read Inspect logs (`.eval` or `.json`) of the task `spot_the_ball`, and parse their replies.

    Args:
        paths: the log files.
        respondent: the respondent's name in the responses; by default the model's name in the log.
        policy: how to parse replies.

    Raises:
        InputError: if a file is missing or is not a log of the task, if two logs contain the same sample (respondent,
            image, prompt, epoch), or if two logs describe a scene differently.
        MissingExtraError: if Inspect is not installed.
    """
    gathered = _Gathered(respondent, policy)
    for path in paths:
        gathered.add(path)
    return gathered.imported()


class _Gathered:
    def __init__(self, respondent: str | None, policy: ParsePolicy) -> None:
        self._respondent, self._policy = respondent, policy
        self._columns: dict[str, list[Any]] = {column: [] for column in COLUMNS}
        self._scenes: dict[tuple[str, str], Scene] = {}
        self._seen: dict[tuple[str, str, str, str, int], str] = {}
        self._failed: Counter[str] = Counter()
        self._unparsed: Counter[str] = Counter()
        self._continued = 0
        self._unfinished: dict[str, str] = {}
        self._problems: list[Problem] = []

    def add(self, path: Path) -> None:
        header = _header(path)
        if header.eval.task.rpartition("/")[2] != TASK:
            actual = f"a log of the task {header.eval.task!r}"
            raise InputError.of("wrong-file", path, "task", actual, f"a log of the task {TASK!r}")
        if header.status != "success":
            self._unfinished[str(path)] = header.status
        respondent = self._respondent or header.eval.model
        for sample in _samples(path):
            try:
                self._add(str(path), sample, respondent)
            except ValidationError as error:
                where = f"{sample.id}: metadata"
                self._problems += problems_of_record(error, str(path), model=About, where=where)

    def _add(self, path: str, sample: EvalSample, respondent: str) -> None:
        about = About.model_validate(sample.metadata)
        scene, key = about.scene, (respondent, about.prompt, *about.scene.key, sample.epoch)
        if self._scenes.setdefault(scene.key, scene) != scene:
            actual = f"a scene {'/'.join(scene.key)} that differs from the one in an earlier log"
            expected = "logs of the same dataset. Import this log separately"
            self._problems.append(Problem("invalid-value", path, None, "scene", actual, expected))
        if sample.error is not None:
            self._failed[shortened(sample.error.message)] += 1
            return
        if (before := self._seen.setdefault(key, path)) != path:
            actual = (
                f"a second reply of {respondent} to {'/'.join(scene.key)}, prompt {about.prompt}, "
                f"sample {sample.epoch} (the first is in {before})"
            )
            expected = "each sample once. Remove one of the logs, or import each log with a different --respondent"
            self._problems.append(Problem("invalid-value", path, None, "epoch", actual, expected))
            return
        finish = INSPECT_FINISH.get(sample.output.stop_reason, "other")
        parsed = parse_reply(sample.output.completion, scene.layout, policy=self._policy, finish=finish)
        self._continued += parsed.continued
        if parsed.problem:
            self._unparsed[parsed.problem] += 1
        reasoning = parsed.reasoning and writable(parsed.reasoning)
        values = (*scene.key, respondent, "model", about.prompt, sample.epoch, None, parsed.cell, reasoning)
        for column, value in zip(COLUMNS, values, strict=True):
            self._columns[column].append(value)

    def imported(self) -> Imported:
        import polars as pl

        if self._problems:
            raise InputError(self._problems)
        schema = {column: pl.Int64 if column == "sample" else pl.String for column in COLUMNS}
        rows = pl.DataFrame(self._columns, schema=schema)
        reading = ParsedReplies(rows, dict(self._unparsed.most_common()), (), len(rows), self._policy, self._continued)
        return Imported(reading, tuple(self._scenes.values()), dict(self._failed.most_common()), self._unfinished)


def _header(path: Path) -> EvalLog:
    if not path.is_file():
        raise InputError.of("missing-file", path, "file", "no such file", f"{LOG}. Check the path")
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise MissingExtraError("Reading logs of Inspect", "inspect") from error
    check_zip_size(path)
    try:
        return read_eval_log(str(path), header_only=True)
    except Exception as error:
        # Inspect raises many kinds of errors for bytes that are not a log.
        raise _unreadable(path, error) from error


def _samples(path: Path) -> Iterator[EvalSample]:
    """Yield the samples of a log. They are read one at a time if the format allows, because images need much memory."""
    from inspect_ai.log import read_eval_log, read_eval_log_samples

    try:
        if path.suffix == ".json":
            yield from read_eval_log(str(path)).samples or ()
        else:
            yield from read_eval_log_samples(str(path), all_samples_required=False)
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InputError:
    actual = shortened(f"{type(error).__name__}: {error}", 120)
    return InputError.of("wrong-file", path, "file", actual, LOG)
