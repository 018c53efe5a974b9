"""Convert stored replies to responses: parse each reply again, and write the file that `spotball score` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotball_adapters.replies import DEFAULT_POLICY, POLICIES, ParsePolicy, parse_reply
from spotball_adapters.runs.store import ReplyStore
from spotball_adapters.runs.store_schema import PROMPT
from spotball_core.counting.parse_record import is_adaptive, read_parse_policies, write_parse_policy
from spotball_core.errors import OptionError, unknown_name
from spotball_core.io.frames import COLUMNS, write_responses
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("jsonl", "parquet")


@dataclass(frozen=True, slots=True)
class ReparsedReply:
    """A reply that is parsed differently than last time.

    `before` and `after` are the earlier and the new cell, or the reason why the reply has no cell.
    """

    sport: str
    image: str
    prompt: str
    sample: int
    before: str
    after: str


@dataclass(frozen=True)
class ParsedReplies:
    """Parsed replies of a run.

    Attributes:
        rows: a table with the columns of responses.
        problems: number of unparsed replies for each reason, the most frequent first.
        changes: replies that are parsed differently than last time.
        new: number of replies that were parsed for the first time.
        policy: the policy used for parsing.
        continued: number of replies with invented turns of a conversation, which were ignored.
    """

    rows: pl.DataFrame
    problems: Mapping[str, int]
    changes: tuple[ReparsedReply, ...]
    new: int
    policy: ParsePolicy
    continued: int = 0


def read_replies(store: ReplyStore, scenes: Sequence[Scene], policy: ParsePolicy | None = None) -> ParsedReplies:
    """Parse the last reply of every sample, and store the results.

    Args:
        scenes: the scenes of the run's dataset.
        policy: how to parse replies. None means the policy of the run's existing responses, or the default policy if it
            has no responses.
    """
    import polars as pl

    policy = policy or _policy_before(store.folder)
    identity = store.identity()
    grids = {scene.key: scene.layout for scene in scenes}
    before = store.parsed()
    readings: dict[tuple[str, str, str, int], tuple[str | None, str | None]] = {}
    columns: dict[str, list[Any]] = {column: [] for column in COLUMNS}
    changes: list[ReparsedReply] = []
    continued = 0
    for name, prompt in identity.items():
        if not name.startswith(PROMPT):
            continue
        for sport, image, sample, text, finish in store.finals(name.removeprefix(PROMPT), prompt["questions"]):
            read = parse_reply(text, grids[sport, image], policy=policy, finish=finish)
            continued += read.continued
            key = (sport, image, name.removeprefix(PROMPT), sample)
            readings[key] = now = (read.cell, read.problem)
            if before.get(key, now) != now:
                changes.append(ReparsedReply(*key, _said(before[key]), _said(now)))
            values = (*key[:2], identity["respondent"], identity["kind"], *key[2:], None, read.cell, read.reasoning)
            for column, value in zip(COLUMNS, values, strict=True):
                columns[column].append(value)
    store.keep_parsed({key: now for key, now in readings.items() if before.get(key) != now})
    rows = pl.DataFrame(columns, schema={c: pl.Int64 if c == "sample" else pl.String for c in COLUMNS})
    problems = Counter(problem for _, problem in readings.values() if problem)
    return ParsedReplies(
        rows, dict(problems.most_common()), tuple(changes), len(readings.keys() - before.keys()), policy, continued
    )


def export(
    store: ReplyStore,
    scenes: Sequence[Scene],
    out: Path,
    format: str,
    policy: ParsePolicy | None = None,
    *,
    adaptive: bool = False,
) -> tuple[ParsedReplies, Path | None]:
    """Parse all stored replies, and write the responses. See `read_replies` for the policy.

    Args:
        adaptive: whether numbers of samples depend on earlier replies.

    Returns:
        The parsed replies, and the path of the responses, or None if the run has no replies.
    """
    reading = read_replies(store, scenes, policy)
    return reading, write_reading(reading, out, format, adaptive=adaptive) if len(reading.rows) else None


def write_reading(reading: ParsedReplies, folder: Path, format: str, *, adaptive: bool = False) -> Path:
    """Write `responses.FORMAT` and its record into the run's folder.

    Responses in another format are deleted. Once a run has been adaptive, its record always says so.

    Raises:
        OptionError: if the format is not in `FORMATS`.
    """
    if format not in FORMATS:
        raise OptionError(unknown_name("format", format, FORMATS), code="unknown-name", field="--format")
    path = folder / f"responses.{format}"
    write_responses(reading.rows, path)
    adaptive = adaptive or any(is_adaptive(folder / f"responses.{before}") for before in FORMATS)
    write_parse_policy(path, reading.policy, adaptive=adaptive)
    for other_format in FORMATS:
        if other_format != format:
            # Otherwise, reading the folder would return every sample twice.
            (folder / f"responses.{other_format}").unlink(missing_ok=True)
    return path


def _policy_before(folder: Path) -> ParsePolicy:
    recorded = read_parse_policies(folder / f"responses.{format}" for format in FORMATS)
    return next((policy for policy in POLICIES if policy in recorded), DEFAULT_POLICY)


def _said(read: tuple[str | None, str | None]) -> str:
    cell, problem = read
    return cell or f"unparsed ({problem})"
